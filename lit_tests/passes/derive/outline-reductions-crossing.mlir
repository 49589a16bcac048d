// Vectors of one sum run along its terms, those of the other along the elements: one gets a name.
// RUN: tadc-opt %s -p 'outline-reductions{shared=true blocks=true sizes="N=4096"}' | filecheck %s

tix.program @crossing (%w = "w" : !tix.tensor<[N, N], f32>, %x = "x" : !tix.tensor<[N], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %w[%i, %j]
      %2 = tix.read %x[%j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %5 = tix.read %w[%j, %i]
      %6 = tix.read %x[%j]
      %7 = tix.mul %5, %6
      tix.yield %7
    }
    %8 = tix.add %0, %4
    tix.yield %8
  }
  tix.return %y
}
// CHECK:      %y_sum = tix.define "y_sum" (%i) : !tix.tensor<[N], f32> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%j) in (%j >= 0, %j + 1 <= N) {
// CHECK-NEXT:     tix.read %w[%i, %j]
// CHECK:          tix.yield
// CHECK:        tix.yield [[S]]
// CHECK:      %y = tix.define "y" ([[I:%.*]]) : !tix.tensor<[N], f32> {
// CHECK-NEXT:   [[ONE:%.*]] = tix.read %y_sum[[[I]]]
// CHECK-NEXT:   [[OTHER:%.*]] = tix.sum ([[J:%.*]]) in ([[J]] >= 0, [[J]] + 1 <= N) {
// CHECK-NEXT:     tix.read %w[[[J]], [[I]]]
// CHECK:        }
// CHECK-NEXT:   [[Y:%.*]] = tix.add [[ONE]], [[OTHER]]
// CHECK-NEXT:   tix.yield [[Y]]
