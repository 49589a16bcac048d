// A sum runs over indices whose ranges stay and which are read side by side.
// RUN: tadc-opt %s -p shift-sums | filecheck %s

// A short range that moves with the result becomes one that stays: p - 2 i instead of p.
tix.program @window (%dy = "dy" : !tix.tensor<[2 * I + 2], f64>, %w = "w" : !tix.tensor<[4], f64>) {
  %dx = tix.define "dx" (%i) : !tix.tensor<[I], f64> {
    %0 = tix.sum (%p) in (%p >= 2 * %i, 2 * %i + 3 >= %p) {
      %1 = tix.read %dy[%p]
      %2 = tix.read %w[%p - 2 * %i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %dx
}

// Of two ways that are as good otherwise, the one that reads neighbours for neighbouring results.
tix.program @neighbours (%dy = "dy" : !tix.tensor<[D, W], f64>, %f = "f" : !tix.tensor<[W], f64>) {
  %dg = tix.define "dg" (%p) : !tix.tensor<[W + D - 1], f64> {
    %0 = tix.sum (%w) in (%w >= 0, %w + D >= %p + 1, %p >= %w, W >= %w + 1) {
      %1 = tix.read %dy[%p - %w, %w]
      %2 = tix.read %f[%w]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %dg
}

// An index may move with another one of the sum.
tix.program @shear (%x = "x" : !tix.tensor<[N + 4], f64>, %w = "w" : !tix.tensor<[2, 2], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%s, %k) in (%s >= 0, %s <= 1, %k >= %i + 2 * %s, %i + 2 * %s + 1 >= %k) {
      %1 = tix.read %x[%k]
      %2 = tix.read %w[%s, %k - %i - 2 * %s]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// Of indices with other coefficients than 1, multiples leave.
tix.program @multiples (%x = "x" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[5], f64>) {
  %y = tix.define "y" (%q) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%z) in (%z >= 0, 2 * %z >= 2 * %q, 2 * %q + 4 >= 2 * %z, N >= %z + 1) {
      %1 = tix.read %x[%z]
      %2 = tix.read %w[2 * %z - 2 * %q]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// What is best stays: a short window, and a long sum that could only run the other way.
tix.program @best (%dy = "dy" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[3], f64>,
                   %v = "v" : !tix.tensor<[K], f64>) {
  %dx = tix.define "dx" (%p) : !tix.tensor<[N + 2], f64> {
    %0 = tix.sum (%s) in (%s >= 0, %s + N >= %p + 1, %s <= 2, %p >= %s) {
      %1 = tix.read %dy[%p - %s]
      %2 = tix.read %w[%s]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %dd = tix.define "dd" (%p_1) : !tix.tensor<[N + K - 1], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + N >= %p_1 + 1, %p_1 >= %k, K >= %k + 1) {
      %1 = tix.read %dy[%p_1 - %k]
      %2 = tix.read %v[%k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %dx, %dd
}

// Terms that are compared, and those of an extremum, are added in the order of the text.
tix.program @compared (%x = "x" : !tix.tensor<[N + 3], f64>, %y = "y" : !tix.tensor<[N], f64>) {
  %z = tix.define "z" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %y[%i]
    %1 = tix.sum (%k) in (%k >= %i, %i + 3 >= %k) {
      %2 = tix.read %x[%k]
      tix.yield %2
    }
    %3 = tix.where %1 eq %0 {
      %4 = tix.constant 1.0
      tix.yield %4
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    tix.yield %3
  }
  %u = tix.define "u" (%i_1) : !tix.tensor<[N], f64> {
    %0 = tix.max (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %y[%j]
      %2 = tix.sum (%l) in (%l >= %i_1, %i_1 + 3 >= %l) {
        %3 = tix.read %x[%l]
        tix.yield %3
      }
      %4 = tix.add %1, %2
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %z, %u
}

// CHECK-LABEL: tix.program @window
// CHECK:           tix.sum (%p) in (%p >= 0, %p <= 3) {
// CHECK-NEXT:        tix.read %dy[%p + 2 * %i]
// CHECK-NEXT:        tix.read %w[%p]

// CHECK-LABEL: tix.program @neighbours
// CHECK:           tix.sum (%w) in (%w >= 0, %w + W >= %p + 1, %p >= %w, %w + 1 <= D) {
// CHECK-NEXT:        tix.read %dy[%w, -%w + %p]
// CHECK-NEXT:        tix.read %f[-%w + %p]

// CHECK-LABEL: tix.program @shear
// CHECK:           tix.sum (%s, %k) in (%s >= 0, %s <= 1, %k >= 0, %k <= 1) {
// CHECK-NEXT:        tix.read %x[%k + 2 * %s + %i]
// CHECK-NEXT:        tix.read %w[%s, %k]

// CHECK-LABEL: tix.program @multiples
// CHECK:           tix.sum (%z) in (%z >= 0, %z <= 2, %q + %z + 1 <= N) {
// CHECK-NEXT:        tix.read %x[%z + %q]
// CHECK-NEXT:        tix.read %w[2 * %z]

// CHECK-LABEL: tix.program @best
// CHECK:           tix.read %dy[%p - %s]
// CHECK-NEXT:      tix.read %w[%s]
// CHECK:           tix.read %dy[%p_1 - %k]
// CHECK-NEXT:      tix.read %v[%k]

// CHECK-LABEL: tix.program @compared
// CHECK:           tix.sum (%k) in (%k >= %i, %i + 3 >= %k) {
// CHECK:           tix.sum (%l) in (%l >= %i_1, %i_1 + 3 >= %l) {
