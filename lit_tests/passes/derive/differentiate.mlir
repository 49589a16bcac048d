// Each read gives a sum over the points that contribute (paper, eq. 38), with unsolved equations.
// RUN: tadc-opt %s --split-input-file -p differentiate | filecheck %s

// One read; the forward value is read, not computed again. The gradient is defined on all of x.
tix.program @plain (%x = "x" : !tix.tensor<[8], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[4], f64> {
    %0 = tix.read %x[2 * %i]
    %1 = tix.exp %0
    tix.yield %1
  }
  tix.return %f
}
// CHECK:      tix.program @plain (%x = "x" : !tix.tensor<[8], f64>, %df = "df" : !tix.tensor<[4], f64>) {
// CHECK:      %f = tix.define "f" (%i) : !tix.tensor<[4], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[2 * %i]
// CHECK-NEXT:   [[EXP:%.*]] = tix.exp [[X]]
// CHECK-NEXT:   tix.yield [[EXP]]
// CHECK-NEXT: }
// CHECK:      %dx = tix.define "dx" (%p) : !tix.tensor<[8], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I:%.*]]) in (%p == 2 * [[I]], [[I]] >= 0, [[I]] <= 3) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I]]]
// CHECK-NEXT:     [[F:%.*]] = tix.read %f[[[I]]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DF]], [[F]]
// CHECK-NEXT:     tix.yield [[MUL]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      tix.return %dx

// -----

// The indices of a sum join the unknowns, and its set the constraints (paper, eq. 52). A value from
// outside that is used in the sum has the sum in its adjoint.
tix.program @sum_extended (%a = "a" : !tix.tensor<[N], f64>, %x = "x" : !tix.tensor<[N + M], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %a[%i]
    %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= M) {
      %2 = tix.read %x[%i + %k]
      %3 = tix.sin %2
      %4 = tix.mul %0, %3
      tix.yield %4
    }
    tix.yield %1
  }
  tix.return %f
}
// CHECK:      %da = tix.define "da" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] + 1 <= N) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I2]]]
// CHECK-NEXT:     [[S2:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] + 1 <= M) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[[[I2]] + [[K]]]
// CHECK-NEXT:       [[SIN:%.*]] = tix.sin [[X]]
// CHECK-NEXT:       [[MUL:%.*]] = tix.mul [[DF]], [[SIN]]
// CHECK-NEXT:       tix.yield [[MUL]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %dx = tix.define "dx" (%p) : !tix.tensor<[M + N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I:%.*]], [[K:%.*]]) in (%p == [[I]] + [[K]], [[I]] >= 0, [[I]] + 1 <= N, [[K]] >= 0, [[K]] + 1 <= M) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I]]]
// CHECK-NEXT:     [[A:%.*]] = tix.read %a[[[I]]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DF]], [[A]]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[I]] + [[K]]]
// CHECK-NEXT:     [[COS:%.*]] = tix.cos [[X]]
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[MUL]], [[COS]]
// CHECK-NEXT:     tix.yield [[MUL2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      tix.return %da, %dx

// -----

// Two reads of one argument give two sums. A value that is used twice, here as both factors of a
// square, gains from each use.
tix.program @two_reads (%x = "x" : !tix.tensor<[9], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[4], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %x[2 * %i + 1]
    %2 = tix.sin %0
    %3 = tix.mul %1, %1
    %4 = tix.sub %2, %3
    tix.yield %4
  }
  tix.return %f
}
// CHECK:      %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] <= 3) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I2]]]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[I2]]]
// CHECK-NEXT:     [[COS:%.*]] = tix.cos [[X]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DF]], [[COS]]
// CHECK-NEXT:     tix.yield [[MUL]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[S2:%.*]] = tix.sum ([[I3:%.*]]) in ([[I]] == 2 * [[I3]] + 1, [[I3]] >= 0, [[I3]] <= 3) {
// CHECK-NEXT:     [[DF2:%.*]] = tix.read %df[[[I3]]]
// CHECK-NEXT:     [[X2:%.*]] = tix.read %x[2 * [[I3]] + 1]
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[DF2]], [[X2]]
// CHECK-NEXT:     [[NEG:%.*]] = tix.neg [[MUL2]]
// CHECK-NEXT:     [[MUL3:%.*]] = tix.mul [[DF2]], [[X2]]
// CHECK-NEXT:     [[SUB:%.*]] = tix.sub [[NEG]], [[MUL3]]
// CHECK-NEXT:     tix.yield [[SUB]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[S]], [[S2]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }

