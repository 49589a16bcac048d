// RUN: tadc-opt %s -t cuda | filecheck %s

func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %M: index, %N: index)
    attributes {buffers = ["y", "x"], sizes = ["M", "N"]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  loops.parallel (%i) to (%M) {
    %row = arith.muli %i, %N : index
    %sum = scf.for %k = %zero to %N step %one iter_args(%acc = %start) -> (f32) {
      %at = arith.addi %row, %k : index
      %v = memref.load %x[%at] : memref<?xf32>
      %e = math.exp %v : f32
      %next = arith.addf %acc, %e fastmath<reassoc,contract> : f32
      scf.yield %next : f32
    }
    %r = math.sin %sum : f32
    memref.store %r, %y[%i] : memref<?xf32>
  }
  func.return
}

// What may be negative is divided by a function, which stands above the kernels.
// CHECK:      static __device__ __forceinline__ int floor_div(int a, int b) {
// CHECK-NEXT:   return a / b - (a % b < 0);
// CHECK-NEXT: }
// CHECK:      static __device__ __forceinline__ double maximum(double a, double b) {
// CHECK-NEXT:   return a != a ? a : b != b ? b : fmax(a, b);
// CHECK-NEXT: }

// A value used once stands where it is used; sizes are not known, so indices have 64 bits.
// CHECK:      extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: y(float *__restrict__ y, const float *__restrict__ x, long long M, long long N) {
// CHECK-NEXT:   const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
// CHECK-NEXT:   if (i >= M) return;
// CHECK-NEXT:   const long long row = i * N;
// CHECK-NEXT:   float acc = 0.0f;
// CHECK-NEXT:   for (long long k = 0; k < N; ++k) {
// CHECK-NEXT:     acc += expf(x[row + k]);
// CHECK-NEXT:   }
// CHECK-NEXT:   y[i] = sinf(acc);
// CHECK-NEXT: }

// Constant sizes: 32 bits. Two loops share one variable, a branch is a choice.
func.func @corr(%corr: memref<?xf64>, %x: memref<?xf64>)
    attributes {buffers = ["corr", "x"], sizes = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f64
  loops.parallel (%i, %j) to (%c64, %c64) {
    %rows = scf.for %k = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (f64) {
      %sum = scf.for %l = %c0 to %c3 step %c1 iter_args(%t = %s) -> (f64) {
        %a = arith.subi %i, %k : index
        %b = arith.subi %j, %l : index
        %first = arith.minsi %a, %b : index
        %inside = arith.cmpi sge, %first, %c0 : index
        %v = scf.if %inside -> (f64) {
          %row = arith.muli %a, %c64 : index
          %at = arith.addi %row, %b : index
          %e = memref.load %x[%at] : memref<?xf64>
          scf.yield %e : f64
        } else {
          scf.yield %zero : f64
        }
        %u = arith.addf %t, %v : f64
        scf.yield %u : f64
      }
      scf.yield %sum : f64
    }
    %half = arith.floordivsi %i, %c3 : index
    %before = arith.subi %half, %c64 : index
    %third = arith.floordivsi %before, %c3 : index
    %w = arith.index_cast %third : index to i64
    %f = arith.sitofp %w : i64 to f64
    %r = arith.maximumf %rows, %f : f64
    %m = arith.muli %i, %c64 : index
    %n = arith.addi %m, %j : index
    memref.store %r, %corr[%n] : memref<?xf64>
  }
  func.return
}

// CHECK:      extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: corr(double *__restrict__ corr, const double *__restrict__ x) {
// CHECK-NEXT:   const int id = blockIdx.x * blockDim.x + threadIdx.x;
// CHECK-NEXT:   if (id >= 4096) return;
// CHECK-NEXT:   const int i = id / 64;
// CHECK-NEXT:   const int j = id % 64;
// CHECK-NEXT:   double s = 0.0;
// CHECK-NEXT:   for (int k = 0; k < 3; ++k) {
// CHECK-NEXT:     for (int l = 0; l < 3; ++l) {
// CHECK-NEXT:       const int a = i - k;
// CHECK-NEXT:       const int b = j - l;
// CHECK-NEXT:       s += min(a, b) >= 0 ? x[a * 64 + b] : 0.0;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   corr[i * 64 + j] = maximum(s, (double)floor_div(i / 3 - 64, 3));
// CHECK-NEXT: }
