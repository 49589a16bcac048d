// Vectors as LLVM IR, and none in CUDA C.
// RUN: tadc-opt %s -t llvm | filecheck %s
// RUN: not tadc-opt %s -t cuda 2>&1 | filecheck %s --check-prefix CUDA
// CUDA: cuda: no literal for dense<5.000000e-01> : vector<4xf32>

// Arithmetic is that of numbers. Constants are in all lanes, or a list.
func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %N: index)
    attributes {buffers = ["y", "x"], sizes = ["N"]} {
  %half = arith.constant dense<0.5> : vector<4xf32>
  %steps = arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
  %number = arith.constant 2.0 : f32
  %two = vector.broadcast %number : f32 to vector<4xf32>
  loops.parallel (%i) to (%N) {
    %a = vector.load %x[%i] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
    %s = memref.load %x[%i] : memref<?xf32>
    %b = vector.broadcast %s : f32 to vector<4xf32>
    %product = math.fma %a, %b, %half : vector<4xf32>
    %power = math.exp %product : vector<4xf32>
    %tail = loops.libm "erfc" %power : vector<4xf32>
    %from = vector.broadcast %i : index to vector<4xindex>
    %place = arith.addi %from, %steps : vector<4xindex>
    %real = loops.convert %place : vector<4xindex> to vector<4xf32>
    %more = loops.compare "ogt" %tail, %two : vector<4xf32> -> vector<4xi1>
    %chosen = loops.select %more, %real, %tail : vector<4xi1>, vector<4xf32>
    vector.store %chosen, %y[%i] : memref<?xf32>, vector<4xf32>
  }
  func.return
}
// The entry holds the loops. Nothing is said of its buffers: LLVM moves no vectors across each other.
// CHECK-LABEL: define void @y.entry(ptr readonly captures(none) %params, i64 %begin, i64 %end, ptr %stop) #0 {
// CHECK:         %a = load <4 x float>, ptr %at{{[.0-9]*}}, align 16
// CHECK:         %one = insertelement <4 x float> poison, float %s, i64 0
// CHECK-NEXT:    %b = shufflevector <4 x float> %one, <4 x float> poison, <4 x i32> zeroinitializer
// CHECK-NEXT:    %product = call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> splat (float 0.5))
// CHECK-NEXT:    %power = call <4 x float> @tadc.exp.v4f32(<4 x float> %product)
// CHECK-NEXT:    %tail = call <4 x float> @tadc.erfcf.v4f32.nobuiltin(<4 x float> %power)
// CHECK:         %place = add <4 x i64> %from, <i64 0, i64 1, i64 2, i64 3>
// CHECK-NEXT:    %real = sitofp <4 x i64> %place to <4 x float>
// CHECK-NEXT:    %more = fcmp ogt <4 x float> %tail, splat (float 2.0)
// CHECK-NEXT:    %chosen = select <4 x i1> %more, <4 x float> %real, <4 x float> %tail
// CHECK:         store <4 x float> %chosen, ptr %at{{[.0-9]*}}, align 4
// CHECK:       @y.grain = constant i64 1

// Lanes that are off touch nothing, so that their addresses may be anywhere: no `inbounds`.
func.func @masks(%y: memref<?xf32>, %x: memref<?xf32>, %N: index)
    attributes {buffers = ["y", "x"], sizes = ["N"]} {
  %none = arith.constant dense<0.0> : vector<4xf32>
  loops.parallel (%i) to (%N) {
    %on = vector.create_mask %i : vector<4xi1>
    %a = vector.maskedload %x[%i], %on, %none : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.maskedstore %y[%i], %on, %a : memref<?xf32>, vector<4xi1>, vector<4xf32>
  }
  func.return
}
// CHECK-LABEL: define void @masks.entry(
// CHECK:         %least = call i64 @llvm.smax.i64(i64 0, i64 %i)
// CHECK-NEXT:    %most = call i64 @llvm.smin.i64(i64 4, i64 %least)
// CHECK-NEXT:    %short = trunc i64 %most to i32
// CHECK:         %on = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %ends
// CHECK-NEXT:    %at{{[.0-9]*}} = getelementptr float, ptr %x, i64 %i
// CHECK-NEXT:    %a = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %at{{[.0-9]*}}, <4 x i1> %on, <4 x float> splat (float 0.0))
// CHECK-NEXT:    %at{{[.0-9]*}} = getelementptr float, ptr %y, i64 %i
// CHECK-NEXT:    call void @llvm.masked.store.v4f32.p0(<4 x float> %a, ptr align 4 %at{{[.0-9]*}}, <4 x i1> %on)

