// Values of formulas that read a tensor around an element become definitions, if their adjoint is dear.
// RUN: tadc-opt %s -p outline-stencils | filecheck %s

// Each of seven terms of a gradient would divide by the root, and compute the sum again.
tix.program @window (%x = "x" : !tix.tensor<[N + 6], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %x[%i + 1]
    %2 = tix.read %x[%i + 2]
    %3 = tix.read %x[%i + 3]
    %4 = tix.read %x[%i + 4]
    %5 = tix.read %x[%i + 5]
    %6 = tix.read %x[%i + 6]
    %7 = tix.add %0, %1
    %8 = tix.add %7, %2
    %9 = tix.add %8, %3
    %10 = tix.add %9, %4
    %11 = tix.add %10, %5
    %12 = tix.sub %11, %6
    %13 = tix.mul %12, %12
    %14 = tix.constant 1.0
    %15 = tix.add %13, %14
    %16 = tix.sqrt %15
    tix.yield %16
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @window
// CHECK-NEXT:    %y_value = tix.define "y_value" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      tix.read %x[%i]
// CHECK:           [[SUM:%.*]] = tix.sub
// CHECK-NEXT:      tix.yield [[SUM]]
// CHECK:         %y = tix.define "y" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:      [[V:%.*]] = tix.read %y_value[[[I]]]
// CHECK-NEXT:      tix.mul [[V]], [[V]]
// CHECK-NOT:       tix.read %x
// CHECK:           tix.sqrt

// The square of a difference of two has a derivative of few operations.
tix.program @difference (%x = "x" : !tix.tensor<[N + 1], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %x[%i + 1]
    %2 = tix.sub %1, %0
    %3 = tix.mul %2, %2
    tix.yield %3
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @difference
// CHECK-NOT:     y_value

// So has the hyperbolic tangent: its derivative is made of the element.
tix.program @tangent (%x = "x" : !tix.tensor<[N + 2], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %x[%i + 1]
    %2 = tix.read %x[%i + 2]
    %3 = tix.add %0, %1
    %4 = tix.add %3, %2
    %5 = tix.tanh %4
    tix.yield %5
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @tangent
// CHECK-NOT:     y_value
