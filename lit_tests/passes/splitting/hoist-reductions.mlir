// Long reductions leave choices whose bodies nearly all elements need.
// RUN: tadc-opt %s -p hoist-reductions | filecheck %s

// All elements but those of the diagonal need the sum.
tix.program @pairs (%x = "x" : !tix.tensor<[N, 9], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%i >= %j + 1) or (%j >= %i + 1) {
      %1 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %x[%j, %k]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      %5 = tix.exp %1
      tix.yield %5
    } else {
      %6 = tix.constant 0.0
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: @pairs
// CHECK-NEXT: tix.define "y" (%i, %j)
// CHECK-NEXT: [[SUM:%[0-9]+]] = tix.sum (%k)
// CHECK: tix.if (%i >= %j + 1) or (%j >= %i + 1) {
// CHECK-NEXT: tix.exp [[SUM]]

// Half of the elements need none; what one of two needs may be nowhere else.
tix.program @triangle (%x = "x" : !tix.tensor<[N, 9], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%i >= %j + 1) {
      %1 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
        %2 = tix.read %x[%i, %k]
        tix.yield %2
      }
      tix.yield %1
    } else {
      %3 = tix.constant 0.0
      tix.yield %3
    }
    tix.yield %0
  }
  %z = tix.define "z" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%i >= %j + 1) {
      %1 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
        %2 = tix.read %x[%i - 1, %k]
        tix.yield %2
      }
      tix.yield %1
    } else {
      %3 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
        %4 = tix.read %x[%j, %k]
        tix.yield %4
      }
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y, %z
}
// CHECK: @triangle
// CHECK: tix.define "y"
// CHECK-NEXT: tix.if
// CHECK: tix.define "z"
// CHECK-NEXT: tix.if
