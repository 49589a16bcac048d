// What the verifier refuses of functions and calls.
// RUN: tadc-opt %s --verify-diagnostics --split-input-file | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.read %x[]
    %1 = tix.call "soft"(%0)
    tix.yield %1
  }
  tix.return %y
}
// CHECK: the program has no function soft

// -----

tix.program @f (%x = "x" : !tix.tensor<[], f64>) {
  tix.function "soft" (%v) {
    tix.yield %v
  } derivative (%v, %value) {
    tix.yield %v
  }
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %0 = tix.read %x[]
    %1 = tix.call "soft"(%0, %0)
    tix.yield %1
  }
  tix.return %y
}
// CHECK: soft takes 1 arguments

// -----

tix.program @f () {
  tix.function "soft" (%v) {
    tix.yield %v
  }
  tix.return
}
// CHECK: a function needs one derivative for each argument

// -----

tix.program @f () {
  tix.function "soft" (%v) {
    tix.yield %v
  } derivative (%v) {
    tix.yield %v
  }
  tix.return
}
// CHECK: a derivative takes the arguments and the value

// -----

tix.program @f () {
  tix.function "soft" (%v) {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      tix.yield %v
    }
    tix.yield %0
  } derivative (%v, %value) {
    tix.yield %v
  }
  tix.return
}
// CHECK: a formula is made of scalar operations

// -----

tix.program @f () {
  tix.function "soft" (%v) {
    tix.yield %v
  } derivative (%v, %value) {
    tix.yield %v
  }
  tix.function "soft" (%v) {
    tix.yield %v
  } derivative (%v, %value) {
    tix.yield %v
  }
  tix.return
}
// CHECK: two functions are called soft
