// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

// What all columns of a row read, and is certainly there, is loaded before their loop.
tix.program @filter (%b = "b" : !tix.tensor<[2], f32>, %x = "x" : !tix.tensor<[I, J + 1], f32>, %s = "s" : !tix.tensor<[I], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.sum (%t) in (%t >= 0, %t <= 1) {
      %1 = tix.read %b[%t]
      %2 = tix.read %x[%i, %j + %t]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %1 = tix.read %s[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK:      loops.parallel (%i) to
// CHECK-DAG:    [[S:%\d+]] = memref.load %s[%i] : memref<?xf32>
// CHECK-DAG:    vector.broadcast [[S]] : f32 to vector<16xf32>
// CHECK-DAG:    [[B0:%\d+]] = memref.load %b[%c0] : memref<?xf32>
// CHECK-DAG:    vector.broadcast [[B0]] : f32 to vector<16xf32>
// CHECK-DAG:    [[B1:%\d+]] = memref.load %b[%c1] : memref<?xf32>
// CHECK-DAG:    vector.broadcast [[B1]] : f32 to vector<16xf32>
// CHECK:        scf.for %j =
// CHECK-NOT:      memref.load
// CHECK:          vector.load %x[
// CHECK:      func.return

// What is there for any remainder of a row, too.
tix.program @phases (%w = "w" : !tix.tensor<[2], f32>, %x = "x" : !tix.tensor<[I, J], f32>) {
  %z = tix.define "z" (%i, %j) : !tix.tensor<[2 * I, J], f32> {
    %0 = tix.floordiv (%i) by 2
    %1 = tix.read %w[%i - 2 * %0]
    %2 = tix.read %x[%0, %j]
    %3 = tix.mul %1, %2
    tix.yield %3
  }
  tix.return %z
}

// CHECK-LABEL: func.func @z(
// CHECK:      loops.parallel (%i) to
// CHECK:        [[W:%\d+]] = memref.load %w[
// CHECK-NEXT:   vector.broadcast [[W]] : f32 to vector<16xf32>
// CHECK:        scf.for %j =
// CHECK-NOT:      memref.load
// CHECK:          vector.load %x[
// CHECK:      func.return

// Long rows that read the same elements run four at a time, a part of each and then the next.
tix.program @stencil (%x = "x" : !tix.tensor<[4098, 4096], f32>) {
  %d = tix.define "d" (%i, %j) : !tix.tensor<[4096, 4096], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %x[%i + 1, %j]
    %2 = tix.read %x[%i + 2, %j]
    %3 = tix.sub %0, %1
    %4 = tix.sub %3, %2
    tix.yield %4
  }
  tix.return %d
}

// CHECK-LABEL: func.func @d(
// CHECK:         loops.parallel (%i) to (%c1024) {
// CHECK:           [[SHORT:%\d+]] = arith.cmpi sle, %c4096, %c1535 : index
// CHECK:           [[PART:%\d+]] = arith.select [[SHORT]], %{{.*}}, %c64 : index
// CHECK:           scf.for %j = %c0 to %{{.*}} step [[PART]] {
// CHECK:             scf.for %i_1 = %{{.*}} to %{{.*}} step %c1 {
// CHECK:               scf.for %j_1 =
// CHECK:                 vector.store %{{.*}} {nontemporal = true}
// CHECK:       func.return
