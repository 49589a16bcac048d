// Inverse of forward mode: lumps are solved last one first, by the structure of their matrices.
// RUN: tadc-opt %s --split-input-file --verify-diagnostics -p 'differentiate{mode=inverse-jvp}' | filecheck %s

// A diagonal: tangents are divided by it.
tix.program @diagonal (%p = "p" : !tix.tensor<[N], f64>, %s = "s" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    %1 = tix.read %s[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %p_1 as "p"
}
// CHECK:      tix.program @diagonal ({{.*}}, %s = "s" : {{.*}}, %p_dot = "p_dot" : !tix.tensor<[N], f64>) {
// CHECK-NOT:  s_dot
// CHECK:      %p_dot_1 = tix.define "p_dot_1" ([[I:%.*]]) :
// CHECK-NEXT:   [[Y:%.*]] = tix.read %p_dot[[[I]]]
// CHECK-NEXT:   [[SLOPE:%.*]] = tix.read %p_1_slope[[[I]]]
// CHECK-NEXT:   [[X:%.*]] = tix.div [[Y]], [[SLOPE]]
// CHECK-NEXT:   tix.yield [[X]]
// CHECK:      tix.return %p_dot_1 as "p_dot"
// CHECK-NOT:  tix.solve

// -----

// What a lump reads of the rest of the state is subtracted first: `q` needs the tangent that `p`
// has after its own lump, `p` the one that `q` had before.
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
// CHECK:      %q_dot_1 = tix.define "q_dot_1" ([[I:%.*]]) :
// CHECK-NEXT:   [[Y:%.*]] = tix.read %q_dot[[[I]]]
// CHECK-NEXT:   [[P:%.*]] = tix.read %p_dot[[[I]]]
// CHECK-NEXT:   [[Q:%.*]] = tix.read %q[[[I]]]
// CHECK-NEXT:   [[OTHERS:%.*]] = tix.mul [[P]], [[Q]]
// CHECK-NEXT:   [[REST:%.*]] = tix.sub [[Y]], [[OTHERS]]
// CHECK:        tix.div [[REST]],
// CHECK:      %p_dot_1 = tix.define "p_dot_1" ([[I:%.*]]) :
// CHECK:        tix.read %q_dot_1[[[I]]]
// CHECK-NOT:    tix.div
// CHECK:      tix.return %p_dot_1 as "p_dot", %q_dot_1 as "q_dot"

// -----

// A diagonal up to a permutation of indices is one, too.
tix.program @reversed (%p = "p" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[-%i + N - 1]
    %1 = tix.constant 2.0
    %2 = tix.mul %1, %0
    tix.yield %2
  }
  tix.return %p_1 as "p"
}
// CHECK:      %p_dot_1 = tix.define "p_dot_1" ([[I:%.*]]) :
// CHECK-NEXT:   [[Y:%.*]] = tix.read %p_dot[-[[I]] + N - 1]
// CHECK:        tix.div [[Y]],
// CHECK-NOT:  tix.solve

// -----

// A diagonal plus a rest whose square is 0: two divisions, without a matrix.
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
// CHECK:      %p_dot_1 = tix.define "p_dot_1"
// CHECK:        tix.div
// CHECK:      %p_dot_2 = tix.define "p_dot_2" ([[I:%.*]]) :
// CHECK:        tix.read %p_dot_1[0]
// CHECK:        tix.div
// CHECK:      tix.return %p_dot_2 as "p_dot"
// CHECK-NOT:  tix.solve

// -----

// A band: column j is stored in column `j % 2`. The first system of a program stands behind it.
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
// CHECK:      "p_solution" : !tix.tensor<[N], f64>) {
// CHECK:      %p_1_matrix = tix.define "p_1_matrix" ([[I:%.*]], [[C:%.*]]) : !tix.tensor<[N, 2], f64> {
// CHECK-NEXT:   [[Q:%.*]] = tix.floordiv ([[I]]) by 2
// CHECK-NEXT:   {{%.*}} = tix.if ([[I]] == 2 * [[Q]] + [[C]]) {
// CHECK:      tix.return %p_dot_1 as "p_dot", %p_1_matrix, %p_1_rhs
// CHECK:      tix.solve ["p_solution"] from ["p_1_matrix"] and ["p_1_rhs"] as "banded" {{{.*}}lower = 1 : i64, upper = 0 : i64}

