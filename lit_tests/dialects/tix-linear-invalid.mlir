// What the verifier refuses of linear systems and determinants.
// RUN: tadc-opt %s --verify-diagnostics --split-input-file | filecheck %s

tix.solve ["x"] from ["A"] and ["b"] as "sparse" {rows = [1 : i64], batch = 0 : i64}
// CHECK: kinds of matrices are dense, lower, upper, banded

// -----

tix.solve ["x"] from ["A"] and ["b"] as "dense" {rows = [1 : i64], batch = -1 : i64}
// CHECK: the number of batch dimensions is negative

// -----

tix.solve ["x", "y"] from ["A", "B"] and ["b", "c"] as "dense" {rows = [1 : i64, 1 : i64], batch = 0 : i64}
// CHECK: one block of the matrix for each right-hand side and solution

// -----

tix.solve ["x"] from ["A"] and ["b"] as "dense" {rows = [1 : i64, 1 : i64], batch = 0 : i64}
// CHECK: rows counts the dimensions of rows for each row of blocks

// -----

tix.solve ["x"] from ["A"] and ["b"] as "banded" {rows = [1 : i64], batch = 0 : i64, lower = 1 : i64}
// CHECK: lower and upper belong to banded matrices

// -----

tix.determinant ["A"] as "lower" {rows = [1 : i64], batch = 0 : i64, lower = 1 : i64, upper = 0 : i64}
// CHECK: lower and upper belong to banded matrices

// -----

tix.determinant ["A"] as "diagonal" {rows = [1 : i64], batch = 0 : i64}
// CHECK: kinds of matrices are dense, lower, upper, banded
