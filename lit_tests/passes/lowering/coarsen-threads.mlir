// A thread computes several elements, which share what they read.
// RUN: tadc-opt %s -p 'coarsen-threads{sizes="I=640","J=512"}' | filecheck %s
// RUN: tadc-opt %s -p 'coarsen-threads{sizes="I=1024","J=1024"}' | filecheck %s --check-prefix LANES
// RUN: tadc-opt %s -p 'coarsen-threads{sizes="I=100","J=100"}' | filecheck %s --check-prefix FEW

func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %w: memref<?xf32>, %I: index, %J: index)
    attributes {buffers = ["y", "x", "w"], sizes = ["I", "J"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  loops.parallel (%i, %j) to (%I, %J) {
    %s = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f32) {
      %0 = arith.muli %i, %c64 : index
      %1 = arith.addi %0, %k : index
      %2 = memref.load %x[%1] : memref<?xf32>
      %3 = arith.muli %k, %J : index
      %4 = arith.addi %3, %j : index
      %5 = memref.load %w[%4] : memref<?xf32>
      %6 = arith.mulf %2, %5 : f32
      %7 = arith.addf %sum, %6 : f32
      scf.yield %7 : f32
    }
    %8 = arith.muli %i, %J : index
    %9 = arith.addi %8, %j : index
    memref.store %s, %y[%9] : memref<?xf32>
  }
  func.return
}

// Two rows: an index beyond the last one is the last one, and its element is not stored.
// CHECK:      loops.parallel (%i, %j) to (%{{.*}}, %J) {
// CHECK:        [[INSIDE:%.*]] = arith.cmpi slt, [[NEXT:%.*]], %I : index
// CHECK:        [[ROW:%.*]] = arith.minsi [[NEXT]], {{%.*}} : index
// CHECK-NEXT:   %s, %s_1 = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero, %sum_1 = %zero)
// CHECK:          [[X0:%.*]] = memref.load %x
// CHECK-NEXT:     [[X1:%.*]] = memref.load %x
// CHECK:          [[W:%.*]] = memref.load %w
// CHECK-NEXT:     arith.mulf [[X0]], [[W]] : f32
// CHECK-NEXT:     arith.mulf [[X1]], [[W]] : f32
// CHECK:        memref.store %s, %y
// CHECK-NEXT:   scf.if [[INSIDE]] {
// CHECK-NEXT:     memref.store %s_1, %y

// Two rows and two columns, which are a warp apart; a block of threads computes a rectangle.
// LANES:      [[WARP:%.*]] = arith.constant 32 : index
// LANES:      loops.parallel (%j, %i, %lane) to ({{%.*}}, {{%.*}}, [[WARP]]) {
// LANES:        [[PAIR:%.*]] = arith.muli %j, {{%.*}} : index
// LANES-NEXT:   [[FIRST:%.*]] = arith.addi [[PAIR]], %lane : index
// LANES:        arith.addi [[FIRST]], [[WARP]] : index
// LANES:        %s, %s_1, %s_2, %s_3 = scf.for
// LANES-COUNT-4: memref.load
// LANES-NOT:      memref.load
// LANES-COUNT-4: arith.addf
// LANES-NOT:      arith.addf
// LANES-COUNT-4: memref.store

// FEW: loops.parallel (%i, %j) to (%I, %J) {