// -----

// A condition cuts the index set of a read: one sum in the body, and one for each convex piece of
// what is outside: i + j <= 3, or i + j >= 4 and j >= i + 1.
tix.program @conditions (%x = "x" : !tix.tensor<[9], f64>, %z = "z" : !tix.tensor<[9], f64>) {
  %f = tix.define "f" (%i, %j) : !tix.tensor<[9, 9], f64> {
    %0 = tix.if (%i + %j >= 4, %i >= %j) {
      %1 = tix.read %x[%i]
      tix.yield %1
    } else {
      %1 = tix.read %z[%j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]], [[J:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] <= 8, [[J]] >= 0, [[J]] <= 8, [[I2]] + [[J]] >= 4, [[I2]] >= [[J]]) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I2]], [[J]]]
// CHECK-NEXT:     tix.yield [[DF]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %dz = tix.define "dz" ([[J:%.*]]) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I:%.*]], [[J2:%.*]]) in ([[J]] == [[J2]], [[I]] >= 0, [[I]] <= 8, [[J2]] >= 0, [[J2]] <= 8, [[I]] + [[J2]] <= 3) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I]], [[J2]]]
// CHECK-NEXT:     tix.yield [[DF]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[S2:%.*]] = tix.sum ([[I2:%.*]], [[J3:%.*]]) in ([[J]] == [[J3]], [[I2]] >= 0, [[I2]] <= 8, [[J3]] >= 0, [[J3]] <= 8, [[I2]] + [[J3]] >= 4, [[J3]] >= [[I2]] + 1) {
// CHECK-NEXT:     [[DF2:%.*]] = tix.read %df[[[I2]], [[J3]]]
// CHECK-NEXT:     tix.yield [[DF2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[S]], [[S2]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }

// -----

// Alternatives are made disjoint, so that no point counts twice: each without those before it.
// Nothing is left of i == 7.
tix.program @alternatives (%x = "x" : !tix.tensor<[9], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.if (%i >= 5) or (%i == 7) or (%i <= 1) {
      %1 = tix.read %x[%i]
      tix.yield %1
    } else {
      %1 = tix.constant 0
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] <= 8, [[I2]] >= 5) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I2]]]
// CHECK-NEXT:     tix.yield [[DF]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[S2:%.*]] = tix.sum ([[I3:%.*]]) in ([[I]] == [[I3]], [[I3]] >= 0, [[I3]] <= 8, [[I3]] <= 1) {
// CHECK-NEXT:     [[DF2:%.*]] = tix.read %df[[[I3]]]
// CHECK-NEXT:     tix.yield [[DF2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[S]], [[S2]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }

// -----

