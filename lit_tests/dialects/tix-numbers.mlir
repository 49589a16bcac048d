// RUN: tadc-opt %s | tadc-opt | filecheck %s

// Numbers at the edge of float64 keep their bits.
%0 = tix.constant 0
%1 = tix.constant -0.0
%2 = tix.constant 0.1
%3 = tix.constant 1.0e-300
%4 = tix.constant -1.7976931348623157e+308
%5 = tix.constant 5.0e-324
%6 = tix.constant 1.0e22
%7 = tix.constant inf
%8 = tix.constant -inf
%9 = tix.constant nan

// CHECK:      %0 = tix.constant 0.0
// CHECK-NEXT: %1 = tix.constant -0.0
// CHECK-NEXT: %2 = tix.constant 0.1
// CHECK-NEXT: %3 = tix.constant 1.0e-300
// CHECK-NEXT: %4 = tix.constant -1.7976931348623157e+308
// CHECK-NEXT: %5 = tix.constant 5.0e-324
// CHECK-NEXT: %6 = tix.constant 1.0e+22
// CHECK-NEXT: %7 = tix.constant inf
// CHECK-NEXT: %8 = tix.constant -inf
// CHECK-NEXT: %9 = tix.constant nan
