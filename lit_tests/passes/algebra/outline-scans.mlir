// Scans get names, and so do their terms, where that lets loops carry totals.
// RUN: tadc-opt %s -p 'outline-scans{sizes="N=500"}' | filecheck %s
// RUN: tadc-opt %s -p 'outline-scans{sizes="N=20"}' | filecheck %s --check-prefix SHORT

// Terms that are sums: each becomes an element of a tensor.
tix.program @terms (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k, %d) in (%k >= 0, %i >= %k, %d >= 0, M >= %d + 1) {
      %1 = tix.read %x[%k, %d]
      tix.yield %1
    }
    %2 = tix.exp %0
    tix.yield %2
  }
  tix.return %y
}

// Areas: sums along j of sums along i.
tix.program @areas (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.sum (%k, %l) in (%k >= 0, %i >= %k, %l >= 0, %j >= %l) {
      %1 = tix.read %x[%k, %l]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// Terms that lie in another order: the scan takes it, and so does what reads the scan.
tix.program @turned (%x = "x" : !tix.tensor<[N, N], f64>) {
  %s = tix.define "s" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %j >= %k) {
      %1 = tix.read %x[%k, %i]
      tix.yield %1
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %s[%j, %i]
    %1 = tix.exp %0
    tix.yield %1
  }
  tix.return %y
}

// Loops carry this total as it stands; windows and terms that depend on the element are no scans.
tix.program @others (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.max (%k) in (%k >= %i, N >= %k + 1) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  %z = tix.define "z" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k, %k + 9 >= %i) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  %w = tix.define "w" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k) {
      %1 = tix.read %x[%i - %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %z, %w
}

// CHECK-LABEL: tix.program @terms
// CHECK-NEXT:    [[T:%.*]] = tix.define "y_sum_term" (%k) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      tix.sum (%d) in (%d >= 0, %d + 1 <= M) {
// CHECK-NEXT:        tix.read %x[%k, %d]
// CHECK:         [[S:%.*]] = tix.define "y_sum" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      tix.sum (%k_1) in (%k_1 >= 0, %i >= %k_1) {
// CHECK-NEXT:        tix.read [[T]][%k_1]
// CHECK:         tix.define "y" (%i_1) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      tix.read [[S]][%i_1]
// CHECK-NEXT:      tix.exp

// CHECK-LABEL: tix.program @areas
// CHECK-NEXT:    [[T:%.*]] = tix.define "y_term" (%i, %l) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:      tix.sum (%k) in (%k >= 0, %i >= %k) {
// CHECK-NEXT:        tix.read %x[%k, %l]
// CHECK:         tix.define "y" (%i_1, %j) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:      tix.sum (%l_1) in (%l_1 >= 0, %j >= %l_1) {
// CHECK-NEXT:        tix.read [[T]][%i_1, %l_1]

// CHECK-LABEL: tix.program @turned
// CHECK-NEXT:    [[S:%.*]] = tix.define "s_turned" (%j, %i) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:      tix.sum (%k) in (%k >= 0, %j >= %k) {
// CHECK-NEXT:        tix.read %x[%k, %i]
// CHECK-NOT:     "s"
// CHECK:         tix.define "y" (%i_1, %j_1) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:      tix.read [[S]][%i_1, %j_1]

// CHECK-LABEL: tix.program @others
// CHECK-NEXT:    tix.define "y"
// CHECK:         tix.define "z"
// CHECK:         tix.define "w"

// SHORT-NOT:   "y_sum"
// SHORT-NOT:   "y_term"
// SHORT-NOT:   "s_turned"
