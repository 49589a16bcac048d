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

// CHECK-LABEL: tix.program @columns
// CHECK:         tix.sum (%i, %j) in (%j >= 0, %j + 1 <= J, %i >= 0, %i + 1 <= I) {
// CHECK-NEXT:      tix.read %x[%i, %j]
// CHECK-LABEL: tix.program @transposed
// CHECK:         tix.sum (%j, %i)
// CHECK-LABEL: tix.program @triangle
// CHECK:         tix.sum (%j, %i)
