// A program is cut where it needs the solution of a linear system.
// RUN: tadc-opt %s --split-input-file -p split-solves | filecheck %s

// What the system needs comes before it, and so does all else that can; `c` is needed behind it.
// There, the new version of `p` may have its name: nothing reads the old one any more.
tix.program @one (%p = "p" : !tix.tensor<[N], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %A = tix.define "A" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %p[%j]
    tix.yield %0
  }
  %b = tix.define "b" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    tix.yield %0
  }
  %c = tix.define "c" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %b[%i]
    tix.yield %0
  }
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.read %c[%i]
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %p_1 as "p", %A, %b
}
tix.solve ["x"] from ["A"] and ["b"] as "dense" {rows = [1 : i64], batch = 0 : i64}
// CHECK:      tix.program @one_1 (%p = "p" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %A = tix.define "A"
// CHECK:        %b = tix.define "b"
// CHECK:        %c = tix.define "c"
// CHECK:        tix.return %A, %b, %c
// CHECK-NEXT: }
// CHECK-NEXT: tix.solve ["x"] from ["A"] and ["b"] as "dense"
// CHECK-NEXT: tix.program @one (%p = "p" : !tix.tensor<[N], f64>, %x = "x" : !tix.tensor<[N], f64>, %c = "c" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %p_1 = tix.define "p_1"
// CHECK:        tix.return %p_1 as "p"
// CHECK-NEXT: }

// -----

// The second system needs the solution of the first one. `p_1` is a result of the second program,
// under its label, since the third one reads the old `p`.
tix.program @two (%p = "p" : !tix.tensor<[N], f64>, %q = "q" : !tix.tensor<[N], f64>, %w = "w" : !tix.tensor<[N, N], f64>, %x = "x" : !tix.tensor<[N], f64>, %y = "y" : !tix.tensor<[N], f64>) {
  %b = tix.define "b" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    tix.yield %0
  }
  %A = tix.define "A" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %w[%i, %j]
    tix.yield %0
  }
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  %c = tix.define "c" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  %q_1 = tix.define "q_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %y[%i]
    %1 = tix.read %p[%i]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %p_1 as "p", %q_1 as "q", %A, %b, %c
}
tix.solve ["x"] from ["A"] and ["b"] as "dense" {rows = [1 : i64], batch = 0 : i64}
tix.solve ["y"] from ["A"] and ["c"] as "dense" {transposed, rows = [1 : i64], batch = 0 : i64}
// CHECK:      tix.program @two_1
// CHECK:        tix.return %b, %A
// CHECK:      tix.solve ["x"]
// CHECK-NEXT: tix.program @two_2
// CHECK:        tix.return %p_1, %c
// CHECK:      tix.solve ["y"] from ["A"] and ["c"] as "dense" {transposed
// CHECK-NEXT: tix.program @two
// CHECK:        tix.return %q_1 as "q"

// -----

// A determinant comes after the program that makes its matrix: nothing waits for it.
tix.program @determinant (%p = "p" : !tix.tensor<[N, N], f64>) {
  %A = tix.define "A" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %p[%j, %i]
    tix.yield %0
  }
  tix.return %A
}
tix.determinant ["A"] as "dense" {rows = [1 : i64], batch = 0 : i64}
// CHECK:      tix.program @determinant
// CHECK:        tix.return %A
// CHECK-NEXT: }
// CHECK-NEXT: tix.determinant ["A"]

// -----

// Nothing to cut.
tix.program @plain (%p = "p" : !tix.tensor<[N], f64>) {
  %p_1 = tix.define "p_1" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %p[%i]
    tix.yield %0
  }
  tix.return %p_1 as "p"
}
// CHECK:      tix.program @plain (%p = "p" : !tix.tensor<[N], f64>) {
// CHECK:        tix.return %p_1 as "p"
