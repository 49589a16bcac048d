// 8 of 8: code.
//
// The same functions as CUDA C, one thread per element, and as LLVM IR for all cores. There is no
// atomic operation, and no test inside a sum.
//
// RUN: tadc-opt %s -t cuda | filecheck %s --check-prefix CUDA
// RUN: tadc-opt %s -t llvm | filecheck %s --check-prefix LLVM

func.func @dy_sum(%dy_sum: memref<?xf64>, %dy: memref<?xf64>, %w: memref<?xf64>, %x: memref<?xf64>, %I: index, %K: index, %N: index) attributes {buffers = ["dy_sum", "dy", "w", "x"], sizes = ["I", "K", "N"]} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  loops.parallel (%i) to (%I) {
    %0 = memref.load %dy[%i] : memref<?xf64>
    %1 = arith.constant 5.000000e-01 : f64
    %2 = arith.mulf %1, %0 fastmath<contract> : f64
    %3 = arith.constant 0.000000e+00 : f64
    %4 = arith.muli %i, %c4 : index
    %5, %6 = scf.for %segment = %c0 to %K step %c4096 iter_args(%total = %3, %errors = %3) -> (f64, f64) {
      %7 = arith.addi %segment, %c4096 : index
      %8 = arith.minsi %7, %K : index
      %9 = scf.for %k = %segment to %8 step %c1 iter_args(%sum = %3) -> (f64) {
        %10 = memref.load %w[%k] : memref<?xf64>
        %11 = arith.muli %k, %c2 : index
        %12 = arith.addi %4, %11 : index
        %13 = memref.load %x[%12] : memref<?xf64>
        %14 = arith.constant 2.000000e+00 : f64
        %15 = arith.mulf %13, %13 fastmath<contract> : f64
        %16 = arith.mulf %10, %15 fastmath<contract> : f64
        %17 = arith.addf %sum, %16 fastmath<reassoc,contract> : f64
        scf.yield %17 : f64
      }
      %18 = arith.addf %total, %9 : f64
      %19 = arith.subf %18, %total : f64
      %20 = arith.subf %18, %19 : f64
      %21 = arith.subf %total, %20 : f64
      %22 = arith.subf %9, %19 : f64
      %23 = arith.addf %21, %22 : f64
      %24 = arith.addf %errors, %23 : f64
      scf.yield %18, %24 : f64, f64
    }
    %25 = math.absf %6 : f64
    %26 = arith.addf %5, %6 : f64
    %27 = arith.constant 0x7ff0000000000000 : f64
    %28 = arith.cmpf olt, %25, %27 : f64
    %29 = arith.select %28, %26, %5 : f64
    %30 = math.sqrt %29 : f64
    %31 = arith.divf %2, %30 fastmath<contract> : f64
    memref.store %31, %dy_sum[%i] : memref<?xf64>
  }
  func.return
}
func.func @dx(%dx: memref<?xf64>, %dy_sum: memref<?xf64>, %w: memref<?xf64>, %x: memref<?xf64>, %I: index, %K: index, %N: index) attributes {buffers = ["dx", "dy_sum", "w", "x"], sizes = ["I", "K", "N"]} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0 = arith.muli %K, %c2 : index
  %c5 = arith.constant 5 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  loops.parallel (%p) to (%N) {
    %1 = arith.floordivsi %p, %c2 : index
    %2 = arith.muli %1, %c2 : index
    %3 = arith.cmpi eq, %p, %2 : index
    %4 = arith.subi %p, %0 : index
    %5 = arith.addi %4, %c5 : index
    %6 = arith.floordivsi %5, %c4 : index
    %7 = arith.addi %p, %c4 : index
    %8 = arith.floordivsi %7, %c4 : index
    %9 = arith.maxsi %c0, %6 : index
    %10 = arith.minsi %I, %8 : index
    %11 = scf.if %3 -> (f64) {
      %12 = arith.constant 0.000000e+00 : f64
      %13, %14 = scf.for %segment = %9 to %10 step %c4096 iter_args(%total = %12, %errors = %12) -> (f64, f64) {
        %15 = arith.addi %segment, %c4096 : index
        %16 = arith.minsi %15, %10 : index
        %17 = scf.for %i = %segment to %16 step %c1 iter_args(%sum = %12) -> (f64) {
          %18 = memref.load %dy_sum[%i] : memref<?xf64>
          %19 = arith.muli %i, %c2 : index
          %20 = arith.subi %1, %19 : index
          %21 = memref.load %w[%20] : memref<?xf64>
          %22 = memref.load %x[%2] : memref<?xf64>
          %23 = arith.mulf %18, %21 fastmath<contract> : f64
          %24 = arith.mulf %23, %22 fastmath<contract> : f64
          %25 = arith.addf %sum, %24 fastmath<reassoc,contract> : f64
          scf.yield %25 : f64
        }
        %26 = arith.addf %total, %17 : f64
        %27 = arith.subf %26, %total : f64
        %28 = arith.subf %26, %27 : f64
        %29 = arith.subf %total, %28 : f64
        %30 = arith.subf %17, %27 : f64
        %31 = arith.addf %29, %30 : f64
        %32 = arith.addf %errors, %31 : f64
        scf.yield %26, %32 : f64, f64
      }
      %33 = math.absf %14 : f64
      %34 = arith.addf %13, %14 : f64
      %35 = arith.constant 0x7ff0000000000000 : f64
      %36 = arith.cmpf olt, %33, %35 : f64
      %37 = arith.select %36, %34, %13 : f64
      %38 = arith.constant 2.000000e+00 : f64
      %39 = arith.mulf %38, %37 fastmath<contract> : f64
      scf.yield %39 : f64
    } else {
      %40 = arith.constant 0.000000e+00 : f64
      scf.yield %40 : f64
    }
    memref.store %11, %dx[%p] : memref<?xf64>
  }
  func.return
}

