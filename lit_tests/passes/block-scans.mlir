// Sums over all terms up to an element, or from it on, are computed in blocks.
// RUN: tadc-opt %s -p 'block-scans{sizes="N=500"}' | filecheck %s
// RUN: tadc-opt %s -p 'block-scans{sizes="N=512"}' | filecheck %s --check-prefix LONG
// RUN: tadc-opt %s -p 'block-scans{sizes="N=50"}' | filecheck %s --check-prefix SHORT

// Terms up to an element: blocks of sixteen, those before one, and the terms of the own one.
tix.program @up_to (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// Terms behind an element, without it.
tix.program @behind (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= %i + 1, N >= %k + 1) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// A term depends on the element, windows are no scans: both stay.
tix.program @others (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k) {
      %1 = tix.read %x[%i - %k]
      tix.yield %1
    }
    tix.yield %0
  }
  %z = tix.define "z" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k, %k + 9 >= %i) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %z
}

// CHECK-LABEL: tix.program @up_to sizes
// CHECK:         [[T:%.*]] = tix.define "y_block" (%i) : !tix.tensor<[B], f64> {
// CHECK-NEXT:      tix.sum (%k) in (%k >= 0, %k <= 15, 16 * %i + %k + 1 <= N) {
// CHECK-NEXT:        tix.read %x[%k + 16 * %i]
// CHECK:         [[P:%.*]] = tix.define "y_before" (%i_1) : !tix.tensor<[B], f64> {
// CHECK-NEXT:      tix.sum (%k_1) in (%k_1 >= 0, %i_1 >= %k_1 + 1) {
// CHECK-NEXT:        tix.read [[T]][%k_1]
// CHECK:         tix.define "y" (%i_2) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      [[Q:%.*]] = tix.floordiv (%i_2) by 16
// CHECK-NEXT:      tix.read [[P]][[[Q]]]
// CHECK-NEXT:      tix.sum (%k_2) in (%k_2 >= 0, %k_2 >= 16 * [[Q]], %i_2 >= %k_2) {
// CHECK-NEXT:        tix.read %x[%k_2]

// CHECK-LABEL: tix.program @behind sizes
// CHECK:         tix.define "y_block"
// CHECK:         tix.define "y_before" (%i_1)
// CHECK-NEXT:      tix.sum (%k_1) in (%k_1 >= %i_1 + 1, %k_1 + 1 <= B) {
// CHECK:         tix.define "y" (%i_2)
// CHECK-NEXT:      [[R:%.*]] = tix.floordiv (%i_2) by 16
// CHECK:           tix.sum (%k_2) in (%k_2 >= %i_2 + 1, %k_2 + 1 <= N, 16 * [[R]] + 15 >= %k_2) {

// CHECK-LABEL: tix.program @others (
// CHECK-NOT:     floordiv

// LONG-LABEL:  tix.program @up_to sizes
// LONG:          tix.define "y_block"
// LONG:          tix.define "y_before_block"
// LONG:          tix.define "y_before_before"
// LONG:          tix.define "y_before"
// LONG:          tix.define "y"

// SHORT-NOT:   floordiv
