// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s
// RUN: tadc-opt %s -p 'schedule{tile=true plan="y[i, j]: plain"}' | filecheck %s --check-prefix APART

// Sums over pieces of eight rows, and rows, read the same stage: a band has the rows of pieces.
tix.program @roots sizes (#tix.size<P = min((I + 7) floordiv 8)>, #tix.size<Q = min((J + 511) floordiv 512)>) (%x = "x" : !tix.tensor<[I, J + 2], f32>, %v = "v" : !tix.tensor<[I, J + 4], f32>) {
  %z = tix.define "z" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %x[%i, %j + 2]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %z[%i, %j]
    %1 = tix.read %v[%i, %j]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %s = tix.define "s" (%t, %p, %q) : !tix.tensor<[5, P, Q], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 8*%p, 8*%p + 7 >= %i, I >= %i + 1, %j >= 512*%q, 512*%q + 511 >= %j, J >= %j + 1) {
      %1 = tix.read %z[%i, %j]
      %2 = tix.read %v[%i, %j + %t]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y, %s
}

// CHECK:      func.func @y(%y: memref<?xf32>, %s: memref<?xf32>, %x: memref<?xf32>, %v: memref<?xf32>
// CHECK-SAME:   attributes {{{.*}}results = 2 : i64
// As many bands as cover the rows of y, of eight each, and the pieces.
// CHECK:        loops.parallel (%band) to
// CHECK:          %z = memref.alloca() : memref<65536xf32>
// CHECK:          [[ROWS:%\d+]] = loops.part %y[
// CHECK:          [[PIECES:%\d+]] = loops.part %s[
// CHECK:              vector.store %{{\d+}}, %z[%{{\d+}}] : memref<65536xf32>, vector<16xf32>
// CHECK:              vector.load %z[%{{\d+}}] : memref<65536xf32>, vector<16xf32>
// CHECK:              vector.store %{{\d+}}, [[ROWS]][%{{\d+}}] : memref<?xf32>, vector<16xf32>
// CHECK:              memref.store %{{\d+}}, [[PIECES]][%{{\d+}}] : memref<?xf32>

// APART:      func.func @z(%z: memref<?xf32>
