// What the terms of pairs have in common is multiplied, and divided, once.
// RUN: tadc-opt %s -p collect-factors,share-values | filecheck %s

// (a[i] / d) * b[j] - c[j] * (a[i] / d), where d = |x[i] - x[j]| may be 0
tix.program @quotient (%x = "x" : !tix.tensor<[N], f64>, %a = "a" : !tix.tensor<[N], f64>, %b = "b" : !tix.tensor<[N], f64>, %c = "c" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %x[%i]
      %2 = tix.read %x[%j]
      %3 = tix.sub %1, %2
      %4 = tix.abs %3
      %5 = tix.read %a[%i]
      %6 = tix.div %5, %4
      %7 = tix.read %b[%j]
      %8 = tix.mul %6, %7
      %9 = tix.read %c[%j]
      %10 = tix.mul %9, %6
      %11 = tix.sub %8, %10
      tix.yield %11
    }
    tix.yield %0
  }
  tix.return %y
}

// The denominator is not near 0: one reciprocal does for two quotients.
tix.program @reciprocal (%x = "x" : !tix.tensor<[N], f64>, %a = "a" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %x[%i]
      %2 = tix.read %x[%j]
      %3 = tix.sub %1, %2
      %4 = tix.mul %3, %3
      %5 = tix.constant 0.5
      %6 = tix.add %4, %5
      %7 = tix.read %a[%j]
      %8 = tix.div %7, %6
      %9 = tix.read %a[%i]
      %10 = tix.div %9, %6
      %11 = tix.div %10, %6
      %12 = tix.add %11, %8
      tix.yield %12
    }
    tix.yield %0
  }
  tix.return %y
}

// A denominator of the sum's index alone is not one of pairs.
tix.program @alone (%x = "x" : !tix.tensor<[N], f64>, %a = "a" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, N >= %j + 1) {
      %1 = tix.read %a[%i, %j]
      %2 = tix.read %x[%j]
      %3 = tix.div %1, %2
      %4 = tix.mul %3, %1
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @quotient
// CHECK:             [[D:%.*]] = tix.abs
// CHECK-NEXT:        [[A:%.*]] = tix.read %a[%i]
// CHECK-NEXT:        [[B:%.*]] = tix.read %b[%j]
// CHECK-NEXT:        [[C:%.*]] = tix.read %c[%j]
// CHECK-NEXT:        [[E:%.*]] = tix.sub [[B]], [[C]]
// CHECK-NEXT:        [[F:%.*]] = tix.mul [[A]], [[E]]
// CHECK-NEXT:        [[Q:%.*]] = tix.div [[F]], [[D]]
// CHECK-NEXT:        tix.yield [[Q]]

// CHECK-LABEL: tix.program @reciprocal
// CHECK:             [[D:%.*]] = tix.add
// CHECK-NEXT:        [[B:%.*]] = tix.read %a[%j]
// CHECK-NEXT:        [[A:%.*]] = tix.read %a[%i]
// CHECK-NEXT:        [[ONE:%.*]] = tix.constant 1.0
// CHECK-NEXT:        [[R:%.*]] = tix.div [[ONE]], [[D]]
// CHECK-NEXT:        [[P:%.*]] = tix.mul [[A]], [[R]]
// CHECK-NEXT:        [[S:%.*]] = tix.add [[P]], [[B]]
// CHECK-NEXT:        [[T:%.*]] = tix.mul [[S]], [[R]]
// CHECK-NEXT:        tix.yield [[T]]
// CHECK-LABEL: tix.program @alone
// CHECK:             [[A:%.*]] = tix.read %a[%i, %j]
// CHECK-NEXT:        [[X:%.*]] = tix.read %x[%j]
// CHECK-NEXT:        [[Q:%.*]] = tix.div [[A]], [[X]]
// CHECK-NEXT:        [[P:%.*]] = tix.mul [[Q]], [[A]]
// CHECK-NEXT:        tix.yield [[P]]
