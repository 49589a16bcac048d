// A tensor that is only copied is written where the copy would be.
// RUN: tadc-opt %s -p elide-copies | filecheck %s

tix.program @split (%x = "x" : !tix.tensor<[N, M], f64>) {
  %s = tix.define "s" (%i, %r, %j) : !tix.tensor<[N, 2, M], f64> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.index_to_real (%r)
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %y = tix.define "y" (%p, %j) : !tix.tensor<[2 * N, M], f64> {
    %0 = tix.read %s[%p, %j] as [2 * N, M]
    tix.yield %0
  }
  %z = tix.define "z" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %s[%i, 1, 0]
    tix.yield %0
  }
  tix.return %y, %z
}

// A result stays; and a copy of a part, or in another order.
tix.program @others (%x = "x" : !tix.tensor<[N, N], f64>) {
  %s = tix.define "s" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %x[%j, %i]
    tix.yield %0
  }
  %t = tix.define "t" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %s[%i, %j]
    tix.yield %0
  }
  %u = tix.define "u" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %t[%j, %i]
    tix.yield %0
  }
  tix.return %s, %u
}

// CHECK-LABEL: tix.program @split
// CHECK-NEXT:    %y = tix.define "y" (%i, %r, %j) : !tix.tensor<[2 * N, M], f64> as [N, 2, M] {
// CHECK-NEXT:      tix.read %x[%i, %j]
// CHECK:         %z = tix.define "z" (%i_1) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      tix.read %y[%i_1, 1, 0] as [N, 2, M]
// CHECK:         tix.return %y, %z

// CHECK-LABEL: tix.program @others
// CHECK-NEXT:    tix.define "s"
// CHECK:         tix.define "t"
// CHECK:         tix.define "u"
