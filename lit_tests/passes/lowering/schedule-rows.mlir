// RUN: tadc-opt %s --split-input-file -p 'schedule{tile=true}' | filecheck %s

// Rows are independent: one loop over i computes the maximum, the exponentials, their sum and the
// quotients of a row. What is read here alone has no memory: %m and %s are numbers, and a row of %e
// lies where that of %y will. Quotients by %s are its reciprocal times %e, corrected; where %s is far
// from 1, they are divisions. Four rows go side by side, and one by one those that are left.
tix.program @softmax (%x = "x" : !tix.tensor<[I, 128], f32>) {
  %m = tix.define "m" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.max (%j) in (%j >= 0, %j <= 127) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %e = tix.define "e" (%i, %j) : !tix.tensor<[I, 128], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %m[%i]
    %2 = tix.sub %0, %1
    %3 = tix.exp %2
    tix.yield %3
  }
  %s = tix.define "s" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 127) {
      %1 = tix.read %e[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, 128], f32> {
    %0 = tix.read %e[%i, %j]
    %1 = tix.read %s[%i]
    %2 = tix.div %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL:   func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %I: index)
// CHECK-SAME:        buffers = ["y", "x"]
// CHECK:           loops.parallel (%i)
// CHECK:             scf.for %i{{.*}} step %c4
// CHECK:               scf.for %j
// CHECK-COUNT-16:        arith.maximumf {{.*}} fastmath<nsz>
// CHECK-COUNT-4:       vector.reduction <maximumf>
// CHECK:               scf.for %j
// CHECK-COUNT-4:         math.exp
// CHECK:               scf.for %j
// CHECK-COUNT-4:       vector.reduction <add>
// CHECK:               scf.if
// CHECK-COUNT-4:         arith.divf {{.*}} : f32
// CHECK:             scf.for %i{{.*}} step %c1
// CHECK:               scf.for %j
// CHECK-COUNT-4:       arith.maximumf {{.*}} fastmath<nsz>
// CHECK:             [[M:%.*]] = vector.reduction <maximumf>
// CHECK-NOT:         memref.store
// CHECK:             scf.for %j
// CHECK:               vector.broadcast [[M]]
// CHECK:               math.exp
// CHECK:               vector.store {{.*}}, %y[
// CHECK:             scf.for %j
// CHECK:               vector.load %y[
// CHECK:             [[S:%.*]] = vector.reduction <add>
// CHECK-NOT:         memref.store
// CHECK:             scf.if
// CHECK:               [[R:%.*]] = arith.divf {{.*}} : f32
// CHECK:               scf.for %j
// CHECK:                 vector.load %y[
// CHECK:                 vector.broadcast [[R]]
// CHECK:                 arith.mulf
// CHECK-COUNT-2:         math.fma
// CHECK:                 vector.store {{.*}}, %y[
// CHECK:             } else {
// CHECK:                 arith.divf {{.*}} : vector<16xf32>
// CHECK-NOT:       func.func

// -----

// A row reads what another row computes: two functions.
tix.program @apart (%x = "x" : !tix.tensor<[512, 512], f32>) {
  %s = tix.define "s" (%i) : !tix.tensor<[512], f32> {
    %0 = tix.max (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[512, 512], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %s[-%i + 511]
    %2 = tix.sub %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL:   func.func @s(
// CHECK-LABEL:   func.func @y(

// -----

// Sums over the rows of a piece: one iteration computes the rows of a piece, each of which adds its
// terms when it is there.
tix.program @pieces sizes (#tix.size<P = min((I + 31) floordiv 32)>) (%x = "x" : !tix.tensor<[I, 128], f32>) {
  %s = tix.define "s" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.max (%j) in (%j >= 0, %j <= 127) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %d = tix.define "d" (%p, %j) : !tix.tensor<[P, 128], f32> {
    %0 = tix.sum (%i) in (%i >= 32 * %p, 32 * %p + 31 >= %i, %i + 1 <= I) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.read %s[%i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %d
}

// CHECK-LABEL:   func.func @d(%d: memref<?xf32>, %x: memref<?xf32>, %I: index, %P: index)
// CHECK:           loops.parallel (%p) to (%P)
// CHECK:             scf.for %j
// CHECK:               vector.store {{.*}}, %d[
// CHECK:             scf.for %i{{.*}} step %c4
// CHECK-COUNT-4:       vector.reduction <maximumf>
// CHECK-NOT:           memref.store
// CHECK:               scf.for %j
// CHECK:                 vector.load %d[
// CHECK-COUNT-4:         arith.addf
// CHECK-NEXT:            vector.store {{.*}}, %d[
// CHECK:             scf.for %i{{.*}} step %c1
// CHECK:               vector.reduction <maximumf>
// CHECK:               scf.for %j
// CHECK:                 vector.load %d[
// CHECK:                 arith.addf
// CHECK:                 vector.store {{.*}}, %d[
// CHECK-NOT:       func.func

// -----

// Two sums over a row: one loop over j, which takes the second one along.
tix.program @along (%x = "x" : !tix.tensor<[I, 512], f32>) {
  %a = tix.define "a" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %b = tix.define "b" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.exp %1
      tix.yield %2
    }
    %3 = tix.read %a[%i]
    %4 = tix.mul %0, %3
    tix.yield %4
  }
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, 512], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %b[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL:   func.func @y(
// CHECK:             scf.for %j
// CHECK:               math.exp
// CHECK:             vector.reduction <add>
// CHECK:             vector.reduction <add>
// CHECK:             scf.for %j
// CHECK-NOT:           math.exp
// CHECK:               vector.store {{.*}}, %y[

// -----

// Sums over rows that no other definition makes or reduces: of several, four rows add to each at a
// time.
tix.program @moments sizes (#tix.size<P = min((I + 31) floordiv 32)>) (%x = "x" : !tix.tensor<[I, 512], f32>) {
  %m = tix.define "m" (%p, %j) : !tix.tensor<[P, 512], f32> {
    %0 = tix.sum (%i) in (%i >= 32 * %p, 32 * %p + 31 >= %i, %i + 1 <= I) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  %q = tix.define "q" (%p, %j) : !tix.tensor<[P, 512], f32> {
    %0 = tix.sum (%i) in (%i >= 32 * %p, 32 * %p + 31 >= %i, %i + 1 <= I) {
      %1 = tix.read %x[%i, %j]
      %2 = tix.mul %1, %1
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %m, %q
}

// CHECK-LABEL:   func.func @m(%m: memref<?xf32>, %q: memref<?xf32>, %x: memref<?xf32>, %I: index, %P: index)
// CHECK:           loops.parallel (%p) to (%P)
// CHECK:             scf.for %j
// CHECK:               vector.store {{.*}}, %m[
// CHECK:             scf.for %j
// CHECK:               vector.store {{.*}}, %q[
// CHECK:             scf.for %i{{.*}} step %c4
// CHECK:               scf.for %j
// CHECK:                 vector.load %m[
// CHECK-COUNT-4:         arith.addf
// CHECK-NEXT:            vector.store {{.*}}, %m[
// CHECK:                 vector.load %q[
// CHECK:                 vector.store {{.*}}, %q[
// CHECK:             scf.for %i{{.*}} step %c1
