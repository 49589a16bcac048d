// Rows that are known to have few vectors have no loops: all but the last vector have all lanes.
// RUN: tadc-opt %s -p 'specialise{most="J=23"},schedule{tile=true sizes="I=512","J=16" least="J=17"}' | filecheck %s
// RUN: tadc-opt %s -p 'schedule{tile=true sizes="I=512","J=16" least="J=17"}' | filecheck %s --check-prefix ANY
// RUN: tadc-opt %s -p 'specialise{most="J=23"},schedule{tile=true sizes="I=512","J=16"}' | filecheck %s --check-prefix ANY

tix.program @maxima (%x = "x" : !tix.tensor<[I, J], f32>) {
  %m = tix.define "m" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.max (%j) in (%j >= 0, J - 1 >= %j) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %m
}

// CHECK-LABEL: func.func @m(
// CHECK:         [[LEFT:%.*]] = arith.subi %J, %c16
// CHECK-NOT:     scf.for %j
// CHECK:         vector.load %x[{{.*}}] : memref
// CHECK-COUNT-3: vector.load %x[{{.*}}] : memref
// CHECK:         [[MASK:%.*]] = vector.create_mask [[LEFT]] : vector<16xi1>
// CHECK-COUNT-4: vector.maskedload %x[{{.*}}], [[MASK]]
// CHECK-COUNT-4: vector.reduction <maximumf>

// ANY-LABEL: func.func @m(
// ANY:         scf.for %j
