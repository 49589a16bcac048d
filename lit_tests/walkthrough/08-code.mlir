// 8 of 8: code.
//
// The same functions as CUDA C, one thread per element, and as LLVM IR for all cores. There is no
// atomic operation, and no test inside a sum.
//
// RUN: tadc-opt %s -t cuda | filecheck %s --check-prefix CUDA
// RUN: tadc-opt %s -t llvm | filecheck %s --check-prefix LLVM

func.func @dy_sum(%dy_sum: memref<?xf64>, %dy: memref<?xf64>, %w: memref<?xf64>, %x: memref<?xf64>, %I: index, %K: index, %N: index) attributes {buffers = ["dy_sum", "dy", "w", "x"], sizes = ["I", "K", "N"]} {
  loops.parallel (%i) to (%I) {
    %0 = memref.load %dy[%i] : memref<?xf64>
    %1 = arith.constant 5.000000e-01 : f64
    %2 = arith.mulf %1, %0 fastmath<contract> : f64
    %3 = arith.constant 0.000000e+00 : f64
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %4 = scf.for %k = %c0 to %K step %c1 iter_args(%sum = %3) -> (f64) {
      %5 = memref.load %w[%k] : memref<?xf64>
      %c4 = arith.constant 4 : index
      %6 = arith.muli %i, %c4 : index
      %c2 = arith.constant 2 : index
      %7 = arith.muli %k, %c2 : index
      %8 = arith.addi %6, %7 : index
      %9 = memref.load %x[%8] : memref<?xf64>
      %10 = arith.constant 2.000000e+00 : f64
      %11 = arith.mulf %9, %9 fastmath<contract> : f64
      %12 = arith.mulf %5, %11 fastmath<contract> : f64
      %13 = arith.addf %sum, %12 fastmath<reassoc,contract> : f64
      scf.yield %13 : f64
    }
    %14 = math.sqrt %4 : f64
    %15 = arith.divf %2, %14 fastmath<contract> : f64
    memref.store %15, %dy_sum[%i] : memref<?xf64>
  }
  func.return
}
func.func @dx(%dx: memref<?xf64>, %dy_sum: memref<?xf64>, %w: memref<?xf64>, %x: memref<?xf64>, %I: index, %K: index, %N: index) attributes {buffers = ["dx", "dy_sum", "w", "x"], sizes = ["I", "K", "N"]} {
  loops.parallel (%p) to (%N) {
    %c2 = arith.constant 2 : index
    %0 = arith.floordivsi %p, %c2 : index
    %1 = arith.muli %0, %c2 : index
    %2 = arith.cmpi eq, %p, %1 : index
    %3 = scf.if %2 -> (f64) {
      %4 = arith.constant 0.000000e+00 : f64
      %c0 = arith.constant 0 : index
      %5 = arith.muli %K, %c2 : index
      %c5 = arith.constant 5 : index
      %6 = arith.addi %p, %c5 : index
      %7 = arith.subi %6, %5 : index
      %c4 = arith.constant 4 : index
      %8 = arith.floordivsi %7, %c4 : index
      %9 = arith.addi %p, %c4 : index
      %10 = arith.floordivsi %9, %c4 : index
      %11 = arith.maxsi %c0, %8 : index
      %12 = arith.minsi %I, %10 : index
      %c1 = arith.constant 1 : index
      %13 = scf.for %i = %11 to %12 step %c1 iter_args(%sum = %4) -> (f64) {
        %14 = memref.load %dy_sum[%i] : memref<?xf64>
        %15 = arith.muli %i, %c2 : index
        %16 = arith.subi %0, %15 : index
        %17 = memref.load %w[%16] : memref<?xf64>
        %18 = arith.mulf %14, %17 fastmath<contract> : f64
        %19 = arith.addf %sum, %18 fastmath<reassoc,contract> : f64
        scf.yield %19 : f64
      }
      %20 = arith.constant 2.000000e+00 : f64
      %21 = memref.load %x[%1] : memref<?xf64>
      %22 = arith.mulf %20, %21 fastmath<contract> : f64
      %23 = arith.mulf %22, %13 fastmath<contract> : f64
      scf.yield %23 : f64
    } else {
      %24 = arith.constant 0.000000e+00 : f64
      scf.yield %24 : f64
    }
    memref.store %3, %dx[%p] : memref<?xf64>
  }
  func.return
}

// CUDA:      dy_sum(
// CUDA:        const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
// CUDA-NEXT:   if (i >= I) return;
// CUDA-NEXT:   double sum = 0.0;
// CUDA-NEXT:   for (long long k = 0; k < K; ++k) {
// CUDA-NEXT:     const double [[X:.*]] = x[i * 4 + k * 2];
// CUDA-NEXT:     sum += w[k] * ([[X]] * [[X]]);
// CUDA-NEXT:   }
// CUDA-NEXT:   dy_sum[i] = 0.5 * dy[i] / sqrt(sum);
// CUDA-NEXT: }

// What may be negative, p + 5 - 2 K, is divided by a function: C rounds towards 0.
// CUDA:      dx(
// CUDA:        const long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x;
// CUDA-NEXT:   if (p >= N) return;
// CUDA-NEXT:   const long long [[T:.*]] = p / 2;
// CUDA-NEXT:   const long long [[EVEN:.*]] = [[T]] * 2;
// CUDA-NEXT:   double [[RESULT:.*]];
// CUDA-NEXT:   if (p == [[EVEN]]) {
// CUDA-NEXT:     double sum = 0.0;
// CUDA-NEXT:     for (long long i = max(0LL, floor_div(p + 5 - K * 2, 4LL)); i < min(I, (p + 4) / 4); ++i) {
// CUDA-NEXT:       sum += dy_sum[i] * w[[[T]] - i * 2];
// CUDA-NEXT:     }
// CUDA-NEXT:     [[RESULT]] = 2.0 * x[[[EVEN]]] * sum;
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
// LLVM-NEXT:   br i1 [[TEST]], label %then, label %else
// LLVM:        [[I:%.*]] = phi i64 [
// LLVM-NEXT:   [[SUM:%.*]] = phi double [ 0.0, %then ], [ [[NEXT:%.*]], %{{.*}} ]
// LLVM-NEXT:   [[DY_AT:%.*]] = getelementptr inbounds double, ptr %dy_sum, i64 [[I]]
// LLVM-NEXT:   [[DY:%.*]] = load double, ptr [[DY_AT]], align 8
// LLVM-NEXT:   [[I2:%.*]] = mul nsw i64 [[I]], 2
// LLVM-NEXT:   [[K:%.*]] = sub nsw i64 [[T]], [[I2]]
// LLVM-NEXT:   [[W_AT:%.*]] = getelementptr inbounds double, ptr %w, i64 [[K]]
// LLVM-NEXT:   [[W:%.*]] = load double, ptr [[W_AT]], align 8
// LLVM-NEXT:   [[TERM:%.*]] = fmul contract double [[DY]], [[W]]
// LLVM-NEXT:   [[NEXT]] = fadd reassoc contract double [[SUM]], [[TERM]]
// LLVM:        store double {{.*}}, align 8
// LLVM:      define void @dx.entry(
