// Arguments, and what depends on them, get one more index in front of the others.
// RUN: tadc-opt %s -p 'batch{arguments=x}' | filecheck %s
// RUN: tadc-opt %s -p 'batch{arguments=p}' | filecheck %s --check-prefix UPDATED
// RUN: tadc-opt %s -p batch | filecheck %s --check-prefix ALL
// RUN: not tadc-opt %s -p 'batch{arguments=z}' 2>&1 | filecheck %s --check-prefix UNKNOWN

tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f32>, %p = "p" : !tix.tensor<[], real>) {
  // It does not depend on x, so it stays as it is.
  %u = tix.define "u" (%i) : !tix.tensor<[K], f64> {
    %0 = tix.read %w[%i]
    %1 = tix.exp %0
    tix.yield %1
  }
  // The sum over k does; that over m would be the same for every b, and gets a name.
  %y = tix.define "y" (%i) : !tix.tensor<[R], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= K - 1) {
      %1 = tix.read %u[%k]
      %2 = tix.read %x[2 * %i + 1]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.sum (%m) in (%m >= 0, %m <= K - 1) {
      %5 = tix.read %w[%m]
      tix.yield %5
    }
    %6 = tix.mul %0, %4
    tix.yield %6
  }
  // A new version of p: both have the index or none has it.
  %p_1 = tix.define "p_1" () : !tix.tensor<[], real> {
    %0 = tix.read %p[]
    %1 = tix.read %w[0]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %p_1 as "p", %y
}

// CHECK:      tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[B, N], f32>, %p = "p" : !tix.tensor<[], real>) {
// CHECK-NEXT:   %u = tix.define "u" (%i) : !tix.tensor<[K], f64> {
// CHECK:        %y_sum = tix.define "y_sum" () : !tix.tensor<[], f64> {
// CHECK-NEXT:     [[SUM:%.*]] = tix.sum (%m) in (%m >= 0, %m + 1 <= K) {
// CHECK-NEXT:       [[W:%.*]] = tix.read %w[%m]
// CHECK:        %y = tix.define "y" (%b, [[I:%.*]]) : !tix.tensor<[B, R], f64> {
// CHECK-NEXT:     [[SUM:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:       [[U:%.*]] = tix.read %u[%k]
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%b, 2 * [[I]] + 1]
// CHECK:          [[S:%.*]] = tix.read %y_sum[]
// CHECK-NEXT:     [[Y:%.*]] = tix.mul [[SUM]], [[S]]
// CHECK-NEXT:     tix.yield [[Y]]
// CHECK:        %p_1 = tix.define "p_1" () : !tix.tensor<[], real> {
// CHECK:        tix.return %p_1 as "p", %y

// UPDATED:      (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f32>, %p = "p" : !tix.tensor<[B], real>) {
// UPDATED:        tix.define "y" ({{%[^,]*}}) : !tix.tensor<[R], f64> {
// UPDATED:        %p_1 = tix.define "p_1" (%b) : !tix.tensor<[B], real> {
// UPDATED-NEXT:     [[P:%.*]] = tix.read %p[%b]
// UPDATED-NEXT:     [[W:%.*]] = tix.read %w[0]

// Then nothing is the same for every b.
// ALL:      (%w = "w" : !tix.tensor<[B, K], f64>, %x = "x" : !tix.tensor<[B, N], f32>, %p = "p" : !tix.tensor<[B], real>) {
// ALL-NEXT:   %u = tix.define "u" (%b, %i) : !tix.tensor<[B, K], f64> {
// ALL-NEXT:     %0 = tix.read %w[%b, %i]
// ALL-NOT:    y_sum
// ALL:        tix.return %p_1 as "p", %y

// UNKNOWN: no argument is named z
