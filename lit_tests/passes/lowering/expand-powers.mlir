// Powers by small indices become products.
// RUN: tadc-opt %s -p expand-powers | filecheck %s

// The exponent is 0, 1 or 2.
tix.program @polynomial (%c = "c" : !tix.tensor<[3], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%n) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%m) in (%m >= 0, %m <= 2) {
      %1 = tix.read %c[%m]
      %2 = tix.read %x[%n]
      %3 = tix.index_to_real (%m)
      %4 = tix.pow %2, %3
      %5 = tix.mul %1, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: @polynomial
// CHECK:           [[X:%.*]] = tix.read %x[%n]
// CHECK-NEXT:      [[M:%.*]] = tix.index_to_real (%m)
// CHECK-NEXT:      [[ONE:%.*]] = tix.constant 1.0
// CHECK-NEXT:      [[SQUARE:%.*]] = tix.mul [[X]], [[X]]
// CHECK-NEXT:      [[HALF:%.*]] = tix.constant 0.5
// CHECK-NEXT:      tix.where [[M]] lt [[HALF]] {
// CHECK-NEXT:        tix.yield [[ONE]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        [[NEXT:%.*]] = tix.constant 1.5
// CHECK-NEXT:        {{.*}} = tix.where [[M]] lt [[NEXT]] {
// CHECK-NEXT:          tix.yield [[X]]
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tix.yield [[SQUARE]]

// Nobody knows how large this one is.
tix.program @large (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%n, %m) : !tix.tensor<[N, M], f64> {
    %0 = tix.read %x[%n]
    %1 = tix.index_to_real (%m)
    %2 = tix.pow %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK-LABEL: @large
// CHECK:         tix.pow
