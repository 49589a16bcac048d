// Conditions that leave few of the terms of a sum become its bounds.
// RUN: tadc-opt %s --split-input-file -p solve-conditions | filecheck %s

// An equation: one index is left, and runs over the values for which the other one is there.
tix.program @scatter (%x = "x" : !tix.tensor<[9], f64>, %w = "w" : !tix.tensor<[4], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[20], f64> {
    %0 = tix.sum (%i, %u) in (%i >= 0, %i <= 8, %u >= 0, %u <= 3) {
      %1 = tix.if (%p == %i + %u) {
        %2 = tix.read %x[%i]
        %3 = tix.read %w[%u]
        %4 = tix.mul %2, %3
        tix.yield %4
      } else {
        %5 = tix.constant 0.0
        tix.yield %5
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      tix.program @scatter
// CHECK:        tix.sum ([[U:%[a-z]+]]) in
// CHECK-NOT:      tix.if
// CHECK:          tix.read %x[{{.*}}%p{{.*}}]

// -----

// Bounds that leave three of 99 values.
tix.program @band (%x = "x" : !tix.tensor<[99], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[99], f64> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 98) {
      %1 = tix.if (%p <= %i, %i <= %p + 2) {
        %2 = tix.read %x[%i]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:      tix.program @band
// CHECK:        tix.sum ([[I:%[a-z]+]]) in ({{.*}}%p + 2 >= [[I]]{{.*}}) {
// CHECK-NOT:      tix.if

// -----

// Bounds that leave half of the terms stay; of terms that are alike but for one, these are counted.
tix.program @others (%x = "x" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 8) {
      %1 = tix.if (%p <= %i) {
        %2 = tix.read %x[%i]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  %z = tix.define "z" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%i) in (%i >= 0, %i <= 8) {
      %1 = tix.if (%p == %i) {
        %2 = tix.read %x[%i]
        tix.yield %2
      } else {
        %3 = tix.constant 1.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y, %z
}
// CHECK:      tix.program @others
// CHECK:        tix.sum (%i) in (%i >= 0, %i <= 8) {
// CHECK-NEXT:     tix.if
// CHECK:      %z = tix.define "z"
// CHECK-NOT:    tix.sum
// CHECK:        tix.read %x[%p_1]
