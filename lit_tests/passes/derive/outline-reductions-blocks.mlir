// A sum inside a reduction gets a name where blocks of its elements share what they read.
// RUN: tadc-opt %s -p 'outline-reductions{shared=true blocks=true sizes="N=4096","M=256","K=64"}' | filecheck %s

tix.program @scores (%w = "w" : !tix.tensor<[M, K], f32>, %x = "x" : !tix.tensor<[N, K], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.max (%l) in (%l >= 0, M >= %l + 1) {
      %1 = tix.sum (%k) in (%k >= 0, K >= %k + 1) {
        %2 = tix.read %w[%l, %k]
        %3 = tix.read %x[%i, %k]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y_sum = tix.define "y_sum" (%i, %l) : !tix.tensor<[N, M], f32> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:     [[W:%.*]] = tix.read %w[%l, %k]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i, %k]
// CHECK-NEXT:     [[P:%.*]] = tix.mul [[W]], [[X]]
// CHECK-NEXT:     tix.yield [[P]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %y = tix.define "y" ([[I:%.*]]) : !tix.tensor<[N], f32> {
// CHECK-NEXT:   [[MAX:%.*]] = tix.max ([[L:%.*]]) in ([[L]] >= 0, [[L]] + 1 <= M) {
// CHECK-NEXT:     [[Y:%.*]] = tix.read %y_sum[[[I]], [[L]]]
// CHECK-NEXT:     tix.yield [[Y]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[MAX]]
// CHECK-NEXT: }
