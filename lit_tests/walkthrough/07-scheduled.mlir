// 7 of 8: definitions become loops.
//
// No function of the user's own is called, no exponent is an index, and all precisions are declared
// here, so that `expand-calls`, `expand-powers` and `set-precision` find nothing to do; nor do `join-sums` and `collect-factors`,
// as no element has two sums; nor `shift-sums`, `interchange-sums` and `shape-loops`, as sums here run
// over their best indices in their best order, without conditions, and not in tiles. `share-values` leaves one of two equal operations of a body, and
// `elide-copies` finds no copy. `schedule` makes a function of each definition: a parallel loop over
// its elements, each of which one iteration alone computes and writes. A sum becomes a loop with the
// bounds of stage 5, in segments of 4096 terms, whose totals are added with their rounding errors;
// all divisions in bounds and indices round down. Tensors are flat buffers. Arithmetic of indices stands
// ahead of the loops in which it is the same.
//
// RUN: tadc-opt %s -p expand-calls,expand-powers,set-precision,join-sums,collect-factors,shift-sums,interchange-sums,share-values,shape-loops,merge-axes,elide-copies,schedule | filecheck %s

tix.program @program_01_source sizes (#tix.size<I = min((-2 * K + N + 5) floordiv 4)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f64>, %dy = "dy" : !tix.tensor<[I], f64>) {
  %dy_sum = tix.define "dy_sum" (%i) : !tix.tensor<[I], f64> {
    %0 = tix.read %dy[%i]
    %1 = tix.constant 0.5
    %2 = tix.mul %1, %0
    %3 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
      %4 = tix.read %w[%k]
      %5 = tix.read %x[4 * %i + 2 * %k]
      %6 = tix.constant 2.0
      %7 = tix.pow %5, %6
      %8 = tix.mul %4, %7
      tix.yield %8
    }
    %9 = tix.sqrt %3
    %10 = tix.div %2, %9
    tix.yield %10
  }
  %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
    %11 = tix.floordiv (%p) by 2
    %12 = tix.if (%p == 2 * %11) {
      %13 = tix.sum (%i_1) in (%i_1 >= 0, 4 * %i_1 + 2 * K >= %p + 2, %i_1 + 1 <= I, %p >= 4 * %i_1) {
        %14 = tix.read %dy_sum[%i_1]
        %15 = tix.read %w[%11 - 2 * %i_1]
        %16 = tix.read %x[2 * %11]
        %17 = tix.mul %14, %15
        %18 = tix.mul %17, %16
        tix.yield %18
      }
      %19 = tix.constant 2.0
      %20 = tix.mul %19, %13
      tix.yield %20
    } else {
      %21 = tix.constant 0.0
      tix.yield %21
    }
    tix.yield %12
  }
  tix.return %dx
}

