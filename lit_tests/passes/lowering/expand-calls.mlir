// A call becomes the formula of the function, with the formulas of those that it calls; the rule of
// the derivative plays no part any more.
// RUN: tadc-opt %s -p expand-calls --split-input-file --verify-diagnostics | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
  tix.function "half" (%v) {
    %two = tix.constant 2.0
    %0 = tix.div %v, %two
    tix.yield %0
  } derivative (%v, %value) {
    %one = tix.constant 1.0
    tix.yield %one
  }
  tix.function "soft" (%u, %v) {
    %0 = tix.call "half"(%v)
    %1 = tix.where %u gt %0 {
      %2 = tix.call "half"(%u)
      tix.yield %2
    } else {
      tix.yield %0
    }
    tix.yield %1
  } derivative (%u, %v, %value) {
    tix.yield %value
  } derivative (%u, %v, %value) {
    tix.yield %u
  }
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.read %x[%i]
      %2 = tix.index_to_real (%k)
      %3 = tix.call "soft"(%1, %2)
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[SUM:%.*]] = tix.sum (%k) in (%k >= 0, %k <= 2) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:       [[K:%.*]] = tix.index_to_real (%k)
// CHECK-NEXT:       [[TWO:%.*]] = tix.constant 2.0
// CHECK-NEXT:       [[HALF:%.*]] = tix.div [[K]], [[TWO]]
// CHECK-NEXT:       [[Y:%.*]] = tix.where [[X]] gt [[HALF]] {
// CHECK-NEXT:         [[AGAIN:%.*]] = tix.constant 2.0
// CHECK-NEXT:         [[U:%.*]] = tix.div [[X]], [[AGAIN]]
// CHECK-NEXT:         tix.yield [[U]]
// CHECK-NEXT:       } else {
// CHECK-NEXT:         tix.yield [[HALF]]
// CHECK-NEXT:       }
// CHECK-NEXT:       tix.yield [[Y]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[SUM]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// -----

// Nothing is called: nothing changes.
tix.program @g (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      tix.program @g
// CHECK-NEXT:   %y = tix.define "y" (%i)
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i]
// CHECK-NEXT:     tix.yield [[X]]

// -----

// A derivative may call its own function, a value may not.
tix.program @h (%x = "x" : !tix.tensor<[], f64>) {
  tix.function "f" (%v) {
    %0 = tix.call "g"(%v)
    tix.yield %0
  } derivative (%v, %value) {
    %0 = tix.call "f"(%v)
    tix.yield %0
  }
  tix.function "g" (%v) {
    %0 = tix.call "f"(%v)
    tix.yield %0
  } derivative (%v, %value) {
    tix.yield %v
  }
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.read %x[]
    %1 = tix.call "f"(%0)
    tix.yield %1
  }
  tix.return %y
}

// CHECK: the value of f needs f itself
