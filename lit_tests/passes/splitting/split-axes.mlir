// An index that counts by its quotient and its remainder becomes two.
// RUN: tadc-opt %s -p split-axes | filecheck %s

// Sixteen elements in a row take the same dy, and every sixteenth the same w. A condition tells how
// many rows of them there are.
tix.program @patches sizes (#tix.size<I = min((P) floordiv 16)>)
    (%dy = "dy" : !tix.tensor<[I, O], f64>, %w = "w" : !tix.tensor<[O, 16], f64>, %x = "x" : !tix.tensor<[P], f64>) {
  %dx = tix.define "dx" (%p) : !tix.tensor<[P], f64> {
    %0 = tix.floordiv (%p) by 16
    %1 = tix.if (%0 + 1 <= I) {
      %2 = tix.sum (%o) in (%o >= 0, O >= %o + 1) {
        %3 = tix.read %dy[%0, %o]
        %4 = tix.read %w[%o, %p - 16 * %0]
        %5 = tix.mul %3, %4
        tix.yield %5
      }
      tix.yield %2
    } else {
      %6 = tix.constant 0.0
      tix.yield %6
    }
    tix.yield %1
  }
  tix.return %dx
}

// An index of a sum: every term is there once, in the same order.
tix.program @terms (%x = "x" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[2], f64>, %y = "y" : !tix.tensor<[2 * N], f64>) {
  %s = tix.define "s" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%j) in (%j >= 0, 2 * N >= %j + 1) {
      %1 = tix.floordiv (%j) by 2
      %2 = tix.read %x[%1]
      %3 = tix.read %w[%j - 2 * %1]
      %4 = tix.read %y[%j]
      %5 = tix.mul %2, %3
      %6 = tix.mul %5, %4
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %s
}

// Two phases of a window: they decide which weights are read, and nothing else.
tix.program @phases (%w = "w" : !tix.tensor<[2, 8], f64>, %x = "x" : !tix.tensor<[N + 7], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[2 * N], f64> {
    %0 = tix.floordiv (%i) by 2
    %1 = tix.sum (%s) in (%s >= 0, %s <= 7) {
      %2 = tix.read %w[%i - 2 * %0, %s]
      %3 = tix.read %x[%0 + %s]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %1
  }
  tix.return %y
}

// No sum, but neighbours of the same quotient fill vectors; those of 8 do not.
tix.program @heads (%x = "x" : !tix.tensor<[8, T, 64], f64>) {
  %y = tix.define "y" (%t, %k) : !tix.tensor<[T, 512], f64> {
    %0 = tix.floordiv (%k) by 64
    %1 = tix.read %x[%0, %t, %k - 64 * %0]
    tix.yield %1
  }
  tix.return %y
}
tix.program @few (%x = "x" : !tix.tensor<[8, T, 8], f64>) {
  %y = tix.define "y" (%t, %k) : !tix.tensor<[T, 64], f64> {
    %0 = tix.floordiv (%k) by 8
    %1 = tix.read %x[%0, %t, %k - 8 * %0]
    tix.yield %1
  }
  tix.return %y
}

// Windows of 20 elements that begin 10 apart: at p = 10 q + r, a convolution for each r.
tix.program @windows (%x = "x" : !tix.tensor<[30, 8], f64>, %w = "w" : !tix.tensor<[20, 8], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[310], f64> {
    %0 = tix.sum (%f, %i) in (%f >= 0, %f <= 7, %i >= 0, %i <= 29, %p >= 10 * %i, 10 * %i + 19 >= %p) {
      %1 = tix.read %x[%i, %f]
      %2 = tix.read %w[%p - 10 * %i, %f]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @patches
// CHECK:         [[S:%.*]] = tix.define "dx_split" (%p, %p_1) : !tix.tensor<[I, 16], f64> {
// CHECK-NEXT:      tix.sum (%o)
// CHECK-NEXT:        tix.read %dy[%p, %o]
// CHECK-NEXT:        tix.read %w[%o, %p_1]
// CHECK:         tix.define "dx" (%p_2) : !tix.tensor<[P], f64> {
// CHECK-NEXT:      [[Q:%.*]] = tix.floordiv (%p_2) by 16
// CHECK-NEXT:      tix.if ([[Q]] + 1 <= I) {
// CHECK-NEXT:        tix.read [[S]][[[Q]], -16 * [[Q]] + %p_2]

// CHECK-LABEL: tix.program @terms
// CHECK:         tix.sum (%j, %j_1) in (%j >= 0, %j + 1 <= N, %j_1 >= 0, %j_1 <= 1) {
// CHECK-NEXT:      tix.read %x[%j]
// CHECK-NEXT:      tix.read %w[%j_1]
// CHECK-NEXT:      tix.read %y[2 * %j + %j_1]

// CHECK-LABEL: tix.program @phases
// CHECK:         tix.define "y_split" (%i, %i_1) : !tix.tensor<[N, 2], f64> {
// CHECK:             tix.read %w[%i_1, %s]
// CHECK-NEXT:        tix.read %x[%i + %s]
// CHECK:         tix.define "y" (%i_2) : !tix.tensor<[2 * N], f64> {

// CHECK-LABEL: tix.program @heads
// CHECK:         tix.define "y_split" (%t, %k, %k_1) : !tix.tensor<[T, 8, 64], f64> {
// CHECK-NEXT:      tix.read %x[%k, %t, %k_1]

// CHECK-LABEL: tix.program @few
// CHECK-NOT:     y_split

// CHECK-LABEL: tix.program @windows
// CHECK:         tix.define "y_split" (%p, %p_1) : !tix.tensor<[31, 10], f64> {
// CHECK-NEXT:      tix.sum (%i, %f) in (%i >= 0, %i + 1 >= %p, %i <= 29, %p >= %i, %f >= 0, %f <= 7) {
// CHECK:             tix.read %w[10 * %p + %p_1 - 10 * %i, %f]
