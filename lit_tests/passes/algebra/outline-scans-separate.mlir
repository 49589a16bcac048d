// A sum over two indices is a product of two sums, where its factors and bounds part these.
// RUN: tadc-opt %s -p 'outline-scans{sizes="T=500"}' | filecheck %s

tix.program @separate (%a = "a" : !tix.tensor<[T], f64>, %b = "b" : !tix.tensor<[T], f64>, %w = "w" : !tix.tensor<[T], f64>) {
  %y = tix.define "y" (%r) : !tix.tensor<[T], f64> {
    %0 = tix.sum (%t, %s) in (%t >= %r, T >= %t + 1, %s >= 0, %r >= %s + 1) {
      %1 = tix.read %a[%t]
      %2 = tix.prod (%k) in (%k >= %r + 1, %t >= %k) {
        %3 = tix.read %w[%k]
        tix.yield %3
      }
      %4 = tix.read %b[%s]
      %5 = tix.prod (%k) in (%k >= %s + 1, %r >= %k + 1) {
        %6 = tix.read %w[%k]
        tix.yield %6
      }
      %7 = tix.mul %1, %2
      %8 = tix.mul %4, %5
      %9 = tix.mul %7, %8
      tix.yield %9
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y_sum = tix.define "y_sum" (%r)
// CHECK-NEXT:   tix.sum (%t) in (%t >= %r, %t + 1 <= T) {
// CHECK-NEXT:     tix.read %a[%t]
// CHECK-NEXT:     tix.prod ([[K:%.*]]) in ([[K]] >= %r + 1, %t >= [[K]]) {
// CHECK:      %y_sum_1 = tix.define "y_sum_1" ([[R:%.*]])
// CHECK-NEXT:   tix.sum (%s) in (%s >= 0, [[R]] >= %s + 1) {
// CHECK-NEXT:     tix.read %b[%s]
// CHECK-NEXT:     tix.prod ([[K:%.*]]) in ([[K]] >= %s + 1, [[R]] >= [[K]] + 1) {
// CHECK:      %y = tix.define "y" ([[R:%.*]])
// CHECK-NEXT:   [[AFTER:%.*]] = tix.read %y_sum[[[R]]]
// CHECK-NEXT:   [[BEFORE:%.*]] = tix.read %y_sum_1[[[R]]]
// CHECK-NEXT:   [[Y:%.*]] = tix.mul [[AFTER]], [[BEFORE]]
// CHECK-NEXT:   tix.yield [[Y]]
