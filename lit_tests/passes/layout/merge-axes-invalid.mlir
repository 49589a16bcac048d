// Merged axes are for loops: derivatives, batches and numbers for sizes come before.
// RUN: tadc-opt %s -p differentiate --verify-diagnostics | filecheck %s
// RUN: tadc-opt %s -p batch --verify-diagnostics | filecheck %s
// RUN: tadc-opt %s -p 'specialise{sizes="N=3"}' --verify-diagnostics | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N, M], f64> as [M * N] {
    %0 = tix.read %x[%p] as [M * N]
    tix.yield %0
  }
  tix.return %y
}
// CHECK: a tensor is seen in another shape; merge-axes is for loops alone
