// Large tensors that are made of few numbers are computed where they are read.
// RUN: tadc-opt %s -p recompute-elements | filecheck %s

// All pairs of points: the distance is computed for each term.
tix.program @kernel (%x = "x" : !tix.tensor<[N, 3], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  %r = tix.define "r" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.sum (%d) in (%d >= 0, 2 >= %d) {
      %1 = tix.read %x[%i, %d]
      %2 = tix.read %x[%j, %d]
      %3 = tix.sub %1, %2
      %4 = tix.mul %3, %3
      tix.yield %4
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %r[%i, %j]
      %2 = tix.exp %1
      %3 = tix.read %b[%j]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}

// As many numbers as elements: they are stored.
tix.program @matrix (%x = "x" : !tix.tensor<[N, N], f64>) {
  %e = tix.define "e" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.exp %0
    tix.yield %1
  }
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %e[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// Windows of three pairs read each pair three times: they are stored.
tix.program @windows (%x = "x" : !tix.tensor<[N], f64>) {
  %r = tix.define "r" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %x[%j]
    %2 = tix.mul %0, %1
    %3 = tix.exp %2
    tix.yield %3
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N - 2, N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, 2 >= %k) {
      %1 = tix.read %r[%i + %k, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @kernel
// CHECK-NOT:     tix.define "r"
// CHECK:         tix.define "y" (%i)
// CHECK-NEXT:      tix.sum (%j) in (%j >= 0, %j + 1 <= N) {
// CHECK-NEXT:        tix.sum (%d) in (%d >= 0, %d <= 2) {
// CHECK-NEXT:          tix.read %x[%i, %d]
// CHECK-NEXT:          tix.read %x[%j, %d]
// CHECK-LABEL: tix.program @matrix
// CHECK:         tix.define "e"
// CHECK:         tix.define "y"
// CHECK-LABEL: tix.program @windows
// CHECK:         tix.define "r"
// CHECK:         tix.define "y"
