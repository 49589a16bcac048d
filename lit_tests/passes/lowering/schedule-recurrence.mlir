// Elements that are made from the one before: a loop carries the total, which it weighs.
// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

tix.program @average (%t = "t" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%k) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %k >= %j) {
      %1 = tix.read %t[%j]
      %2 = tix.prod (%l) in (%l >= %j + 1, %k >= %l) {
        %3 = tix.read %w[%l]
        tix.yield %3
      }
      %4 = tix.mul %1, %2
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: func.func @y
// CHECK:         loops.parallel () to () {
// CHECK:           scf.for %k = %c0 to %N step %c1 iter_args([[BEFORE:%.*]] = {{.*}}) -> (f64) {
// CHECK:             [[W:%.*]] = scf.if {{.*}} -> (f64) {
// CHECK-NEXT:          memref.load %w[%k]
// CHECK:             [[T:%.*]] = memref.load %t[%k]
// CHECK-NEXT:        [[TERM:%.*]] = arith.mulf [[T]],
// CHECK-NEXT:        [[WEIGHED:%.*]] = arith.mulf [[W]], [[BEFORE]]
// CHECK-NEXT:        [[Y:%.*]] = arith.addf [[TERM]], [[WEIGHED]]
// CHECK-NEXT:        memref.store [[Y]], %y[%k]
// CHECK-NEXT:        scf.yield [[Y]]
