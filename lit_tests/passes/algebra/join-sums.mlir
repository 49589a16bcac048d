// Sums over the same points become one sum where their terms share dear values.
// RUN: tadc-opt %s -p join-sums | filecheck %s

// Numbers that a sum is multiplied by move into it.
tix.program @both_ends (%x = "x" : !tix.tensor<[N], f64>, %a = "a" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %x[%i]
      %2 = tix.read %x[%j]
      %3 = tix.sub %1, %2
      %4 = tix.abs %3
      %5 = tix.exp %4
      %6 = tix.read %a[%j]
      %7 = tix.mul %5, %6
      tix.yield %7
    }
    %8 = tix.sum (%k) in (%k >= 0, N >= %k + 1) {
      %9 = tix.read %x[%k]
      %10 = tix.read %x[%i]
      %11 = tix.sub %9, %10
      %12 = tix.abs %11
      %13 = tix.exp %12
      %14 = tix.read %a[%k]
      %15 = tix.add %13, %14
      tix.yield %15
    }
    %16 = tix.constant 2.0
    %17 = tix.mul %16, %8
    %18 = tix.sub %0, %17
    tix.yield %18
  }
  tix.return %y
}

// Reads alone are not dear, and other points are other terms.
tix.program @apart (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %x[%j]
      tix.yield %1
    }
    %2 = tix.sum (%k) in (%k >= 0, N >= %k + 1) {
      %3 = tix.read %x[%k]
      %4 = tix.exp %3
      tix.yield %4
    }
    %5 = tix.sum (%l) in (%l >= 0, %i >= %l + 1) {
      %6 = tix.read %x[%l]
      %7 = tix.exp %6
      tix.yield %7
    }
    %8 = tix.add %0, %2
    %9 = tix.add %8, %5
    tix.yield %9
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @both_ends
// CHECK:           [[S:%.*]] = tix.sum (%j) in (%j >= 0, %j + 1 <= N) {
// CHECK:             [[E:%.*]] = tix.exp
// CHECK:             [[F:%.*]] = tix.exp
// CHECK:             [[B:%.*]] = tix.add [[F]]
// CHECK:             [[TWO:%.*]] = tix.constant 2.0
// CHECK-NEXT:        [[T:%.*]] = tix.mul [[TWO]], [[B]]
// CHECK-NEXT:        [[U:%.*]] = tix.sub {{%.*}}, [[T]]
// CHECK-NEXT:        tix.yield [[U]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tix.yield [[S]]

// CHECK-LABEL: tix.program @apart
// CHECK:           tix.sum (%j) in
// CHECK:           tix.sum (%k) in
// CHECK:           tix.sum (%l) in
