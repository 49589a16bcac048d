// Tensors of undeclared precision get that of the arrays at hand; the others keep theirs.
// RUN: tadc-opt %s -p 'set-precision{real=f32}' | filecheck %s --check-prefixes CHECK,SINGLE
// RUN: tadc-opt %s -p set-precision | filecheck %s --check-prefixes CHECK,DOUBLE
// RUN: not tadc-opt %s -p 'set-precision{real=f16}' 2>&1 | filecheck %s --check-prefix BAD

tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%x = "x" : !tix.tensor<[N], real>, %s = "s" : !tix.tensor<[], f32>, %t = "t" : !tix.tensor<[], f64>) {
  %u = tix.define "u" (%i) : !tix.tensor<[R], real> {
    %0 = tix.read %x[2 * %i + 1]
    %1 = tix.read %s[]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %y = tix.define "y" (%i) : !tix.tensor<[R], f32> {
    %0 = tix.read %u[%i]
    %1 = tix.read %t[]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %u, %y
}

// SINGLE:     tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%x = "x" : !tix.tensor<[N], f32>, %s = "s" : !tix.tensor<[], f32>, %t = "t" : !tix.tensor<[], f64>) {
// SINGLE:     tix.define "u" (%i) : !tix.tensor<[R], f32> {
// DOUBLE:     tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%x = "x" : !tix.tensor<[N], f64>, %s = "s" : !tix.tensor<[], f32>, %t = "t" : !tix.tensor<[], f64>) {
// DOUBLE:     tix.define "u" (%i) : !tix.tensor<[R], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[2 * %i + 1]
// CHECK-NEXT:   [[S:%.*]] = tix.read %s[]
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[X]], [[S]]
// CHECK-NEXT:   tix.yield [[MUL]]
// CHECK-NEXT: }
// CHECK-NEXT: %y = tix.define "y" ([[I:%.*]]) : !tix.tensor<[R], f32> {
// CHECK-NEXT:   [[U:%.*]] = tix.read %u[[[I]]]
// CHECK-NEXT:   [[T:%.*]] = tix.read %t[]
// CHECK-NEXT:   [[ADD:%.*]] = tix.add [[U]], [[T]]
// CHECK-NEXT:   tix.yield [[ADD]]
// CHECK-NEXT: }
// CHECK-NEXT: tix.return %u, %y

// BAD: real must be f32 or f64, not f16
