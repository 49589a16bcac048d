// RUN: tadc-opt %s -p 'schedule{tile=true sizes="I=21","J=4096"}' | filecheck %s

// A softmax of columns: vectors run along j, and one iteration computes four of them, for all i. The
// maxima and the sums stay in vectors; what lies in %e is where %y will.
tix.program @softmax (%x = "x" : !tix.tensor<[I, J], f32>) {
  %m = tix.define "m" (%j) : !tix.tensor<[J], f32> {
    %0 = tix.max (%i) in (%i >= 0, %i <= I - 1) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %e = tix.define "e" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %m[%j]
    %2 = tix.sub %0, %1
    %3 = tix.exp %2
    tix.yield %3
  }
  %s = tix.define "s" (%j) : !tix.tensor<[J], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= I - 1) {
      %1 = tix.read %e[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.read %e[%i, %j]
    %1 = tix.read %s[%j]
    %2 = tix.div %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL:   func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %I: index, %J: index)
// CHECK-SAME:        buffers = ["y", "x"]
// CHECK:           loops.parallel (%j)
// CHECK:             scf.for %j
// CHECK:               [[M:%[0-9]+]], {{.*}} = scf.for %i
// CHECK-COUNT-4:         arith.maximumf
// CHECK:               scf.for %i
// CHECK:                 arith.subf {{.*}}, [[M]]
// CHECK:                 math.exp
// CHECK:                 vector.store {{.*}}, %y[
// CHECK:               scf.for %i
// CHECK-COUNT-4:         vector.load %y[
// CHECK:               scf.for %i
// CHECK:                 vector.load %y[
// CHECK:                 arith.divf {{.*}} vector<16xf32>
// CHECK:                 vector.store {{.*}}, %y[
// CHECK:             scf.for %j
// CHECK:               vector.create_mask
// CHECK:               scf.for %i
// CHECK:               vector.maskedstore %y[