// CUDA:      dy_sum(
// CUDA:        const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
// CUDA-NEXT:   if (i >= I) return;
// CUDA-NEXT:   const long long [[AT:.*]] = i * 4;
// CUDA-NEXT:   double total = 0.0;
// CUDA-NEXT:   double errors = 0.0;
// CUDA-NEXT:   for (long long segment = 0; segment < K; segment += 4096) {
// CUDA-NEXT:     double sum = 0.0;
// CUDA-NEXT:     for (long long k = segment; k < min(segment + 4096, K); ++k) {
// CUDA-NEXT:       const double [[X:.*]] = x[[[AT]] + k * 2];
// CUDA-NEXT:       sum += w[k] * ([[X]] * [[X]]);
// CUDA-NEXT:     }
// CUDA-NEXT:     const double [[T1:.*]] = total + sum;
// CUDA-NEXT:     const double [[T2:.*]] = [[T1]] - total;
// CUDA-NEXT:     errors += total - ([[T1]] - [[T2]]) + (sum - [[T2]]);
// CUDA-NEXT:     total = [[T1]];
// CUDA-NEXT:   }
// CUDA-NEXT:   const double [[SUM:.*]] = fabs(errors) < {{.*}} ? total + errors : total;
// CUDA-NEXT:   dy_sum[i] = 0.5 * dy[i] / sqrt([[SUM]]);
// CUDA-NEXT: }

// What may be negative, p - 2 K + 5, is divided by a function: C rounds towards 0.
// CUDA:      dx(
// CUDA:        const long long [[K2:.*]] = K * 2;
// CUDA-NEXT:   const long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x;
// CUDA-NEXT:   if (p >= N) return;
// CUDA-NEXT:   const long long [[T:.*]] = p / 2;
// CUDA-NEXT:   const long long [[EVEN:.*]] = [[T]] * 2;
// CUDA-NEXT:   const long long [[HIGH:.*]] = min(I, (p + 4) / 4);
// CUDA-NEXT:   double [[RESULT:.*]];
// CUDA-NEXT:   if (p == [[EVEN]]) {
// CUDA-NEXT:     double total = 0.0;
// CUDA-NEXT:     double errors = 0.0;
// CUDA-NEXT:     for (long long segment = max(0LL, floor_div(p - [[K2]] + 5, 4LL)); segment < [[HIGH]]; segment += 4096) {
// CUDA-NEXT:       double sum = 0.0;
// CUDA-NEXT:       for (long long i = segment; i < min(segment + 4096, [[HIGH]]); ++i) {
// CUDA-NEXT:         sum += dy_sum[i] * w[[[T]] - i * 2] * x[[[EVEN]]];
// CUDA-NEXT:       }
// CUDA:          const double [[SUM:.*]] = fabs(errors) < {{.*}} ? total + errors : total;
// CUDA-NEXT:     [[RESULT]] = 2.0 * [[SUM]];
// CUDA-NEXT:   } else {
// CUDA-NEXT:     [[RESULT]] = 0.0;
// CUDA-NEXT:   }
// CUDA-NEXT:   dx[p] = [[RESULT]];
// CUDA-NEXT: }

// An arithmetic shift rounds down. Callers give each core a range of p.
// LLVM:      define internal void @dx(
// LLVM:        [[T:%.*]] = ashr i64 %p, 1
// LLVM-NEXT:   [[EVEN:%.*]] = mul nsw i64 [[T]], 2
// LLVM-NEXT:   [[TEST:%.*]] = icmp eq i64 %p, [[EVEN]]
// LLVM:        br i1 [[TEST]], label %then, label %else
// LLVM:        %segment{{.*}} = phi i64 [
// LLVM:        [[I:%.*]] = phi i64 [ %segment
// LLVM-NEXT:   [[SUM:%.*]] = phi double [ 0.0, %{{.*}} ], [ [[NEXT:%.*]], %{{.*}} ]
// LLVM-NEXT:   [[DY_AT:%.*]] = getelementptr inbounds double, ptr %dy_sum, i64 [[I]]
// LLVM-NEXT:   [[DY:%.*]] = load double, ptr [[DY_AT]], align 8
// LLVM-NEXT:   [[I2:%.*]] = mul nsw i64 [[I]], 2
// LLVM-NEXT:   [[K:%.*]] = sub nsw i64 [[T]], [[I2]]
// LLVM-NEXT:   [[W_AT:%.*]] = getelementptr inbounds double, ptr %w, i64 [[K]]
// LLVM-NEXT:   [[W:%.*]] = load double, ptr [[W_AT]], align 8
// LLVM:        [[WEIGHTED:%.*]] = fmul contract double [[DY]], [[W]]
// LLVM-NEXT:   [[TERM:%.*]] = fmul contract double [[WEIGHTED]],
// LLVM-NEXT:   [[NEXT]] = fadd reassoc contract double [[SUM]], [[TERM]]
// LLVM:        store double {{.*}}, align 8
// LLVM:      define void @dx.entry(
