// Sums over one point, factors, guards and constants.
// RUN: tadc-opt %s --split-input-file -p simplify-sums | filecheck %s

// One point: the index is replaced, also by one that is replaced itself.
tix.program @point (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%i, %j) in (%i >= %p, %p >= %i, %j + %i + 1 >= N, %i + %j + 1 <= N) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%p, -%p + N - 1]
// CHECK-NEXT:   tix.yield [[X]]
// CHECK-NEXT: }

// -----

// One value of one index only. One value that the set holds for every second p, and one that it
// always holds, 2 k <= p <= 2 k + 1. With p <= 2 k + 2 there may be two.
tix.program @points (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 3, %i <= 3, %j >= %i, %j <= %p) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    %2 = tix.sum (%k) in (2 * %k >= %p, 2 * %k <= %p) {
      %3 = tix.read %x[%k, 0]
      tix.yield %3
    }
    %4 = tix.sum (%k) in (2 * %k <= %p, 2 * %k + 1 >= %p) {
      %5 = tix.read %x[%k, 1]
      tix.yield %5
    }
    %6 = tix.sum (%k) in (2 * %k <= %p, 2 * %k + 2 >= %p) {
      %7 = tix.read %x[%k, 2]
      tix.yield %7
    }
    %8 = tix.add %0, %2
    %9 = tix.add %4, %6
    %10 = tix.add %8, %9
    tix.yield %10
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%j) in (%j >= 3, %p >= %j) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[3, %j]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 2
// CHECK-NEXT:   [[B:%.*]] = tix.if (2 * [[T]] >= %p) {
// CHECK-NEXT:     [[X2:%.*]] = tix.read %x[[[T]], 0]
// CHECK-NEXT:     tix.yield [[X2]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[X3:%.*]] = tix.read %x[[[T]], 1]
// CHECK-NEXT:   [[S2:%.*]] = tix.sum (%k) in (%p >= 2 * %k, 2 * %k + 2 >= %p) {
// CHECK-NEXT:     [[X4:%.*]] = tix.read %x[%k, 2]
// CHECK-NEXT:     tix.yield [[X4]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[S]], [[B]]
// CHECK-NEXT:   [[ADD2:%.*]] = tix.add [[X3]], [[S2]]
// CHECK-NEXT:   [[ADD3:%.*]] = tix.add [[ADD]], [[ADD2]]
// CHECK-NEXT:   tix.yield [[ADD3]]
// CHECK-NEXT: }

// -----

// What is left of the set of a fixed index is a condition, unless it holds anyway.
tix.program @left_over (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[20], f64> {
    %0 = tix.sum (%i) in (%i >= %p, %i <= %p, %i <= 8, %i >= 0) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[20], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p <= 8) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// Factors that hold no index of the sum leave it, with the sign, in the order of the text.
tix.program @factors (%a = "a" : !tix.tensor<[9], f64>, %x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 8) {
      %1 = tix.read %x[%k]
      %2 = tix.read %a[%p]
      %3 = tix.neg %1
      %4 = tix.mul %3, %2
      %5 = tix.constant 3
      %6 = tix.div %4, %5
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k <= 8) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[A:%.*]] = tix.read %a[%p]
// CHECK-NEXT:   [[C:%.*]] = tix.constant 3.0
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[A]], [[S]]
// CHECK-NEXT:   [[DIV:%.*]] = tix.div [[MUL]], [[C]]
// CHECK-NEXT:   [[NEG:%.*]] = tix.neg [[DIV]]
// CHECK-NEXT:   tix.yield [[NEG]]
// CHECK-NEXT: }

// -----

