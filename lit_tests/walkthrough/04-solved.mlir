// 4 of 8: equations are solved in integers.
//
// The sum for dx[p] runs over { (i, k) : 4 i + 2 k = p, ... }. With the Smith normal form of the
// matrix A = (4 2), whose only elementary divisor is 2 (paper, section 4.1 and eq. 41):
//
//     (i, k) = (0, p / 2) + z (1, -2)      a particular solution, and the null space of A
//     2 divides p                          else there is no solution
//
// The new index z equals i, so it keeps that name. Equation (46) of the paper forgets the second
// line: dx[5] would become what belongs to dx[4]. `t = p // 2` together with `p == 2 * t` says it
// in integers. The ranges of i and k become constraints on i (eqs. 42-44); those of k are multiplied
// by 2, so that no t is left in them. `absorb-conditions` then moves conditions inside sums into
// their sets, and solves what becomes an equation; here there are none.
//
// RUN: tadc-opt %s -p solve-index-kernels,solve-elements,absorb-conditions | filecheck %s

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
    %8 = tix.sum (%i_3) in (%i_2 == %i_3, %i_3 >= 0, %i_3 + 1 <= I) {
      %9 = tix.read %dy[%i_3]
      %10 = tix.constant 0.5
      %11 = tix.mul %10, %9
      %12 = tix.read %y[%i_3]
      %13 = tix.div %11, %12
      tix.yield %13
    }
    tix.yield %8
  }
  %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
    %14 = tix.sum (%i_4, %k_1) in (%p == 4 * %i_4 + 2 * %k_1, %i_4 >= 0, %i_4 + 1 <= I, %k_1 >= 0, %k_1 + 1 <= K) {
      %15 = tix.read %dy_sum[%i_4]
      %16 = tix.read %w[%k_1]
      %17 = tix.mul %15, %16
      %18 = tix.constant 2.0
      %19 = tix.mul %18, %17
      %20 = tix.read %x[4 * %i_4 + 2 * %k_1]
      %21 = tix.mul %19, %20
      tix.yield %21
    }
    tix.yield %14
  }
  tix.return %dx
}

// One equation that gives its index at once.
// CHECK:      %dy_sum = tix.define "dy_sum" ([[I:%.*]]) : !tix.tensor<[I], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in ([[I]] >= 0, [[I]] + 1 <= I) {
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
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I:%.*]]) in (%p == 2 * [[T]], [[I]] >= 0, [[I]] + 1 <= I, %p >= 4 * [[I]], 4 * [[I]] + 2 * K >= %p + 2) {
// CHECK-NEXT:     [[DY_SUM:%.*]] = tix.read %dy_sum[[[I]]]
// CHECK-NEXT:     [[W:%.*]] = tix.read %w[[[T]] - 2 * [[I]]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DY_SUM]], [[W]]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[C]], [[MUL]]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[2 * [[T]]]
// CHECK-NEXT:     [[MUL3:%.*]] = tix.mul [[MUL2]], [[X]]
// CHECK-NEXT:     tix.yield [[MUL3]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
