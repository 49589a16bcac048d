// Indices that wrap around a circle become choices, or indices of a tensor that goes on.
// RUN: tadc-opt %s -p unwrap-indices | filecheck %s

tix.program @neighbour (%x = "x" : !tix.tensor<[100], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[100], f32> {
    %0 = tix.floordiv (%i + 1) by 100
    %1 = tix.read %x[%i - 100 * %0 + 1]
    tix.yield %1
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @neighbour
// CHECK:       tix.define "y" (%i)
// CHECK-NEXT:    tix.if (%i <= 98) {
// CHECK-NEXT:      tix.read %x[%i + 1]
// CHECK:         } else {
// CHECK-NEXT:      tix.read %x[%i - 99]

// A window reads each element three times: one of a tensor that is longer at both ends.
tix.program @window (%x = "x" : !tix.tensor<[100], f32>, %w = "w" : !tix.tensor<[3], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[100], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.floordiv (%i + %k + 99) by 100
      %2 = tix.read %x[%i + %k - 100 * %1 + 99]
      %3 = tix.read %w[%k]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @window
// CHECK:       %x_around = tix.define "x_around" ([[T:%.*]]) : !tix.tensor<[102], f32> {
// CHECK-NEXT:    tix.if ([[T]] <= 0) {
// CHECK-NEXT:      tix.read %x[[[T]] + 99]
// CHECK:         } else {
// CHECK-NEXT:      tix.if ([[T]] <= 100) {
// CHECK-NEXT:        tix.read %x[[[T]] - 1]
// CHECK:           } else {
// CHECK-NEXT:        tix.read %x[[[T]] - 101]
// CHECK:       tix.define "y" (%i)
// CHECK:         tix.sum (%k) in (%k >= 0, %k <= 2) {
// CHECK-NEXT:      tix.read %x_around[%i + %k]

// This one counts.
tix.program @enlarged (%x = "x" : !tix.tensor<[100], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[200], f32> {
    %0 = tix.floordiv (%i) by 2
    %1 = tix.read %x[%0]
    tix.yield %1
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @enlarged
// CHECK:         [[Q:%.*]] = tix.floordiv (%i) by 2
// CHECK-NEXT:    tix.read %x[[[Q]]]
