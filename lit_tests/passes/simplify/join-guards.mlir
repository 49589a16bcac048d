// Guards that exclude each other are joined, and ask nothing twice; others are added as before.
// RUN: tadc-opt %s -p join-guards | filecheck %s

tix.program @f (%a = "a" : !tix.tensor<[N, N], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  // Three pieces that exclude each other, the last of which is what is left.
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%i == 0) {
      %1 = tix.read %a[0, %j]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    %3 = tix.if (%i >= 1, %j == 0) {
      %4 = tix.read %a[%i, 0]
      tix.yield %4
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    %6 = tix.add %0, %3
    %7 = tix.if (%i >= 1, %j >= 1) {
      %8 = tix.read %b[%i]
      tix.yield %8
    } else {
      %9 = tix.constant 0.0
      tix.yield %9
    }
    %10 = tix.add %6, %7
    tix.yield %10
  }
  // Both hold at i = 0, j = 0; and a value that is used twice is left alone.
  %z = tix.define "z" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%i == 0) {
      %1 = tix.read %b[%j]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    %3 = tix.if (%j == 0) {
      %4 = tix.read %b[%i]
      tix.yield %4
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    %6 = tix.add %0, %3
    %7 = tix.if (%i >= 1) {
      %8 = tix.read %b[%i]
      tix.yield %8
    } else {
      %9 = tix.constant 0.0
      tix.yield %9
    }
    %10 = tix.if (%i == 0) {
      %11 = tix.read %b[%j]
      tix.yield %11
    } else {
      %12 = tix.constant 0.0
      tix.yield %12
    }
    %13 = tix.add %7, %10
    %14 = tix.mul %7, %13
    %15 = tix.add %6, %14
    tix.yield %15
  }
  tix.return %y, %z
}

// CHECK:      %y = tix.define "y" (%i, %j)
// CHECK-NEXT:   [[Y:%.*]] = tix.if (%i == 0) {
// CHECK-NEXT:     [[A:%.*]] = tix.read %a[0, %j]
// CHECK-NEXT:     tix.yield [[A]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[REST:%.*]] = tix.if (%j == 0) {
// CHECK-NEXT:       [[B:%.*]] = tix.read %a[%i, 0]
// CHECK-NEXT:       tix.yield [[B]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[C:%.*]] = tix.read %b[%i]
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[REST]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[Y]]

// CHECK:      %z = tix.define "z"
// CHECK:        [[U:%.*]] = tix.if ({{%.*}} == 0) {
// CHECK:        [[V:%.*]] = tix.if ({{%.*}} == 0) {
// CHECK:        [[UV:%.*]] = tix.add [[U]], [[V]]
// CHECK:        [[S:%.*]] = tix.if ({{%.*}} >= 1) {
// CHECK:        [[T:%.*]] = tix.if ({{%.*}} == 0) {
// CHECK:        [[ST:%.*]] = tix.add [[S]], [[T]]
// CHECK-NEXT:   tix.mul [[S]], [[ST]]

// The same value on both sides of a diagonal has one choice.
tix.program @sides (%a = "a" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%j >= %i + 1) {
      %1 = tix.read %a[%i, %j]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    %3 = tix.if (%i >= %j + 1) {
      %4 = tix.read %a[%i, %j]
      tix.yield %4
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    %6 = tix.add %0, %3
    tix.yield %6
  }
  tix.return %y
}
// CHECK:      tix.program @sides
// CHECK:        [[Y:%.*]] = tix.if (%j >= %i + 1) or (%i >= %j + 1) {
// CHECK-NEXT:     [[A:%.*]] = tix.read %a[%i, %j]
// CHECK-NEXT:     tix.yield [[A]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[ZERO:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[ZERO]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[Y]]
