// Conditions in a reduction become part of its index set.
// RUN: tadc-opt %s --split-input-file -p absorb-conditions | filecheck %s

// An inequality bounds the index; where it does not hold, the value is 0.
tix.program @inequality (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%k >= %i + 2) {
        %2 = tix.read %x[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N, %k >= %i + 2) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// The other factor does not count where this one is 0.
tix.program @factor (%x = "x" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[3], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.read %w[%k]
      %2 = tix.if (%i + %k >= 1, %i + %k <= N) {
        %3 = tix.read %x[%i + %k - 1]
        tix.yield %3
      } else {
        %4 = tix.constant 0.0
        tix.yield %4
      }
      %5 = tix.neg %2
      %6 = tix.mul %1, %5
      %7 = tix.constant 2.0
      %8 = tix.div %6, %7
      tix.yield %8
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k <= 2, %i + %k >= 1, %i + %k <= N) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %w[%k]
// CHECK-NEXT:     [[C:%.*]] = tix.read %x[%i + %k - 1]
// CHECK-NEXT:     [[D:%.*]] = tix.mul [[B]], [[C]]
// CHECK-NEXT:     [[E:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[F:%.*]] = tix.div [[D]], [[E]]
// CHECK-NEXT:     [[G:%.*]] = tix.neg [[F]]
// CHECK-NEXT:     tix.yield [[G]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// An equality removes a loop.
tix.program @equality (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%k, %l) in (%k >= 0, %k + 1 <= N, %l >= 0, %l + 1 <= N) {
      %1 = tix.if (%k == %l) {
        %2 = tix.read %x[%k, %l]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%l) in (%l >= 0, %l + 1 <= N, %l >= 0, %l + 1 <= N) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%l, %l]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// Its complement is two half-spaces.
tix.program @unequal (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) or (%k >= %i + 1) {
        %2 = tix.read %x[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N, %i >= %k + 1) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[C:%.*]] = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N, %k_1 >= %i + 1) {
// CHECK-NEXT:     [[D:%.*]] = tix.read %x[%k_1]
// CHECK-NEXT:     tix.yield [[D]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[E:%.*]] = tix.add [[A]], [[C]]
// CHECK-NEXT:   tix.yield [[E]]
// CHECK-NEXT: }

// -----

// Divisibility makes the quotient an index: one loop over each residue class.
tix.program @residues (%x = "x" : !tix.tensor<[N], f64>, %z = "z" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[2], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.floordiv (%k - %i) by 2
      %2 = tix.if (%k == %i + 2 * %1) {
        %3 = tix.read %x[%k]
        tix.yield %3
      } else {
        %4 = tix.read %z[%k]
        tix.yield %4
      }
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[2], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%q) in (%i + 2 * %q >= 0, %i + 2 * %q + 1 <= N) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%i + 2 * %q]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[C:%.*]] = tix.sum (%q_1) in (%i + 2 * %q_1 >= -1, %i + 2 * %q_1 + 2 <= N) {
// CHECK-NEXT:     [[D:%.*]] = tix.read %z[%i + 2 * %q_1 + 1]
// CHECK-NEXT:     tix.yield [[D]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[E:%.*]] = tix.add [[A]], [[C]]
// CHECK-NEXT:   tix.yield [[E]]
// CHECK-NEXT: }

// -----

// A range of remainders takes two loops, but no test.
tix.program @remainders (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.floordiv (%k + %i) by 5
      %2 = tix.if (5 * %1 + 2 >= %k + %i) {
        %3 = tix.read %x[%k]
        tix.yield %3
      } else {
        %4 = tix.constant 0.0
        tix.yield %4
      }
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%q, %k) in (%k >= 0, %k + 1 <= N, 5 * %q + 2 >= %i + %k, %i + %k >= 5 * %q, 5 * %q + 4 >= %i + %k) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// A quotient alone only bounds what it is taken of.
tix.program @quotients (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= 2 * N) {
      %1 = tix.floordiv (%k) by 3
      %2 = tix.floordiv (%k) by 2
      %3 = tix.if (%1 == %i) {
        %4 = tix.read %x[%2]
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

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= 2 * N, %k >= 3 * %i, 3 * %i + 2 >= %k) {
// CHECK-NEXT:     [[B:%.*]] = tix.floordiv (%k) by 2
// CHECK-NEXT:     [[C:%.*]] = tix.read %x[[[B]]]
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// Both branches get a sum, also where a function of the condition is summed.
tix.program @branches (%a = "a" : !tix.tensor<[N], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) {
        %2 = tix.read %a[%k]
        tix.yield %2
      } else {
        %3 = tix.read %b[%k]
        tix.yield %3
      }
      %4 = tix.exp %1
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N, %i >= %k + 1) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %a[%k]
// CHECK-NEXT:     [[C:%.*]] = tix.exp [[B]]
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[D:%.*]] = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N, %k_1 >= %i) {
// CHECK-NEXT:     [[E:%.*]] = tix.read %b[%k_1]
// CHECK-NEXT:     [[F:%.*]] = tix.exp [[E]]
// CHECK-NEXT:     tix.yield [[F]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[G:%.*]] = tix.add [[A]], [[D]]
// CHECK-NEXT:   tix.yield [[G]]
// CHECK-NEXT: }

// -----

// A condition in a branch is cut only where that branch is taken.
tix.program @nested (%a = "a" : !tix.tensor<[N], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) {
        %2 = tix.if (%k <= 1) {
          %3 = tix.read %a[%k]
          tix.yield %3
        } else {
          %4 = tix.read %b[%k]
          tix.yield %4
        }
        tix.yield %2
      } else {
        %5 = tix.constant 0.0
        tix.yield %5
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N, %i >= %k + 1, %k <= 1) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %a[%k]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[C:%.*]] = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N, %i >= %k_1 + 1, %k_1 >= 2) {
// CHECK-NEXT:     [[D:%.*]] = tix.read %b[%k_1]
// CHECK-NEXT:     tix.yield [[D]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[E:%.*]] = tix.add [[A]], [[C]]
// CHECK-NEXT:   tix.yield [[E]]
// CHECK-NEXT: }

// -----

// Terms under different conditions become sums of their own; the same condition is cut by once.
tix.program @terms (%a = "a" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) {
        %2 = tix.read %a[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      %4 = tix.if (%k == 3) {
        %5 = tix.read %a[%k]
        tix.yield %5
      } else {
        %6 = tix.constant 0.0
        tix.yield %6
      }
      %7 = tix.sub %1, %4
      %8 = tix.if (%i >= %k + 1) {
        %9 = tix.constant 1.0
        tix.yield %9
      } else {
        %10 = tix.constant 0.0
        tix.yield %10
      }
      %11 = tix.add %7, %8
      tix.yield %11
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N, %i >= %k + 1) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %a[%k]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 1.0
// CHECK-NEXT:     [[D:%.*]] = tix.add [[B]], [[C]]
// CHECK-NEXT:     tix.yield [[D]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[E:%.*]] = tix.sum () in (N >= 4) {
// CHECK-NEXT:     [[F:%.*]] = tix.read %a[3]
// CHECK-NEXT:     [[G:%.*]] = tix.neg [[F]]
// CHECK-NEXT:     tix.yield [[G]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[H:%.*]] = tix.add [[A]], [[E]]
// CHECK-NEXT:   tix.yield [[H]]
// CHECK-NEXT: }

// -----

// A condition on outer indices alone moves outside.
tix.program @outer (%a = "a" : !tix.tensor<[N], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.floordiv (%i) by 2
    %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %2 = tix.if (%i == 2 * %0, %i >= 3) {
        %3 = tix.read %a[%k]
        tix.yield %3
      } else {
        %4 = tix.read %b[%k]
        tix.yield %4
      }
      tix.yield %2
    }
    tix.yield %1
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.floordiv (%i) by 2
// CHECK-NEXT:   [[B:%.*]] = tix.if (%i == 2 * [[A]], %i >= 3) {
// CHECK-NEXT:     [[C:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
// CHECK-NEXT:       [[D:%.*]] = tix.read %a[%k]
// CHECK-NEXT:       tix.yield [[D]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[E:%.*]] = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N) {
// CHECK-NEXT:       [[F:%.*]] = tix.read %b[%k_1]
// CHECK-NEXT:       tix.yield [[F]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[E]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// Within another sum, a condition on its index is one of that sum.
tix.program @inner (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.sum (%l) in (%l >= 0, %l + 1 <= N) {
        %2 = tix.if (%k == %l, %k >= 1) {
          %3 = tix.read %x[%k, %l]
          tix.yield %3
        } else {
          %4 = tix.constant 0.0
          tix.yield %4
        }
        tix.yield %2
      }
      %5 = tix.constant 2.0
      %6 = tix.pow %1, %5
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N, %k >= 1) {
// CHECK-NEXT:     [[B:%.*]] = tix.sum () in () {
// CHECK-NEXT:       [[C:%.*]] = tix.read %x[%k, %k]
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[D:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[E:%.*]] = tix.pow [[B]], [[D]]
// CHECK-NEXT:     tix.yield [[E]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// An empty product is 1.
tix.program @product (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.prod (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) or (%k >= %i + 1) {
        %2 = tix.read %x[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 1.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.prod (%k) in (%k >= 0, %k + 1 <= N, %i >= %k + 1) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[C:%.*]] = tix.prod (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N, %k_1 >= %i + 1) {
// CHECK-NEXT:     [[D:%.*]] = tix.read %x[%k_1]
// CHECK-NEXT:     tix.yield [[D]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[E:%.*]] = tix.mul [[A]], [[C]]
// CHECK-NEXT:   tix.yield [[E]]
// CHECK-NEXT: }

// -----

// Ties of an extremum are shared by all of its terms: it stays whole. So do literal zeros.
tix.program @extremum (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.max (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) {
        %2 = tix.read %x[%k]
        tix.yield %2
      } else {
        %3 = tix.read %x[%k]
        %4 = tix.neg %3
        tix.yield %4
      }
      tix.yield %1
    }
    %5 = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N) {
      %6 = tix.read %x[%k_1]
      %7 = tix.constant 0.0
      %8 = tix.mul %7, %6
      tix.yield %8
    }
    %9 = tix.add %0, %5
    tix.yield %9
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.max (%k) in (%k >= 0, %k + 1 <= N) {
// CHECK-NEXT:     [[B:%.*]] = tix.if (%i >= %k + 1) {
// CHECK-NEXT:       [[C:%.*]] = tix.read %x[%k]
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[D:%.*]] = tix.read %x[%k]
// CHECK-NEXT:       [[E:%.*]] = tix.neg [[D]]
// CHECK-NEXT:       tix.yield [[E]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[F:%.*]] = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= N) {
// CHECK-NEXT:     [[G:%.*]] = tix.constant 0.0
// CHECK-NEXT:     [[H:%.*]] = tix.read %x[%k_1]
// CHECK-NEXT:     [[I:%.*]] = tix.mul [[G]], [[H]]
// CHECK-NEXT:     tix.yield [[I]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[J:%.*]] = tix.add [[A]], [[F]]
// CHECK-NEXT:   tix.yield [[J]]
// CHECK-NEXT: }

// -----

// A loop over one point needs no condition to vanish.
tix.program @point (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%p, %i) in (%p >= 1, %p + 1 <= N, %i + 1 >= %p, %p >= %i + 1) {
      %1 = tix.read %x[%i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%i) in (%i >= 0, %i + 2 <= N) {
// CHECK-NEXT:     [[B:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     tix.yield [[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }

// -----

// More than eight pieces are too many: these conditions stay.
tix.program @many (%a = "a" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i, %j, %l, %m) : !tix.tensor<[N, N, N, N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.if (%i >= %k + 1) {
        %2 = tix.read %a[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 4.0
        tix.yield %3
      }
      %4 = tix.if (%j >= %k + 1) {
        %5 = tix.read %a[%k]
        tix.yield %5
      } else {
        %6 = tix.constant 1.0
        tix.yield %6
      }
      %7 = tix.mul %1, %4
      %8 = tix.if (%l >= %k + 1) {
        %9 = tix.read %a[%k]
        tix.yield %9
      } else {
        %10 = tix.constant 2.0
        tix.yield %10
      }
      %11 = tix.mul %7, %8
      %12 = tix.if (%m >= %k + 1) {
        %13 = tix.read %a[%k]
        tix.yield %13
      } else {
        %14 = tix.constant 3.0
        tix.yield %14
      }
      %15 = tix.mul %11, %12
      %16 = tix.exp %15
      tix.yield %16
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y = tix.define "y" (%i, %j, %l, %m) : !tix.tensor<[N, N, N, N], f64> {
// CHECK-NEXT:   [[A:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
// CHECK-NEXT:     [[B:%.*]] = tix.if (%i >= %k + 1) {
// CHECK-NEXT:       [[C:%.*]] = tix.read %a[%k]
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[D:%.*]] = tix.constant 4.0
// CHECK-NEXT:       tix.yield [[D]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[E:%.*]] = tix.if (%j >= %k + 1) {
// CHECK-NEXT:       [[F:%.*]] = tix.read %a[%k]
// CHECK-NEXT:       tix.yield [[F]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[G:%.*]] = tix.constant 1.0
// CHECK-NEXT:       tix.yield [[G]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[H:%.*]] = tix.mul [[B]], [[E]]
// CHECK-NEXT:     [[I:%.*]] = tix.if (%l >= %k + 1) {
// CHECK-NEXT:       [[J:%.*]] = tix.read %a[%k]
// CHECK-NEXT:       tix.yield [[J]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[K:%.*]] = tix.constant 2.0
// CHECK-NEXT:       tix.yield [[K]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[L:%.*]] = tix.mul [[H]], [[I]]
// CHECK-NEXT:     [[M:%.*]] = tix.if (%m >= %k + 1) {
// CHECK-NEXT:       [[N:%.*]] = tix.read %a[%k]
// CHECK-NEXT:       tix.yield [[N]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[O:%.*]] = tix.constant 3.0
// CHECK-NEXT:       tix.yield [[O]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[P:%.*]] = tix.mul [[L]], [[M]]
// CHECK-NEXT:     [[Q:%.*]] = tix.exp [[P]]
// CHECK-NEXT:     tix.yield [[Q]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[A]]
// CHECK-NEXT: }
