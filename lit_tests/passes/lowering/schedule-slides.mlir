// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

// A band slides along i. For each plane of y, plane i + 2 of z is computed before: the third one
// in a ring of three.
tix.program @blur (%x = "x" : !tix.tensor<[I + 2, J, K + 2], f32>) {
  %z = tix.define "z" (%i, %j, %k) : !tix.tensor<[I + 2, J, K], f32> {
    %0 = tix.read %x[%i, %j, %k]
    %1 = tix.read %x[%i, %j, %k + 2]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  %y = tix.define "y" (%i, %j, %k) : !tix.tensor<[I, J, K], f32> {
    %0 = tix.read %z[%i, %j, %k]
    %1 = tix.read %z[%i + 2, %j, %k]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK:      func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %I: index, %J: index, %K: index)
// CHECK:        loops.parallel (%band) to
// CHECK:          %z = memref.alloca() : memref<65535xf32>
// CHECK:          scf.for %n = %c0 to
// CHECK:            arith.remsi %{{\d+}}, %c3 : index
// CHECK:            [[AHEAD:%\d+]] = loops.part %z[%{{\d+}}] : memref<65535xf32> -> memref<?xf32>
// CHECK:            scf.for %i = %c0 to
// CHECK:              scf.for %j = %c0 to
// CHECK:                scf.for %k =
// CHECK:                  vector.load %x[%{{\d+}}] : memref<?xf32>, vector<16xf32>
// CHECK:                  vector.store %{{\d+}}, [[AHEAD]][%{{\d+}}] : memref<?xf32>, vector<16xf32>
// CHECK:            [[PLANE:%\d+]] = loops.part %y[%{{\d+}}] : memref<?xf32> -> memref<?xf32>
// CHECK:            scf.for %i_1 = %c0 to
// CHECK:              arith.remsi %{{\d+}}, %c3 : index
// CHECK:              arith.remsi %{{\d+}}, %c3 : index
// CHECK:              scf.for %j_1 = %c0 to
// CHECK:                scf.for %k_1 =
// CHECK:                  vector.load %z[%{{\d+}}] : memref<65535xf32>, vector<16xf32>
// CHECK:                  vector.store %{{\d+}}, [[PLANE]][%{{\d+}}] : memref<?xf32>, vector<16xf32>
