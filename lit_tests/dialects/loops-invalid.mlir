// What the verifier refuses.
// RUN: tadc-opt %s --verify-diagnostics --split-input-file | filecheck %s

%n = "test.op"() : () -> index
"loops.parallel"(%n) ({
  loops.end
}) : (index) -> ()
// CHECK: 0 indices but 1 sizes

// -----

%n = "test.op"() : () -> index
loops.parallel (%i, %j) to (%n) {
}
// CHECK: 2 indices but 1 sizes

// -----

%n = "test.op"() : () -> index
"loops.parallel"(%n) ({
^bb0(%i: f64):
  loops.end
}) : (index) -> ()
// CHECK: loop indices must be of type index

// -----

%n = "test.op"() : () -> f64
"loops.parallel"(%n) ({
^bb0(%i: index):
  loops.end
}) : (f64) -> ()
// CHECK: operand 'sizes' at position 0 does not verify

// -----

loops.parallel () to () {
  "test.termop"() : () -> ()
}
// CHECK: terminates with operation test.termop instead of loops.end

// -----

loops.end
// CHECK: 'loops.end' expects parent op 'loops.parallel'

// -----

loops.call @y ["z"]
// CHECK: there is no function @y

// -----

func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %N: index) {
  func.return
}
loops.call @y ["z"]
// CHECK: 1 buffers for the 2 of @y
