// 3 of 8: the derivative, with equations that nobody has solved yet.
//
// For each read in each definition, last definition first, the adjoint of what is read gains a sum
// over all points that read the element (paper, eq. 38): the unknowns of the sum are the indices of
// the definition, and of the sums around the read (eq. 52), and the index of the read equals that of
// the element. Only the gradient of x is asked for.
//
// RUN: tadc-opt %s -p 'differentiate{wrt=x}' | filecheck %s

tix.program @program_01_source sizes (#tix.size<I = min((-2 * K + N + 5) floordiv 4)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %y_sum = tix.define "y_sum" (%i) : !tix.tensor<[I], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[4 * %i + 2 * %k]
      %3 = tix.constant 2.0
      %4 = tix.pow %2, %3
      %5 = tix.mul %1, %4
      tix.yield %5
    }
    tix.yield %0
  }
  %y = tix.define "y" (%i_1) : !tix.tensor<[I], f64> {
    %6 = tix.read %y_sum[%i_1]
    %7 = tix.sqrt %6
    tix.yield %7
  }
  tix.return %y
}

// The adjoint of the result is an argument.
// CHECK:      tix.program @program_01_source sizes (#tix.size<I = min((-2 * K + N + 5) floordiv 4)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f64>, %dy = "dy" : !tix.tensor<[I], f64>) {
// The forward definitions stay: adjoints read them. y reads y_sum[i] for itself only, and its
// derivative 1 / (2 y) takes the root from y.
// CHECK:      %dy_sum = tix.define "dy_sum" ([[I:%.*]]) : !tix.tensor<[I], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I2:%.*]]) in ([[I]] == [[I2]], [[I2]] >= 0, [[I2]] + 1 <= I) {
// CHECK-NEXT:     [[DY:%.*]] = tix.read %dy[[[I2]]]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.5
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[C]], [[DY]]
// CHECK-NEXT:     [[Y:%.*]] = tix.read %y[[[I2]]]
// CHECK-NEXT:     [[DIV:%.*]] = tix.div [[MUL]], [[Y]]
// CHECK-NEXT:     tix.yield [[DIV]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// y_sum[i] reads x[4 i + 2 k]. The derivative of the square is 2 x.
// CHECK:      %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[I:%.*]], [[K:%.*]]) in (%p == 4 * [[I]] + 2 * [[K]], [[I]] >= 0, [[I]] + 1 <= I, [[K]] >= 0, [[K]] + 1 <= K) {
// CHECK-NEXT:     [[DY_SUM:%.*]] = tix.read %dy_sum[[[I]]]
// CHECK-NEXT:     [[W:%.*]] = tix.read %w[[[K]]]
// CHECK-NEXT:     [[MUL:%.*]] = tix.mul [[DY_SUM]], [[W]]
// CHECK-NEXT:     [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:     [[MUL2:%.*]] = tix.mul [[C]], [[MUL]]
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[4 * [[I]] + 2 * [[K]]]
// CHECK-NEXT:     [[MUL3:%.*]] = tix.mul [[MUL2]], [[X]]
// CHECK-NEXT:     tix.yield [[MUL3]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      tix.return %dx
