// What the parser refuses.
// RUN: tadc-opt %s --parsing-diagnostics --split-input-file | filecheck %s

"test.op"() {map = #tix.map<(i, i) -> (i)>} : () -> ()
// CHECK: two dimensions of the same name

// -----

"test.op"() {map = #tix.map<(i) -> (i * 2)>} : () -> ()
// CHECK: ')' expected

// -----

"test.op"() {map = #tix.map<(i) -> (i +)>} : () -> ()
// CHECK: expected an index or a size

// -----

"test.op"() {map = #tix.map<() -> (N * 2)>} : () -> ()
// CHECK: expected a size

// -----

"test.op"() {set = #tix.set<(i) : (i > 3)>} : () -> ()
// CHECK: Expected '='

// -----

"test.op"() {set = #tix.set<(i) : (i + 3)>} : () -> ()
// CHECK: expected '>=', '<=' or '=='

// -----

"test.op"() {type = !tix.tensor<[2], i32>} : () -> ()
// CHECK: Expected one of 'f32', 'f64', 'int', 'range', 'real', 'size', 'sorted'

// -----

%q = tix.floordiv (1, 2) by 3
// CHECK: ')' expected

// -----

%0 = tix.read %x[0]
// CHECK: %x is not defined

// -----

%0 = tix.read "x"[0]
// CHECK: expected a tensor

// -----

%0 = tix.sum (%k, %k) in () {
}
// CHECK: SSA value %k is already defined

// -----

tix.program @f () {
  %y = tix.define "y" (%i) : f64 {
  }
}
// CHECK: expected a tensor type

// -----

tix.program @f sizes (3) () {
}
// CHECK: expected #tix.size
