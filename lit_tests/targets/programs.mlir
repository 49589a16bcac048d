// What `schedule` makes of conditions, conversions, powers and elementary functions.
// RUN: tadc-opt %s -p schedule -t cuda | filecheck %s --check-prefix CUDA
// RUN: tadc-opt %s -p schedule -t llvm | filecheck %s --check-prefix LLVM

tix.program @programs (%x = "x" : !tix.tensor<[9], f32>, %z = "z" : !tix.tensor<[9], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[20], f64> {
    %q = tix.floordiv (%i - 4) by 3
    %0 = tix.if (%i >= 7, %q <= 5) or (%i == 3 * %q + 10) {
      %1 = tix.read %x[%q + 3]
      %2 = tix.constant 3
      %3 = tix.pow %1, %2
      tix.yield %3
    } else {
      %2 = tix.index_to_real (%i - %q)
      tix.yield %2
    }
    tix.yield %0
  }
  %u = tix.define "u" (%i) : !tix.tensor<[9], f32> {
    %0 = tix.read %x[%i]
    %1 = tix.read %z[%i]
    %2 = tix.neg %0
    %3 = tix.sub %2, %1
    %4 = tix.relu %3
    %5 = tix.abs %4
    %6 = tix.sqrt %5
    %7 = tix.div %6, %0
    %8 = tix.tanh %7
    %9 = tix.sign %8
    %10 = tix.minimum %8, %9
    tix.yield %10
  }
  tix.return %y, %u
}

// Only the body that is taken reads; i - 4 may be negative. f32 elements are widened first.
// CUDA:      y(double *__restrict__ y, const float *__restrict__ x) {
// CUDA-NEXT:   const int i = blockIdx.x * blockDim.x + threadIdx.x;
// CUDA-NEXT:   if (i >= 20) return;
// CUDA-NEXT:   const int [[Q:.*]] = floor_div(i - 4, 3);
// CUDA-NEXT:   double [[Y:.*]];
// CUDA-NEXT:   if (i >= 7 && 0 >= [[Q]] - 5 || i == [[Q]] * 3 + 10) {
// CUDA-NEXT:     const double [[X:.*]] = (double)x[[[Q]] + 3];
// CUDA-NEXT:     [[Y]] = [[X]] * [[X]] * [[X]];
// CUDA-NEXT:   } else {
// CUDA-NEXT:     [[Y]] = (double)(i - [[Q]]);
// CUDA-NEXT:   }
// CUDA-NEXT:   y[i] = [[Y]];
// CUDA-NEXT: }

// All else is computed in f32. What is not a number stays so through relu, sign and min.
// CUDA:      u(float *__restrict__ u, const float *__restrict__ x, const double *__restrict__ z) {
// CUDA:        const float [[X:.*]] = x[i];
// CUDA-NEXT:   const float [[D:.*]] = -[[X]] - (float)z[i];
// CUDA-NEXT:   const float [[T:.*]] = tanhf(sqrtf(fabsf([[D]] <= 0.0f ? 0.0f : [[D]])) / [[X]]);
// CUDA-NEXT:   u[i] = minimumf([[T]], [[T]] < 0.0f || [[T]] > 0.0f ? copysignf(1.0f, [[T]]) : [[T]]);
// CUDA-NEXT: }

// LLVM:      define internal void @y(
// LLVM:        [[E:%.*]] = sub nsw i64 %i, 4
// LLVM-NEXT:   [[QUO:%.*]] = sdiv i64 [[E]], 3
// LLVM-NEXT:   [[REM:%.*]] = srem i64 [[E]], 3
// LLVM-NEXT:   [[OFF:%.*]] = icmp slt i64 [[REM]], 0
// LLVM-NEXT:   [[STEP:%.*]] = sext i1 [[OFF]] to i64
// LLVM-NEXT:   [[Q:%.*]] = add nsw i64 [[QUO]], [[STEP]]
// LLVM:        [[AND:%.*]] = and i1
// LLVM:        [[OR:%.*]] = or i1 [[AND]],
// LLVM-NEXT:   [[INDEX:%.*]] = sub nsw i64 %i, [[Q]]
// LLVM-NEXT:   br i1 [[OR]], label %then, label %else
// LLVM-NEXT: then:
// LLVM-NEXT:   [[AT:%.*]] = add nsw i64 [[Q]], 3
// LLVM-NEXT:   [[X_AT:%.*]] = getelementptr inbounds float, ptr %x, i64 [[AT]]
// LLVM-NEXT:   [[X:%.*]] = load float, ptr [[X_AT]], align 4
// LLVM-NEXT:   [[WIDE:%.*]] = fpext float [[X]] to double
// LLVM-NEXT:   [[SQUARE:%.*]] = fmul contract double [[WIDE]], [[WIDE]]
// LLVM-NEXT:   [[CUBE:%.*]] = fmul contract double [[SQUARE]], [[WIDE]]
// LLVM:      else:
// LLVM-NEXT:   [[REAL:%.*]] = sitofp i64 [[INDEX]] to double
// LLVM:        phi double [ [[CUBE]], %then ], [ [[REAL]], %else ]

// LLVM:      define internal void @u(
// LLVM:        [[X:%.*]] = load float, ptr {{%.*}}, align 4
// LLVM:        [[Z:%.*]] = load double, ptr {{%.*}}, align 8
// LLVM-NEXT:   [[NARROW:%.*]] = fptrunc double [[Z]] to float
// LLVM-NEXT:   [[NEG:%.*]] = fneg float [[X]]
// LLVM-NEXT:   [[D:%.*]] = fsub contract float [[NEG]], [[NARROW]]
// LLVM-NEXT:   [[BELOW:%.*]] = fcmp ole float [[D]], 0.0
// LLVM-NEXT:   [[RELU:%.*]] = select i1 [[BELOW]], float 0.0, float [[D]]
// LLVM-NEXT:   [[ABS:%.*]] = call float @llvm.fabs.f32(float [[RELU]])
// LLVM-NEXT:   [[SQRT:%.*]] = call float @llvm.sqrt.f32(float [[ABS]])
// LLVM-NEXT:   [[DIV:%.*]] = fdiv contract float [[SQRT]], [[X]]
// LLVM-NEXT:   [[TANH:%.*]] = call float @tadc.tanh.f32(float [[DIV]])
// LLVM-NEXT:   [[UNIT:%.*]] = call float @llvm.copysign.f32(float 1.0, float [[TANH]])
// LLVM-NEXT:   [[SOME:%.*]] = fcmp one float [[TANH]], 0.0
// LLVM-NEXT:   [[SIGN:%.*]] = select i1 [[SOME]], float [[UNIT]], float [[TANH]]
// LLVM-NEXT:   call float @llvm.minimum.f32(float [[TANH]], float [[SIGN]])
