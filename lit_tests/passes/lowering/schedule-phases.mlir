// Elements at quotients of the column: a vector for each residue, along the quotient.
// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[I, J], f32>, %z = "z" : !tix.tensor<[I, 2 * J], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, 2 * J], f32> {
    %0 = tix.floordiv (%j) by 2
    %1 = tix.read %x[%i, %0]
    %2 = tix.read %z[%i, %j]
    %3 = tix.mul %1, %2
    tix.yield %3
  }
  %u = tix.define "u" (%i, %j) : !tix.tensor<[I, 2 * J], f32> {
    %0 = tix.floordiv (%j) by 2
    %1 = tix.if (%j == 2 * %0) {
      %2 = tix.read %x[%i, %0]
      tix.yield %2
    } else {
      %3 = tix.constant 0.0
      tix.yield %3
    }
    tix.yield %1
  }
  tix.return %y, %u
}

// Every second element of z is read, and neighbours of x by both phases.
// CHECK-LABEL: func.func @y(
// CHECK:         scf.for %j = %c0 to {{.*}} step %c16
// CHECK:           scf.if
// CHECK:               vector.load %x
// CHECK:               loops.strided_load %z
// CHECK:               [[A:%.*]] = vector.shuffle {{.*}}[0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
// CHECK:               [[B:%.*]] = vector.shuffle {{.*}}[8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
// CHECK:               vector.store [[A]]
// CHECK:               vector.store [[B]]
// CHECK:             } else {
// CHECK:               vector.create_mask
// CHECK:               vector.maskedload %x
// CHECK:               vector.maskedstore
// CHECK:               vector.maskedstore

// A choice by residues is made once for all lanes.
// CHECK-LABEL: func.func @u(
// CHECK-NOT:     loops.select
// CHECK:         func.return
