// Definitions stand where few values are alive: the second order of the docstring.
// RUN: tadc-opt %s --split-input-file -p order-definitions | filecheck %s

tix.program @chain (%p = "p" : !tix.tensor<[N], f64>, %d = "d" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %p_2 = tix.define "p_2" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p_1[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  %d_1 = tix.define "d_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %d[%i]
    %1 = tix.read %p[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %d_2 = tix.define "d_2" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %d_1[%i]
    %1 = tix.read %p_1[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %d_3 = tix.define "d_3" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %d_2[%i]
    %1 = tix.read %p_2[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %d_3
}
// CHECK:      tix.define "p_1"
// CHECK:      tix.define "d_1"
// CHECK:      tix.define "d_2"
// CHECK:      tix.define "p_2"
// CHECK:      tix.define "d_3"

// -----

// Nothing is gained: the order stays.
tix.program @same (%p = "p" : !tix.tensor<[N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    tix.yield %0
  }
  %g = tix.define "g" () : !tix.tensor<[], f64> {
    %0 = tix.constant 2.0
    tix.yield %0
  }
  tix.return %g, %f
}
// CHECK:      tix.define "f"
// CHECK:      tix.define "g"
