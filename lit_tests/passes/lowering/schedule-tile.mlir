// Sums that read the same elements for many elements of the result are computed in register blocks.
// RUN: tadc-opt %s --split-input-file -p 'schedule{tile=true}' | filecheck %s
// RUN: tadc-opt %s --split-input-file -p schedule | filecheck %s --check-prefix PLAIN

tix.program @f (%a = "a" : !tix.tensor<[128, 300], f32>, %b = "b" : !tix.tensor<[300, 128], f32>) {
  %c = tix.define "c" (%i, %j) : !tix.tensor<[128, 128], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 299) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%k, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %d = tix.define "d" (%i, %j) : !tix.tensor<[128, 128], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 298) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %a[%j, %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i) : !tix.tensor<[126], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.read %a[%i + %k, 0]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %c, %d, %y
}

// A product of matrices: an element of a serves a row of the block, a vector of b all rows. The sums
// of the block are carried through the loop.
// CHECK-LABEL: func.func @c(
// CHECK:         loops.parallel (%unit) to (
// CHECK:           scf.for %block
// CHECK:             [[ZEROS:%.*]] = vector.broadcast {{.*}} : f32 to vector<16xf32>
// CHECK:             scf.for %k{{.*}} iter_args([[OLD:%[^ ]+]] = [[ZEROS]], {{.*}}) -> (vector<16xf32>, {{.*}}) {
// CHECK:               [[A:%.*]] = memref.load %a[
// CHECK:               [[B:%.*]] = vector.load %b[
// CHECK:               [[AS:%.*]] = vector.broadcast [[A]] : f32 to vector<16xf32>
// CHECK:               [[AB:%.*]] = arith.mulf [[AS]], [[B]] fastmath<contract> : vector<16xf32>
// CHECK:               arith.addf [[OLD]], [[AB]] fastmath<contract> : vector<16xf32>
// CHECK:             vector.store {{.*}}, %c[

// With the transposed matrix (over fewer terms, so that it has loops of its own), what lies apart along a row of the block is copied side by side,
// in squares; the last one has fewer terms.
// CHECK-LABEL: func.func @d(
// CHECK:         %panel = memref.alloca
// CHECK:           vector.load %a[
// CHECK:           vector.shuffle
// CHECK:           vector.store {{.*}}, %panel[
// CHECK:           [[MASK:%.*]] = vector.create_mask
// CHECK:           vector.maskedload %a[{{.*}}], [[MASK]],
// CHECK:           vector.shuffle
// CHECK:           vector.store {{.*}}, %panel[
// CHECK:           [[A:%.*]] = memref.load %a[
// CHECK:             [[B:%.*]] = vector.load %panel[
// CHECK:         vector.store {{.*}}, %d[

// A short sum over few elements stays a loop per element.
// CHECK-LABEL: func.func @y(
// CHECK:         loops.parallel (%i
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for %k = {{.*}} iter_args(

// Without the option all do, so that one iteration owns one element.
// PLAIN-LABEL: func.func @c(
// PLAIN:         loops.parallel (%i, %j) to (%c128, %c128) {
// PLAIN-NOT:     memref.alloca
// PLAIN:         memref.store {{.*}}, %c[
// PLAIN-LABEL: func.func @d(
// PLAIN:         loops.parallel (%i, %j) to (%c128, %c128) {
// PLAIN-NOT:     memref.alloca
// PLAIN:         memref.store {{.*}}, %d[

// -----

// What all rows share but lies apart along the columns is read once a term, where there are too few
// blocks of rows for a panel: here one. The columns that blocks of 48 leave have one of 16.
tix.program @shared (%x = "x" : !tix.tensor<[8, 300], f32>, %w = "w" : !tix.tensor<[300, 64, 5], f32>) {
  %y = tix.define "y" (%n, %c, %p) : !tix.tensor<[8, 64, 5], f32> {
    %0 = tix.sum (%o) in (%o >= 0, %o <= 299) {
      %1 = tix.read %x[%n, %o]
      %2 = tix.read %w[%o, %c, %p]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: func.func @y(
// CHECK-NOT:     %panel
// CHECK:         scf.for %o
// CHECK-COUNT-3:   loops.strided_load %w[
// CHECK-NOT:       loops.strided_load
// CHECK:         memref.store {{.*}}, %y[
// CHECK:         scf.for %o
// CHECK:           loops.strided_load %w[
// CHECK-NOT:       loops.strided_load
// CHECK:         memref.store {{.*}}, %y[

// -----

// Rows read elements side by side, terms far apart: blocks share the lines of a chunk of terms, which
// come ahead of their use.
tix.program @f (%a = "a" : !tix.tensor<[512, 1024], f32>, %b = "b" : !tix.tensor<[512, 1024], f32>) {
  %c = tix.define "c" (%i, %j) : !tix.tensor<[1024, 1024], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 511) {
      %1 = tix.read %a[%k, %i]
      %2 = tix.read %b[%k, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %c
}

// CHECK-LABEL: func.func @c(
// CHECK:         scf.for %chunk
// CHECK:           scf.for %block
// CHECK:             scf.for %k
// CHECK:               loops.prefetch %a[
// CHECK-NOT:           loops.prefetch
// CHECK:         vector.store {{.*}}, %c[

// -----

// Too few elements for vectors of them: vectors along the terms, of which the last ones have masks.
// All values of s are rows of a block, with four of o.
tix.program @f (%y = "y" : !tix.tensor<[8, 30, 100], f32>, %x = "x" : !tix.tensor<[30, 102], f32>) {
  %w = tix.define "w" (%o, %s) : !tix.tensor<[8, 3], f32> {
    %0 = tix.sum (%n, %t) in (%n >= 0, %n <= 29, %t >= 0, %t <= 99) {
      %1 = tix.read %y[%o, %n, %t]
      %2 = tix.read %x[%n, %t + %s]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %w
}

// CHECK-LABEL: func.func @w(
// CHECK:         scf.for %n
// CHECK:           scf.for %t = {{.*}} -> (vector<16xf32>,
// CHECK-COUNT-2:     vector.load %{{[xy]}}[
// CHECK:           scf.for %t
// CHECK:             [[MASK:%.*]] = vector.create_mask
// CHECK:             vector.maskedload %{{[xy]}}[{{.*}}], [[MASK]]
// CHECK-COUNT-12: vector.reduction <add>
// CHECK-NOT:     vector.reduction
// CHECK:         memref.store {{.*}}, %w[

// -----

// Maxima advance in registers as sums do, from the least number on.
tix.program @f (%a = "a" : !tix.tensor<[128, 300], f32>, %b = "b" : !tix.tensor<[300, 128], f32>) {
  %c = tix.define "c" (%i, %j) : !tix.tensor<[128, 128], f32> {
    %0 = tix.max (%k) in (%k >= 0, %k <= 299) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%k, %j]
      %3 = tix.add %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %c
}

// CHECK-LABEL: func.func @c(
// CHECK:         [[LEAST:%.*]] = arith.constant 0xff800000 : f32
// CHECK:         [[START:%.*]] = vector.broadcast [[LEAST]] : f32 to vector<16xf32>
// CHECK:         scf.for %k{{.*}} iter_args([[OLD:%[^ ]+]] = [[START]], {{.*}}) -> (vector<16xf32>, {{.*}}) {
// CHECK:           [[TERM:%.*]] = arith.addf {{.*}} : vector<16xf32>
// CHECK-NEXT:      arith.maximumf [[OLD]], [[TERM]]
// CHECK:         vector.store {{.*}}, %c[
