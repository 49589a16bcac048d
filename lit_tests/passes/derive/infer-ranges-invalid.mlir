// Sums without a bound in some direction.
// RUN: tadc-opt %s --split-input-file --verify-diagnostics -p infer-ranges | filecheck %s

tix.program @lower (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i <= 8, %j <= %p) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the sum over j has no lower bound

// -----

// A bound by an index that has none itself is no bound.
tix.program @upper (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %j >= 0, %j <= %i) {
      %1 = tix.read %x[%j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the sum over i has no upper bound

// -----

// Equations are no bounds: `solve-index-kernels` comes first.
tix.program @unsolved (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i == %p) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the sum over i has no lower bound

// -----

// Where other constraints leave no point, nothing needs a bound.
tix.program @empty (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 3, %i <= 2) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define
// CHECK-NEXT:   tix.constant 0.0

// -----

// More inequalities than any sum that somebody needs: refused before it takes minutes.
tix.program @dense (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%i, %j, %k, %l, %m, %n) in (
      %i >= -50, %i <= 50,
      %j >= -50, %j <= 50,
      %k >= -50, %k <= 50,
      %l >= -50, %l <= 50,
      %m >= -50, %m <= 50,
      %n >= -50, %n <= 50,
      9 * %i - 7 * %j + 6 * %k - 1 * %l - 8 * %m - 9 * %n <= 100,
      -5 * %i + 9 * %j + 6 * %k + 2 * %l + 1 * %m - 9 * %n <= 100,
      -1 * %i + 6 * %j - 3 * %k + 4 * %l + 8 * %m + 8 * %n <= 100,
      -6 * %i - 3 * %j + 9 * %k + 8 * %l - 1 * %m - 7 * %n <= 100,
      4 * %i + 1 * %j - 7 * %k + 2 * %l + 4 * %m - 1 * %n <= 100,
      5 * %i - 6 * %j - 3 * %k - 6 * %m - 8 * %n <= 100,
      9 * %i - 3 * %j + 2 * %k + 6 * %l - 3 * %m + 7 * %n <= 100,
      9 * %i + 7 * %j - 9 * %k + 2 * %l - 2 * %m + 4 * %n <= 100,
      2 * %j + 9 * %k - 6 * %l - 7 * %m + 7 * %n <= 100,
      7 * %i - 3 * %j - 6 * %k - 1 * %l - 3 * %n <= 100,
      3 * %i + 6 * %j - 2 * %k - 5 * %l - 3 * %m + 7 * %n <= 100,
      -9 * %i - 3 * %j - 4 * %k - 9 * %l + 1 * %m + 8 * %n <= 100,
      2 * %j + 3 * %k + 7 * %l + 3 * %m <= 100,
      -5 * %i + 6 * %j - 8 * %k - 4 * %l + 4 * %m + 3 * %n <= 100,
      -6 * %i + 5 * %j - 2 * %k - 7 * %l + 5 * %m + 5 * %n <= 100,
      3 * %i - 7 * %j + 7 * %k + 4 * %l + 6 * %m <= 100,
      4 * %i - 7 * %j - 3 * %k - 1 * %l + 5 * %m + 6 * %n <= 100,
      -4 * %i - 9 * %j - 9 * %k + 8 * %l - 6 * %m - 1 * %n <= 100,
      9 * %i + 2 * %j - 3 * %k - 1 * %l + 7 * %m + 5 * %n <= 100,
      1 * %i + 7 * %j - 1 * %k + 4 * %l + 4 * %m + 6 * %n <= 100
    ) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the bounds of the sum over j, k, l, m, n, i take more than 500 inequalities
