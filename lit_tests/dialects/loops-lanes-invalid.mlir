// What the verifier of operations on lanes refuses.
// RUN: tadc-opt %s --verify-diagnostics --split-input-file | filecheck %s

%a = "test.op"() : () -> vector<4xf32>
%0 = loops.compare "slt" %a, %a : vector<4xf32> -> vector<4xi1>
// CHECK: "slt" is none of false, oeq

// -----

%i = "test.op"() : () -> vector<4xi32>
%0 = loops.compare "olt" %i, %i : vector<4xi32> -> vector<4xi1>
// CHECK: "olt" is none of eq, ne

// -----

%a = "test.op"() : () -> vector<4xf32>
%0 = loops.compare "olt" %a, %a : vector<4xf32> -> vector<8xi1>
// CHECK: different lanes: vector<4xf32>, vector<8xi1>

// -----

%a, %m = "test.op"() : () -> (vector<4xf32>, vector<2xi1>)
%0 = loops.select %m, %a, %a : vector<2xi1>, vector<4xf32>
// CHECK: different lanes: vector<2xi1>, vector<4xf32>

// -----

%a, %m = "test.op"() : () -> (vector<4xf32>, vector<4xi32>)
%0 = loops.select %m, %a, %a : vector<4xi32>, vector<4xf32>
// CHECK: Expected attribute i1 but got i32

// -----

%i = "test.op"() : () -> vector<4xi32>
%0 = loops.convert %i : vector<4xi32> to vector<2xf32>
// CHECK: different lanes: vector<4xi32>, vector<2xf32>

// -----

%a = "test.op"() : () -> vector<4xf32>
%0 = loops.convert %a : vector<4xf32> to vector<4xi32>
// CHECK: Unexpected attribute f32

// -----

%x, %i = "test.op"() : () -> (memref<?xf64>, index)
%0 = loops.strided_load %x[%i], %i : memref<?xf64>, vector<4xf32>
// CHECK: elements of type f64 in a vector<4xf32>