// A value from outside that is used in a condition has the condition in its adjoint; the index set
// is not cut.
tix.program @used_in_condition (%x = "x" : !tix.tensor<[9], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.if (%i >= 3) {
      %2 = tix.exp %0
      tix.yield %2
    } else {
      tix.yield %0
    }
    tix.yield %1
  }
  tix.return %f
}
// CHECK:      %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] <= 8) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I2]]]
// CHECK-NEXT:     [[B:%.*]] = tix.if ([[I2]] >= 3) {
// CHECK-NEXT:       [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       tix.yield [[DF]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[I2]]]
// CHECK-NEXT:     [[B2:%.*]] = tix.if ([[I2]] >= 3) {
// CHECK-NEXT:       [[EXP:%.*]] = tix.exp [[X]]
// CHECK-NEXT:       [[MUL:%.*]] = tix.mul [[DF]], [[EXP]]
// CHECK-NEXT:       tix.yield [[MUL]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[C2:%.*]] = tix.constant 0.0
// CHECK-NEXT:       tix.yield [[C2]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[ADD:%.*]] = tix.add [[B]], [[B2]]
// CHECK-NEXT:     tix.yield [[ADD]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// A quotient is an unknown with 0 <= i + 1 - 3 q <= 2; the index i stays for the adjoint.
tix.program @quotient (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[9], f64> {
    %q = tix.floordiv (%i + 1) by 3
    %0 = tix.read %x[%q, -3 * %q + %i + 1]
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      %dx = tix.define "dx" (%q_1, %p) : !tix.tensor<[9, 9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[Q:%.*]], [[I:%.*]]) in (%q_1 == [[Q]], %p + 3 * [[Q]] == [[I]] + 1, [[I]] >= 0, [[I]] <= 8, [[I]] + 1 >= 3 * [[Q]], 3 * [[Q]] + 1 >= [[I]]) {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[[[I]]]
// CHECK-NEXT:     tix.yield [[DF]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Several definitions and results: u is a result, with the adjoint du, and is read by v; both
// together are du_1. Of w and z no result is made.
tix.program @chain (%x = "x" : !tix.tensor<[N], f64>, %z = "z" : !tix.tensor<[N], f32>) {
  %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.exp %0
    tix.yield %1
  }
  %v = tix.define "v" (%j) : !tix.tensor<[N - 1], f64> {
    %0 = tix.read %u[%j + 1]
    %1 = tix.tanh %0
    tix.yield %1
  }
  %w = tix.define "w" (%k) : !tix.tensor<[N], f64> {
    %0 = tix.read %u[%k]
    tix.yield %0
  }
  tix.return %u, %v
}
// CHECK:      tix.program @chain (%x = "x" : !tix.tensor<[N], f64>, %z = "z" : !tix.tensor<[N], f32>, %du = "du" : !tix.tensor<[N], f64>, %dv = "dv" : !tix.tensor<[N - 1], f64>) {
// CHECK:      %du_1 = tix.define "du_1" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[DU:%.*]] = tix.read %du[[[I]]]
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[J:%.*]]) in ([[I]] == [[J]] + 1, [[J]] >= 0, [[J]] + 2 <= N) {
// CHECK-NEXT:     [[DV:%.*]] = tix.read %dv[[[J]]]
// CHECK-NEXT:     [[V:%.*]] = tix.read %v[[[J]]]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 1.0
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[V]], [[V]]
// CHECK-NEXT:     [[SUB:%.*]] = tix.sub [[C]], [[MUL]]
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[DV]], [[SUB]]
// CHECK-NEXT:     tix.yield [[MUL2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[DU]], [[S]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }
// CHECK:      %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] + 1 <= N) {
// CHECK-NEXT:     [[DU_1:%.*]] = tix.read %du_1[[[I2]]]
// CHECK-NEXT:     [[U:%.*]] = tix.read %u[[[I2]]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DU_1]], [[U]]
// CHECK-NEXT:     tix.yield [[MUL]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %dz = tix.define "dz" (%p) : !tix.tensor<[N], f32> {
// CHECK-NEXT:   [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:   tix.yield [[C]]
// CHECK-NEXT: }
// CHECK:      tix.return %dx, %dz

// -----

// A name that is taken is avoided: df is an argument already.
tix.program @names (%df = "df" : !tix.tensor<[N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %df[%i]
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      tix.program @names (%df = "df" : !tix.tensor<[N], f64>, %df_1 = "df_1" : !tix.tensor<[N], f64>) {
// CHECK:      %ddf = tix.define "ddf" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] + 1 <= N) {
// CHECK-NEXT:     [[DF_1:%.*]] = tix.read [[DF:%.*]][[[I2]]]
// CHECK-NEXT:     tix.yield [[DF_1]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      tix.return %ddf
