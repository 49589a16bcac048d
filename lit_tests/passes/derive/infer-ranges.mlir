// Sums become bounded: index after index lies between affine bounds (paper, eq. 45).
// RUN: tadc-opt %s --split-input-file -p infer-ranges | filecheck %s

// A window at both borders: k runs from max(0, p - N + 1) to min(4, p).
tix.program @window (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N + 4], f64> {
    %0 = tix.sum (%k) in (%p >= %k, %p + 1 <= N + %k, %k >= 0, %k <= 4) {
      %1 = tix.read %x[%p - %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[N + 4], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + N >= %p + 1, %k <= 4, %p >= %k) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p - %k]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Inner bounds hold indices before them; what follows from an inner bound bounds the outer index.
tix.program @triangle (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%i, %j) in (%i + 2 * %j >= 5, %j <= %i, 3 * %i + %j <= N) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%i, %j) in (%i >= 2, 5 * %i + 5 <= 2 * N, %i + 2 * %j >= 5, %i >= %j, 3 * %i + %j <= N) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i, %j]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Coefficients above 1 stay, divided by what they share; their constants are rounded inwards.
tix.program @coefficients (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[40], f64> {
    %0 = tix.sum (%k) in (4 * %k + 6 >= 2 * %p + 1, 3 * %k <= 20, 2 * %k >= 3) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[40], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 2, 2 * %k + 2 >= %p, %k <= 6) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// The index along which elements lie side by side runs innermost.
tix.program @order (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i <= 8, %j >= 0, %j <= 8) {
      %1 = tix.read %x[%j, %i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%j, %i) in (%j >= 0, %j <= 8, %i >= 0, %i <= 8) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%j, %i]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Constraints without own indices move to a condition. That q <= 8 holds somewhere in the sum is no
// condition: without it there is no k.
tix.program @guards (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p, %q) : !tix.tensor<[20, 20], f64> {
    %0 = tix.sum (%k) in (%p == 2 * %q, %p >= 3, %k >= %q, %k <= 8) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p, %q) : !tix.tensor<[20, 20], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p == 2 * %q, %p >= 3) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum (%k) in (%k >= %q, %k <= 8) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// What the ranges, a condition or a quotient around imply is left out; p <= 5 holds in the else body.
tix.program @known (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N], f64> {
    %q = tix.floordiv (%p) by 3
    %0 = tix.if (%p >= 6) {
      %1 = tix.sum (%k) in (%p + 1 <= N, N >= 0, %q >= 2, 3 * %q <= %p, %k >= 0, %k >= 5 - %p, %k <= %p, %k <= N) {
        %2 = tix.read %x[%k]
        tix.yield %2
      }
      tix.yield %1
    } else {
      %1 = tix.sum (%k) in (%q <= 1, %k >= 0, %k <= 4) {
        %2 = tix.read %x[%k]
        tix.yield %2
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 6) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum (%k) in (%k >= 0, %p >= %k) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[S2:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] <= 4) {
// CHECK-NEXT:       [[X2:%.*]] = tix.read %x[[[K]]]
// CHECK-NEXT:       tix.yield [[X2]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// The set of the sum outside is known inside, also to the bounds.
tix.program @nested (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%i) in (%i >= 2, %i <= 8) {
      %1 = tix.sum (%j) in (%i >= 1, %i >= 3, %j >= 0, %j <= %i, %j <= 8) {
        %2 = tix.read %x[%j]
        tix.yield %2
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%i) in (%i >= 2, %i <= 8) {
// CHECK-NEXT:     [[B:%.*]] = tix.if (%i >= 3) {
// CHECK-NEXT:       [[S2:%.*]] = tix.sum (%j) in (%j >= 0, %i >= %j) {
// CHECK-NEXT:         [[X:%.*]] = tix.read %x[%j]
// CHECK-NEXT:         tix.yield [[X]]
// CHECK-NEXT:       }
// CHECK-NEXT:       tix.yield [[S2]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// An empty set.
tix.program @empty (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%k) in (%k >= %p + 3, %k <= 2) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:   tix.yield [[C]]
// CHECK-NEXT: }

// -----

// One point needs no index.
tix.program @no_index (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum () in (%p >= 0, %p <= 8) {
      %1 = tix.read %x[%p]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in () {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
