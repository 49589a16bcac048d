// Linear systems and determinants between programs are printed as they are read.
// RUN: tadc-opt %s | filecheck %s
// RUN: tadc-opt %s | tadc-opt | filecheck %s

tix.solve ["x"] from ["A"] and ["b"] as "dense" {rows = [1 : i64], batch = 0 : i64}
tix.solve ["x"] from ["A"] and ["b"] as "lower" {transposed, rows = [1 : i64], batch = 2 : i64}
tix.solve ["x"] from ["A"] and ["b"] as "upper" {rows = [2 : i64], batch = 0 : i64}
tix.solve ["x"] from ["A"] and ["b"] as "banded" {rows = [1 : i64], batch = 0 : i64, lower = 1 : i64, upper = 2 : i64}
tix.solve ["x", "y"] from ["A", "B", "C", "D"] and ["b", "c"] as "dense" {rows = [1 : i64, 0 : i64], batch = 1 : i64}
tix.solve ["x"] from ["A"] and ["b"] as "dense" {row_tensors = [["p", 1 : i64, 0 : i64]], column_tensors = [["q", 0 : i64, 1 : i64]], rows = [1 : i64], batch = 1 : i64}
tix.determinant ["A"] as "dense" {rows = [1 : i64], batch = 0 : i64}
tix.determinant ["A", "B", "C", "D"] as "dense" {rows = [0 : i64, 0 : i64], batch = 1 : i64}
// CHECK:      tix.solve ["x"] from ["A"] and ["b"] as "dense" {rows = [1 : i64], batch = 0 : i64}
// CHECK-NEXT: tix.solve ["x"] from ["A"] and ["b"] as "lower" {transposed, rows = [1 : i64], batch = 2 : i64}
// CHECK-NEXT: tix.solve ["x"] from ["A"] and ["b"] as "upper" {rows = [2 : i64], batch = 0 : i64}
// CHECK-NEXT: tix.solve ["x"] from ["A"] and ["b"] as "banded" {rows = [1 : i64], batch = 0 : i64, lower = 1 : i64, upper = 2 : i64}
// CHECK-NEXT: tix.solve ["x", "y"] from ["A", "B", "C", "D"] and ["b", "c"] as "dense" {rows = [1 : i64, 0 : i64], batch = 1 : i64}
// CHECK-NEXT: tix.solve ["x"] from ["A"] and ["b"] as "dense" {row_tensors = [["p", 1 : i64, 0 : i64]], column_tensors = [["q", 0 : i64, 1 : i64]], rows = [1 : i64], batch = 1 : i64}
// CHECK-NEXT: tix.determinant ["A"] as "dense" {rows = [1 : i64], batch = 0 : i64}
// CHECK-NEXT: tix.determinant ["A", "B", "C", "D"] as "dense" {rows = [0 : i64, 0 : i64], batch = 1 : i64}