// CHECK:      func.func @dy_sum(%dy_sum: memref<?xf64>, %dy: memref<?xf64>, %w: memref<?xf64>, %x: memref<?xf64>, %I: index, %K: index, %N: index) attributes {buffers = ["dy_sum", "dy", "w", "x"], sizes = ["I", "K", "N"]} {
// CHECK:        loops.parallel (%i) to (%I) {
// CHECK-NEXT:     [[DY:%.*]] = memref.load %dy[%i] : memref<?xf64>
// CHECK:          [[C:%.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:     [[V:%.*]] = arith.mulf [[C]], [[DY]] fastmath<contract> : f64
// CHECK:          [[C2:%.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     [[I:%.*]] = arith.muli %i, %c4 : index
// CHECK-NEXT:     [[T:%.*]], [[E:%.*]] = scf.for %segment = %c0 to %K step %c4096 iter_args(%total = [[C2]], %errors = [[C2]]) -> (f64, f64) {
// CHECK-NEXT:       [[AFTER:%.*]] = arith.addi %segment, %c4096 : index
// CHECK-NEXT:       [[STOP:%.*]] = arith.minsi [[AFTER]], %K : index
// CHECK:            [[S:%.*]] = scf.for %k = %segment to [[STOP]] step %c1 iter_args(%sum = [[C2]]) -> (f64) {
// CHECK-NEXT:         [[W:%.*]] = memref.load %w[%k] : memref<?xf64>
// CHECK-NEXT:         [[I2:%.*]] = arith.muli %k, %c2 : index
// CHECK-NEXT:         [[I3:%.*]] = arith.addi [[I]], [[I2]] : index
// CHECK-NEXT:         [[X:%.*]] = memref.load %x[[[I3]]] : memref<?xf64>
// CHECK:              [[C3:%.*]] = arith.constant 2.000000e+00 : f64
// CHECK-NEXT:         [[V2:%.*]] = arith.mulf [[X]], [[X]] fastmath<contract> : f64
// CHECK-NEXT:         [[V3:%.*]] = arith.mulf [[W]], [[V2]] fastmath<contract> : f64
// CHECK-NEXT:         [[V4:%.*]] = arith.addf %sum, [[V3]] fastmath<reassoc,contract> : f64
// CHECK-NEXT:         scf.yield [[V4]] : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       [[T1:%.*]] = arith.addf %total, [[S]] : f64
// CHECK-NEXT:       [[T2:%.*]] = arith.subf [[T1]], %total : f64
// CHECK-NEXT:       [[T3:%.*]] = arith.subf [[T1]], [[T2]] : f64
// CHECK-NEXT:       [[T4:%.*]] = arith.subf %total, [[T3]] : f64
// CHECK-NEXT:       [[T5:%.*]] = arith.subf [[S]], [[T2]] : f64
// CHECK-NEXT:       [[T6:%.*]] = arith.addf [[T4]], [[T5]] : f64
// CHECK-NEXT:       [[T7:%.*]] = arith.addf %errors, [[T6]] : f64
// CHECK-NEXT:       scf.yield [[T1]], [[T7]] : f64, f64
// CHECK-NEXT:     }
// CHECK-NEXT:     [[ABS:%.*]] = math.absf [[E]] : f64
// CHECK-NEXT:     [[TE:%.*]] = arith.addf [[T]], [[E]] : f64
// CHECK:          [[FINITE:%.*]] = arith.cmpf olt, [[ABS]], {{.*}} : f64
// CHECK-NEXT:     [[SUM:%.*]] = arith.select [[FINITE]], [[TE]], [[T]] : f64
// CHECK-NEXT:     [[SQRT:%.*]] = math.sqrt [[SUM]] : f64
// CHECK-NEXT:     [[V5:%.*]] = arith.divf [[V]], [[SQRT]] fastmath<contract> : f64
// CHECK-NEXT:     memref.store [[V5]], %dy_sum[%i] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// ceil((p + 2 - 2 K) / 4) is floor((p + 5 - 2 K) / 4), and behind floor(p / 4) is floor((p + 4) / 4).
// CHECK:      func.func @dx(%dx: memref<?xf64>, %dy_sum: memref<?xf64>, %w: memref<?xf64>, %x: memref<?xf64>, %I: index, %K: index, %N: index) attributes {buffers = ["dx", "dy_sum", "w", "x"], sizes = ["I", "K", "N"]} {
// CHECK:        [[I3:%.*]] = arith.muli %K, %c2 : index
// CHECK:        loops.parallel (%p) to (%N) {
// CHECK-NEXT:     [[I:%.*]] = arith.floordivsi %p, %c2 : index
// CHECK-NEXT:     [[I2:%.*]] = arith.muli [[I]], %c2 : index
// CHECK-NEXT:     [[B:%.*]] = arith.cmpi eq, %p, [[I2]] : index
// CHECK-NEXT:     [[I4:%.*]] = arith.subi %p, [[I3]] : index
// CHECK-NEXT:     [[I5:%.*]] = arith.addi [[I4]], %c5 : index
// CHECK-NEXT:     [[I6:%.*]] = arith.floordivsi [[I5]], %c4 : index
// CHECK-NEXT:     [[I7:%.*]] = arith.addi %p, %c4 : index
// CHECK-NEXT:     [[I8:%.*]] = arith.floordivsi [[I7]], %c4 : index
// CHECK-NEXT:     [[I9:%.*]] = arith.maxsi %c0, [[I6]] : index
// CHECK-NEXT:     [[I10:%.*]] = arith.minsi %I, [[I8]] : index
// CHECK-NEXT:     [[B2:%.*]] = scf.if [[B]] -> (f64) {
// CHECK-NEXT:       [[C:%.*]] = arith.constant 0.000000e+00 : f64
// CHECK:            [[T:%.*]], [[E:%.*]] = scf.for %segment = [[I9]] to [[I10]] step %c4096 iter_args(%total = [[C]], %errors = [[C]]) -> (f64, f64) {
// CHECK-NEXT:         [[AFTER:%.*]] = arith.addi %segment, %c4096 : index
// CHECK-NEXT:         [[STOP:%.*]] = arith.minsi [[AFTER]], [[I10]] : index
// CHECK:              [[S:%.*]] = scf.for %i = %segment to [[STOP]] step %c1 iter_args(%sum = [[C]]) -> (f64) {
// CHECK-NEXT:           [[DY_SUM:%.*]] = memref.load %dy_sum[%i] : memref<?xf64>
// CHECK-NEXT:           [[I11:%.*]] = arith.muli %i, %c2 : index
// CHECK-NEXT:           [[I12:%.*]] = arith.subi [[I]], [[I11]] : index
// CHECK-NEXT:           [[W:%.*]] = memref.load %w[[[I12]]] : memref<?xf64>
// CHECK-NEXT:           [[X:%.*]] = memref.load %x[[[I2]]] : memref<?xf64>
// CHECK-NEXT:           [[V:%.*]] = arith.mulf [[DY_SUM]], [[W]] fastmath<contract> : f64
// CHECK-NEXT:           [[V3:%.*]] = arith.mulf [[V]], [[X]] fastmath<contract> : f64
// CHECK-NEXT:           [[V2:%.*]] = arith.addf %sum, [[V3]] fastmath<reassoc,contract> : f64
// CHECK-NEXT:           scf.yield [[V2]] : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         [[T1:%.*]] = arith.addf %total, [[S]] : f64
// CHECK-NEXT:         [[T2:%.*]] = arith.subf [[T1]], %total : f64
// CHECK-NEXT:         [[T3:%.*]] = arith.subf [[T1]], [[T2]] : f64
// CHECK-NEXT:         [[T4:%.*]] = arith.subf %total, [[T3]] : f64
// CHECK-NEXT:         [[T5:%.*]] = arith.subf [[S]], [[T2]] : f64
// CHECK-NEXT:         [[T6:%.*]] = arith.addf [[T4]], [[T5]] : f64
// CHECK-NEXT:         [[T7:%.*]] = arith.addf %errors, [[T6]] : f64
// CHECK-NEXT:         scf.yield [[T1]], [[T7]] : f64, f64
// CHECK-NEXT:       }
// CHECK-NEXT:       [[ABS:%.*]] = math.absf [[E]] : f64
// CHECK-NEXT:       [[TE:%.*]] = arith.addf [[T]], [[E]] : f64
// CHECK:            [[FINITE:%.*]] = arith.cmpf olt, [[ABS]], {{.*}} : f64
// CHECK-NEXT:       [[SUM:%.*]] = arith.select [[FINITE]], [[TE]], [[T]] : f64
// CHECK:            [[C2:%.*]] = arith.constant 2.000000e+00 : f64
// CHECK-NEXT:       [[V4:%.*]] = arith.mulf [[C2]], [[SUM]] fastmath<contract> : f64
// CHECK-NEXT:       scf.yield [[V4]] : f64
// CHECK-NEXT:     } else {
// CHECK:            [[C3:%.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       scf.yield [[C3]] : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     memref.store [[B2]], %dx[%p] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
