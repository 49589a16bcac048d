// A result that is another sum in another range of an index is computed by ranges.
// RUN: tadc-opt %s -p split-ranges | filecheck %s

// Two sums, each in the tensor of its range: of 64 elements, and of what is left.
tix.program @halves (%x = "x" : !tix.tensor<[I, O], f64>, %w = "w" : !tix.tensor<[O, 64], f64>,
                     %v = "v" : !tix.tensor<[O, K], f64>) {
  %y = tix.define "y" (%i, %k) : !tix.tensor<[I, K], f64> {
    %0 = tix.if (63 >= %k) {
      %1 = tix.sum (%o) in (%o >= 0, O >= %o + 1) {
        %2 = tix.read %x[%i, %o]
        %3 = tix.read %w[%o, %k]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      tix.yield %1
    } else {
      %5 = tix.sum (%o) in (%o >= 0, O >= %o + 1) {
        %6 = tix.read %v[%o, %k - 64]
        tix.yield %6
      }
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: @halves sizes (#tix.size<[[FIRST:K_[0-9]+]] = min((64) floordiv 1, (K) floordiv 1)>, #tix.size<[[REST:K_[0-9]+]] = min((K - 64) floordiv 1)>)
// CHECK: tix.define "y_0" (%i, %k) : !tix.tensor<[I, [[FIRST]]], f64> {
// CHECK-NEXT: tix.sum
// CHECK: tix.read %w[%o, %k]
// CHECK: tix.define "y_1" {{.*}} : !tix.tensor<[I, [[REST]]], f64> {
// CHECK-NEXT: tix.sum
// CHECK-NEXT: tix.read %v[%{{.*}}, %k_1]
// CHECK: tix.define "y"
// CHECK: tix.if (%k_2 <= 63) {
// CHECK-NEXT: tix.read %y[%i_2, %k_2]
// CHECK: tix.read %y_1[%i_2, %k_2 - 64]

// What has no sum has no part.
tix.program @beside (%x = "x" : !tix.tensor<[N, 9], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.if (%i == 5) {
      %1 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
        %2 = tix.read %x[%i, %k]
        tix.yield %2
      }
      tix.yield %1
    } else {
      %3 = tix.read %x[%i, 0]
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK: @beside
// CHECK-NOT: "y_0"
// CHECK: tix.define "y_1"
// CHECK-NEXT: tix.sum
// CHECK-NEXT: tix.read %x[%i + 5, %k]
// CHECK: tix.define "y"
// CHECK: tix.if (%i_1 <= 4) {
// CHECK-NEXT: tix.read %x[%i_1, 0]
// CHECK: tix.if (%i_1 <= 5) {
// CHECK-NEXT: tix.read %y[%i_1 - 5]
