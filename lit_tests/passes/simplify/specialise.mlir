// Sizes become numbers wherever they stand; what these numbers decide is decided.
// RUN: tadc-opt %s -p 'specialise{sizes="K=3","M=2"}' | filecheck %s
// RUN: tadc-opt %s -p 'specialise{sizes="N=9"}' | filecheck %s --check-prefix DERIVED
// RUN: tadc-opt %s -p 'specialise{sizes="N=M+8"}' | filecheck %s --check-prefix SHIFTED
// RUN: tadc-opt %s -p 'specialise{sizes="M=0"}' | filecheck %s --check-prefix EMPTY
// RUN: tadc-opt %s -p specialise | filecheck %s --check-prefix SAME
// RUN: tadc-opt %s -p 'specialise{least="K=2","M=1","N=9"}' | filecheck %s --check-prefix SAME
// RUN: tadc-opt %s -p 'specialise{least="K=3"}' | filecheck %s --check-prefix LEAST
// RUN: tadc-opt %s -p 'specialise{least="M=3"}' | filecheck %s --check-prefix NEVER
// RUN: tadc-opt %s -p 'specialise{most="M=1"}' | filecheck %s --check-prefix NEVER
// RUN: tadc-opt %s -p 'specialise{sizes="K=3" most="N=127"},specialise{sizes="M=2"}' | filecheck %s --check-prefix MOST
// RUN: not tadc-opt %s -p 'specialise{sizes="N=9","R=5"}' 2>&1 | filecheck %s --check-prefix OTHER
// RUN: not tadc-opt %s -p 'specialise{sizes="K"}' 2>&1 | filecheck %s --check-prefix BAD
// RUN: not tadc-opt %s -p 'specialise{sizes="K=M+"}' 2>&1 | filecheck %s --check-prefix BAD-SUM

tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N, M], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[R, M + 1], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= K - 1, %k <= M + N) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[2 * %i + 1, %k + M - 2]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %z = tix.define "z" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.index_to_real (%i + 2 * M)
    %1 = tix.if (K >= 3, %i >= M) or (%i + 1 <= M) {
      %2 = tix.index_to_real (K)
      tix.yield %2
    } else {
      tix.yield %0
    }
    tix.yield %1
  }
  %e = tix.define "e" () : !tix.tensor<[], f64> {
    %0 = tix.prod (%m) in (%m >= 0, %m <= M - 1) {
      %1 = tix.read %x[0, %m]
      tix.yield %1
    }
    %2 = tix.if (M == 2) {
      %3 = tix.sum (%m) in (%m >= 0, %m <= M - 3) {
        %4 = tix.read %x[0, %m]
        tix.yield %4
      }
      %5 = tix.add %0, %3
      tix.yield %5
    } else {
      tix.yield %0
    }
    tix.yield %2
  }
  tix.return %y, %z, %e
}

// CHECK:      tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) (%w = "w" : !tix.tensor<[3], f64>, %x = "x" : !tix.tensor<[N, 2], f32>) {
// CHECK-NEXT:   %y = tix.define "y" (%i, %j) : !tix.tensor<[R, 3], f64> {
// CHECK-NEXT:     %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
// CHECK-NEXT:       %1 = tix.read %w[%k]
// CHECK-NEXT:       %2 = tix.read %x[2 * %i + 1, %k]
// CHECK:        %z = tix.define "z" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:     [[V:%.*]] = tix.index_to_real ([[I]] + 4)
// CHECK-NEXT:     [[IF:%.*]] = tix.if ([[I]] >= 2) or ([[I]] <= 1) {
// CHECK-NEXT:       [[C:%.*]] = tix.constant 3.0
// CHECK-NEXT:       tix.yield [[C]]
// CHECK-NEXT:     } else {
// CHECK-NEXT:       tix.yield [[V]]
// CHECK:        tix.define "e" () : !tix.tensor<[], f64> {
// CHECK-NEXT:     [[P:%.*]] = tix.prod ([[M:%.*]]) in ([[M]] >= 0, [[M]] <= 1) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[0, [[M]]]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[P]]

// The derived size is known with what it is derived from.
// DERIVED:      tix.program @f (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[9, M], f32>) {
// DERIVED-NEXT:   tix.define "y" (%i, %j) : !tix.tensor<[4, M + 1], f64> {
// DERIVED:        tix.if (M == 2) {

// The derived size stays: its bound has another size now.
// SHIFTED:      tix.program @f sizes (#tix.size<R = min((M + 7) floordiv 2)>) (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[M + 8, M], f32>) {
// SHIFTED:        tix.sum (%k) in (%k >= 0, %k + 1 <= K, %k <= 2 * M + 8) {

// EMPTY:      %x = "x" : !tix.tensor<[N, 0], f32>) {
// EMPTY:      tix.if (K >= 3, [[I:%.*]] >= 0) or ([[I]] <= -1) {
// EMPTY:      tix.define "e" () : !tix.tensor<[], f64> {
// EMPTY-NEXT:   [[ONE:%.*]] = tix.constant 1.0
// EMPTY-NEXT:   tix.yield [[ONE]]

// SAME: tix.sum (%k) in (%k >= 0, %k + 1 <= K, %k <= M + N) {
// SAME: tix.if (K >= 3, {{.*}} >= M) or
// SAME: tix.if (M == 2) {

// A condition on sizes that they meet is left out, and no other.
// LEAST: tix.sum (%k) in (%k >= 0, %k + 1 <= K, %k <= M + N) {
// LEAST: tix.if ({{%[^ ]+}} >= M) or
// LEAST: tix.if (M == 2) {

// Nor is what is to be done on a condition that they never meet.
// NEVER:      tix.define "e"
// NEVER-NEXT: [[P:%.*]] = tix.prod
// NEVER-NEXT:   tix.read
// NEVER-NEXT:   tix.yield
// NEVER-NEXT: }
// NEVER-NEXT: tix.yield [[P]]

// The program says how large sizes are at most, from then on.
// MOST: tix.program @f sizes (#tix.size<R = min((N - 1) floordiv 2)>) most {N = 127} (%w = "w" : !tix.tensor<[3], f64>

// OTHER: the size R is 4, not 5
// BAD: a size is written as N=512, not 'K'
// BAD-SUM: a size is written as N=512, not 'K=M+'
