// 6 of 8: the same numbers, with less work.
//
// `simplify-sums` puts in the one point of a sum over one point, and takes 2 out of the sum. x[p] does
// not depend on i either, but stays: the sum may be empty, and then it is 0 even if x[p] is infinite.
// `join-guards` finds no guards that exclude each other, `factor-sums` no sum within a sum.
// `inline-definitions` decides what is stored. y_sum is read by y alone, and y by dy_sum alone, each
// element once: they move to where they are read. dy_sum is read in a sum, several times per element,
// and stays.
// `order-definitions` leaves the order as it is: each is read by the next.
//
// What is left is eq. (47) of the paper, except for the factor and the stored adjoint.
//
// RUN: tadc-opt %s -p simplify-sums,join-guards,factor-sums,inline-definitions,order-definitions | filecheck %s

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
    %8 = tix.sum () in () {
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
    %15 = tix.if (%p == 2 * %14) {
      %16 = tix.sum (%i_3) in (%i_3 >= 0, 4 * %i_3 + 2 * K >= %p + 2, %i_3 + 1 <= I, %p >= 4 * %i_3) {
        %17 = tix.read %dy_sum[%i_3]
        %18 = tix.read %w[%14 - 2 * %i_3]
        %19 = tix.mul %17, %18
        %20 = tix.constant 2.0
        %21 = tix.mul %20, %19
        %22 = tix.read %x[2 * %14]
        %23 = tix.mul %21, %22
        tix.yield %23
      }
      tix.yield %16
    } else {
      %24 = tix.constant 0.0
      tix.yield %24
    }
    tix.yield %15
  }
  tix.return %dx
}

// CHECK:      %dy_sum = tix.define "dy_sum" (%i) : !tix.tensor<[I], f64> {
// CHECK-NEXT:   [[DY:%.*]] = tix.read %dy[%i]
// CHECK-NEXT:   [[C:%.*]] = tix.constant 0.5
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[C]], [[DY]]
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:     [[W:%.*]] = tix.read %w[%k]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[4 * %i + 2 * %k]
// CHECK-NEXT:     [[C2:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[POW:%.*]] = tix.pow [[X]], [[C2]]
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[W]], [[POW]]
// CHECK-NEXT:     tix.yield [[MUL2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[SQRT:%.*]] = tix.sqrt [[S]]
// CHECK-NEXT:   [[DIV:%.*]] = tix.div [[MUL]], [[SQRT]]
// CHECK-NEXT:   tix.yield [[DIV]]
// CHECK-NEXT: }
// CHECK:      %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 2
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p == 2 * [[T]]) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum ([[I:%.*]]) in ([[I]] >= 0, 4 * [[I]] + 2 * K >= %p + 2, [[I]] + 1 <= I, %p >= 4 * [[I]]) {
// CHECK-NEXT:       [[DY_SUM:%.*]] = tix.read %dy_sum[[[I]]]
// CHECK-NEXT:       [[W:%.*]] = tix.read %w[[[T]] - 2 * [[I]]]
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[2 * [[T]]]
// CHECK-NEXT:       [[MUL:%.*]] = tix.mul [[DY_SUM]], [[W]]
// CHECK-NEXT:       [[MUL2:%.*]] = tix.mul [[MUL]], [[X]]
// CHECK-NEXT:       tix.yield [[MUL2]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[MUL3:%.*]] = tix.mul [[C]], [[S]]
// CHECK-NEXT:     tix.yield [[MUL3]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C2:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }
// CHECK:      tix.return %dx
