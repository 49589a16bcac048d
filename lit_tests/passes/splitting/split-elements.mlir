// Elements along a short index that share dear terms become definitions.
// RUN: tadc-opt %s -p split-elements | filecheck %s

// The other factors of three, from the ends that all of them share.
tix.program @others (%x = "x" : !tix.tensor<[N, 3], f64>, %z = "z" : !tix.tensor<[M, 3], f64>) {
  %y = tix.define "y" (%i, %d) : !tix.tensor<[N, 3], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= M) {
      %1 = tix.prod (%e) in (%e >= 0, %d >= %e + 1) {
        %2 = tix.read %z[%j, %e]
        %3 = tix.exp %2
        tix.yield %3
      }
      %4 = tix.prod (%e) in (%e >= %d + 1, %e <= 2) {
        %5 = tix.read %z[%j, %e]
        %6 = tix.exp %5
        tix.yield %6
      }
      %7 = tix.mul %1, %4
      %8 = tix.read %x[%i, %d]
      %9 = tix.mul %7, %8
      tix.yield %9
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: tix.program @others
// CHECK: tix.define "y_0" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT: tix.sum (%j)
// CHECK-NEXT: [[Z2:%[0-9]+]] = tix.read %z[%j, 2]
// CHECK-NEXT: [[E2:%[0-9]+]] = tix.exp [[Z2]]
// CHECK-NEXT: [[Z1:%[0-9]+]] = tix.read %z[%j, 1]
// CHECK-NEXT: [[E1:%[0-9]+]] = tix.exp [[Z1]]
// CHECK-NEXT: tix.mul [[E2]], [[E1]]
// CHECK: tix.define "y_1"
// CHECK: tix.define "y_2"
// CHECK: tix.define "y" (
// CHECK-NEXT: tix.if

// What costs little is computed for each, and so is what differs.
tix.program @cheap (%x = "x" : !tix.tensor<[N, 3], f64>, %z = "z" : !tix.tensor<[M, 3], f64>) {
  %y = tix.define "y" (%i, %d) : !tix.tensor<[N, 3], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= M) {
      %1 = tix.prod (%e) in (%e >= 0, %d >= %e + 1) {
        %2 = tix.read %z[%j, %e]
        tix.yield %2
      }
      tix.yield %1
    }
    tix.yield %0
  }
  %w = tix.define "w" (%i, %d) : !tix.tensor<[N, 3], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= M) {
      %1 = tix.prod (%e) in (%e >= 0, %d >= %e + 1) {
        %2 = tix.read %x[%i, %d]
        %3 = tix.exp %2
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %w
}
// CHECK: tix.program @cheap
// CHECK: tix.define "y"
// CHECK: tix.define "w"
// CHECK-NOT: tix.define
