// Linear systems between programs would be as many as the index has values, each with its matrix.
// RUN: not tadc-opt %s -p batch 2>&1 | filecheck %s

tix.program @p_1 (%p = "p" : !tix.tensor<[N], f64>, %p_dot = "p_dot" : !tix.tensor<[N], f64>) {
  %m = tix.define "m" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %p[%i]
    tix.yield %0
  }
  %r = tix.define "r" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p_dot[%i]
    tix.yield %0
  }
  tix.return %m, %r
}
tix.solve ["s"] from ["m"] and ["r"] as "dense" {batch = 0 : i64, rows = [1 : i64]}

// CHECK: programs with linear systems between them get no index
