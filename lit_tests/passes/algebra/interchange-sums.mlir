// A sum runs last over the index along which what it reads lies side by side.
// RUN: tadc-opt %s -p interchange-sums | filecheck %s

// The columns of a matrix, one after the other, become its rows.
tix.program @columns (%x = "x" : !tix.tensor<[I, J], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%j, %i) in (%j >= 0, J >= %j + 1, %i >= 0, I >= %i + 1) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// Each of two tensors has another index side by side: the order stays.
tix.program @transposed (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%j, %i) in (%j >= 0, N >= %j + 1, %i >= 0, N >= %i + 1) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.read %x[%j, %i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// The bounds of one index depend on the other: the order stays.
tix.program @triangle (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%j, %i) in (%j >= 0, N >= %j + 1, %i >= 0, %j >= %i) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// A window, cut at the ends of a row, leaves the last place to what vectors can be read along.
tix.program @window (%x = "x" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[5], f64>, %z = "z" : !tix.tensor<[M], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%j, %v) in (%j >= 0, M >= %j + 1, %v >= 0, 2*%j + %v >= 2, %v <= 4, N + 1 >= 2*%j + %v) {
      %1 = tix.read %x[2*%j + %v - 2]
      %2 = tix.read %w[%v]
      %3 = tix.read %z[%j]
      %4 = tix.mul %1, %2
      %5 = tix.mul %4, %3
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @columns
// CHECK:         tix.sum (%i, %j) in (%j >= 0, %j + 1 <= J, %i >= 0, %i + 1 <= I) {
// CHECK-NEXT:      tix.read %x[%i, %j]
// CHECK-LABEL: tix.program @transposed
// CHECK:         tix.sum (%j, %i)
// CHECK-LABEL: tix.program @triangle
// CHECK:         tix.sum (%j, %i)
// CHECK-LABEL: tix.program @window
// CHECK:         tix.sum (%v, %j)