// A factor stays where its element may not be there: the sum is empty for p = 0.
tix.program @may_not_leave (%a = "a" : !tix.tensor<[9], f64>, %x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[10], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= %p) {
      %1 = tix.read %a[%p - 1]
      %2 = tix.read %x[%k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.if (%p >= 1) {
      %5 = tix.sum (%k) in (%k >= 0, %k + 1 <= %p) {
        %6 = tix.read %a[%p - 1]
        %7 = tix.read %x[%k]
        %8 = tix.mul %6, %7
        tix.yield %8
      }
      tix.yield %5
    } else {
      %9 = tix.constant 7
      tix.yield %9
    }
    %10 = tix.add %0, %4
    tix.yield %10
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[10], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %p >= %k + 1) {
// CHECK-NEXT:     [[A:%.*]] = tix.read %a[%p - 1]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[A]], [[X]]
// CHECK-NEXT:     tix.yield [[MUL]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 1) {
// CHECK-NEXT:     [[S2:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, %p >= [[K]] + 1) {
// CHECK-NEXT:       [[X2:%.*]] = tix.read %x[[[K]]]
// CHECK-NEXT:       tix.yield [[X2]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[A2:%.*]] = tix.read %a[%p - 1]
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[A2]], [[S2]]
// CHECK-NEXT:     tix.yield [[MUL2]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 7.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[S]], [[B]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }

// -----

// A term of a sum is no factor, and neither is a divisor in a divisor.
tix.program @no_factors (%a = "a" : !tix.tensor<[9], f64>, %x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 8) {
      %1 = tix.read %a[%p]
      %2 = tix.read %x[%k]
      %3 = tix.add %1, %2
      %4 = tix.div %1, %2
      %5 = tix.div %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k <= 8) {
// CHECK-NEXT:     [[A:%.*]] = tix.read %a[%p]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     [[ADD:%.*]] = tix.add [[A]], [[X]]
// CHECK-NEXT:     [[DIV:%.*]] = tix.div [[A]], [[X]]
// CHECK-NEXT:     [[DIV2:%.*]] = tix.div [[ADD]], [[DIV]]
// CHECK-NEXT:     tix.yield [[DIV2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }

// -----

// Conditions directly inside each other become one; what the first says is not asked again.
tix.program @guards (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 9], f64> {
    %0 = tix.if (%p >= 3) {
      %1 = tix.if (%q == %p, %q >= 2, %p <= 8) {
        %2 = tix.read %x[%q]
        tix.yield %2
      } else {
        %3 = tix.constant 0
        tix.yield %3
      }
      tix.yield %1
    } else {
      %4 = tix.constant 0
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 9], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 3, %p == %q, %q >= 2) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%q]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// Not merged: another value than 0 outside, several alternatives.
tix.program @not_merged (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 9], f64> {
    %0 = tix.if (%p >= 3) {
      %1 = tix.if (%q == 0) or (%q == 5) {
        %2 = tix.read %x[%q]
        tix.yield %2
      } else {
        %3 = tix.constant 0
        tix.yield %3
      }
      tix.yield %1
    } else {
      %4 = tix.constant 1
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p, %q) : !tix.tensor<[9, 9], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 3) {
// CHECK-NEXT:     [[B2:%.*]] = tix.if (%q == 0) or (%q == 5) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%q]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[B2]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C2:%.*]] = tix.constant 1.0
// CHECK-NEXT:     tix.yield [[C2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// Known conditions go, and with them the bodies that cannot be reached.
tix.program @known (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.if (%p >= 0, %p <= 8) {
      %1 = tix.read %x[%p]
      tix.yield %1
    } else {
      %2 = tix.constant 1
      tix.yield %2
    }
    %3 = tix.if (%p >= 5) {
      %4 = tix.constant 2
      tix.yield %4
    } else {
      %5 = tix.if (%p <= 6) {
        %6 = tix.read %x[0]
        tix.yield %6
      } else {
        %7 = tix.constant 3
        tix.yield %7
      }
      tix.yield %5
    }
    %8 = tix.add %0, %3
    tix.yield %8
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%p]
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 5) {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[X2:%.*]] = tix.read %x[0]
// CHECK-NEXT:     tix.yield [[X2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[X]], [[B]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }

// -----

// Constants: neutral elements vanish, numbers are computed and come first, signs last.
tix.program @constants (%x = "x" : !tix.tensor<[], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.read %x[]
    %1 = tix.constant 1
    %2 = tix.mul %0, %1
    %3 = tix.constant 0
    %4 = tix.add %3, %2
    %5 = tix.constant -3
    %6 = tix.pow %4, %1
    %7 = tix.mul %6, %5
    %8 = tix.mul %5, %5
    %9 = tix.mul %8, %7
    %10 = tix.add %8, %9
    tix.yield %10
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[]
// CHECK-NEXT:   [[C:%.*]] = tix.constant 9.0
// CHECK-NEXT:   [[C2:%.*]] = tix.constant 27.0
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[C2]], [[X]]
// CHECK-NEXT:   [[SUB:%.*]] = tix.sub [[C]], [[MUL]]
// CHECK-NEXT:   tix.yield [[SUB]]
// CHECK-NEXT: }

// -----

// Sums of 0 and conditions between equal numbers are numbers; 0 * x is not, x may be infinite.
tix.program @numbers (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.read %x[%p]
    %1 = tix.sum (%k) in (%k >= 0, %k <= %p) {
      %2 = tix.constant 0
      tix.yield %2
    }
    %3 = tix.if (%p >= 3) {
      %4 = tix.constant 5
      tix.yield %4
    } else {
      %5 = tix.constant 5
      tix.yield %5
    }
    %6 = tix.add %3, %1
    %7 = tix.constant 0
    %8 = tix.mul %0, %7
    %9 = tix.add %6, %8
    tix.yield %9
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%p]
// CHECK-NEXT:   [[C:%.*]] = tix.constant 5.0
// CHECK-NEXT:   [[C2:%.*]] = tix.constant 0.0
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[C2]], [[X]]
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[C]], [[MUL]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }

// -----

