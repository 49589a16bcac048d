// Results that no cache holds are written past the caches: rows in whole lines, at their ends masked.
// RUN: tadc-opt %s -p 'schedule{tile=true}' | filecheck %s
// RUN: tadc-opt %s -p schedule | filecheck %s --check-prefix PLAIN

tix.program @f (%x = "x" : !tix.tensor<[4096, 4096], f32>, %z = "z" : !tix.tensor<[H + 1, W + 1], f32>, %v = "v" : !tix.tensor<[512, 1024], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[4096, 4096], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.exp %0
    tix.yield %1
  }
  %u = tix.define "u" (%i, %j) : !tix.tensor<[H + 1, W + 1], f32> {
    %0 = tix.if (%i >= 1, %j >= 1) {
      %1 = tix.read %z[%i - 1, %j - 1]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    tix.yield %0
  }
  %moved = tix.define "moved" (%i, %j) : !tix.tensor<[H, W], f32> {
    %0 = tix.read %z[%i + 1, %j + 1]
    tix.yield %0
  }
  %shifted = tix.define "shifted" (%i, %j) : !tix.tensor<[512, 512], f32> {
    %0 = tix.if (%j >= 1) {
      %1 = tix.read %x[%i, %j - 1]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    tix.yield %0
  }
  %small = tix.define "small" (%i, %j) : !tix.tensor<[8, 4096], f32> {
    %0 = tix.read %x[%i, %j]
    tix.yield %0
  }
  %window = tix.define "window" (%i, %j) : !tix.tensor<[512, 512], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.if (%j >= %k) {
        %2 = tix.read %v[%i, 2 * %j - 2 * %k]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  %rows = tix.define "rows" (%i, %j) : !tix.tensor<[512, 512], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.if (%i >= %k) {
        %2 = tix.read %x[%i - %k, %j]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %u, %small
}

// PLAIN-NOT: vector

// The first vector of a row is the one in whose line the row begins.
// CHECK-LABEL: func.func @y(
// CHECK:         "memref.extract_aligned_pointer_as_index"(%y)
// CHECK:         loops.parallel (%i) to (%c4096) {
// CHECK:           [[BEFORE:%.*]] = arith.remsi
// CHECK:           [[START:%.*]] = arith.subi %c0{{.*}}, [[BEFORE]] : index
// CHECK:           scf.for %j = [[START]] to %c4096 step %c16
// CHECK:             scf.if
// CHECK:               vector.load
// CHECK:               vector.store {{.*}} {nontemporal = true}
// CHECK:             } else {
// CHECK:               vector.create_mask
// CHECK:               vector.maskedload
// CHECK:               vector.maskedstore

// Sizes decide when it runs; the guard is gone where it holds for all lanes.
// CHECK-LABEL: func.func @u(
// CHECK:         [[CACHE:%.*]] = loops.shared_cache
// CHECK:         [[LARGE:%.*]] = arith.cmpi sge, {{.*}}, [[CACHE]]
// CHECK:         loops.parallel (%i) to (
// CHECK:           scf.if [[LARGE]] {
// CHECK:             scf.for %j
// CHECK:               scf.if
// CHECK-NEXT:            arith
// CHECK:                 vector.store {{.*}} {nontemporal = true}
// CHECK:               } else {
// CHECK:                 loops.select
// CHECK:           } else {
// CHECK:             scf.for {{%.*}} = %c0
// CHECK-NOT:           nontemporal

// In the caches a row begins where it does, and its last vector where that ends with the row.
// CHECK-LABEL: func.func @moved(
// CHECK:         [[LAST:%.*]] = arith.subi %W, %c16
// CHECK:             vector.store {{.*}} {nontemporal = true}
// CHECK:           [[HAS_ROOM:%.*]] = arith.cmpi sle, %c0, [[LAST]]
// CHECK-NEXT:      scf.if [[HAS_ROOM]] {
// CHECK-NEXT:        scf.for [[J:%.*]] = %c0 to %W step %c16
// CHECK-NEXT:          arith.minsi [[J]], [[LAST]]
// CHECK-NOT:             scf.if
// CHECK:                 vector.store
// CHECK-NOT:             nontemporal
// CHECK:               } else {
// CHECK:                 vector.create_mask
// CHECK-NOT:             vector.create_mask
// CHECK:                 vector.maskedstore

// A stream of choices asks at borders alone, however small the result is. It stays in the caches.
// CHECK-LABEL: func.func @shifted(
// CHECK:             scf.for %j
// CHECK-NOT:           nontemporal

// CHECK-LABEL: func.func @small(
// CHECK-NOT:     vector

// Inside, all terms of a window are there: from j = 2 on. At the border each has a mask.
// CHECK-LABEL: func.func @window(
// CHECK:         [[BEGIN:%.*]] = arith.maxsi %c0{{.*}}, %c2
// CHECK:         scf.for %j
// CHECK:           arith.cmpi sge, %j, [[BEGIN]]
// CHECK:           scf.if
// CHECK-COUNT-3:     loops.strided_load
// CHECK-NOT:         loops.select
// CHECK:             vector.store
// CHECK:           } else {
// CHECK:             vector.maskedload
// CHECK:             vector.maskedload
// CHECK:             vector.shuffle
// CHECK:             loops.select

// What a whole row has not is not read, even under a mask: addresses outside of memory take long.
// CHECK-LABEL: func.func @rows(
// CHECK:             vector.store
// CHECK:           } else {
// CHECK:             [[MASK:%.*]] = vector.create_mask
// CHECK:             [[FIRST:%.*]] = arith.addf
// CHECK:             [[HAS:%.*]] = arith.cmpi sge, %i, %c1
// CHECK:             [[SECOND:%.*]] = scf.if [[HAS]] -> (vector<16xf32>) {
// CHECK:               vector.maskedload
// CHECK:             } else {
// CHECK-NEXT:          scf.yield [[FIRST]]
