// A sum over the rounds of a circle becomes a sum for each round.
// RUN: tadc-opt %s -p unroll-rounds | filecheck %s

// The gradient of a window of three on a circle of 99: k is 0, 1 or 2.
tix.program @circle (%w = "w" : !tix.tensor<[3], f64>, %dy = "dy" : !tix.tensor<[99], f64>) {
  %dx = tix.define "dx" (%p) : !tix.tensor<[99], f64> {
    %0 = tix.sum (%k, %u) in (%p + 99 * %k >= 98, %p + 99 * %k <= 198, %u >= 0, %u + 196 >= %p + 99 * %k, %u <= 2, %p + 99 * %k >= %u + 98) {
      %1 = tix.read %dy[%p + 99 * %k - %u - 98]
      %2 = tix.read %w[%u]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %dx
}

// Here k counts elements.
tix.program @stride (%w = "w" : !tix.tensor<[3], f64>, %dy = "dy" : !tix.tensor<[48], f64>) {
  %dx = tix.define "dx" (%p) : !tix.tensor<[99], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 47, %p + 2 * %k <= 98, %p + 2 * %k >= 96) {
      %1 = tix.read %dy[%k]
      %2 = tix.read %w[%p + 2 * %k - 96]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %dx
}

// CHECK-LABEL: tix.program @circle
// CHECK:           tix.sum (%u) in (%u >= 0, %p >= %u + 98) {
// CHECK-NEXT:        tix.read %dy[%p - %u - 98]
// CHECK:           tix.sum ([[U:%.*]]) in ({{.*}}) {
// CHECK-NEXT:        tix.read %dy[%p - [[U]] + 1]
// CHECK:           tix.sum ([[V:%.*]]) in ({{.*}}) {
// CHECK-NEXT:        tix.read %dy[%p - [[V]] + 100]
// CHECK-LABEL: tix.program @stride
// CHECK:           tix.sum (%k) in
// CHECK-NOT:       tix.sum
