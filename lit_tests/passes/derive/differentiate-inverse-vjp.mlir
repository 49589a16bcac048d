// Inverse of reverse mode: lumps are solved first one first, with transposed matrices.
// RUN: tadc-opt %s --split-input-file --verify-diagnostics -p 'differentiate{mode=inverse-vjp}' | filecheck %s

// The lump of `p` comes first. What it contributes to the adjoint of `q` is taken off before the lump
// of `q`, and what that contributes to `p_1` from the adjoint of `p_1` after it.
tix.program @others (%p = "p" : !tix.tensor<[N], f64>, %q = "q" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    %1 = tix.read %q[%i]
    %2 = tix.constant 2.0
    %3 = tix.pow %1, %2
    %4 = tix.add %0, %3
    tix.yield %4
  }
  %q_1 = tix.define "q_1" (%i_1) : !tix.tensor<[N], f64> {
    %5 = tix.read %q[%i_1]
    %6 = tix.read %p_1[%i_1]
    %7 = tix.mul %5, %6
    tix.yield %7
  }
  tix.return %p_1 as "p", %q_1 as "q"
}
// CHECK:      "dp" : !tix.tensor<[N], f64>, %dq = "dq" : !tix.tensor<[N], f64>) {
// CHECK:      [[DP:%dp.*]] = tix.define "dp_1"
// CHECK:      [[DQ:%dq.*]] = tix.define "dq_1" ([[I:%.*]]) :
// CHECK-NEXT:   [[OLD:%.*]] = tix.read %dq[[[I]]]
// CHECK-NEXT:   [[LESS:%.*]] = tix.sum
// CHECK:          tix.neg
// CHECK:        tix.add [[OLD]], [[LESS]]
// CHECK:      [[NEW:%dq.*]] = tix.define "dq_1_1" ([[I:%.*]]) :
// CHECK:        tix.div
// CHECK:      [[LAST:%dp.*]] = tix.define "dp_1_1" ([[I:%.*]]) :
// CHECK-NEXT:   [[OLD:%.*]] = tix.read {{%dp.*}}[[[I]]]
// CHECK-NEXT:   [[LESS:%.*]] = tix.sum
// CHECK:          tix.neg
// CHECK:        tix.add [[OLD]], [[LESS]]
// CHECK:      tix.return {{%.*}} as "dp", {{%.*}} as "dq"
// CHECK-NOT:  tix.solve

// -----

// The rest of the matrix is transposed as well: `p[0]` collects from where it was read.
tix.program @substitution (%p = "p" : !tix.tensor<[4], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[4], f64> {
    %0 = tix.if (%i <= 1) {
      %1 = tix.read %p[%i]
      tix.yield %1
    } else {
      %2 = tix.read %p[%i]
      %3 = tix.read %p[0]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %p_1 as "p"
}
// CHECK:      {{%.*}} = tix.define "dp_1"
// CHECK:        tix.div
// CHECK:      {{%.*}} = tix.define "dp_rest" ([[P:%.*]]) :
// CHECK:        tix.sum ([[I:%.*]]) in ([[P]] == 0, [[I]] >= 0, [[I]] <= 3, [[I]] >= 2) {
// CHECK:          tix.neg
// CHECK:      {{%.*}} = tix.define "dp_1_1"
// CHECK:        tix.div
// CHECK-NOT:  tix.solve

// -----

// The matrix is the one of the inverse of forward mode; the system is the transposed one.
tix.program @banded (%p = "p" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    %1 = tix.constant 3.0
    %2 = tix.mul %1, %0
    %3 = tix.if (%i >= 1, %i <= N) {
      %4 = tix.read %p[%i - 1]
      tix.yield %4
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    %6 = tix.add %2, %3
    tix.yield %6
  }
  tix.return %p_1 as "p"
}
// CHECK:      {{%.*}} = tix.define "p_1_matrix" {{.*}} : !tix.tensor<[N, 2], f64> {
// CHECK:      tix.solve ["p_1_solution"] from ["p_1_matrix"] and ["dp_rhs"] as "banded" {transposed{{.*}}lower = 1 : i64, upper = 0 : i64}

// -----

// Unknowns are the adjoints of what the lump computes, right-hand sides those of what it reads.
tix.program @pair (%x = "x" : !tix.tensor<[N], f64>, %y = "y" : !tix.tensor<[N], f64>) {
  %a = tix.define "a" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %y[%i]
    %2 = tix.sub %0, %1
    tix.yield %2
  }
  %b = tix.define "b" (%i_1) : !tix.tensor<[N], f64> {
    %3 = tix.read %x[%i_1]
    %4 = tix.read %y[%i_1]
    %5 = tix.add %3, %4
    tix.yield %5
  }
  %x_1 = tix.define "x_1" (%i_2) : !tix.tensor<[N], f64> {
    %6 = tix.read %a[%i_2]
    tix.yield %6
  }
  %y_1 = tix.define "y_1" (%i_3) : !tix.tensor<[N], f64> {
    %7 = tix.read %b[%i_3]
    tix.yield %7
  }
  tix.return %x_1 as "x", %y_1 as "y"
}
// CHECK:      tix.solve ["a_solution", "b_solution"] from ["a_matrix", "a_matrix_1", "b_matrix", "b_matrix_1"] and ["dx_rhs", "dy_rhs"] as "dense" {transposed

// -----

// The old value of p is lost.
tix.program @lost (%p = "p" : !tix.tensor<[N], f64>, %s = "s" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %s[%i]
    tix.yield %0
  }
  tix.return %p_1 as "p"
}
// CHECK: the Jacobian must be singular: the value that p has before is lost here
