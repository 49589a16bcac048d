// Sums over rows that other definitions run along, or of pairs, are cut into pieces of rows.
// RUN: tadc-opt %s -p 'cut-sums{sizes="I=1024"}' | filecheck %s

// %s runs along the rows of %x, and sums over them give %d: pieces of these stand behind %s, and what
// they are added up to at the end, as nothing reads it.
tix.program @weights (%x = "x" : !tix.tensor<[I, 512], f32>, %g = "g" : !tix.tensor<[512], f32>) {
  %s = tix.define "s" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.read %g[%j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %d = tix.define "d" (%j) : !tix.tensor<[512], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i + 1 <= I) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.read %s[%i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.read %g[%j]
    %5 = tix.mul %0, %4
    tix.yield %5
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, 512], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %s[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %d, %y
}

// Rows that are made of others, as gradients of a layer by its input are, take sums along, too.
tix.program @bias (%x = "x" : !tix.tensor<[I, 512], f32>, %dy = "dy" : !tix.tensor<[I, 512], f32>) {
  %dx = tix.define "dx" (%i, %j) : !tix.tensor<[I, 512], f32> {
    %0 = tix.read %dy[%i, %j]
    %1 = tix.read %x[%i, %j]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %db = tix.define "db" (%j) : !tix.tensor<[512], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i + 1 <= I) {
      %1 = tix.read %dy[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %dx, %db
}

// No definition runs along the rows of %x alone: `y` is a product of matrices.
tix.program @product (%x = "x" : !tix.tensor<[I, 512], f32>, %g = "g" : !tix.tensor<[512, 64], f32>) {
  %y = tix.define "y" (%i, %k) : !tix.tensor<[I, 64], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.read %g[%j, %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %d = tix.define "d" (%j) : !tix.tensor<[512], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i + 1 <= I) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %d
}

// Few rows: nothing is cut.
tix.program @few (%x = "x" : !tix.tensor<[64, 512], f32>) {
  %s = tix.define "s" (%i) : !tix.tensor<[64], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %d = tix.define "d" (%j) : !tix.tensor<[512], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 63) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %s, %d
}

// Sums along both indices of pairs, which share an exponential: one of them has 8 pieces, of every
// eighth row each: as many as there are units of work for two parts of the columns.
tix.program @pairs (%x = "x" : !tix.tensor<[I], f32>, %z = "z" : !tix.tensor<[512, 3], f32>) {
  %u = tix.define "u" (%i, %k) : !tix.tensor<[I, 3], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%j, 0]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      %5 = tix.read %z[%j, %k]
      %6 = tix.mul %4, %5
      tix.yield %6
    }
    tix.yield %0
  }
  %v = tix.define "v" (%j, %k) : !tix.tensor<[512, 3], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i + 1 <= I) {
      %1 = tix.read %x[%i]
      %2 = tix.read %z[%j, 0]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      %5 = tix.read %z[%j, %k]
      %6 = tix.mul %4, %5
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %u, %v
}

// CHECK-LABEL: tix.program @weights sizes (#tix.size<P = min((I + 31) floordiv 32)>)
// CHECK:         %s = tix.define
// CHECK:         %d_pieces = tix.define "d_pieces" (%p, %j_1) : !tix.tensor<[P, 512], f32> {
// CHECK-NEXT:      [[S:%.*]] = tix.sum (%i_1) in (%i_1 >= 32 * %p, 32 * %p + 31 >= %i_1, %i_1 + 1 <= I) {
// CHECK-NEXT:        [[X:%.*]] = tix.read %x[%i_1, %j_1]
// CHECK-NEXT:        [[F:%.*]] = tix.read %s[%i_1]
// CHECK-NEXT:        [[T:%.*]] = tix.mul [[X]], [[F]]
// CHECK-NEXT:        tix.yield [[T]]
// CHECK:         %y = tix.define
// CHECK:         %d = tix.define "d"
// CHECK-NEXT:      [[A:%.*]] = tix.sum (%p_1) in (%p_1 >= 0, %p_1 + 1 <= P) {
// CHECK-NEXT:        [[D:%.*]] = tix.read %d_pieces[%p_1, %j_3]
// CHECK-NEXT:        tix.yield [[D]]
// CHECK-NEXT:      }
// CHECK-NEXT:      [[G:%.*]] = tix.read %g[%j_3]
// CHECK-NEXT:      tix.mul [[A]], [[G]]
// CHECK-LABEL: tix.program @bias
// CHECK:         %dx = tix.define
// CHECK:         %db_pieces = tix.define "db_pieces" (%p, %j_1) : !tix.tensor<[P, 512], f32> {
// CHECK:         %db = tix.define "db" (%j_2)
// CHECK-LABEL: tix.program @product
// CHECK-NOT:     _pieces
// CHECK-LABEL: tix.program @few
// CHECK-NOT:     _pieces
// CHECK-LABEL: tix.program @pairs (
// CHECK:         %v_pieces = tix.define "v_pieces" (%p, %k_1, %j_1) : !tix.tensor<[8, 3, 512], f32> {
// CHECK-NEXT:      tix.sum (%q) in (%q >= 0, %p + 8 * %q + 1 <= I) {
// CHECK-NEXT:        tix.read %x[8 * %q + %p]
// CHECK:         %v = tix.define "v" (%j_2, %k_2)
// CHECK-NEXT:      tix.sum (%p_1) in (%p_1 >= 0, %p_1 <= 7) {
// CHECK-NEXT:        tix.read %v_pieces[%p_1, %k_2, %j_2]
