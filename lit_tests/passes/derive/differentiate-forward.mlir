// Forward mode: one tangent per definition that depends on one, in gather form.
// RUN: tadc-opt %s --split-input-file -p 'differentiate{mode=forward}' | filecheck %s
// RUN: tadc-opt %s --split-input-file -p 'differentiate{mode=forward wrt=x keep_values=true}' | filecheck %s --check-prefix KEEP

// Each read has the tangent of what it reads; forward values are read where they are stored.
tix.program @plain (%x = "x" : !tix.tensor<[8], f64>, %c = "c" : !tix.tensor<[], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[4], f64> {
    %0 = tix.read %x[2 * %i]
    %1 = tix.read %c[]
    %2 = tix.mul %0, %1
    %3 = tix.exp %2
    tix.yield %3
  }
  tix.return %f
}
// CHECK:      tix.program @plain (%x = "x" : !tix.tensor<[8], f64>, %c = "c" : !tix.tensor<[], f64>, %x_dot = "x_dot" : !tix.tensor<[8], f64>, %c_dot = "c_dot" : !tix.tensor<[], f64>) {
// CHECK:      %f_dot = tix.define "f_dot" ([[I:%.*]]) : !tix.tensor<[4], f64> {
// CHECK:        [[XD:%.*]] = tix.read %x_dot[2 * [[I]]]
// CHECK:        [[CD:%.*]] = tix.read %c_dot[]
// CHECK:        [[F:%.*]] = tix.read %f[[[I]]]
// CHECK-NEXT:   [[R:%.*]] = tix.mul {{%.*}}, [[F]]
// CHECK-NEXT:   tix.yield [[R]]
// CHECK:      tix.return %f_dot
// KEEP:       tix.program @plain (%x = "x" : !tix.tensor<[8], f64>, %c = "c" : !tix.tensor<[], f64>, %x_dot = "x_dot" : !tix.tensor<[8], f64>) {
// KEEP-NOT:   c_dot
// KEEP:       tix.return %f, %f_dot

// -----

// The tangent of an extremum is that of its term, shared where several are equal to it.
tix.program @pool (%x = "x" : !tix.tensor<[N], f64>) {
  %m = tix.define "m" () : !tix.tensor<[], f64> {
    %0 = tix.max (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %m
}
// CHECK:      %m_dot = tix.define "m_dot" () : !tix.tensor<[], f64> {
// CHECK:        [[M:%.*]] = tix.read %m[]
// CHECK:        [[S:%.*]] = tix.sum ([[K:%.*]]) in
// CHECK-NEXT:     [[TERM:%.*]] = tix.read %x[[[K]]]
// CHECK-NEXT:     {{%.*}} = tix.where [[TERM]] eq [[M]] {
// CHECK-NEXT:       [[T:%.*]] = tix.read %x_dot[[[K]]]
// CHECK-NEXT:       tix.yield [[T]]
// CHECK:        [[N:%.*]] = tix.sum
// CHECK:        tix.yield
// CHECK:        }
// CHECK:        [[MOST:%.*]] = tix.maximum [[N]],
// CHECK:        tix.div [[S]], [[MOST]]

// -----

// The tangent of an argument that is updated is updated itself: results keep their names.
tix.program @update (%x = "x" : !tix.tensor<[N], f64>) {
  %x_1 = tix.define "x_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.sin %0
    tix.yield %1
  }
  tix.return %x_1 as "x"
}
// CHECK:      %x_dot_1 = tix.define "x_dot_1"
// CHECK:      tix.return %x_dot_1 as "x_dot"
// KEEP:       tix.return %x_1 as "x", %x_dot_1 as "x_dot"
