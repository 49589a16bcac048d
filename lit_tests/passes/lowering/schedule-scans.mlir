// Loops carry the totals of scans: along rows with prefixes in the lanes of vectors, and in columns.
// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

// A vector of eight terms, its prefixes by doubling, the total before it and the total behind it.
tix.program @rows (%x = "x" : !tix.tensor<[N, 64], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, 64], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %j >= %k) {
      %1 = tix.read %x[%i, %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// From an element on: from the last vector to the first.
tix.program @backwards (%x = "x" : !tix.tensor<[N, 64], f64>) {
  %z = tix.define "z" (%i, %j) : !tix.tensor<[N, 64], f64> {
    %0 = tix.max (%k) in (%k >= %j, 64 >= %k + 1) {
      %1 = tix.read %x[%i, %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %z
}

// Along the first index each column has a total, in strips of 512.
tix.program @columns (%x = "x" : !tix.tensor<[64, N], f64>) {
  %w = tix.define "w" (%i, %j) : !tix.tensor<[64, N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k) {
      %1 = tix.read %x[%k, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %w
}

// Rows may have many segments where a size is not known: their totals are added with their errors.
tix.program @long (%x = "x" : !tix.tensor<[N], f64>) {
  %v = tix.define "v" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %i >= %k) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %v
}

// CHECK-LABEL: func.func @y
// CHECK:         loops.parallel (%i) to (%N) {
// CHECK:           scf.for %j = {{.*}} iter_args([[T:%.*]] = {{.*}}) -> (vector<8xf64>) {
// CHECK:             [[P0:%.*]] = vector.load %x
// CHECK:             [[S0:%.*]] = vector.shuffle [[P0]], [[NONE:%.*]] [8, 0, 1, 2, 3, 4, 5, 6]
// CHECK-NEXT:        [[P1:%.*]] = arith.addf [[S0]], [[P0]]
// CHECK-NEXT:        [[S1:%.*]] = vector.shuffle [[P1]], [[NONE]] [8, 8, 0, 1, 2, 3, 4, 5]
// CHECK-NEXT:        [[P2:%.*]] = arith.addf [[S1]], [[P1]]
// CHECK-NEXT:        [[S2:%.*]] = vector.shuffle [[P2]], [[NONE]] [8, 8, 8, 8, 0, 1, 2, 3]
// CHECK-NEXT:        [[P3:%.*]] = arith.addf [[S2]], [[P2]]
// CHECK-NEXT:        [[Y:%.*]] = arith.addf [[T]], [[P3]]
// CHECK-NEXT:        [[E:%.*]] = vector.shuffle [[P3]], [[P3]] [7, 7, 7, 7, 7, 7, 7, 7]
// CHECK-NEXT:        [[U:%.*]] = arith.addf [[T]], [[E]]
// CHECK:             vector.store [[Y]], %y
// CHECK-NEXT:        scf.yield [[U]]

// CHECK-LABEL: func.func @z
// CHECK:           scf.for %j = {{.*}} iter_args([[T:%.*]] = {{.*}}) -> (vector<8xf64>) {
// CHECK:             [[J:%.*]] = arith.subi {{%.*}}, %j : index
// CHECK:             [[S0:%.*]] = vector.shuffle {{.*}} [1, 2, 3, 4, 5, 6, 7, 8]
// CHECK-NEXT:        arith.maximumf [[S0]]
// CHECK:             [[P:%.*]] = arith.maximumf
// CHECK:             arith.maximumf [[T]], [[P:%.*]] : vector<8xf64>
// CHECK-NEXT:        vector.shuffle {{.*}} [0, 0, 0, 0, 0, 0, 0, 0]

// CHECK-LABEL: func.func @w
// CHECK:         loops.parallel (%j) to
// CHECK:           %total = memref.alloca() : memref<512xf64>
// CHECK:           scf.for %i = {{.*}} {
// CHECK:             scf.for %j_1 = {{.*}} {
// CHECK:               [[X:%.*]] = vector.load %x
// CHECK-NEXT:          [[T:%.*]] = vector.load %total
// CHECK-NEXT:          [[U:%.*]] = arith.addf [[T]], [[X]]
// CHECK-NEXT:          vector.store [[U]], %total
// CHECK:               vector.store {{.*}}, %w

// CHECK-LABEL: func.func @v
// CHECK:           scf.for %segment = {{.*}} step %c4096 iter_args([[T:%.*]] = {{.*}}, [[E:%.*]] = {{.*}})
// CHECK:             [[BOTH:%.*]] = arith.addf [[T]], [[E]]
// CHECK:             [[BEFORE:%.*]] = loops.select {{.*}}, [[BOTH]], [[T]]
// CHECK:             [[LAST:%.*]] = scf.for %i =
// CHECK:               arith.addf [[BEFORE]]
// CHECK:             [[LAST:%.*]] = scf.for %i_1 =
// CHECK:             [[U:%.*]] = arith.addf [[T]], [[LAST]]
// CHECK:             scf.yield [[U]]
