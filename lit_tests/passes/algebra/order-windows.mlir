// Of two windows, one after the other, that along the columns comes last.
// RUN: tadc-opt %s -p order-windows | filecheck %s

// The gradient of a filter of rows and columns: windows of columns are tested, and divided.
tix.program @gradient (%w = "w" : !tix.tensor<[3], f64>, %dy = "dy" : !tix.tensor<[N, M], f64>) {
  %z = tix.define "z" (%i, %q) : !tix.tensor<[N, M + 4], f64> {
    %0 = tix.sum (%t) in (%t >= 0, 4 >= %t, %q >= %t, %t + M >= %q + 1) {
      %1 = tix.read %dy[%i, %q - %t]
      tix.yield %1
    }
    %2 = tix.constant 5.0
    %3 = tix.div %0, %2
    tix.yield %3
  }
  %y = tix.define "y" (%p, %q) : !tix.tensor<[N + 2, M + 4], f64> {
    %0 = tix.sum (%s) in (%s >= 0, 2 >= %s, %p >= %s, %s + N >= %p + 1) {
      %1 = tix.read %w[%s]
      %2 = tix.read %z[%p - %s, %q]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @gradient
// CHECK: %z = tix.define "z" (%p, %q) : !tix.tensor<[N + 2, M], f64> {
// CHECK-NEXT: %0 = tix.sum (%s) in (%s >= 0, %s <= 2, %p >= %s, %s + N >= %p + 1) {
// CHECK-NEXT: %1 = tix.read %dy[%p - %s, %q]
// CHECK-NEXT: %2 = tix.read %w[%s]
// CHECK-NEXT: %3 = tix.mul %2, %1
// CHECK: %y = tix.define "y" (%p_1, %q_1) : !tix.tensor<[N + 2, M + 4], f64> {
// CHECK-NEXT: %4 = tix.sum (%t) in (%t >= 0, %t <= 4, %q_1 >= %t, %t + M >= %q_1 + 1) {
// CHECK-NEXT: %5 = tix.read %z[%p_1, %q_1 - %t]
// CHECK: %6 = tix.constant 5.0
// CHECK-NEXT: %7 = tix.div %4, %6

// The other order already: it stays.
tix.program @rows_first (%x = "x" : !tix.tensor<[N + 2, M + 2], f64>) {
  %z = tix.define "z" (%i, %j) : !tix.tensor<[N, M + 2], f64> {
    %0 = tix.sum (%s) in (%s >= 0, 2 >= %s) {
      %1 = tix.read %x[%i + %s, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%t) in (%t >= 0, 2 >= %t) {
      %1 = tix.read %z[%i, %j + %t]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @rows_first
// CHECK: %1 = tix.read %x[%i + %s, %j]
// CHECK: %3 = tix.read %z[%i_1, %j_1 + %t]
