// Neighbours that sum over the same points become one function, where that is cheaper.
// RUN: tadc-opt %s --split-input-file -p 'schedule{tile=true}' | filecheck %s
// RUN: tadc-opt %s --split-input-file -p schedule | filecheck %s --check-prefix PLAIN

tix.program @f (%x = "x" : !tix.tensor<[512], f32>, %z = "z" : !tix.tensor<[256], f32>, %v = "v" : !tix.tensor<[512, 3], f32>) {
  %p = tix.define "p" (%j, %k) : !tix.tensor<[256, 3], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 511) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      %5 = tix.read %v[%i, %k]
      %6 = tix.mul %4, %5
      tix.yield %6
    }
    tix.yield %0
  }
  %q = tix.define "q" (%j) : !tix.tensor<[256], f32> {
    %0 = tix.sum (%l) in (%l >= 0, %l <= 511) {
      %1 = tix.read %z[%j]
      %2 = tix.read %x[%l]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      tix.yield %4
    }
    %1 = tix.sqrt %0
    tix.yield %1
  }
  tix.return %p, %q
}

// Three rows of p and one of q advance in one loop: in blocks of 64 columns, sixteen vectors. Each
// vector has one exponential. Elements of p lie apart, those of q side by side.
// CHECK-LABEL:   func.func @p(%p: memref<?xf32>, %q: memref<?xf32>,
// CHECK-SAME:        attributes {buffers = ["p", "q", "x", "z", "v"], sizes = [], results = 2 : i64}
// CHECK:           loops.parallel (%unit) to (
// CHECK:             scf.for %i
// CHECK-COUNT-4:       math.exp {{.*}} : vector<16xf32>
// CHECK-NOT:           math.exp
// CHECK-NOT:         scf.for %i
// CHECK:             scf.for %column
// CHECK:               vector.store {{.*}}, %p[{{.*}}, vector<2xf32>
// CHECK:             math.sqrt
// CHECK:             vector.store {{.*}}, %q[
// CHECK-NOT:     func.func

// PLAIN-LABEL:   func.func @p(
// PLAIN-SAME:        attributes {buffers = ["p", "x", "z", "v"], sizes = []}
// PLAIN-LABEL:   func.func @q(

// -----

// A definition that reads the other one stays apart, whatever they have in common.
tix.program @chain (%x = "x" : !tix.tensor<[512], f32>, %z = "z" : !tix.tensor<[256], f32>) {
  %p = tix.define "p" (%j) : !tix.tensor<[256], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 511) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      tix.yield %4
    }
    tix.yield %0
  }
  %q = tix.define "q" (%j) : !tix.tensor<[256], f32> {
    %0 = tix.read %p[%j]
    %1 = tix.sum (%i) in (%i >= 0, %i <= 511) {
      %2 = tix.read %x[%i]
      %3 = tix.read %z[%j]
      %4 = tix.mul %2, %3
      %5 = tix.exp %4
      %6 = tix.mul %5, %5
      tix.yield %6
    }
    %2 = tix.div %1, %0
    tix.yield %2
  }
  tix.return %p, %q
}

// CHECK-LABEL:   func.func @p(
// CHECK-LABEL:   func.func @q(

// -----

// Two sums of one definition advance in one loop, too.
tix.program @mean (%x = "x" : !tix.tensor<[512], f32>, %z = "z" : !tix.tensor<[256], f32>, %b = "b" : !tix.tensor<[512], f32>) {
  %y = tix.define "y" (%j) : !tix.tensor<[256], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 511) {
      %2 = tix.read %x[%i]
      %3 = tix.read %z[%j]
      %4 = tix.mul %2, %3
      %5 = tix.exp %4
      %6 = tix.read %b[%i]
      %7 = tix.mul %5, %6
      tix.yield %7
    }
    %1 = tix.sum (%i) in (%i >= 0, %i <= 511) {
      %2 = tix.read %x[%i]
      %3 = tix.read %z[%j]
      %4 = tix.mul %2, %3
      %5 = tix.exp %4
      tix.yield %5
    }
    %2 = tix.div %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL:   func.func @y(
// CHECK:             scf.for %i
// CHECK-COUNT-4:       math.exp
// CHECK-NOT:           math.exp
// CHECK-NOT:         scf.for
// CHECK-COUNT-4:     vector.store {{.*}}, %y[
