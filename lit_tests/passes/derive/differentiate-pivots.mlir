// What an inverse mode divides by is returned as a pivot, by the part that computes it.
// RUN: tadc-opt %s -p 'differentiate{mode=inverse-jvp keep_pivots=true},split-solves,order-definitions' | filecheck %s

// A diagonal of `q`, then a triangle of `p`: it is solved first, between the two programs. That of
// `r` is 2 everywhere: no pivot.
tix.program @step (%p = "p" : !tix.tensor<[N], f64>, %q = "q" : !tix.tensor<[N], f64>, %r = "r" : !tix.tensor<[N], f64>) {
  %r_1 = tix.define "r_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.constant 2.0
    %1 = tix.read %r[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %q_1 = tix.define "q_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %q[%i]
    %1 = tix.read %p[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %i >= %j) {
      %1 = tix.read %p[%j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %p_1 as "p", %q_1 as "q", %r_1 as "r"
}
// CHECK:      tix.program @step_1 (
// CHECK:        tix.return %p_1_rhs, %p_1_matrix, pivot %q_1_slope, %r_dot_1 as "r_dot"
// CHECK-NEXT: }
// CHECK-NEXT: tix.solve ["p_solution"]
// CHECK-NEXT: tix.program @step (
// CHECK:        tix.return %p_dot_1 as "p_dot", %q_dot_1 as "q_dot"
// CHECK-NEXT: }