// A sum is a tree, which LLVM may not change. Vectors are carried in phis.
func.func @sum(%y: memref<?xf32>, %x: memref<?xf32>, %N: index)
    attributes {buffers = ["y", "x"], sizes = ["N"]} {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %none = arith.constant dense<0.0> : vector<4xf32>
  loops.parallel () to () {
    %lanes = scf.for %k = %zero to %N step %four iter_args(%s = %none) -> (vector<4xf32>) {
      %a = vector.load %x[%k] : memref<?xf32>, vector<4xf32>
      %t = arith.addf %s, %a : vector<4xf32>
      scf.yield %t : vector<4xf32>
    }
    %total = vector.reduction <add>, %lanes fastmath<reassoc> : vector<4xf32> into f32
    memref.store %total, %y[%zero] : memref<?xf32>
  }
  func.return
}
// CHECK-LABEL: define void @sum.entry(
// CHECK:         %s = phi <4 x float> [ splat (float 0.0), {{.*}} ], [ %t, {{.*}} ]
// CHECK:         %part = shufflevector <4 x float> %lanes, <4 x float> poison, <2 x i32> <i32 0, i32 1>
// CHECK-NEXT:    %part.1 = shufflevector <4 x float> %lanes, <4 x float> poison, <2 x i32> <i32 2, i32 3>
// CHECK-NEXT:    %half = fadd <2 x float> %part, %part.1
// CHECK-NEXT:    %lane = extractelement <2 x float> %half, i64 0
// CHECK-NEXT:    %lane.1 = extractelement <2 x float> %half, i64 1
// CHECK-NEXT:    %total = fadd float %lane, %lane.1

// Lanes change places. A store that bypasses the caches is aligned, and ordered by a fence.
func.func @places(%y: memref<?xf64>, %x: memref<?xf64>, %N: index)
    attributes {buffers = ["y", "x"], sizes = ["N"]} {
  loops.parallel (%i) to (%N) {
    %address = "memref.extract_aligned_pointer_as_index"(%y) : (memref<?xf64>) -> index
    %a = vector.load %x[%i] : memref<?xf64>, vector<2xf64>
    %b = vector.load %x[%address] : memref<?xf64>, vector<2xf64>
    %c = vector.shuffle %a, %b [0, 2, 1, 3] : vector<2xf64>, vector<2xf64>
    %d = vector.extract %c[2] : f64 from vector<4xf64>
    %e = vector.insert %d, %c [0] : f64 into vector<4xf64>
    vector.store %e, %y[%i] {nontemporal = true} : memref<?xf64>, vector<4xf64>
  }
  func.return
}
// CHECK-LABEL: define void @places.entry(
// CHECK:         %address = ptrtoint ptr %y to i64
// CHECK:         %c = shufflevector <2 x double> %a, <2 x double> %b, <4 x i32> <i32 0, i32 2, i32 1, i32 3>
// CHECK-NEXT:    %d = extractelement <4 x double> %c, i64 2
// CHECK-NEXT:    %e = insertelement <4 x double> %c, double %d, i64 0
// CHECK:         store <4 x double> %e, ptr {{.*}}, align 32, !nontemporal !0
// CHECK:         fence seq_cst
// CHECK-NEXT:    ret void