// One quotient with the sign outside, where that leaves fewer terms: (1 - p) // 2 = -(p // 2).
tix.program @negative (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%k) in (2 * %k + %p <= 1, 2 * %k + %p >= 0) {
      %1 = tix.read %x[%k + 4, %p]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%p) by 2
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[-[[T]] + 4, %p]
// CHECK-NEXT:   tix.yield [[X]]
// CHECK-NEXT: }

// -----

// What no index enters counts as often as an index has values, if bounds tell. Where they may be
// apart the wrong way round, a condition asks first: an empty sum is 0, whatever its terms are.
tix.program @multiple (%m = "m" : !tix.tensor<[C], f64>) {
  %y = tix.define "y" (%c) : !tix.tensor<[C], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= 0, %j <= 7) {
      %1 = tix.read %m[%c]
      tix.yield %1
    }
    tix.yield %0
  }
  %z = tix.define "z" (%c) : !tix.tensor<[C], f64> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= %c) {
      %1 = tix.read %m[%c]
      tix.yield %1
    }
    tix.yield %0
  }
  %w = tix.define "w" (%c) : !tix.tensor<[C], f64> {
    %0 = tix.sum (%i) in (%i >= %c, %i <= 7) {
      %1 = tix.read %m[%c]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %z, %w
}
// CHECK:      %y = tix.define "y"
// CHECK-NEXT:   [[I:%.*]] = tix.index_to_real (I)
// CHECK:        [[M:%.*]] = tix.read %m[%c]
// CHECK:        tix.mul
// CHECK:        tix.mul
// CHECK-NOT:    tix.sum
// CHECK:      %z = tix.define "z"
// CHECK-NEXT:   [[N:%.*]] = tix.index_to_real (%c_1 + 1)
// CHECK-NOT:    tix.sum
// CHECK:      %w = tix.define "w"
// CHECK-NEXT:   {{.*}} = tix.if (%c_2 <= 7) {
// CHECK-NEXT:     {{.*}} = tix.index_to_real (-%c_2 + 8)
// CHECK-NOT:    tix.sum

// -----

// A sum has no term where its guard fails; what leaves a sum needs its guard.
tix.program @guards (%x = "x" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[P], f64> {
    %q = tix.floordiv (%p) by 4
    %0 = tix.sum (%o) in (4 * %q + 1 <= N, %o >= 4 * %q, %o <= 4 * %q + 3, %o + 1 <= N) {
      %1 = tix.read %x[%o]
      tix.yield %1
    }
    tix.yield %0
  }
  %z = tix.define "z" (%p) : !tix.tensor<[P], f64> {
    %0 = tix.sum (%o) in (%p + 1 <= N, %o >= %p, %o <= %p + 3, %o + 1 <= N) {
      %1 = tix.read %x[%o]
      %2 = tix.read %w[%p]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y, %z
}
// CHECK:      tix.program @guards
// CHECK:      %y = tix.define "y"
// CHECK-NOT:    tix.if
// CHECK:        tix.sum (%o)
// CHECK:      %z = tix.define "z"
// CHECK:        tix.if (%p_1 + 1 <= N) {
// CHECK:          tix.sum (%o_1)
// CHECK:          tix.read %w[%p_1]

// -----

// A choice between values leaves as a whole; indices of boxes are counted beside the others.
tix.program @choice (%x = "x" : !tix.tensor<[5], f64>, %z = "z" : !tix.tensor<[5], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[5], f64> {
    %0 = tix.sum (%k, %l) in (%k >= 0, %k + %i <= 2, %l >= 0, %l <= 6) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%i]
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
// CHECK:      tix.program @choice
// CHECK:        [[N:%.*]] = tix.constant 7.0
// CHECK-NEXT:   [[SUM:%.*]] = tix.sum (%k) in (%k >= 0, %i + %k <= 2) {
// CHECK-NEXT:     [[ONE:%.*]] = tix.constant 1.0
// CHECK-NEXT:     tix.yield [[ONE]]
// CHECK:        [[W:%.*]] = tix.where
// CHECK:        [[NW:%.*]] = tix.mul [[N]], [[W]]
// CHECK-NEXT:   tix.mul [[NW]], [[SUM]]

// -----

// What all terms of a window read leaves under the condition that there is one.
tix.program @window (%d = "d" : !tix.tensor<[9], f64>, %x = "x" : !tix.tensor<[N], f64>, %z = "z" : !tix.tensor<[M], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%u) in (%u >= 0, %u + 8 >= %p, %u <= 4, %p >= %u) {
      %1 = tix.read %d[%p - %u]
      %2 = tix.read %z[%p]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      tix.program @window
// CHECK:        tix.if (%p <= 12) {
// CHECK-NEXT:     [[SUM:%.*]] = tix.sum (%u)
// CHECK-NEXT:       [[D:%.*]] = tix.read %d
// CHECK-NEXT:       tix.yield [[D]]
// CHECK:          [[Z:%.*]] = tix.read %z[%p]
// CHECK-NEXT:     tix.mul [[Z]], [[SUM]]
