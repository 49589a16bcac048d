// Only adjoints that the gradients asked for need are defined, and those that are observed.
// RUN: tadc-opt %s -p 'differentiate{wrt=a}' | filecheck %s --check-prefix PRUNED
// RUN: tadc-opt %s -p 'differentiate{wrt=a observe=u,r}' | filecheck %s --check-prefix SEEN
// RUN: not tadc-opt %s -p 'differentiate{wrt=a observe=v}' 2>&1 | filecheck %s --check-prefix BAD

tix.program @f (%a = "a" : !tix.tensor<[], f64>, %b = "b" : !tix.tensor<[], f64>) {
  %t = tix.define "t" () : !tix.tensor<[], f64> {
    %0 = tix.read %a[]
    %1 = tix.exp %0
    tix.yield %1
  }
  %u = tix.define "u" () : !tix.tensor<[], f64> {
    %0 = tix.read %b[]
    %1 = tix.sin %0
    tix.yield %1
  }
  %r = tix.define "r" () : !tix.tensor<[], f64> {
    %0 = tix.read %t[]
    %1 = tix.read %u[]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %r
}

// Neither an adjoint of u nor one of b.
// PRUNED:      %dt = tix.define "dt" ()
// PRUNED-NEXT:   [[POINT:%.*]] = tix.sum () in () {
// PRUNED-NEXT:     [[DR:%.*]] = tix.read %dr[]
// PRUNED-NEXT:     [[U:%.*]] = tix.read %u[]
// PRUNED-NEXT:     [[DT:%.*]] = tix.mul [[DR]], [[U]]
// PRUNED-NEXT:     tix.yield [[DT]]
// PRUNED-NEXT:   }
// PRUNED-NEXT:   tix.yield [[POINT]]
// PRUNED-NEXT: }
// PRUNED-NEXT: %da = tix.define "da" ()
// PRUNED-NOT:  tix.define
// PRUNED:      tix.return %da

// The adjoint of u, but not of b; that of the result is a tensor of its own.
// SEEN:      [[DR:%.*]] = tix.define "dr_1" ()
// SEEN-NEXT:   [[SEED:%.*]] = tix.read %dr[]
// SEEN-NEXT:   tix.yield [[SEED]]
// SEEN-NEXT: }
// SEEN-NEXT: %du = tix.define "du" ()
// SEEN:      %dt = tix.define "dt" ()
// SEEN:      %da = tix.define "da" ()
// SEEN-NOT:  tix.define
// SEEN:      tix.return %da, %du, [[DR]]

// BAD: no definition is labelled v
