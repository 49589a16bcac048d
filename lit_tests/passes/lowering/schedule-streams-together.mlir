// Streams over one space that read the same tensor have rows in turn, in one function.
// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

tix.program @two (%x = "x" : !tix.tensor<[I, J], f32>, %w = "w" : !tix.tensor<[I, J], f32>, %dy = "dy" : !tix.tensor<[I, J], f32>) {
  %dx = tix.define "dx" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %dy[%i, %j]
    %1 = tix.read %w[%i, %j]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %dw = tix.define "dw" (%k, %l) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %dy[%k, %l]
    %1 = tix.read %x[%k, %l]
    %2 = tix.sub %0, %1
    tix.yield %2
  }
  tix.return %dx, %dw
}

// CHECK:      func.func @dx(%dx: memref<?xf32>, %dw: memref<?xf32>, %dy: {{.*}} results = 2
// CHECK:        loops.parallel (%i) to (%I) {
// CHECK:          scf.for %j =
// CHECK:            vector.store {{.*}}, %dx[
// CHECK:          scf.for %j_1 =
// CHECK:            vector.store {{.*}}, %dw[
// CHECK-NOT:  func.func @dw

// What reads another one of them runs behind it.
tix.program @chain (%x = "x" : !tix.tensor<[I, J], f32>) {
  %h = tix.define "h" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.mul %0, %0
    tix.yield %1
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %h[%i, %j]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %h, %y
}

// CHECK-LABEL: func.func @h(
// CHECK:       func.func @y(
