// What `wrt`, `unit_adjoint` and `keep_values` change.
// RUN: tadc-opt %s -p 'differentiate{wrt=b}' | filecheck %s --check-prefix WRT
// RUN: tadc-opt %s -p 'differentiate{wrt=s unit_adjoint=true}' | filecheck %s --check-prefix UNIT
// RUN: tadc-opt %s -p 'differentiate{wrt=s,a keep_values=true}' | filecheck %s --check-prefix KEEP

tix.program @loss (%a = "a" : !tix.tensor<[9], f64>, %b = "b" : !tix.tensor<[9], f64>, %s = "s" : !tix.tensor<[], f64>) {
  %t = tix.define "t" () : !tix.tensor<[], f64> {
    %0 = tix.read %s[]
    %1 = tix.sum (%k) in (%k >= 0, %k <= 8) {
      %2 = tix.read %a[%k]
      %3 = tix.read %b[%k]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    %5 = tix.mul %0, %1
    tix.yield %5
  }
  tix.return %t
}

// The other arguments stay arguments.
// WRT:      tix.program @loss (%a = "a" : !tix.tensor<[9], f64>, %b = "b" : !tix.tensor<[9], f64>, %s = "s" : !tix.tensor<[], f64>, %dt = "dt" : !tix.tensor<[], f64>) {
// WRT:      tix.define "t"
// WRT:      %db = tix.define "db" ([[P:%.*]]) : !tix.tensor<[9], f64> {
// WRT-NEXT:   {{%.*}} = tix.sum ([[K:%.*]]) in ([[P]] == [[K]], [[K]] >= 0, [[K]] <= 8) {
// WRT-NEXT:     [[DT:%.*]] = tix.read %dt[]
// WRT-NEXT:     [[S:%.*]] = tix.read %s[]
// WRT-NEXT:     [[DTS:%.*]] = tix.mul [[DT]], [[S]]
// WRT-NEXT:     [[A:%.*]] = tix.read %a[[[K]]]
// WRT-NEXT:     [[PRODUCT:%.*]] = tix.mul [[DTS]], [[A]]
// WRT-NEXT:     tix.yield [[PRODUCT]]
// WRT-NOT:  tix.define
// WRT:      tix.return %db

// The adjoint of the result is the number 1, so that there is no argument dt.
// UNIT:      tix.program @loss (%a = "a" : !tix.tensor<[9], f64>, %b = "b" : !tix.tensor<[9], f64>, %s = "s" : !tix.tensor<[], f64>) {
// UNIT:      %ds = tix.define "ds" () : !tix.tensor<[], f64> {
// UNIT-NEXT:   [[POINT:%.*]] = tix.sum () in () {
// UNIT-NEXT:     [[SUM:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] <= 8) {
// UNIT-NEXT:       [[A:%.*]] = tix.read %a[[[K]]]
// UNIT-NEXT:       [[B:%.*]] = tix.read %b[[[K]]]
// UNIT-NEXT:       [[AB:%.*]] = tix.mul [[A]], [[B]]
// UNIT-NEXT:       tix.yield [[AB]]
// UNIT-NEXT:     }
// UNIT-NEXT:     tix.yield [[SUM]]
// UNIT-NEXT:   }
// UNIT-NEXT:   tix.yield [[POINT]]
// UNIT-NEXT: }
// UNIT-NEXT: tix.return %ds

// Results come before gradients, those in the order asked for.
// KEEP:      %dt = "dt" : !tix.tensor<[], f64>) {
// KEEP:      %t = tix.define "t"
// KEEP:      %ds = tix.define "ds"
// KEEP:      %da = tix.define "da"
// KEEP-NOT:  tix.define
// KEEP:      tix.return %t, %ds, %da
