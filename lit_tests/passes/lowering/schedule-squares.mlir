// Elements across rows are loaded along them, and transposed in registers.
// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[64, 64], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[64, 64], f32> {
    %0 = tix.read %x[%j, %i]
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: func.func @y(
// CHECK-COUNT-16: vector.load %x
// CHECK-NOT:      vector.load
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT:      vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK-NOT:      vector.store
// CHECK:          func.return
