// Equal values are computed once; what several bodies compute moves in front of them.
// RUN: tadc-opt %s -p share-values | filecheck %s

// The square of b - a is that of a - b, whose other uses keep their sign.
tix.program @even (%a = "a" : !tix.tensor<[N], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %two = tix.constant 2.0
    %0 = tix.read %a[%i]
    %1 = tix.read %b[%i]
    %2 = tix.sub %0, %1
    %3 = tix.pow %2, %two
    %4 = tix.exp %3
    %5 = tix.sub %1, %0
    %6 = tix.pow %5, %two
    %7 = tix.exp %6
    %8 = tix.mul %7, %5
    %9 = tix.add %4, %8
    tix.yield %9
  }
  tix.return %y
}

// Sums are equal whatever their indices are called; the order of factors does not count.
tix.program @sums (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, N >= %k + 1) {
      %1 = tix.read %x[%k]
      %2 = tix.read %x[%i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.sum (%l) in (N >= %l + 1, %l >= 0) {
      %5 = tix.read %x[%i]
      %6 = tix.read %x[%l]
      %7 = tix.mul %5, %6
      tix.yield %7
    }
    %8 = tix.div %0, %4
    tix.yield %8
  }
  tix.return %y
}

// Each body of two choices needs the exponential: it moves under a condition that holds for both.
tix.program @choices (%x = "x" : !tix.tensor<[N + 1], f64>, %d = "d" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N + 1], f64> {
    %0 = tix.if (%i + 1 <= N) {
      %1 = tix.read %x[%i]
      %2 = tix.exp %1
      %3 = tix.read %d[%i]
      %4 = tix.mul %2, %3
      tix.yield %4
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    %6 = tix.if (%i >= 1) {
      %7 = tix.read %x[%i]
      %8 = tix.exp %7
      %9 = tix.read %d[%i - 1]
      %10 = tix.mul %8, %9
      tix.yield %10
    } else {
      %11 = tix.constant 0.0
      tix.yield %11
    }
    %12 = tix.add %0, %6
    tix.yield %12
  }
  tix.return %y
}

// Bodies that are evaluated at different points: nothing is computed twice.
tix.program @apart (%x = "x" : !tix.tensor<[N], f64>, %d = "d" : !tix.tensor<[2], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.if (%i == 3) {
      %1 = tix.read %x[%i]
      %2 = tix.exp %1
      tix.yield %2
    } else {
      %3 = tix.constant 0.0
      tix.yield %3
    }
    %4 = tix.if (%i == 9) {
      %5 = tix.read %x[%i]
      %6 = tix.exp %5
      %7 = tix.mul %6, %6
      tix.yield %7
    } else {
      %8 = tix.constant 0.0
      tix.yield %8
    }
    %9 = tix.add %0, %4
    tix.yield %9
  }
  tix.return %y
}

// A difference and its opposite are not equal, and what is cheap does not move.
tix.program @stays (%a = "a" : !tix.tensor<[N], f64>, %b = "b" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %a[%i]
    %1 = tix.read %b[%i]
    %2 = tix.sub %0, %1
    %3 = tix.exp %2
    %4 = tix.sub %1, %0
    %5 = tix.exp %4
    %6 = tix.add %3, %5
    %7 = tix.if (%i >= 1) {
      %8 = tix.add %0, %1
      tix.yield %8
    } else {
      %9 = tix.constant 0.0
      tix.yield %9
    }
    %10 = tix.if (%i >= 2) {
      %11 = tix.add %1, %0
      %12 = tix.mul %11, %6
      tix.yield %12
    } else {
      %13 = tix.constant 0.0
      tix.yield %13
    }
    %14 = tix.add %7, %10
    tix.yield %14
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @even
// CHECK:           [[D:%.*]] = tix.sub [[A:%.*]], [[B:%.*]]
// CHECK-NEXT:      [[S:%.*]] = tix.pow [[D]], %two
// CHECK-NEXT:      [[E:%.*]] = tix.exp [[S]]
// CHECK-NEXT:      [[O:%.*]] = tix.sub [[B]], [[A]]
// CHECK-NEXT:      [[P:%.*]] = tix.mul [[E]], [[O]]
// CHECK-NEXT:      tix.add [[E]], [[P]]

// CHECK-LABEL: tix.program @sums
// CHECK:           [[S:%.*]] = tix.sum
// CHECK:           tix.div [[S]], [[S]]

// CHECK-LABEL: tix.program @choices
// CHECK:           [[X:%.*]] = tix.read %x[%i
// CHECK-NEXT:      [[E:%.*]] = tix.exp [[X]]
// CHECK-NEXT:      tix.if (%i{{.*}} + 1 <= N) {
// CHECK:             tix.mul [[E]],
// CHECK:           tix.if (%i{{.*}} >= 1) {
// CHECK:             tix.mul [[E]],

// CHECK-LABEL: tix.program @apart
// CHECK:           tix.if (%i{{.*}} == 3) {
// CHECK:             tix.exp
// CHECK:           tix.if (%i{{.*}} == 9) {
// CHECK:             tix.exp

// CHECK-LABEL: tix.program @stays
// CHECK:           tix.exp
// CHECK:           tix.exp
// CHECK:           tix.if
// CHECK-NEXT:        tix.add
// CHECK:           tix.if
// CHECK-NEXT:        tix.add
