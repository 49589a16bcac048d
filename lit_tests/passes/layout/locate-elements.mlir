// Sums over the places of index tensors run along segments of their views.
// RUN: tadc-opt %s --split-input-file -p locate-elements | filecheck %s

// The places of a value, from its start to that of the next one: known at each is an equation.
tix.program @segments (%dst = "dst" : !tix.tensor<[E], range(N)>, %x = "x" : !tix.tensor<[E], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%e) in (%e >= 0, %e + 1 <= E) {
      %1 = tix.at %dst[%e]
      %2 = tix.if (%1 == %i) {
        %3 = tix.read %x[%e]
        tix.yield %3
      } else {
        %4 = tix.constant 0.0
        tix.yield %4
      }
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      tix.program @segments ({{.*}}, %dst_starts = "dst_starts" : !tix.tensor<[N + 1], range(E + 1) view "starts of dst">, %dst_places = "dst_places_0" : !tix.tensor<[E], range(E) view "places 0 of dst">) {
// CHECK-NEXT:   %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[LOW:%.*]] = tix.at clamped %dst_starts[%i]
// CHECK-NEXT:     [[HIGH:%.*]] = tix.at clamped %dst_starts[%i + 1]
// CHECK-NEXT:     [[S:%.*]] = tix.sum (%s) in (%s >= [[LOW]], [[HIGH]] >= %s + 1) {
// CHECK-NEXT:       [[PLACE:%.*]] = tix.at %dst_places[%s]
// CHECK-NEXT:       [[T:%.*]] = tix.sum (%e) in (%e >= 0, %e + 1 <= E, [[PLACE]] == %e) {
// CHECK-NEXT:         [[X:%.*]] = tix.read %x[%e]
// CHECK-NEXT:         tix.yield [[X]]

// -----

// A sorted vector has its places in order: no view of places.
tix.program @sorted (%row = "row" : !tix.tensor<[E], sorted range(N)>, %x = "x" : !tix.tensor<[E], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%e) in (%e >= 0, %e + 1 <= E) {
      %1 = tix.at %row[%e]
      %2 = tix.if (%1 == %i) {
        %3 = tix.read %x[%e]
        tix.yield %3
      } else {
        %4 = tix.constant 0.0
        tix.yield %4
      }
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      tix.program @sorted ({{.*}}, %row_starts = "row_starts" : !tix.tensor<[N + 1], range(E + 1) view "starts of row">) {
// CHECK:          [[S:%.*]] = tix.sum (%e) in (%e >= 0, %e + 1 <= E, %e >= [[LOW:%.*]], [[HIGH:%.*]] >= %e + 1) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%e]
