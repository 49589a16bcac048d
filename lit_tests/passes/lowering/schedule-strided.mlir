// Strides of what is read come as sizes, behind all others; what is written is dense.
// RUN: tadc-opt %s -p 'schedule{strided=true}' | filecheck %s

tix.program @transposed (%x = "x" : !tix.tensor<[N, M], f64>, %w = "w" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[M, N], f64> {
    %0 = tix.read %x[%j, %i]
    tix.yield %0
  }
  %z = tix.define "z" (%i, %j) : !tix.tensor<[M, N], f64> {
    %0 = tix.read %w[%j, %i]
    tix.yield %0
  }
  tix.return %y, %z
}
// CHECK-LABEL: func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %M: index, %N: index, %0: index)
// CHECK-SAME:      sizes = ["M", "N", "x stride 0"]
// CHECK:         [[ROW:%.*]] = arith.muli %j, %0 : index
// CHECK-NEXT:    [[AT:%.*]] = arith.addi [[ROW]], %i : index
// CHECK-NEXT:    memref.load %x[[[AT]]] : memref<?xf64>
// CHECK:         memref.store
// CHECK:       loops.call @y ["z", "w"]

// What passes made of two indices is read in another shape than its own: its rows lie side by side.
tix.program @split (%x = "x" : !tix.tensor<[N, M], f64>) {
  %s = tix.define "s" (%i, %r, %j) : !tix.tensor<[N, 2, M], f64> {
    %0 = tix.read %x[%i, %j]
    tix.yield %0
  }
  %u = tix.define "u" (%p, %j) : !tix.tensor<[2 * N - 1, M], f64> {
    %0 = tix.read %s[%p, %j] as [2 * N, M]
    tix.yield %0
  }
  tix.return %u
}
// CHECK-LABEL: func.func @s(
// CHECK:         sizes = ["M", "N", "x stride 0"]
// CHECK-LABEL: func.func @u(
// CHECK-NOT:     stride
// CHECK:         [[ROW:%.*]] = arith.muli %p, %{{.*}} : index
// CHECK-NEXT:    [[AT:%.*]] = arith.addi [[ROW]], %j : index
// CHECK-NEXT:    memref.load %s[[[AT]]] : memref<?xf64>
