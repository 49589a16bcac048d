// A result whose elements differ by their residue is computed residue by residue.
// RUN: tadc-opt %s -p split-residues | filecheck %s
// RUN: tadc-opt %s -p split-residues,shift-sums | filecheck %s --check-prefix SHIFTED

// Every second element takes the same weights: two parts, of a derived size each.
tix.program @transposed (%x = "x" : !tix.tensor<[C, N], f64>, %w = "w" : !tix.tensor<[C, 4], f64>,
                         %z = "z" : !tix.tensor<[P], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[P], f64> {
    %0 = tix.sum (%c, %k) in (%c >= 0, C >= %c + 1, %k >= 0, N >= %k + 1, %p >= 2 * %k, 2 * %k + 3 >= %p) {
      %1 = tix.read %x[%c, %k]
      %2 = tix.read %w[%c, %p - 2 * %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// Quotients and remainders are indices and numbers in parts; half of an even size is no new one.
tix.program @quotient (%x = "x" : !tix.tensor<[M + 8], f64>, %w = "w" : !tix.tensor<[2, 9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[2 * M], f64> {
    %0 = tix.floordiv (%p) by 2
    %1 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
      %2 = tix.read %x[%0 + %k]
      %3 = tix.read %w[%p - 2 * %0, %k]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %1
  }
  tix.return %y
}

// Bounds alone tell residues apart; what is compared for equality may be read in any part.
tix.program @pooled (%x = "x" : !tix.tensor<[P], f64>, %m = "m" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[P], f64> {
    %0 = tix.sum (%k) in (%k >= 0, N >= %k + 1, %p >= 2 * %k, 2 * %k + 2 >= %p) {
      %1 = tix.read %x[%p]
      %2 = tix.read %m[%k]
      %3 = tix.where %1 eq %2 {
        %4 = tix.constant 1.0
        tix.yield %4
      } else {
        %5 = tix.constant 0.0
        tix.yield %5
      }
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// A stride along a sum alone, and a sum of few terms: nothing is split.
tix.program @whole (%x = "x" : !tix.tensor<[2 * N + 8], f64>, %w = "w" : !tix.tensor<[9], f64>,
                    %v = "v" : !tix.tensor<[2, 3], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, 8 >= %k) {
      %1 = tix.read %x[2 * %i + %k]
      %2 = tix.read %w[%k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %u = tix.define "u" (%p) : !tix.tensor<[N], f64> {
    %0 = tix.floordiv (%p) by 2
    %1 = tix.sum (%l) in (%l >= 0, 2 >= %l) {
      %2 = tix.read %x[%0 + %l]
      %3 = tix.read %v[%p - 2 * %0, %l]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %1
  }
  tix.return %y, %u
}

// CHECK-LABEL: tix.program @transposed sizes
// CHECK-SAME:      (#tix.size<P_1 = min((P + 1) floordiv 2)>, #tix.size<P_2 = min((P) floordiv 2)>)
// CHECK:         [[Y0:%.*]] = tix.define "y_0" (%p) : !tix.tensor<[P_1], f64> {
// CHECK:           tix.read %w[%c, 2 * %p - 2 * %k]
// CHECK:         [[Y1:%.*]] = tix.define "y_1" (%p_1) : !tix.tensor<[P_2], f64> {
// CHECK:           tix.read %w[%c_1, 2 * %p_1 - 2 * %k_1 + 1]
// CHECK:         tix.define "y" (%p_2) : !tix.tensor<[P], f64> {
// CHECK-NEXT:      [[Q:%.*]] = tix.floordiv (%p_2) by 2
// CHECK-NEXT:      [[V:%.*]] = tix.if (%p_2 == 2 * [[Q]]) {
// CHECK-NEXT:        [[A:%.*]] = tix.read [[Y0]][[[Q]]]
// CHECK-NEXT:        tix.yield [[A]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        [[B:%.*]] = tix.read [[Y1]][[[Q]]]
// CHECK-NEXT:        tix.yield [[B]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tix.yield [[V]]

// CHECK-LABEL: tix.program @quotient (
// CHECK:         tix.define "y_0" (%p) : !tix.tensor<[M], f64> {
// CHECK:           tix.read %x[%p + %k]
// CHECK-NEXT:      tix.read %w[0, %k]
// CHECK:         tix.define "y_1" (%p_1) : !tix.tensor<[M], f64> {
// CHECK:           tix.read %x[%p_1 + %k_1]
// CHECK-NEXT:      tix.read %w[1, %k_1]

// CHECK-LABEL: tix.program @pooled sizes
// CHECK:         tix.define "y_0"
// CHECK:           tix.read %x[2 * %p]
// CHECK:         tix.define "y_1"
// CHECK:           tix.read %x[2 * %p_1 + 1]

// CHECK-LABEL: tix.program @whole (
// CHECK-COUNT-2:   tix.define
// CHECK-NOT:       tix.define

// SHIFTED-LABEL: tix.program @transposed
// SHIFTED:         tix.sum (%c, %k) in (%c >= 0, %c + 1 <= C, %k >= 0, %k + N >= %p + 1, %k <= 1, %p >= %k) {
// SHIFTED-NEXT:      tix.read %x[%c, -%k + %p]
// SHIFTED-NEXT:      tix.read %w[%c, 2 * %k]
// SHIFTED:         tix.sum (%c_1, %k_1) in (%c_1 >= 0, %c_1 + 1 <= C, %k_1 >= 0, %k_1 + N >= %p_1 + 1, %k_1 <= 1, %p_1 >= %k_1) {
// SHIFTED-NEXT:      tix.read %x[%c_1, -%k_1 + %p_1]
// SHIFTED-NEXT:      tix.read %w[%c_1, 2 * %k_1 + 1]
