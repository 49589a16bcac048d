// RUN: tadc-opt %s -p schedule --split-input-file --verify-diagnostics | filecheck %s

// Loops need bounds index by index: a guard in the set of a sum is not one.

tix.program @guard (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 8, %p >= 3) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK: a sum is not bounded index by index; run infer-ranges first

// -----

// Neither is an equation.

tix.program @equation (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i == %p, %i <= 8) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK: a sum is not bounded index by index; run infer-ranges first

// -----

// An index needs both of its bounds.

tix.program @half (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i <= 8, %i <= %p) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK: a sum is not bounded index by index; run infer-ranges first

// -----

// Loops need machine types.

tix.program @real (%x = "x" : !tix.tensor<[9], real>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], real> {
    %0 = tix.read %x[%p]
    tix.yield %0
  }
  tix.return %y
}

// CHECK: a tensor has elements of type real; run set-precision first
