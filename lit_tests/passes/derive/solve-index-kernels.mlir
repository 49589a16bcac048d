// Equations in own indices become their integer solutions (paper, eqs. 41-45).
// RUN: tadc-opt %s --split-input-file -p solve-index-kernels | filecheck %s

// A unit coefficient: the only solution takes the place of the index, and the sum has one point.
tix.program @unit (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i == %p, %i >= 0, %i <= 4) {
      %1 = tix.read %x[2 * %i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in (%p >= 0, %p <= 4) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[2 * %p]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// An offset: i + 3 = p - N.
tix.program @offset (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[2 * N], f64> {
    %0 = tix.sum (%i) in (%i + 3 + N == %p, %i >= 0, %i + 1 <= N) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[2 * N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in (%p >= N + 3, %p <= 2 * N + 2) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p - N - 3]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// More unknowns than equations: the last index stays, the others follow it.
tix.program @null_space (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N + 3 * M], f64> {
    %0 = tix.sum (%i, %j) in (%i + 3 * %j == %p, %i >= 0, %i + 1 <= N, %j >= 0, %j + 1 <= M) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[3 * M + N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%j) in (%p >= 3 * %j, 3 * %j + N >= %p + 1, %j >= 0, %j + 1 <= M) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p - 3 * %j, %j]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// An index with few values stays in preference to the last one.
tix.program @few (%x = "x" : !tix.tensor<[4, N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N + 3], f64> {
    %0 = tix.sum (%i, %j) in (%i + %j == %p, %i >= 0, %i <= 3, %j >= 0, %j + 1 <= N) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[N + 3], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%i) in (%i >= 0, %i <= 3, %p >= %i, %i + N >= %p + 1) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i, -%i + %p]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// No index has the coefficient 1: a new one numbers the solutions, i = 3 z - p, j = p - 2 z.
tix.program @numbered (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[50], f64> {
    %0 = tix.sum (%i, %j) in (2 * %i + 3 * %j == %p, %i >= 0, %i <= 8, %j >= 0, %j <= 8) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[50], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%z) in (3 * %z >= %p, %p + 8 >= 3 * %z, %p >= 2 * %z, 2 * %z + 8 >= %p) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[-%p + 3 * %z, %p - 2 * %z]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// An elementary divisor above 1: only every second p has a solution. Without the guard, which
// eq. (46) of the paper leaves out, an odd p would get the elements of p - 1.
tix.program @divisor (%x = "x" : !tix.tensor<[9, 5], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[40], f64> {
    %0 = tix.sum (%i, %j) in (2 * %i + 4 * %j == %p, %i >= 0, %i <= 8, %j >= 0, %j <= 4) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[40], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 2
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%j) in (%p == 2 * [[T]], %p >= 4 * %j, 4 * %j + 16 >= %p, %j >= 0, %j <= 4) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[T]] - 2 * %j, %j]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Multiples of the divisor in the row leave the quotient, and where it is exact constants can do so
// too: (p + 4 q + 5) / 4 = p // 4 + q + 2 for p = 3, 7, ...
tix.program @rest (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 9], f64> {
    %0 = tix.sum (%i) in (4 * %i == %p + 4 * %q + 5, %i >= 0, %i <= 8) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 9], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 4
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in (%p == 4 * [[T]] + 3, %p + 4 * %q >= -5, %p + 4 * %q <= 27) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%q + [[T]] + 2]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Two opposite inequalities: %i has one value, and only an even p has a %j.
tix.program @one_value (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i, %j, %k) in (%i >= 3, %i <= 3, 2 * %j >= %p, 2 * %j <= %p, %k >= 0, %i + %k <= 8) {
      %1 = tix.read %x[%i + %k, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 2
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%p == 2 * [[T]], %k >= 0, %k <= 5) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k + 3, [[T]]]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// More equations than unknowns: what is left is a guard without own indices (the cokernel).
tix.program @cokernel (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 18], f64> {
    %0 = tix.sum (%i) in (%i == %p, 2 * %i + 1 == %q, %i >= 0, %i <= 8) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 18], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum () in (2 * %p + 1 == %q, %p >= 0, %p <= 8) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// 2 i = 4 j + 1 has no integer solution, whatever p is.
tix.program @none (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i, %j) in (2 * %i == 4 * %j + 1, %i >= %p, %i <= 8, %j >= 0, %j <= 8) {
      %1 = tix.read %x[%i]
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

// In a condition, and in a sum that solves for its own index in terms of that outside.
tix.program @nested (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.if (%p >= 3) {
      %1 = tix.sum (%i) in (%i + 2 == %p, %i >= 0) {
        %2 = tix.sum (%j) in (%j == 2 * %i, %j <= 8) {
          %3 = tix.read %x[%i, %j]
          tix.yield %3
        }
        tix.yield %2
      }
      tix.yield %1
    } else {
      %1 = tix.constant 1
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 3) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum () in (%p >= 2) {
// CHECK-NEXT:       [[S2:%.*]] = tix.sum () in (2 * %p <= 12) {
// CHECK-NEXT:         [[X:%.*]] = tix.read %x[%p - 2, 2 * %p - 4]
// CHECK-NEXT:         tix.yield [[X]]
// CHECK-NEXT:       }
// CHECK-NEXT:       tix.yield [[S2]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 1.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// Nothing to solve: an equation without own indices stays, and so does a sum without equations.
tix.program @untouched (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%p == N, %i >= %p, 2 * %i <= 9) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%i) in (%p == N, %i >= %p, 2 * %i <= 9) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
