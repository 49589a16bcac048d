// A sum has its windows at the tensor of which other sums have the same.
// RUN: tadc-opt %s -p 'move-windows{sizes="N=128" sizes="M=128"}' | filecheck %s

// Gradients of a filter: with windows of %dy, both hold the sum of %a[%s] * %dy[%i - %s, %j].
tix.program @gradients (%a = "a" : !tix.tensor<[5], f64>, %b = "b" : !tix.tensor<[5], f64>, %dy = "dy" : !tix.tensor<[N, M], f64>, %z = "z" : !tix.tensor<[N + 4, M + 4], f64>) {
  %dx = tix.define "dx" (%i, %j) : !tix.tensor<[N + 4, M + 4], f64> {
    %0 = tix.sum (%s, %t) in (%s >= 0, 4 >= %s, %i >= %s, %s + N >= %i + 1, %t >= 0, 4 >= %t, %j >= %t, %t + M >= %j + 1) {
      %1 = tix.read %a[%s]
      %2 = tix.read %b[%t]
      %3 = tix.read %dy[%i - %s, %j - %t]
      %4 = tix.mul %1, %2
      %5 = tix.mul %4, %3
      tix.yield %5
    }
    tix.yield %0
  }
  %db = tix.define "db" (%t) : !tix.tensor<[5], f64> {
    %0 = tix.sum (%i, %j, %s) in (%i >= 0, N >= %i + 1, %j >= 0, M >= %j + 1, %s >= 0, 4 >= %s) {
      %1 = tix.read %a[%s]
      %2 = tix.read %dy[%i, %j]
      %3 = tix.read %z[%i + %s, %j + %t]
      %4 = tix.mul %1, %2
      %5 = tix.mul %4, %3
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %dx, %db
}

// CHECK-LABEL: tix.program @gradients
// CHECK: tix.read %dy[%i - %s, %j - %t]
// CHECK: %db = tix.define "db" (%t_1) : !tix.tensor<[5], f64> {
// CHECK-NEXT: %6 = tix.sum (%i_1, %s_1, %j_1) in (%i_1 >= 0, %i_1 <= N + 3, %s_1 >= 0, %s_1 + N >= %i_1 + 1, %s_1 <= 4, %i_1 >= %s_1, %j_1 >= 0, %j_1 + 1 <= M) {
// CHECK-NEXT: %7 = tix.read %a[%s_1]
// CHECK-NEXT: %8 = tix.read %dy[%i_1 - %s_1, %j_1]
// CHECK-NEXT: %9 = tix.read %z[%i_1, %j_1 + %t_1]

// No other sum has windows of %dy: they stay.
tix.program @alone (%a = "a" : !tix.tensor<[5], f64>, %dy = "dy" : !tix.tensor<[N, M], f64>, %z = "z" : !tix.tensor<[N + 4, M + 4], f64>) {
  %db = tix.define "db" (%t) : !tix.tensor<[5], f64> {
    %0 = tix.sum (%i, %j, %s) in (%i >= 0, N >= %i + 1, %j >= 0, M >= %j + 1, %s >= 0, 4 >= %s) {
      %1 = tix.read %a[%s]
      %2 = tix.read %dy[%i, %j]
      %3 = tix.read %z[%i + %s, %j + %t]
      %4 = tix.mul %1, %2
      %5 = tix.mul %4, %3
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %db
}

// CHECK-LABEL: tix.program @alone
// CHECK: tix.read %dy[%i, %j]
// CHECK: tix.read %z[%i + %s, %j + %t]
