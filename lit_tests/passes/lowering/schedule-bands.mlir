// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s
// RUN: tadc-opt %s -p 'schedule{tile=true sizes="I=200","J=200"}' | filecheck %s --check-prefix NEAR
// RUN: tadc-opt %s -p 'schedule{tile=true plan="y[i, j]: stream"}' | filecheck %s --check-prefix PLANNED

// The rows of z that a band of rows of y reads lie in a buffer. Both are streams of vectors.
tix.program @blur (%x = "x" : !tix.tensor<[I + 2, J + 2], f32>) {
  %z = tix.define "z" (%i, %j) : !tix.tensor<[I + 2, J], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %x[%i, %j + 2]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %z[%i, %j]
    %1 = tix.read %z[%i + 2, %j]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK:      func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %I: index, %J: index) attributes {buffers = ["y", "x"], sizes = ["I", "J"]} {
// CHECK:        loops.parallel (%band) to
// CHECK:          %z = memref.alloca() : memref<65536xf32>
// CHECK:          [[ROWS:%\d+]] = loops.part %y[%{{\d+}}] : memref<?xf32> -> memref<?xf32>
// CHECK:          scf.for %i = %c0 to
// CHECK:            scf.for %j =
// CHECK:              vector.load %x[%{{\d+}}] : memref<?xf32>, vector<16xf32>
// CHECK:              vector.store %{{\d+}}, %z[%{{\d+}}] : memref<65536xf32>, vector<16xf32>
// CHECK:          scf.for %i_1 = %c0 to
// CHECK:            scf.for %j_1 =
// CHECK:              vector.load %z[%{{\d+}}] : memref<65536xf32>, vector<16xf32>
// CHECK:              vector.store %{{\d+}}, [[ROWS]][%{{\d+}}] : memref<?xf32>, vector<16xf32>

// A near cache has room for all of z: two steps; so there are where a plan says how y runs.
// NEAR:       func.func @z(%z: memref<?xf32>, %x: memref<?xf32>
// NEAR:       func.func @y(%y: memref<?xf32>, %z: memref<?xf32>
// PLANNED:    func.func @z(%z: memref<?xf32>, %x: memref<?xf32>
// PLANNED:    func.func @y(%y: memref<?xf32>, %z: memref<?xf32>
