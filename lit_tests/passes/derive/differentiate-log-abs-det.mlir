// Sign and logarithm of the determinant: those of diagonals as sums, matrices are left to systems.
// RUN: tadc-opt %s --split-input-file --verify-diagnostics -p 'differentiate{mode=log-abs-det}' | filecheck %s

// The determinant of a diagonal.
tix.program @diagonal (%p = "p" : !tix.tensor<[N], f64>, %s = "s" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    %1 = tix.read %s[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %p_1 as "p"
}
// CHECK:      %p_1_signdet = tix.define "p_1_signdet" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   {{%.*}} = tix.prod
// CHECK:          tix.sign
// CHECK:      %p_1_logdet = tix.define "p_1_logdet" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   {{%.*}} = tix.sum
// CHECK-NEXT:     [[SLOPE:%.*]] = tix.read %p_1_slope
// CHECK-NEXT:     [[SIZE:%.*]] = tix.abs [[SLOPE]]
// CHECK-NEXT:     {{%.*}} = tix.log [[SIZE]]
// CHECK:      tix.return %signdet, %logdet
// CHECK-NOT:  tix.determinant

// -----

// A permutation of the elements has a sign: (-1) to the number of exchanges, `N // 2`.
tix.program @reversed (%p = "p" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[-%i + N - 1]
    %1 = tix.constant 2.0
    %2 = tix.mul %1, %0
    tix.yield %2
  }
  tix.return %p_1 as "p"
}
// CHECK:      %signdet = tix.define "signdet"
// CHECK:        tix.prod ([[I:%.*]]) in ([[I]] >= 0, 2 * [[I]] + 2 <= N) {
// CHECK-NEXT:     [[MINUS:%.*]] = tix.constant -1.0
// CHECK-NEXT:     tix.yield [[MINUS]]
// CHECK-NOT:  tix.determinant

// -----

// Matrices are those of the inverse modes; nothing is counted in the program.
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
// CHECK:      tix.program @banded
// CHECK:      %logdet = tix.define "logdet" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   {{%.*}} = tix.constant 0.0
// CHECK:      tix.return %signdet, %logdet, %p_1_matrix
// CHECK:      tix.determinant ["p_1_matrix"] as "banded" {{{.*}}lower = 1 : i64, upper = 0 : i64}

// -----

// One determinant for each `b`.
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
// CHECK:      tix.determinant ["p_1_matrix"] as "dense" {{{.*}}batch = 1 : i64}

// -----

// A permutation that is no formula: the program returns the columns of its elements.
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
// CHECK:      tix.define "p_1_slope"
// CHECK:      %p_1_columns = tix.define "p_1_columns"
// CHECK:      tix.return %signdet, %logdet, %p_1_columns
// CHECK:      tix.determinant ["p_1_columns"] as "permutation"
