// Arguments that are zero are left out, with all that they contribute.
// RUN: tadc-opt %s -p 'zero-arguments{names=dz}' | filecheck %s
// RUN: tadc-opt %s -p 'zero-arguments{names=dy,dz}' | filecheck %s --check-prefix ALL
// RUN: not tadc-opt %s -p 'zero-arguments{names=du}' 2>&1 | filecheck %s --check-prefix OTHER

tix.program @f (%x = "x" : !tix.tensor<[N], f64>, %dy = "dy" : !tix.tensor<[N], f64>, %dz = "dz" : !tix.tensor<[], f64>) {
  // A factor that may be infinite, and a divisor, change nothing.
  %h = tix.define "h" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %dz[]
    %1 = tix.read %x[%i]
    %2 = tix.log %1
    %3 = tix.mul %2, %0
    %4 = tix.div %3, %1
    %5 = tix.neg %4
    tix.yield %5
  }
  %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %dy[%i]
    %1 = tix.sum (%j) in (%j >= 0, %j + 1 <= N) {
      %2 = tix.if (%j >= %i) {
        %3 = tix.read %h[%j]
        tix.yield %3
      } else {
        %4 = tix.constant 0.0
        tix.yield %4
      }
      tix.yield %2
    }
    %5 = tix.add %0, %1
    tix.yield %5
  }
  // What is no zero stays: 0 as a number of the program, and functions of zeros.
  %e = tix.define "e" () : !tix.tensor<[], f64> {
    %0 = tix.read %dz[]
    %1 = tix.cos %0
    %2 = tix.read %x[0]
    %3 = tix.constant 0.0
    %4 = tix.mul %2, %3
    %5 = tix.add %1, %4
    tix.yield %5
  }
  %g = tix.define "g" () : !tix.tensor<[], f64> {
    %0 = tix.read %h[0]
    %1 = tix.if (N >= 4) {
      tix.yield %0
    } else {
      %2 = tix.read %x[0]
      tix.yield %2
    }
    tix.yield %1
  }
  tix.return %dx, %e, %g
}

// CHECK:      tix.program @f (%x = "x" : !tix.tensor<[N], f64>, %dy = "dy" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %dx = tix.define "dx" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[DY:%.*]] = tix.read %dy[[[I]]]
// CHECK-NEXT:     tix.yield [[DY]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %e = tix.define "e" () : !tix.tensor<[], f64> {
// CHECK-NEXT:     [[ONE:%.*]] = tix.constant 1.0
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[0]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     [[XC:%.*]] = tix.mul [[C]], [[X]]
// CHECK-NEXT:     [[E:%.*]] = tix.add [[ONE]], [[XC]]
// CHECK-NEXT:     tix.yield [[E]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %g = tix.define "g" () : !tix.tensor<[], f64> {
// CHECK-NEXT:     [[ZERO:%.*]] = tix.constant 0.0
// CHECK-NEXT:     [[IF:%.*]] = tix.if (N >= 4) {
// CHECK-NEXT:       tix.yield [[ZERO]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       [[X0:%.*]] = tix.read %x[0]
// CHECK-NEXT:       tix.yield [[X0]]
// CHECK:        tix.return %dx, %e, %g

// A result stays, though it is zero.
// ALL:      tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
// ALL-NEXT:   %dx = tix.define "dx" ({{%.*}}) : !tix.tensor<[N], f64> {
// ALL-NEXT:     [[ZERO:%.*]] = tix.constant 0.0
// ALL-NEXT:     tix.yield [[ZERO]]

// OTHER: no argument is named du
