// Which definitions are dropped, which move to where they are read, and which stay.
// RUN: tadc-opt %s --split-input-file -p inline-definitions | filecheck %s

// Read in one place, once per element: the body moves there, its indices become those of the read.
tix.program @moves (%x = "x" : !tix.tensor<[N, M], f64>) {
  %u = tix.define "u" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %x[%k, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %f = tix.define "f" (%p, %q) : !tix.tensor<[M, N], f64> {
    %0 = tix.if (%p >= 3) {
      %1 = tix.read %u[%q, %p]
      %2 = tix.exp %1
      tix.yield %2
    } else {
      %1 = tix.constant 1
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      tix.program @moves (%x = "x" : !tix.tensor<[N, M], f64>) {
// CHECK:      %f = tix.define "f" (%p, %q) : !tix.tensor<[M, N], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (%p >= 3) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum (%k) in (%k >= 0, %q >= %k) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%k, %p]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[EXP:%.*]] = tix.exp [[S]]
// CHECK-NEXT:     tix.yield [[EXP]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 1.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }
// CHECK:      tix.return %f

// -----

// A chain moves link by link, and what no result needs is dropped, with all that only it needs.
tix.program @chain (%x = "x" : !tix.tensor<[N], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %v = tix.define "v" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %u[%i]
    %1 = tix.cos %0
    tix.yield %1
  }
  %unused = tix.define "unused" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %v[%i]
    tix.yield %0
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %v[%i]
    %1 = tix.tan %0
    tix.yield %1
  }
  tix.return %f
}
// CHECK:      tix.program @chain (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK:      %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:   [[SIN:%.*]] = tix.sin [[X]]
// CHECK-NEXT:   [[COS:%.*]] = tix.cos [[SIN]]
// CHECK-NEXT:   [[TAN:%.*]] = tix.tan [[COS]]
// CHECK-NEXT:   tix.yield [[TAN]]
// CHECK-NEXT: }
// CHECK:      tix.return %f

// -----

// What stays: a result, and what is read in two places.
tix.program @stays (%x = "x" : !tix.tensor<[N], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %v = tix.define "v" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %u[%i]
    %1 = tix.cos %0
    tix.yield %1
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %v[%i]
    %1 = tix.read %v[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %u, %f
}
// CHECK:      %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:   [[SIN:%.*]] = tix.sin [[X]]
// CHECK-NEXT:   tix.yield [[SIN]]
// CHECK-NEXT: }
// CHECK:      %v = tix.define "v" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[U:%.*]] = tix.read %u[[[I]]]
// CHECK-NEXT:   [[COS:%.*]] = tix.cos [[U]]
// CHECK-NEXT:   tix.yield [[COS]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[V:%.*]] = tix.read %v[[[I]]]
// CHECK-NEXT:   [[V2:%.*]] = tix.read %v[[[I]]]
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[V]], [[V2]]
// CHECK-NEXT:   tix.yield [[MUL]]
// CHECK-NEXT: }
// CHECK:      tix.return %u, %f

// -----

// What stays, since an element would be computed again: read in a sum, at an index that does not
// tell all indices apart, or at one that takes a value twice.
tix.program @once (%x = "x" : !tix.tensor<[9], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %v = tix.define "v" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %u[%i]
      %2 = tix.read %x[%k]
      %3 = tix.pow %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %w = tix.define "w" (%i, %j) : !tix.tensor<[9, 9], f64> {
    %0 = tix.read %v[%i]
    tix.yield %0
  }
  %f = tix.define "f" (%i, %j) : !tix.tensor<[5, 5], f64> {
    %0 = tix.read %w[%i + %j, 0]
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      %u = tix.define "u" (%i) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:   [[SIN:%.*]] = tix.sin [[X]]
// CHECK-NEXT:   tix.yield [[SIN]]
// CHECK-NEXT: }
// CHECK:      %v = tix.define "v" ([[I:%.*]]) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, [[I]] >= %k) {
// CHECK-NEXT:     [[U:%.*]] = tix.read %u[[[I]]]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     [[POW:%.*]] = tix.pow [[U]], [[X]]
// CHECK-NEXT:     tix.yield [[POW]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %w = tix.define "w" ([[I:%.*]], %j) : !tix.tensor<[9, 9], f64> {
// CHECK-NEXT:   [[V:%.*]] = tix.read %v[[[I]]]
// CHECK-NEXT:   tix.yield [[V]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" ([[I:%.*]], [[J:%.*]]) : !tix.tensor<[5, 5], f64> {
// CHECK-NEXT:   [[W:%.*]] = tix.read %w[[[I]] + [[J]], 0]
// CHECK-NEXT:   tix.yield [[W]]
// CHECK-NEXT: }

// -----

// What stays, since it would be computed in another precision.
tix.program @precision (%x = "x" : !tix.tensor<[N], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %u[%i]
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      %u = tix.define "u" (%i) : !tix.tensor<[N], f32> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:   tix.yield [[X]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[U:%.*]] = tix.read %u[[[I]]]
// CHECK-NEXT:   tix.yield [[U]]
// CHECK-NEXT: }

// -----

// A copy is what it copies for all who read it; as a result it stays.
tix.program @copies (%x = "x" : !tix.tensor<[N], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %u[%i]
    %1 = tix.read %u[-%i + N - 1]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %f, %u
}
// CHECK:      tix.program @copies (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[I]]]
// CHECK-NEXT:     [[Y:%.*]] = tix.read %x[-[[I]] + N - 1]

// -----

// Elements that are read at places of their own move; a sum only along its own indices.
tix.program @places (%x = "x" : !tix.tensor<[64*N], f64>) {
  %u = tix.define "u" (%i, %j) : !tix.tensor<[N, 64], f64> {
    %0 = tix.read %x[64*%i + %j]
    %1 = tix.exp %0
    tix.yield %1
  }
  %s = tix.define "s" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 63) {
      %1 = tix.read %x[64*%i + %k]
      tix.yield %1
    }
    tix.yield %0
  }
  %twice = tix.define "twice" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.cos %0
    tix.yield %1
  }
  %f = tix.define "f" (%p) : !tix.tensor<[64*N], f64> {
    %q = tix.floordiv (%p) by 64
    %0 = tix.read %u[%q, %p - 64*%q]
    %1 = tix.read %twice[%q]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %s[N - %i - 1]
    tix.yield %0
  }
  tix.return %f, %g
}
// CHECK:      tix.program @places
// CHECK-NOT:  tix.define "u"
// CHECK:      tix.define "s"
// CHECK:      tix.define "twice"
// CHECK:      tix.define "f" (%p)
// CHECK:        tix.read %x[%p]
// CHECK-NEXT:   tix.exp
// CHECK:        tix.read %twice[
// CHECK:      tix.define "g"
// CHECK:        tix.read %s[

// A condition that holds around a read is not asked again.
tix.program @asked (%x = "x" : !tix.tensor<[N, N], f64>) {
  %u = tix.define "u" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%j >= %i + 1) or (%i >= %j + 1) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    } else {
      %2 = tix.constant 1.0
      tix.yield %2
    }
    tix.yield %0
  }
  %f = tix.define "f" (%p, %q) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%p >= %q + 1) or (%q >= %p + 1) {
      %1 = tix.read %u[%p, %q]
      %2 = tix.exp %1
      tix.yield %2
    } else {
      %3 = tix.constant 0.0
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      tix.program @asked
// CHECK:        tix.if (%p >= %q + 1) or (%q >= %p + 1) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p, %q]
// CHECK-NEXT:     [[E:%.*]] = tix.exp [[X]]
// CHECK-NEXT:     tix.yield [[E]]

// What is read where a condition does not hold is what there is on the other side of it.
tix.program @otherwise (%x = "x" : !tix.tensor<[N], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.if (%i <= 3) {
      %1 = tix.constant 1.0
      tix.yield %1
    } else {
      %2 = tix.read %x[%i]
      tix.yield %2
    }
    tix.yield %0
  }
  %f = tix.define "f" (%p) : !tix.tensor<[N], f64> {
    %0 = tix.if (%p >= 4) {
      %1 = tix.read %u[%p]
      %2 = tix.exp %1
      tix.yield %2
    } else {
      %3 = tix.constant 0.0
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %f
}
// CHECK:      tix.program @otherwise
// CHECK:        tix.if (%p >= 4) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%p]
// CHECK-NEXT:     [[E:%.*]] = tix.exp [[X]]
// CHECK-NEXT:     tix.yield [[E]]
