// Adjoints of some results: the others might as well not be there.
// RUN: tadc-opt %s -p 'differentiate{of=z}' | filecheck %s
// RUN: not tadc-opt %s -p 'differentiate{of=x}' 2>&1 | filecheck %s --check-prefix OTHER

tix.program @f (%x = "x" : !tix.tensor<[9], f64>, %s = "s" : !tix.tensor<[], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.exp %0
    tix.yield %1
  }
  %z = tix.define "z" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.read %x[8 - %i]
    %1 = tix.read %x[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %y, %z
}

// CHECK:      tix.program @f (%x = "x" : !tix.tensor<[9], f64>, %s = "s" : !tix.tensor<[], f64>, %dz = "dz" : !tix.tensor<[9], f64>) {
// CHECK:      %dx = tix.define "dx"
// CHECK-NOT:  tix.exp
// CHECK:      tix.read %dz
// CHECK-NOT:  tix.read %y
// CHECK:      tix.read %dz
// CHECK-NOT:  tix.read %y
// CHECK:      %ds = tix.define "ds" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[ZERO:%.*]] = tix.constant 0.0
// CHECK-NEXT:   tix.yield [[ZERO]]
// CHECK:      tix.return %dx, %ds

// OTHER: no result is named x
