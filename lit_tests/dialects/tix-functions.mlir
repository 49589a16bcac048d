// Functions of scalars and their calls parse to the same, in both forms.
// RUN: tadc-opt %s | tadc-opt | filecheck %s
// RUN: tadc-opt %s --print-op-generic | tadc-opt | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
  tix.function "scaled" (%u, %v) {
    %0 = tix.mul %u, %v
    tix.yield %0
  } derivative (%u, %v, %scaled) {
    tix.yield %v
  } derivative (%u, %v, %scaled) {
    %0 = tix.call "scaled"(%scaled, %u)
    tix.yield %0
  }
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.call "scaled"(%0, %0)
    tix.yield %1
  }
  tix.return %y
}

// CHECK:      tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   tix.function "scaled" (%u, %v) {
// CHECK-NEXT:     [[P:%.*]] = tix.mul %u, %v
// CHECK-NEXT:     tix.yield [[P]]
// CHECK-NEXT:   } derivative ([[U:%.*]], [[V:%.*]], [[VALUE:%.*]]) {
// CHECK-NEXT:     tix.yield [[V]]
// CHECK-NEXT:   } derivative ([[U:%.*]], [[V:%.*]], [[VALUE:%.*]]) {
// CHECK-NEXT:     [[C:%.*]] = tix.call "scaled"([[VALUE]], [[U]])
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     [[Y:%.*]] = tix.call "scaled"([[X]], [[X]])
// CHECK-NEXT:     tix.yield [[Y]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
