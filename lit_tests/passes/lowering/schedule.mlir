// Definitions become functions of parallel loops over flat buffers.
// RUN: tadc-opt %s --split-input-file -p schedule | filecheck %s

// A sum is a loop from the greatest lower bound to behind the least upper bound: here k from
// max(0, ceil(i / 2)) to min(4, floor((i + 7) / 3)), where floor(e) + 1 = floor(e + 1).
tix.program @window (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, 2 * %k >= %i, %k <= 4, 3 * %k <= %i + 7) {
      %1 = tix.read %x[%i - %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %N: index) attributes {buffers = ["y", "x"], sizes = ["N"]} {
// CHECK:        loops.parallel (%i) to (%N) {
// CHECK-NEXT:     [[C:%.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     [[I:%.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:     [[I2:%.*]] = arith.floordivsi [[I]], %c2 : index
// CHECK-NEXT:     [[I3:%.*]] = arith.addi %i, %c10 : index
// CHECK-NEXT:     [[I4:%.*]] = arith.floordivsi [[I3]], %c3 : index
// CHECK-NEXT:     [[I5:%.*]] = arith.maxsi %c0, [[I2]] : index
// CHECK-NEXT:     [[I6:%.*]] = arith.minsi %c5, [[I4]] : index
// CHECK-NEXT:     [[S:%.*]] = scf.for %k = [[I5]] to [[I6]] step %c1 iter_args(%sum = [[C]]) -> (f64) {
// CHECK-NEXT:       [[I7:%.*]] = arith.subi %i, %k : index
// CHECK-NEXT:       [[X:%.*]] = memref.load %x[[[I7]]] : memref<?xf64>
// CHECK-NEXT:       [[V:%.*]] = arith.addf %sum, [[X]] fastmath<reassoc,contract> : f64
// CHECK-NEXT:       scf.yield [[V]] : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     memref.store [[S]], %y[%i] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// One function per definition: buffers are the result and what it reads, sizes come in order of
// name. Elements lie in rows, and what is the same for all of them is computed once, with numbers
// ahead of all loops; several indices of a sum share one total. Here the length of the inner
// range depends on the outer index, so that each value of that has segments of its own.
tix.program @rows (%x = "x" : !tix.tensor<[N, M, 5], f64>) {
  %u = tix.define "u" (%i, %j) : !tix.tensor<[M, 5], f64> {
    %0 = tix.read %x[N - 1, %i, -%j + 4]
    tix.yield %0
  }
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= M, %j >= %i, %j <= 4) {
      %1 = tix.read %u[%i, %j - %i]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      func.func @u(%u: memref<?xf64>, %x: memref<?xf64>, %M: index, %N: index) attributes {buffers = ["u", "x"], sizes = ["M", "N"]} {
// CHECK:        [[I:%.*]] = arith.muli %c5, %M : index
// CHECK-NEXT:   [[I2:%.*]] = arith.muli %N, [[I]] : index
// CHECK:        loops.parallel (%i, %j) to (%M, %c5) {
// CHECK-NEXT:     [[I3:%.*]] = arith.muli %i, %c5 : index
// CHECK-NEXT:     [[I4:%.*]] = arith.addi [[I2]], [[I3]] : index
// CHECK-NEXT:     [[I5:%.*]] = arith.subi [[I4]], %j : index
// CHECK-NEXT:     [[I6:%.*]] = arith.subi [[I5]], [[I]] : index
// CHECK-NEXT:     [[I7:%.*]] = arith.addi [[I6]], %c4 : index
// CHECK-NEXT:     [[X:%.*]] = memref.load %x[[[I7]]] : memref<?xf64>
// CHECK-NEXT:     [[I8:%.*]] = arith.addi [[I3]], %j : index
// CHECK-NEXT:     memref.store [[X]], %u[[[I8]]] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK:      func.func @y(%y: memref<?xf64>, %u: memref<?xf64>, %M: index) attributes {buffers = ["y", "u"], sizes = ["M"]} {
// CHECK:        loops.parallel () to () {
// CHECK-NEXT:     [[C:%.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     [[S:%.*]], [[E:%.*]] = scf.for %i = %c0 to %M step %c1 iter_args([[S1:%.*]] = [[C]], [[E1:%.*]] = [[C]]) -> (f64, f64) {
// CHECK-NEXT:       [[I:%.*]] = arith.muli %i, %c4 : index
// CHECK-NEXT:       [[S2:%.*]], [[E2:%.*]] = scf.for %segment = %i to %c5 step %c4096{{.*}} iter_args(%total = [[S1]], %errors = [[E1]]) -> (f64, f64) {
// CHECK:              scf.for %j = %segment to {{.*}} iter_args(%sum = [[C]]) -> (f64) {
// CHECK-NEXT:           [[I2:%.*]] = arith.addi [[I]], %j : index
// CHECK-NEXT:           [[U:%.*]] = memref.load %u[[[I2]]] : memref<?xf64>
// CHECK-NEXT:           [[V:%.*]] = arith.addf %sum, [[U]] fastmath<reassoc,contract> : f64
// CHECK-NEXT:           scf.yield [[V]] : f64
// CHECK-NEXT:         }
// CHECK:            }
// CHECK-NEXT:       scf.yield [[S2]], [[E2]] : f64, f64
// CHECK-NEXT:     }
// CHECK:          memref.store {{.*}}, %y[%c0] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A condition is one bit; only the body that it takes is computed. An index and a quotient of it.
tix.program @conditions (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[20], f64> {
    %q = tix.floordiv (%i + 4) by 3
    %0 = tix.if (%i >= 2, %q <= 5) or (%i == 3 * %q) {
      %1 = tix.read %x[%q]
      tix.yield %1
    } else {
      %2 = tix.index_to_real (%i - %q)
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      func.func @y(%y: memref<?xf64>, %x: memref<?xf64>) attributes {buffers = ["y", "x"], sizes = []} {
// CHECK:        loops.parallel (%i) to (%c20) {
// CHECK:          [[I:%.*]] = arith.addi %i, %c4 : index
// CHECK:          [[I2:%.*]] = arith.floordivsi [[I]], %c3 : index
// CHECK:          [[B:%.*]] = arith.cmpi sge, %i, %c2 : index
// CHECK:          [[I3:%.*]] = arith.subi [[I2]], %c5 : index
// CHECK-NEXT:     [[B2:%.*]] = arith.cmpi sge, %c0, [[I3]] : index
// CHECK-NEXT:     [[B3:%.*]] = arith.andi [[B]], [[B2]] : i1
// CHECK-NEXT:     [[I4:%.*]] = arith.muli [[I2]], %c3 : index
// CHECK-NEXT:     [[B4:%.*]] = arith.cmpi eq, %i, [[I4]] : index
// CHECK-NEXT:     [[B5:%.*]] = arith.ori [[B3]], [[B4]] : i1
// CHECK-NEXT:     [[I5:%.*]] = arith.subi %i, [[I2]] : index
// CHECK-NEXT:     [[B6:%.*]] = scf.if [[B5]] -> (f64) {
// CHECK-NEXT:       [[X:%.*]] = memref.load %x[[[I2]]] : memref<?xf64>
// CHECK-NEXT:       scf.yield [[X]] : f64
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[I6:%.*]] = arith.index_cast [[I5]] : index to i64
// CHECK-NEXT:       [[V:%.*]] = arith.sitofp [[I6]] : i64 to f64
// CHECK-NEXT:       scf.yield [[V]] : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     memref.store [[B6]], %y[%i] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A body computes in the precision of its result, whatever it reads.
tix.program @precision (%x = "x" : !tix.tensor<[9], f32>, %z = "z" : !tix.tensor<[9], f64>) {
  %wide = tix.define "wide" (%i) : !tix.tensor<[9], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %z[%i]
    %2 = tix.div %0, %1
    tix.yield %2
  }
  %narrow = tix.define "narrow" (%i) : !tix.tensor<[9], f32> {
    %0 = tix.read %x[%i]
    %1 = tix.read %wide[%i]
    %2 = tix.maximum %0, %1
    tix.yield %2
  }
  tix.return %narrow
}
// CHECK:      func.func @wide(%wide: memref<?xf64>, %x: memref<?xf32>, %z: memref<?xf64>) attributes {buffers = ["wide", "x", "z"], sizes = []} {
// CHECK:        loops.parallel (%i) to (%c9) {
// CHECK-NEXT:     [[X:%.*]] = memref.load %x[%i] : memref<?xf32>
// CHECK-NEXT:     [[V:%.*]] = arith.extf [[X]] : f32 to f64
// CHECK-NEXT:     [[Z:%.*]] = memref.load %z[%i] : memref<?xf64>
// CHECK-NEXT:     [[V2:%.*]] = arith.divf [[V]], [[Z]] fastmath<contract> : f64
// CHECK-NEXT:     memref.store [[V2]], %wide[%i] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK:      func.func @narrow(%narrow: memref<?xf32>, %x: memref<?xf32>, %wide: memref<?xf64>) attributes {buffers = ["narrow", "x", "wide"], sizes = []} {
// CHECK:        loops.parallel (%i) to (%c9) {
// CHECK-NEXT:     [[X:%.*]] = memref.load %x[%i] : memref<?xf32>
// CHECK-NEXT:     [[WIDE:%.*]] = memref.load %wide[%i] : memref<?xf64>
// CHECK-NEXT:     [[V:%.*]] = arith.truncf [[WIDE]] : f64 to f32
// CHECK-NEXT:     [[V2:%.*]] = arith.maximumf [[X]], [[V]] : f32
// CHECK-NEXT:     memref.store [[V2]], %narrow[%i] : memref<?xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Powers: small whole exponents by squaring, one half as a root, others by a call.
tix.program @powers (%x = "x" : !tix.tensor<[], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.read %x[]
    %1 = tix.constant -5
    %2 = tix.pow %0, %1
    %3 = tix.constant 0.5
    %4 = tix.pow %2, %3
    %5 = tix.constant 17
    %6 = tix.pow %4, %5
    %7 = tix.constant 2.5
    %8 = tix.pow %6, %7
    %9 = tix.pow %8, %0
    tix.yield %9
  }
  tix.return %y
}
// CHECK:      func.func @y(%y: memref<?xf64>, %x: memref<?xf64>) attributes {buffers = ["y", "x"], sizes = []} {
// CHECK:        loops.parallel () to () {
// CHECK-NEXT:     [[X:%.*]] = memref.load %x[%c0] : memref<?xf64>
// CHECK:          [[C:%.*]] = arith.constant -5.000000e+00 : f64
// CHECK-NEXT:     [[V:%.*]] = arith.mulf [[X]], [[X]] fastmath<contract> : f64
// CHECK-NEXT:     [[V2:%.*]] = arith.mulf [[V]], [[V]] fastmath<contract> : f64
// CHECK-NEXT:     [[V3:%.*]] = arith.mulf [[V2]], [[X]] fastmath<contract> : f64
// CHECK:          [[C2:%.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:     [[V4:%.*]] = arith.divf [[C2]], [[V3]] fastmath<contract> : f64
// CHECK:          [[C3:%.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:     [[SQRT:%.*]] = math.sqrt [[V4]] : f64
// CHECK:          [[C4:%.*]] = arith.constant 1.700000e+01 : f64
// CHECK-NEXT:     [[V5:%.*]] = math.powf [[SQRT]], [[C4]] : f64
// CHECK:          [[C5:%.*]] = arith.constant 2.500000e+00 : f64
// CHECK-NEXT:     [[V6:%.*]] = math.powf [[V5]], [[C5]] : f64
// CHECK-NEXT:     [[V7:%.*]] = math.powf [[V6]], [[X]] : f64
// CHECK-NEXT:     memref.store [[V7]], %y[%c0] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Functions that `math` lacks. A label that is a word of C gets another name.
tix.program @functions (%x = "x" : !tix.tensor<[], f64>) {
  %for = tix.define "for" () : !tix.tensor<[], f64> {
    %0 = tix.read %x[]
    %1 = tix.sign %0
    %2 = tix.sigmoid %1
    %3 = tix.relu %2
    tix.yield %3
  }
  tix.return %for
}
// CHECK:      func.func @for_(%for: memref<?xf64>, %x: memref<?xf64>) attributes {buffers = ["for", "x"], sizes = []} {
// CHECK:        loops.parallel () to () {
// CHECK-NEXT:     [[X:%.*]] = memref.load %x[%c0] : memref<?xf64>
// CHECK:          [[ONE:%.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:     [[UNIT:%.*]] = math.copysign [[ONE]], [[X]] : f64
// CHECK:          [[ZERO:%.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     [[SOME:%.*]] = arith.cmpf one, [[X]], [[ZERO]] : f64
// CHECK-NEXT:     [[SIGN:%.*]] = arith.select [[SOME]], [[UNIT]], [[X]] : f64
// CHECK-NEXT:     [[V3:%.*]] = arith.negf [[SIGN]] {fastmath = #arith.fastmath<contract>} : f64
// CHECK-NEXT:     [[EXP:%.*]] = math.exp [[V3]] : f64
// CHECK-NEXT:     [[V4:%.*]] = arith.addf [[ONE]], [[EXP]] fastmath<contract> : f64
// CHECK-NEXT:     [[V5:%.*]] = arith.divf [[ONE]], [[V4]] fastmath<contract> : f64
// CHECK-NEXT:     [[B3:%.*]] = arith.cmpf ole, [[V5]], [[ZERO]] : f64
// CHECK-NEXT:     [[V6:%.*]] = arith.select [[B3]], [[ZERO]], [[V5]] : f64
// CHECK-NEXT:     memref.store [[V6]], %for[%c0] : memref<?xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// What is no program stays.
func.func @other() {
  func.return
}
// CHECK:      func.func @other() {
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A definition that is like an earlier one is a call of its function, with its own buffers.
tix.program @alike (%x = "x" : !tix.tensor<[N], f64>, %v = "v" : !tix.tensor<[N], f64>) {
  %a = tix.define "a" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %v[%i]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  %b = tix.define "b" (%j) : !tix.tensor<[N], f64> {
    %0 = tix.read %v[%j]
    %1 = tix.read %a[%j]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  %c = tix.define "c" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %b[%i]
    %1 = tix.read %b[%i]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %c
}
// CHECK:      func.func @a(%a: memref<?xf64>, %x: memref<?xf64>, %v: memref<?xf64>, %N: index) attributes {buffers = ["a", "x", "v"], sizes = ["N"]} {
// CHECK:      loops.call @a ["b", "v", "a"]
// CHECK-NEXT: func.func @c(%c: memref<?xf64>, %b: memref<?xf64>, %N: index) attributes {buffers = ["c", "b"], sizes = ["N"]} {

// -----

// A long sum is cut into segments of at most 4096 terms: here j whole, i in parts of 1024 values. The
// six operations that give what is lost when totals are added have no flags.
tix.program @segments (%x = "x" : !tix.tensor<[N, 4], f32>) {
  %s = tix.define "s" () : !tix.tensor<[], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= N, %j >= 0, %j <= 3) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %s
}
// CHECK-LABEL: func.func @s(
// CHECK:          [[T:%.*]], [[E:%.*]] = scf.for %segment = %c0 to %N step %c1024 iter_args(%total = [[C:%.*]], %errors = [[C]]) -> (f32, f32) {
// CHECK-NEXT:       [[AFTER:%.*]] = arith.addi %segment, %c1024 : index
// CHECK-NEXT:       [[HIGH:%.*]] = arith.minsi [[AFTER]], %N : index
// CHECK:            [[S:%.*]] = scf.for %i = %segment to [[HIGH]] step %c1 iter_args(%sum = [[C]]) -> (f32) {
// CHECK:              scf.for %j = %c0 to %c4 step %c1
// CHECK:                arith.addf {{.*}} fastmath<reassoc,contract> : f32
// CHECK:            [[T1:%.*]] = arith.addf %total, [[S]] : f32
// CHECK-NEXT:       [[T2:%.*]] = arith.subf [[T1]], %total : f32
// CHECK-NEXT:       [[T3:%.*]] = arith.subf [[T1]], [[T2]] : f32
// CHECK-NEXT:       [[T4:%.*]] = arith.subf %total, [[T3]] : f32
// CHECK-NEXT:       [[T5:%.*]] = arith.subf [[S]], [[T2]] : f32
// CHECK-NEXT:       [[T6:%.*]] = arith.addf [[T4]], [[T5]] : f32
// CHECK-NEXT:       [[T7:%.*]] = arith.addf %errors, [[T6]] : f32
// CHECK-NEXT:       scf.yield [[T1]], [[T7]] : f32, f32
// CHECK-NEXT:     }
// CHECK:          [[BOTH:%.*]] = arith.addf [[T]], [[E]] : f32
// CHECK:          [[FINITE:%.*]] = arith.cmpf olt,
// CHECK-NEXT:     arith.select [[FINITE]], [[BOTH]], [[T]] : f32

// -----

// Bounds with coefficients may leave a number of values, too: here k has at most 3, which times 32
// is less than a segment, so that the sum is one nest. In 1500 times 3 there are two segments.
tix.program @windows (%x = "x" : !tix.tensor<[1500, N], f32>) {
  %s = tix.define "s" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.sum (%o, %k) in (%o >= 0, %o <= 31, 2 * %k + 4 >= %i, %i >= 2 * %k, %k >= 0) {
      %1 = tix.read %x[%o, %k]
      tix.yield %1
    }
    tix.yield %0
  }
  %t = tix.define "t" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.sum (%o, %k) in (%o >= 0, %o <= 1499, 2 * %k + 4 >= %i, %i >= 2 * %k, %k >= 0) {
      %1 = tix.read %x[%o, %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %s, %t
}
// CHECK-LABEL: func.func @s(
// CHECK-NOT:      segment
// CHECK:          scf.for %o = %c0 to %c32 step %c1 iter_args(%sum =
// CHECK:            scf.for %k =
// CHECK-LABEL: func.func @t(
// CHECK:          scf.for %segment = %c0 to %c1500 step %c1365
// CHECK:            scf.for %o = %segment to
// CHECK:              scf.for %k =
