// Indices of a sum that equal elements of index tensors need no loop.
// RUN: tadc-opt %s --split-input-file -p solve-elements | filecheck %s

// The element takes the place of the index; the elements are where they were.
tix.program @gather (%src = "src" : !tix.tensor<[E], range(N)>, %dst = "dst" : !tix.tensor<[E], range(M)>, %dy = "dy" : !tix.tensor<[M], f64>) {
  %dx = tix.define "dx" (%p) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%i, %e) in (%i >= 0, %i + 1 <= M, %e >= 0, %e + 1 <= E) {
      %1 = tix.at %src[%e]
      %2 = tix.at %dst[%e]
      %3 = tix.if (%p == %1, %i == %2) {
        %4 = tix.read %dy[%i]
        tix.yield %4
      } else {
        %5 = tix.constant 0.0
        tix.yield %5
      }
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %dx
}

// CHECK:      [[S:%.*]] = tix.sum (%e) in (%e >= 0, %e + 1 <= E) {
// CHECK-NEXT:   [[DST:%.*]] = tix.at %dst[%e]
// CHECK-NEXT:   [[SRC:%.*]] = tix.at %src[%e]
// CHECK-NEXT:   {{.*}} = tix.if ([[DST]] >= 0, [[DST]] + 1 <= M, %p == [[SRC]]{{.*}}) {
// CHECK-NEXT:     {{.*}} = tix.read %dy[[[DST]]]

// -----

// An index that is not alone in its equation stays.
tix.program @twice (%idx = "idx" : !tix.tensor<[E], range(N)>, %dy = "dy" : !tix.tensor<[E, M], f64>) {
  %dx = tix.define "dx" (%e) : !tix.tensor<[E], f64> {
    %0 = tix.sum (%q) in (%q >= 0, %q + 1 <= M) {
      %1 = tix.at %idx[%e]
      %2 = tix.if (2 * %q == %1) {
        %3 = tix.read %dy[%e, %q]
        tix.yield %3
      } else {
        %4 = tix.constant 0.0
        tix.yield %4
      }
      tix.yield %2
    }
    tix.yield %0
  }
  tix.return %dx
}

// CHECK: tix.sum (%q) in (%q >= 0, %q + 1 <= M) {
