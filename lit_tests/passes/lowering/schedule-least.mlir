// What is known of the sizes of all calls decides whether there are other loops beside a tile.
// RUN: tadc-opt %s -p 'schedule{tile=true sizes="N=512","M=512"}' | filecheck %s --check-prefix ANY
// RUN: tadc-opt %s -p 'schedule{tile=true sizes="N=512","M=512" least="N=65","M=64"}' | filecheck %s
// RUN: tadc-opt %s -p 'schedule{tile=true sizes="N=512","M=512" least="N=65","M=63"}' | filecheck %s --check-prefix ANY
// RUN: tadc-opt %s -p 'schedule{tile=true sizes="N=512","M=512" least="N=65"}' | filecheck %s --check-prefix ANY
// RUN: not tadc-opt %s -p 'schedule{least="N"}' 2>&1 | filecheck %s --check-prefix SIZE

tix.program @f (%a = "a" : !tix.tensor<[N, 300], f32>, %b = "b" : !tix.tensor<[300, M], f32>) {
  %c = tix.define "c" (%i, %j) : !tix.tensor<[N, M], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 299) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%k, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %c
}

// SIZE: a size is written as N=512, not 'N'

// Without it, a test asks for room for six rows and 64 columns; where there is none, elements are
// computed one by one.
// ANY-LABEL: func.func @c(
// ANY:         [[ROWS:%.*]] = arith.cmpi sge, %N, %c6
// ANY:         [[COLUMNS:%.*]] = arith.cmpi sge, %M, %c64
// ANY:         [[ROOM:%.*]] = arith.andi [[ROWS]], [[COLUMNS]]
// ANY:         loops.parallel (%unit) to (
// ANY-NEXT:      scf.if [[ROOM]] {
// ANY:             vector.store {{.*}}, %c[
// ANY:           } else {
// ANY:             memref.store {{.*}}, %c[

// CHECK-LABEL: func.func @c(
// CHECK-NOT:     scf.if
// CHECK:         vector.store {{.*}}, %c[
// CHECK-NOT:     memref.store {{.*}}, %c[
