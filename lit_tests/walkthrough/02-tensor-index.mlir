// 2 of 8: definitions over index sets, and names for sums.
//
// This is what the source means: every tensor is defined by an expression for one element, every
// sum has a set of affine constraints, every index of a read is affine.
//
// The derivative of a root divides by the root: it needs the value of the sum at every point that
// contributes. The paper computes that sum again wherever it is needed (its section 6 shows it in
// every line). Here the sum becomes a definition, so that its value is read and its adjoint is a
// tensor of its own. `factor-sums` and `simplify-sums` go before, `outline-stencils` behind: here they
// find nothing to do.
//
// RUN: tadc-opt %s -p factor-sums,simplify-sums,outline-reductions,outline-stencils | filecheck %s

tix.program @program_01_source sizes (#tix.size<I = min((-2 * K + N + 5) floordiv 4)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[I], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[4 * %i + 2 * %k]
      %3 = tix.constant 2.0
      %4 = tix.pow %2, %3
      %5 = tix.mul %1, %4
      tix.yield %5
    }
    %6 = tix.sqrt %0
    tix.yield %6
  }
  tix.return %y
}

// CHECK:      %y_sum = tix.define "y_sum" (%i) : !tix.tensor<[I], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:     [[W:%.*]] = tix.read %w[%k]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[4 * %i + 2 * %k]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[POW:%.*]] = tix.pow [[X]], [[C]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[W]], [[POW]]
// CHECK-NEXT:     tix.yield [[MUL]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %y = tix.define "y" ([[I:%.*]]) : !tix.tensor<[I], f64> {
// CHECK-NEXT:   [[Y_SUM:%.*]] = tix.read %y_sum[[[I]]]
// CHECK-NEXT:   [[SQRT:%.*]] = tix.sqrt [[Y_SUM]]
// CHECK-NEXT:   tix.yield [[SQRT]]
// CHECK-NEXT: }
// CHECK:      tix.return %y
