// One tensor of entries for each band of the Jacobian.
// RUN: tadc-opt %s --split-input-file -p 'sparse-jacobian{wrt=x}' | filecheck %s
// RUN: not tadc-opt %s --split-input-file -p 'sparse-jacobian{wrt=z}' 2>&1 | filecheck %s --check-prefix OTHER

// Each read has a band of its own; the tangent of x[q] is 1 where q is the column.
tix.program @product (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N - 1], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %x[%i + 1]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %y
}
// CHECK:      %dy_dx = tix.define "dy_dx" ([[I:%.*]]) : !tix.tensor<[N - 1], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[[[I]] + 1]
// CHECK-NEXT:   tix.yield [[X]]
// CHECK:      %dy_dx_1 = tix.define "dy_dx_1" ([[I:%.*]]) : !tix.tensor<[N - 1], f64> {
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[[[I]]]
// CHECK-NEXT:   tix.yield [[X]]
// CHECK:      tix.return %dy_dx, %dy_dx_1
// OTHER: no argument is named z

// -----

// What is read through a definition is an entry of that, in the same column: an equation for its
// offset. A result that does not depend on the argument has zeros.
tix.program @chain (%x = "x" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[3], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N - 2], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[%i + %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %u = tix.define "u" (%i) : !tix.tensor<[N - 2], f64> {
    %0 = tix.if (%i >= 2) or (%i == 0) {
      %1 = tix.read %y[%i]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    tix.yield %0
  }
  %c = tix.define "c" () : !tix.tensor<[], f64> {
    %0 = tix.constant 2.0
    tix.yield %0
  }
  tix.return %u, %c
}
// CHECK:      %y_dot = tix.define "y_dot" ([[I:%.*]], [[K:%.*]]) : !tix.tensor<[N - 2, 3], f64> {
// CHECK-NEXT:   {{%.*}} = tix.sum ([[L:%.*]]) in ([[L]] >= 0, [[L]] <= 2) {
// CHECK-NEXT:     {{%.*}} = tix.if ([[L]] == [[K]]) {
// CHECK-NEXT:       {{%.*}} = tix.constant 1.0
// CHECK:      %du_dx = tix.define "du_dx" ([[I:%.*]], [[K:%.*]]) : !tix.tensor<[N - 2, 3], f64> {
// CHECK-NEXT:   {{%.*}} = tix.if ([[I]] >= 2) or ([[I]] == 0) {
// CHECK-NEXT:     {{%.*}} = tix.sum ([[L:%.*]]) in ([[K]] == [[L]], [[L]] >= 0, [[L]] <= 2) {
// CHECK-NEXT:       {{%.*}} = tix.read %y_dot[[[I]], [[L]]]
// CHECK:      %dc_dx = tix.define "dc_dx" () : !tix.tensor<[], f64> {
// CHECK-NEXT:   [[ZERO:%.*]] = tix.constant 0.0
// CHECK-NEXT:   tix.yield [[ZERO]]
// CHECK:      tix.return %du_dx, %dc_dx
