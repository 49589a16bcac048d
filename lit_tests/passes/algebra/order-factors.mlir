// Factors that rows of a block share are multiplied with each other before all others.
// RUN: tadc-opt %s -p order-factors{tile=true} | filecheck %s

// Blocks have rows i and columns r: the product of b and c is the same for all rows.
tix.program @columns (%x = "x" : !tix.tensor<[I, J, K], f32>, %b = "b" : !tix.tensor<[J, 32], f32>,
                      %c = "c" : !tix.tensor<[K, 32], f32>) {
  %m = tix.define "m" (%i, %r) : !tix.tensor<[I, 32], f32> {
    %0 = tix.sum (%j, %k) in (%j >= 0, J >= %j + 1, %k >= 0, K >= %k + 1) {
      %1 = tix.read %x[%i, %j, %k]
      %2 = tix.read %b[%j, %r]
      %3 = tix.mul %1, %2
      %4 = tix.read %c[%k, %r]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %m
}

// What is multiplied twice is computed once.
tix.program @shared (%x = "x" : !tix.tensor<[I, J, K], f32>, %b = "b" : !tix.tensor<[J, 32], f32>,
                     %c = "c" : !tix.tensor<[K, 32], f32>) {
  %m = tix.define "m" (%i, %r) : !tix.tensor<[I, 32], f32> {
    %0 = tix.sum (%j, %k) in (%j >= 0, J >= %j + 1, %k >= 0, K >= %k + 1) {
      %1 = tix.read %x[%i, %j, %k]
      %2 = tix.read %b[%j, %r]
      %3 = tix.mul %1, %2
      %4 = tix.read %c[%k, %r]
      %5 = tix.mul %3, %4
      %6 = tix.add %5, %3
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %m
}

// CHECK-LABEL: tix.program @columns
// CHECK:         [[X:%.*]] = tix.read %x
// CHECK-NEXT:    [[B:%.*]] = tix.read %b
// CHECK-NEXT:    [[C:%.*]] = tix.read %c
// CHECK-NEXT:    [[BC:%.*]] = tix.mul [[B]], [[C]]
// CHECK-NEXT:    tix.mul [[BC]], [[X]]
// CHECK-LABEL: tix.program @shared
// CHECK:         [[X:%.*]] = tix.read %x
// CHECK-NEXT:    [[B:%.*]] = tix.read %b
// CHECK-NEXT:    tix.mul [[X]], [[B]]
