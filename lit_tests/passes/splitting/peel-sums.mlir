// A long sum has the same bounds for all elements; what these leave is apart.
// RUN: tadc-opt %s -p 'peel-sums{sizes="N=2048"}' | filecheck %s

// The bounds of i move by up to two with u: a box, and few terms at both ends.
tix.program @weights (%y = "y" : !tix.tensor<[N], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %w = tix.define "w" (%u) : !tix.tensor<[3], f64> {
    %0 = tix.sum (%i) in (%i >= 0, %i + %u >= 1, N >= %i + 1, N >= %i + %u) {
      %1 = tix.read %y[%i]
      %2 = tix.read %x[%i + %u - 1]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %w
}

// A short sum stays.
tix.program @short (%x = "x" : !tix.tensor<[9], f64>) {
  %w = tix.define "w" (%u) : !tix.tensor<[3], f64> {
    %0 = tix.sum (%i) in (%i + %u >= 2, %i + %u <= 9) {
      %1 = tix.read %x[%i + %u - 1]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %w
}

// CHECK-LABEL: tix.program @weights
// CHECK:           [[BOX:%.*]] = tix.sum (%i) in (%i >= 1, %i + 2 <= N) {
// CHECK:           tix.if (%u >= 1, %u <= N) {
// CHECK-NEXT:        tix.read %y[0]
// CHECK-NEXT:        tix.read %x[%u - 1]
// CHECK:           tix.if (N >= 2, %u <= 1) {
// CHECK-NEXT:        tix.read %y[N - 1]
// CHECK-NEXT:        tix.read %x[%u + N - 2]
// CHECK-LABEL: tix.program @short
// CHECK:           tix.sum (%i) in (%u + %i >= 2, %u + %i <= 9) {
// CHECK-NOT:       tix.add
