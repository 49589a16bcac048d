// A program of values and gradients becomes one of the values and one of the gradients.
// RUN: tadc-opt %s --split-input-file -p 'split-pullback{adjoints=df}' | filecheck %s
// RUN: not tadc-opt %s -p 'split-pullback{adjoints=dg}' 2>&1 | filecheck %s --check-prefix BAD
// BAD: no argument dg

// What gradients read of the values is returned by the first program and an argument of the second,
// before the adjoints. What they do not read, here u, is not; what no adjoint enters is not computed
// again, here v. Of a result, here f, a copy would be saved: it is computed again if a function of
// each element makes it.
tix.program @p (%x = "x" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
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
    %1 = tix.exp %0
    tix.yield %1
  }
  %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %df[%i]
    %1 = tix.read %v[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %g[%i]
    %1 = tix.read %f[%i]
    %2 = tix.read %x[%i]
    %3 = tix.mul %0, %1
    %4 = tix.mul %3, %2
    tix.yield %4
  }
  tix.return %f, %dx
}
// CHECK:      tix.program @p (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     [[SIN:%.*]] = tix.sin [[X]]
// CHECK-NEXT:     tix.yield [[SIN]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %v = tix.define "v" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[U:%.*]] = tix.read %u[[[I]]]
// CHECK-NEXT:     [[COS:%.*]] = tix.cos [[U]]
// CHECK-NEXT:     tix.yield [[COS]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[V:%.*]] = tix.read %v[[[I]]]
// CHECK-NEXT:     [[EXP:%.*]] = tix.exp [[V]]
// CHECK-NEXT:     tix.yield [[EXP]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %f, %v
// CHECK-NEXT: }
// CHECK-NEXT: tix.program @p_pullback (%x = "x" : !tix.tensor<[N], f64>, %v = "v" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[%i]
// CHECK-NEXT:     [[V:%.*]] = tix.read %v[%i]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DF]], [[V]]
// CHECK-NEXT:     tix.yield [[MUL]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[V:%.*]] = tix.read %v[[[I]]]
// CHECK-NEXT:     [[EXP:%.*]] = tix.exp [[V]]
// CHECK-NEXT:     tix.yield [[EXP]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[G:%.*]] = tix.read %g[[[I]]]
// CHECK-NEXT:     [[F:%.*]] = tix.read %f[[[I]]]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[I]]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[G]], [[F]]
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[MUL]], [[X]]
// CHECK-NEXT:     tix.yield [[MUL2]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %dx
// CHECK-NEXT: }

// -----

// Nothing is saved where gradients read no value.
tix.program @linear (%x = "x" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.neg %0
    tix.yield %1
  }
  %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %df[%i]
    %1 = tix.neg %0
    tix.yield %1
  }
  tix.return %f, %dx
}
// CHECK:      tix.program @linear (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     [[NEG:%.*]] = tix.neg [[X]]
// CHECK-NEXT:     tix.yield [[NEG]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %f
// CHECK-NEXT: }
// CHECK-NEXT: tix.program @linear_pullback (%x = "x" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[%i]
// CHECK-NEXT:     [[NEG:%.*]] = tix.neg [[DF]]
// CHECK-NEXT:     tix.yield [[NEG]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %dx
// CHECK-NEXT: }

// -----

// Nothing is saved for an adjoint that no gradient needs, and that is not computed either.
tix.program @unneeded (%x = "x" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
  %h = tix.define "h" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %h[%i]
    %1 = tix.neg %0
    tix.yield %1
  }
  %dh = tix.define "dh" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %df[%i]
    %1 = tix.read %h[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %df[%i]
    tix.yield %0
  }
  tix.return %f, %dx
}
// CHECK:      tix.program @unneeded (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK:        tix.return %f
// CHECK-NEXT: }
// CHECK-NEXT: tix.program @unneeded_pullback (%x = "x" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[DF:%.*]] = tix.read %df[%i]
// CHECK-NEXT:     tix.yield [[DF]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %dx
// CHECK-NEXT: }

// -----

// What a few cheap operations make of arguments and saved values, here u, is computed again in front
// of the first definition that reads it; s is saved.
tix.program @again (%x = "x" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
  %s = tix.define "s" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %s[%i]
    %1 = tix.read %x[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %u[%i]
    %1 = tix.exp %0
    tix.yield %1
  }
  %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %df[%i]
    %1 = tix.read %u[%i]
    %2 = tix.read %s[%i]
    %3 = tix.mul %0, %1
    %4 = tix.mul %3, %2
    tix.yield %4
  }
  tix.return %f, %dx
}
// CHECK:      tix.program @again (
// CHECK:        tix.return %f, %s
// CHECK:      tix.program @again_pullback (%x = "x" : !tix.tensor<[N], f64>, %s = "s" : !tix.tensor<[N], f64>, %df = "df" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %u = tix.define "u" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[S:%.*]] = tix.read %s[%i]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     [[U:%.*]] = tix.mul [[S]], [[X]]
// CHECK-NEXT:     tix.yield [[U]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %dx = tix.define "dx"
