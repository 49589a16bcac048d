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
