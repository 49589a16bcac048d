// 5 of 8: sums get bounds.
//
// Constraints become bounds by Fourier-Motzkin elimination (paper, eq. 45): i lies between
// max(0, ceil((p + 2 - 2 K) / 4)) and min(I - 1, floor(p / 4)). Sizes are symbols all the way, one
// derivation serves all of them. What holds no index of the sum is a condition around it. What is
// known anyway goes: a sum over one point needs nothing of the range of the definition.
//
// RUN: tadc-opt %s -p infer-ranges | filecheck %s

tix.program @program_01_source sizes (#tix.size<I = min((-2 * K + N + 5) floordiv 4)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f64>, %dy = "dy" : !tix.tensor<[I], f64>) {
  %y_sum = tix.define "y_sum" (%i) : !tix.tensor<[I], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[4 * %i + 2 * %k]
      %3 = tix.constant 2.0
      %4 = tix.pow %2, %3
      %5 = tix.mul %1, %4
      tix.yield %5
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i_1) : !tix.tensor<[I], f64> {
    %6 = tix.read %y_sum[%i_1]
    %7 = tix.sqrt %6
    tix.yield %7
  }
  %dy_sum = tix.define "dy_sum" (%i_2) : !tix.tensor<[I], f64> {
    %8 = tix.sum () in (%i_2 >= 0, %i_2 + 1 <= I) {
      %9 = tix.read %dy[%i_2]
      %10 = tix.constant 0.5
      %11 = tix.mul %10, %9
      %12 = tix.read %y[%i_2]
      %13 = tix.div %11, %12
      tix.yield %13
    }
    tix.yield %8
  }
  %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
    %14 = tix.floordiv (%p) by 2
    %15 = tix.sum (%i_3) in (%p == 2 * %14, %i_3 >= 0, %i_3 + 1 <= I, %p >= 4 * %i_3, 4 * %i_3 + 2 * K >= %p + 2) {
      %16 = tix.read %dy_sum[%i_3]
      %17 = tix.read %w[%14 - 2 * %i_3]
      %18 = tix.mul %16, %17
      %19 = tix.constant 2.0
      %20 = tix.mul %19, %18
      %21 = tix.read %x[2 * %14]
      %22 = tix.mul %20, %21
      tix.yield %22
    }
    tix.yield %15
  }
  tix.return %dx
}

// CHECK:      %dy_sum = tix.define "dy_sum" ([[I:%.*]]) : !tix.tensor<[I], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in () {
// CHECK-NEXT:     [[DY:%.*]] = tix.read %dy[[[I]]]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.5
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[C]], [[DY]]
// CHECK-NEXT:     [[Y:%.*]] = tix.read %y[[[I]]]
// CHECK-NEXT:     [[DIV:%.*]] = tix.div [[MUL]], [[Y]]
// CHECK-NEXT:     tix.yield [[DIV]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 2
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p == 2 * [[T]]) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum ([[I:%.*]]) in ([[I]] >= 0, 4 * [[I]] + 2 * K >= %p + 2, [[I]] + 1 <= I, %p >= 4 * [[I]]) {
// CHECK-NEXT:       [[DY_SUM:%.*]] = tix.read %dy_sum[[[I]]]
// CHECK-NEXT:       [[W:%.*]] = tix.read %w[[[T]] - 2 * [[I]]]
// CHECK-NEXT:       [[MUL:%.*]] = tix.mul [[DY_SUM]], [[W]]
// CHECK-NEXT:       [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:       [[MUL2:%.*]] = tix.mul [[C]], [[MUL]]
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[2 * [[T]]]
// CHECK-NEXT:       [[MUL3:%.*]] = tix.mul [[MUL2]], [[X]]
// CHECK-NEXT:       tix.yield [[MUL3]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C2:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }
