// Sums along both indices of pairs become one walk, in which each pair computes what both need once.
// RUN: tadc-opt %s --split-input-file -p 'schedule{tile=true}' | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[I], f32>, %z = "z" : !tix.tensor<[2048], f32>) {
  %u = tix.define "u" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 2047) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      tix.yield %4
    }
    tix.yield %0
  }
  %v = tix.define "v_pieces" (%p, %j) : !tix.tensor<[2, 2048], f32> {
    %0 = tix.sum (%q) in (%q >= 0, 2 * %q + %p + 1 <= I) {
      %1 = tix.read %x[2 * %q + %p]
      %2 = tix.read %z[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      %5 = tix.mul %4, %1
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %u, %v
}

// Sixteen units have eight supersteps. The rows of a unit, every other one, come in blocks of four: each has four vectors of
// exponentials, whose sums along the columns are carried, and whose sums along the rows are added to those of the strip.
// CHECK-LABEL:   func.func @u(%u: memref<?xf32>, %v_pieces: memref<?xf32>,
// CHECK-SAME:        buffers = ["u", "v_pieces", "x", "z"], sizes = ["I"], results = 2 : i64}
// CHECK:           loops.parallel (%w) to (%c128) in 8 {
// CHECK:             [[SUMS:%.*]] = memref.alloca() : memref<512xf32>
// CHECK:             scf.for %strip
// CHECK:               scf.for %n
// CHECK:                 vector.store {{.*}}, [[SUMS]][%n]
// CHECK:               scf.for %i = {{.*}} step %c8
// CHECK:                 scf.for %j = {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4:           math.exp
// CHECK-NOT:               math.exp
// CHECK:                   [[V:%.*]] = vector.load [[SUMS]]
// CHECK-COUNT-4:           arith.addf
// CHECK:                   vector.store {{.*}}, [[SUMS]]
// CHECK:                   scf.yield
// CHECK-COUNT-4:         memref.load %u[
// CHECK:                 scf.if
// CHECK-COUNT-4:           memref.store {{.*}}, %u[
// CHECK:               scf.for %i
// CHECK:                 scf.for %j
// CHECK:                   math.exp
// CHECK:                 memref.store {{.*}}, %u[
// CHECK:               scf.for %j
// CHECK:                 vector.load [[SUMS]]
// CHECK:                 vector.load %v_pieces
// CHECK:                 vector.store {{.*}}, %v_pieces
// CHECK-NOT:     func.func

// -----

// Pieces that read the walking definition are computed after it.
tix.program @chain (%x = "x" : !tix.tensor<[512], f32>, %z = "z" : !tix.tensor<[512], f32>) {
  %u = tix.define "u" (%i) : !tix.tensor<[512], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      tix.yield %4
    }
    tix.yield %0
  }
  %v = tix.define "v_pieces" (%p, %j) : !tix.tensor<[16, 512], f32> {
    %0 = tix.sum (%q) in (%q >= 0, 16 * %q + %p <= 511) {
      %1 = tix.read %x[16 * %q + %p]
      %2 = tix.read %z[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      %5 = tix.read %u[16 * %q + %p]
      %6 = tix.mul %4, %5
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %v
}

// CHECK-LABEL:   func.func @u(
// CHECK-LABEL:   func.func @v_pieces(