// Elements that lie apart: at a short constant stride, lanes of whole vectors, here backwards.
func.func @apart(%y: memref<?xf32>, %x: memref<?xf32>, %N: index, %S: index)
    attributes {buffers = ["y", "x"], sizes = ["N", "S"]} {
  %back = arith.constant -2 : index
  loops.parallel (%i) to (%N) {
    %a = loops.strided_load %x[%i], %back : memref<?xf32>, vector<4xf32>
    %b = loops.strided_load %x[%i], %S : memref<?xf32>, vector<2xf32>
    %c = vector.shuffle %b, %b [0, 1, 0, 1] : vector<2xf32>, vector<2xf32>
    %d = arith.addf %a, %c : vector<4xf32>
    vector.store %d, %y[%i] : memref<?xf32>, vector<4xf32>
  }
  func.return
}
// CHECK-LABEL: define void @apart.entry(
// CHECK:         %at{{[.0-9]*}} = getelementptr inbounds float, ptr %x, i64 %i
// CHECK-NEXT:    %at{{[.0-9]*}} = getelementptr inbounds float, ptr %at{{[.0-9]*}}, i64 -6
// CHECK-NEXT:    %whole = load <4 x float>, ptr %at{{[.0-9]*}}, align 4
// CHECK-NEXT:    %at{{[.0-9]*}} = getelementptr inbounds float, ptr %at{{[.0-9]*}}, i64 -3
// CHECK-NEXT:    %whole.1 = load <4 x float>, ptr %at{{[.0-9]*}}, align 4
// CHECK-NEXT:    %a = shufflevector <4 x float> %whole, <4 x float> %whole.1, <4 x i32> <i32 7, i32 5, i32 2, i32 0>
// CHECK:         %number = load float,
// CHECK-NEXT:    %part = insertelement <2 x float> poison, float %number, i64 0
// CHECK-NEXT:    %index = add nsw i64 %i, %S
// CHECK:         %number.1 = load float,
// CHECK-NEXT:    %b = insertelement <2 x float> %part, float %number.1, i64 1

// A hint names no element: it may lie outside.
func.func @ahead(%y: memref<?xf32>, %x: memref<?xf32>, %N: index) attributes {buffers = ["y", "x"], sizes = ["N"]} {
  loops.parallel (%i) to (%N) {
    loops.prefetch %x[%i] : memref<?xf32>
    %a = vector.load %x[%i] : memref<?xf32>, vector<4xf32>
    vector.store %a, %y[%i] : memref<?xf32>, vector<4xf32>
  }
  func.return
}
// CHECK-LABEL: define void @ahead.entry(
// CHECK:         %at{{[.0-9]*}} = getelementptr float, ptr %x, i64 %i
// CHECK-NEXT:    call void @llvm.prefetch.p0(ptr %at{{[.0-9]*}}, i32 0, i32 3, i32 1)

// A number of the machine, here that of a server.
func.func @large(%y: memref<?xf32>, %N: index) attributes {buffers = ["y"], sizes = ["N"]} {
  loops.parallel (%i) to (%N) {
    %cache = loops.shared_cache : index
    %large = arith.cmpi sge, %N, %cache : index
    %one = arith.constant 1.0 : f32
    %ones = vector.broadcast %one : f32 to vector<4xf32>
    scf.if %large {
      vector.store %ones, %y[%i] : memref<?xf32>, vector<4xf32>
    }
  }
  func.return
}
// CHECK-LABEL: define void @large.entry(
// CHECK:         icmp sge i64 %N, 100663296

// Functions of vectors stand beside the program; those of the C library are called for each lane.
// CHECK-LABEL: define internal <4 x float> @tadc.exp.v4f32(<4 x float> %x) #1 {
// CHECK-LABEL: define internal <4 x float> @tadc.erfcf.v4f32.nobuiltin(<4 x float> %x0) #3 {
// CHECK-NEXT:    %x0.0 = extractelement <4 x float> %x0, i64 0
// CHECK-NEXT:    %y0 = call float @erfcf(float %x0.0) nobuiltin
// CHECK-NEXT:    %r0 = insertelement <4 x float> poison, float %y0, i64 0
// CHECK:       !0 = !{i32 1}