// -----

// A triangle: the whole matrix, of which one half is not looked at.
tix.program @triangular (%p = "p" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    %1 = tix.constant 3.0
    %2 = tix.mul %1, %0
    %3 = tix.sum (%j) in (%j >= 0, %i >= %j + 1) {
      %4 = tix.read %p[%j]
      tix.yield %4
    }
    %5 = tix.add %2, %3
    tix.yield %5
  }
  tix.return %p_1 as "p"
}
// CHECK:      %p_1_matrix = tix.define "p_1_matrix" {{.*}} : !tix.tensor<[N, N], f64> {
// CHECK:      tix.solve ["p_solution"] from ["p_1_matrix"] and ["p_1_rhs"] as "lower"

// -----

// One matrix for each `b`.
tix.program @blocks (%p = "p" : !tix.tensor<[B, N], f64>, %w = "w" : !tix.tensor<[N, N], f64>) {
  %p_1 = tix.define "p_1" (%b, %i) : !tix.tensor<[B, N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= N) {
      %1 = tix.read %w[%i, %j]
      %2 = tix.read %p[%b, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %p_1 as "p"
}
// CHECK:      %p_1_matrix = tix.define "p_1_matrix" {{.*}} : !tix.tensor<[B, N, N], f64> {
// CHECK:      tix.solve ["p_solution"] from ["p_1_matrix"] and ["p_1_rhs"] as "dense" {{{.*}}batch = 1 : i64

// -----

// Two tensors that cannot go one before the other: four blocks, a 2 x 2 matrix for each `i`.
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
// CHECK:      %a_matrix = tix.define "a_matrix" {{.*}} : !tix.tensor<[N], f64> {
// CHECK:      tix.solve ["x_solution", "y_solution"] from ["a_matrix", "a_matrix_1", "b_matrix", "b_matrix_1"] and ["a_rhs", "b_rhs"] as "dense"

// -----

// Nothing is known: one matrix.
tix.program @dense (%p = "p" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[N, N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= N) {
      %1 = tix.read %w[%i, %j]
      %2 = tix.read %p[%j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %p_1 as "p"
}
// CHECK:      %p_1_matrix = tix.define "p_1_matrix" {{.*}} : !tix.tensor<[N, N], f64> {
// CHECK:      tix.solve ["p_solution"] from ["p_1_matrix"] and ["p_1_rhs"] as "dense" {{{.*}}batch = 0 : i64

// -----

// One element in each row and column: their squares divide, and Aᵀ exchanges them back.
tix.program @permutation (%p = "p" : !tix.tensor<[5], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[5], f64> {
    %0 = tix.if (%i <= 3) {
      %1 = tix.read %p[%i + 1]
      tix.yield %1
    } else {
      %2 = tix.read %p[0]
      tix.yield %2
    }
    %3 = tix.exp %0
    tix.yield %3
  }
  tix.return %p_1 as "p"
}
// CHECK-LABEL: tix.program @permutation
// CHECK:      tix.define "p_1_square"
// CHECK:      %p_1_rhs = tix.define "p_1_rhs" ([[I:%.*]]) : !tix.tensor<[5], f64> {
// CHECK:        [[SQUARE:%.*]] = tix.read %p_1_square[[[I]]]
// CHECK-NEXT:   tix.div {{%.*}}, [[SQUARE]]
// CHECK:      tix.define "p_dot_1"
// CHECK:        tix.read %p_1_rhs
// CHECK:      tix.return %p_dot_1 as "p_dot"

// -----

// No argument is updated.
tix.program @no_state (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the program returns y, which is no argument that it updates

// -----

// A value of the state is lost.
tix.program @lost (%p = "p" : !tix.tensor<[4], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[4], f64> {
    %0 = tix.read %p[0]
    tix.yield %0
  }
  tix.return %p_1 as "p"
}
// CHECK: the Jacobian must be singular: the value that p[1] has before is lost here
