// Operations on lanes, and those of `vector` with their promises: what is written parses to the same.
// RUN: tadc-opt %s | tadc-opt | filecheck %s
// RUN: tadc-opt %s --print-op-generic | tadc-opt | filecheck %s

// All are pure: dead ones go, and equal ones are one.
// RUN: tadc-opt %s -p cse,dce | filecheck %s --check-prefix PURE

func.func @lanes(%a: vector<4xf32>, %i: vector<4xindex>) -> vector<4xf32> {
  %less = loops.compare "olt" %a, %a : vector<4xf32> -> vector<4xi1>
  %below = loops.compare "ult" %i, %i : vector<4xindex> -> vector<4xi1>
  %both = arith.andi %less, %below : vector<4xi1>
  %0 = loops.select %both, %a, %a : vector<4xi1>, vector<4xf32>
  %1 = loops.convert %i : vector<4xindex> to vector<4xf32>
  %2 = loops.convert %i : vector<4xindex> to vector<4xi32>
  %3 = loops.libm "erfc" %0 : vector<4xf32>
  %4 = loops.libm "erfc" %0 : vector<4xf32>
  %5 = arith.addf %3, %4 : vector<4xf32>
  func.return %5 : vector<4xf32>
}
func.func @memory(%y: memref<?xf32>, %i: index) -> f32 {
  %0 = vector.load %y[%i] {alignment = 32 : i64} : memref<?xf32>, vector<8xf32>
  vector.store %0, %y[%i] {nontemporal = true} : memref<?xf32>, vector<8xf32>
  %1 = loops.strided_load %y[%i], %i : memref<?xf32>, vector<8xf32>
  %2 = arith.addf %0, %1 : vector<8xf32>
  %3 = vector.reduction <add>, %2 fastmath<reassoc> : vector<8xf32> into f32
  func.return %3 : f32
}

// CHECK:      func.func @lanes(%a: vector<4xf32>, %i: vector<4xindex>) -> vector<4xf32> {
// CHECK-NEXT:   %less = loops.compare "olt" %a, %a : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT:   %below = loops.compare "ult" %i, %i : vector<4xindex> -> vector<4xi1>
// CHECK-NEXT:   %both = arith.andi %less, %below : vector<4xi1>
// CHECK-NEXT:   %0 = loops.select %both, %a, %a : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:   %1 = loops.convert %i : vector<4xindex> to vector<4xf32>
// CHECK-NEXT:   %2 = loops.convert %i : vector<4xindex> to vector<4xi32>
// CHECK-NEXT:   %3 = loops.libm "erfc" %0 : vector<4xf32>
// CHECK-NEXT:   %4 = loops.libm "erfc" %0 : vector<4xf32>
// CHECK-NEXT:   %5 = arith.addf %3, %4 : vector<4xf32>
// CHECK:      func.func @memory(
// CHECK-NEXT:   %0 = vector.load %y[%i] {alignment = 32 : i64} : memref<?xf32>, vector<8xf32>
// CHECK-NEXT:   vector.store %0, %y[%i] {nontemporal = true} : memref<?xf32>, vector<8xf32>
// CHECK-NEXT:   %1 = loops.strided_load %y[%i], %i : memref<?xf32>, vector<8xf32>
// CHECK-NEXT:   %2 = arith.addf %0, %1 : vector<8xf32>
// CHECK-NEXT:   %3 = vector.reduction <add>, %2 fastmath<reassoc> : vector<8xf32> into f32

// PURE-LABEL: func.func @lanes(
// PURE:         loops.select
// PURE-NEXT:    [[E:%.*]] = loops.libm "erfc"
// PURE-NEXT:    arith.addf [[E]], [[E]]
