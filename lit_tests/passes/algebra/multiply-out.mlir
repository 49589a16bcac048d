// A product with a sum is multiplied out where one of its terms can leave the sum around.
// RUN: tadc-opt %s -p multiply-out | filecheck %s

tix.program @leaves (%a = "a" : !tix.tensor<[I, K], f64>, %b = "b" : !tix.tensor<[J, K], f64>,
                     %t = "t" : !tix.tensor<[I, J], f64>) {
  %z = tix.define "z" (%j, %k) : !tix.tensor<[J, K], f64> {
    %0 = tix.sum (%i) in (%i >= 0, I >= %i + 1) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%j, %k]
      %3 = tix.add %1, %2
      %4 = tix.read %t[%i, %j]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %z
}

// The difference of near numbers is exact: it stays.
tix.program @difference (%a = "a" : !tix.tensor<[I, K], f64>, %b = "b" : !tix.tensor<[J, K], f64>,
                         %t = "t" : !tix.tensor<[I, J], f64>) {
  %z = tix.define "z" (%j, %k) : !tix.tensor<[J, K], f64> {
    %0 = tix.sum (%i) in (%i >= 0, I >= %i + 1) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%j, %k]
      %3 = tix.sub %1, %2
      %4 = tix.read %t[%i, %j]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %z
}

// CHECK-LABEL: tix.program @leaves
// CHECK:         tix.sum (%i)
// CHECK-NEXT:      [[A:%.*]] = tix.read %a[%i, %k]
// CHECK-NEXT:      [[T:%.*]] = tix.read %t[%i, %j]
// CHECK-NEXT:      [[AT:%.*]] = tix.mul [[A]], [[T]]
// CHECK-NEXT:      [[B:%.*]] = tix.read %b[%j, %k]
// CHECK-NEXT:      [[BT:%.*]] = tix.mul [[B]], [[T]]
// CHECK-NEXT:      tix.add [[AT]], [[BT]]
// CHECK-LABEL: tix.program @difference
// CHECK:           tix.sub
// CHECK-NEXT:      tix.read %t
// CHECK-NEXT:      tix.mul
