// What is written parses to the same, in both forms.
// RUN: tadc-opt %s | tadc-opt | filecheck %s
// RUN: tadc-opt %s --print-op-generic | tadc-opt | filecheck %s

// Loops around pure code, and loops of nothing, are dead code.
// RUN: tadc-opt %s -p dce | filecheck %s --check-prefix DCE

// Parallel loops of every rank; the end is implicit.
func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %N: index, %M: index)
    attributes {buffers = ["y", "x"], sizes = ["N", "M"]} {
  loops.parallel (%i, %j) to (%N, %M) {
    %row = arith.muli %i, %M : index
    %at = arith.addi %row, %j : index
    %0 = memref.load %x[%at] : memref<?xf64>
    memref.store %0, %y[%at] : memref<?xf64>
  }
  func.return
}
func.func @scalar(%y: memref<?xf64>) attributes {buffers = ["y"], sizes = []} {
  loops.parallel () to () {
    %zero = arith.constant 0 : index
    %0 = arith.constant 2.5 : f64
    memref.store %0, %y[%zero] : memref<?xf64>
  }
  func.return
}
func.func @empty(%N: index) {
  loops.parallel (%i) to (%N) {
  }
  func.return
}
// Functions of C's mathematical library.
func.func @tail(%x: f64, %y: f32) -> (f64, f32) {
  %0 = loops.libm "erfc" %x : f64
  %1 = loops.libm "erfc" %y fastmath<afn> : f32
  func.return %0, %1 : f64, f32
}
// A hint, which dead-code elimination may take for what it is.
func.func @ahead(%x: memref<?xf64>, %i: index) {
  loops.prefetch %x[%i] : memref<?xf64>
  func.return
}
// A buffer from an element on.
func.func @rows(%x: memref<?xf64>, %i: index) -> f64 {
  %0 = loops.part %x[%i] : memref<?xf64> -> memref<?xf64>
  %1 = memref.load %0[%i] : memref<?xf64>
  func.return %1 : f64
}
// A number of the machine.
func.func @cache() -> index {
  %0 = loops.shared_cache : index
  func.return %0 : index
}
// A function once more, on other buffers.
loops.call @y ["z", "y"]

// CHECK:      func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %N: index, %M: index) attributes {buffers = ["y", "x"], sizes = ["N", "M"]} {
// CHECK-NEXT:   loops.parallel (%i, %j) to (%N, %M) {
// CHECK-NEXT:     %row = arith.muli %i, %M : index
// CHECK-NEXT:     %at = arith.addi %row, %j : index
// CHECK-NEXT:     %0 = memref.load %x[%at] : memref<?xf64>
// CHECK-NEXT:     memref.store %0, %y[%at] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK-NEXT: func.func @scalar(%y: memref<?xf64>) attributes {buffers = ["y"], sizes = []} {
// CHECK-NEXT:   loops.parallel () to () {
// CHECK-NEXT:     %zero = arith.constant 0 : index
// CHECK-NEXT:     %0 = arith.constant 2.500000e+00 : f64
// CHECK-NEXT:     memref.store %0, %y[%zero] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK-NEXT: func.func @empty(%N: index) {
// CHECK-NEXT:   loops.parallel (%i) to (%N) {
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK-NEXT: func.func @tail(%x: f64, %y: f32) -> (f64, f32) {
// CHECK-NEXT:   %0 = loops.libm "erfc" %x : f64
// CHECK-NEXT:   %1 = loops.libm "erfc" %y fastmath<afn> : f32
// CHECK-NEXT:   func.return %0, %1 : f64, f32
// CHECK-NEXT: }
// CHECK-NEXT: func.func @ahead(%x: memref<?xf64>, %i: index) {
// CHECK-NEXT:   loops.prefetch %x[%i] : memref<?xf64>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK-NEXT: func.func @rows(%x: memref<?xf64>, %i: index) -> f64 {
// CHECK-NEXT:   %0 = loops.part %x[%i] : memref<?xf64> -> memref<?xf64>
// CHECK-NEXT:   %1 = memref.load %0[%i] : memref<?xf64>
// CHECK-NEXT:   func.return %1 : f64
// CHECK-NEXT: }
// CHECK-NEXT: func.func @cache() -> index {
// CHECK-NEXT:   %0 = loops.shared_cache : index
// CHECK-NEXT:   func.return %0 : index
// CHECK-NEXT: }
// CHECK-NEXT: loops.call @y ["z", "y"]

// DCE-LABEL: func.func @y(
// DCE:         loops.parallel
// DCE-LABEL: func.func @scalar(
// DCE:         loops.parallel
// DCE-LABEL: func.func @empty(
// DCE-NOT:     loops.parallel
// DCE:         func.return
// DCE:         loops.call @y
