// What several elements share, and is no sum, gets a name.
// RUN: tadc-opt %s -p 'outline-reductions{shared=true}' | filecheck %s

// The maximum of a row is one for all columns.
tix.program @rows (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.max (%k) in (%k >= 0, M >= %k + 1) {
      %1 = tix.read %x[%i, %k]
      tix.yield %1
    }
    %2 = tix.read %x[%i, %j]
    %3 = tix.sub %2, %0
    tix.yield %3
  }
  tix.return %y
}

// Each element has its own.
tix.program @own (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.max (%k) in (%k >= 0, M >= %k + 1) {
      %1 = tix.read %x[%i, %k]
      tix.yield %1
    }
    %2 = tix.neg %0
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @rows
// CHECK-NEXT:    %y_max = tix.define "y_max" (%i) : !tix.tensor<[N], f64> {
// CHECK:           tix.max (%k)
// CHECK:         tix.define "y" (%i_1, %j)
// CHECK-NOT:       tix.max
// CHECK:           tix.sub

// CHECK-LABEL: tix.program @own
// CHECK-NOT:     y_
// CHECK:         tix.define "y" (%i)
