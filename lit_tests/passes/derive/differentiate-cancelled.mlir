// The logarithm of a sum of exponentials does not depend on what is subtracted: a maximum that keeps
// it finite counts as a constant. Where the maximum stands twice, it does not cancel.
// RUN: tadc-opt %s -p 'differentiate{of=y}' | filecheck %s --check-prefix CANCELLED
// RUN: tadc-opt %s -p 'differentiate{of=z}' | filecheck %s --check-prefix KEPT
// RUN: tadc-opt %s -p 'differentiate{mode=forward}' | filecheck %s --check-prefix TANGENT

tix.program @f (%x = "x" : !tix.tensor<[4], f64>) {
  %m = tix.define "m" () : !tix.tensor<[], f64> {
    %0 = tix.max (%k) in (%k >= 0, %k <= 3) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 3) {
      %1 = tix.read %x[%k]
      %2 = tix.read %m[]
      %3 = tix.sub %1, %2
      %4 = tix.exp %3
      tix.yield %4
    }
    %5 = tix.log %0
    %6 = tix.read %m[]
    %7 = tix.add %5, %6
    tix.yield %7
  }
  %z = tix.define "z" () : !tix.tensor<[], f64> {
    %0 = tix.read %y[]
    %1 = tix.read %m[]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %y, %z
}

// One gradient, of the terms of y alone.
// CANCELLED-NOT: tix.define "m_ties"
// CANCELLED-NOT: tix.define "dm"
// CANCELLED:     %dx = tix.define "dx"
// CANCELLED-NOT:   tix.where
// CANCELLED:     tix.return %dx

// KEPT: tix.define "dm"
// KEPT: tix.define "m_ties"
// KEPT: tix.return %dx

// z is a result, too.
// TANGENT: tix.define "m_dot"
