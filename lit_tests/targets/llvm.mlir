// RUN: tadc-opt %s -t llvm | filecheck %s

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
    %r = math.tan %sum : f32
    memref.store %r, %y[%i] : memref<?xf32>
  }
  func.return
}

// The outermost index runs over what the caller gives; a loop is rotated and guarded. An iteration of i
// may be long, so a word is tested between two of them.
// CHECK:      define internal void @y(ptr noalias captures(none) writeonly %y, ptr noalias captures(none) readonly %x, i64 %M, i64 %N, i64 %begin, i64 %end, ptr %stop) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %some = icmp slt i64 %begin, %end
// CHECK-NEXT:   br i1 %some, label %enter.i, label %done.i
// CHECK-NEXT: enter.i:
// CHECK-NEXT:   br label %for.i
// CHECK-NEXT: for.i:
// CHECK-NEXT:   %i = phi i64 [ %begin, %enter.i ], [ %i.next, %test.i ]
// CHECK-NEXT:   %row = mul nsw i64 %i, %N
// CHECK-NEXT:   %some.1 = icmp slt i64 0, %N
// CHECK-NEXT:   br i1 %some.1, label %enter.k, label %done.k
// CHECK-NEXT: enter.k:
// CHECK-NEXT:   br label %for.k
// CHECK-NEXT: for.k:
// CHECK-NEXT:   %k = phi i64 [ 0, %enter.k ], [ %k.next, %for.k ]
// CHECK-NEXT:   %acc = phi float [ 0.0, %enter.k ], [ %next, %for.k ]
// CHECK-NEXT:   %at = add nsw i64 %row, %k
// CHECK-NEXT:   %at.1 = getelementptr inbounds float, ptr %x, i64 %at
// CHECK-NEXT:   %v = load float, ptr %at.1, align 4
// CHECK-NEXT:   %e = call float @tadc.exp.f32(float %v)
// CHECK-NEXT:   %next = fadd reassoc contract float %acc, %e
// CHECK-NEXT:   %k.next = add nsw i64 %k, 1
// CHECK-NEXT:   %more = icmp slt i64 %k.next, %N
// CHECK-NEXT:   br i1 %more, label %for.k, label %done.k
// CHECK-NEXT: done.k:
// CHECK-NEXT:   %sum = phi float [ 0.0, %for.i ], [ %next, %for.k ]
// CHECK-NEXT:   %r = call float @tanf(float %sum)
// CHECK-NEXT:   %at.2 = getelementptr inbounds float, ptr %y, i64 %i
// CHECK-NEXT:   store float %r, ptr %at.2, align 4
// CHECK-NEXT:   %i.next = add nsw i64 %i, 1
// CHECK-NEXT:   %more.1 = icmp slt i64 %i.next, %end
// CHECK-NEXT:   br i1 %more.1, label %test.i, label %done.i
// CHECK-NEXT: test.i:
// CHECK-NEXT:   %word = load volatile i64, ptr %stop, align 8
// CHECK-NEXT:   %is.stop = icmp ne i64 %word, 0
// CHECK-NEXT:   br i1 %is.stop, label %stopped, label %for.i
// CHECK-NEXT: done.i:
// CHECK-NEXT:   ret void
// CHECK-NEXT: stopped:
// CHECK-NEXT:   ret void

// The entry takes the arguments from an array.
// CHECK:      define void @y.entry(ptr readonly captures(none) %params, i64 %begin, i64 %end, ptr %stop) #0 {
// CHECK:        %x = load ptr, ptr %at.1, align 8
// CHECK:        call void @y(ptr %y, ptr %x, i64 %M, i64 %N, i64 %begin, i64 %end, ptr %stop)

// CHECK:      define i64 @y.extent_of(ptr readonly captures(none) %params) #0 {
// CHECK:        ret i64 %M

// CHECK:      @y.grain = constant i64 1

// Functions that vectorise are printed beside the program, others come from the C library.
// CHECK:      define internal float @tadc.exp.f32(float %x) #1 {
// CHECK:      declare float @tanf(float) #2
