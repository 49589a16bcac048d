// Sums of terms that depend on different indices of the result become several sums.
// RUN: tadc-opt %s -p split-sums | filecheck %s

// Terms that depend on different indices around the sum get sums of their own.
tix.program @apart (%x = "x" : !tix.tensor<[N, K], f64>, %w = "w" : !tix.tensor<[K, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, K >= %k + 1) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[%k, %j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %1
      %5 = tix.sub %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}

// Terms that depend on the same indices stay together.
tix.program @together (%x = "x" : !tix.tensor<[N, K], f64>, %w = "w" : !tix.tensor<[N, K], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, K >= %k + 1) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[%i, %k]
      %3 = tix.add %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// A short sum is unrolled: it stays.
tix.program @short (%x = "x" : !tix.tensor<[N, 3], f64>, %w = "w" : !tix.tensor<[3, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[%k, %j]
      %3 = tix.add %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @apart
// CHECK:           [[U:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:        [[X:%.*]] = tix.read %x[%i, %k]
// CHECK-NEXT:        [[W:%.*]] = tix.read %w[%k, %j]
// CHECK-NEXT:        [[P:%.*]] = tix.mul [[X]], [[W]]
// CHECK-NEXT:        tix.yield [[P]]
// CHECK-NEXT:      }
// CHECK-NEXT:      [[V:%.*]] = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= K) {
// CHECK-NEXT:        [[X1:%.*]] = tix.read %x[%i, %k_1]
// CHECK-NEXT:        [[E:%.*]] = tix.exp [[X1]]
// CHECK-NEXT:        tix.yield [[E]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tix.sub [[U]], [[V]]

// CHECK-LABEL: tix.program @together
// CHECK-COUNT-1:   tix.sum
// CHECK-NOT:       tix.sum

// CHECK-LABEL: tix.program @short
// CHECK-COUNT-1:   tix.sum
// CHECK-NOT:       tix.sum
