"""The text of the machine code that runs plans, as LLVM IR: see `plan_runner`.

Words in capitals stand for numbers that `plan_runner` puts in: where the fields of an array lie.
"""

PLAN = """\
%Step = type { ptr, i64, i64, i64, i64, i64, i64 }
%Operand = type { i64, i64 }
; of an array: its dtype, its number of dimensions, its shape, its strides or null if it is dense
%Tensor = type { ptr, i64, ptr, ptr }
; number of steps, steps, operands, most operands of a step, bytes of workspace, number of arrays,
; arrays, mode, the team
%Plan = type { i64, ptr, ptr, i64, i64, i64, ptr, i64, ptr }
%Run = type { ptr, ptr, ptr }

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyErr_Occurred()

define internal void @run_steps(ptr %plan, ptr %bases, ptr %stop) {
start:
  %count = load i64, ptr %plan
  %steps.at = getelementptr %Plan, ptr %plan, i32 0, i32 1
  %steps = load ptr, ptr %steps.at
  %operands.at = getelementptr %Plan, ptr %plan, i32 0, i32 2
  %operands = load ptr, ptr %operands.at
  %most.at = getelementptr %Plan, ptr %plan, i32 0, i32 3
  %most = load i64, ptr %most.at
  %team.at = getelementptr %Plan, ptr %plan, i32 0, i32 8
  %team = load ptr, ptr %team.at
  %words = alloca i64, i64 %most, align 16
  br label %next
next:
  %n = phi i64 [ 0, %start ], [ %n.next, %ran ]
  %more = icmp slt i64 %n, %count
  br i1 %more, label %step, label %done
step:
  %at = getelementptr %Step, ptr %steps, i64 %n
  %code = load ptr, ptr %at
  %begin.at = getelementptr %Step, ptr %at, i32 0, i32 1
  %begin = load i64, ptr %begin.at
  %end.at = getelementptr %Step, ptr %at, i32 0, i32 2
  %end = load i64, ptr %end.at
  %grain.at = getelementptr %Step, ptr %at, i32 0, i32 3
  %grain = load i64, ptr %grain.at
  %parts.at = getelementptr %Step, ptr %at, i32 0, i32 4
  %parts = load i64, ptr %parts.at
  %first.at = getelementptr %Step, ptr %at, i32 0, i32 5
  %first = load i64, ptr %first.at
  %own.at = getelementptr %Step, ptr %at, i32 0, i32 6
  %own = load i64, ptr %own.at
  br label %gather
gather:
  %w = phi i64 [ 0, %step ], [ %w.next, %word ]
  %some = icmp slt i64 %w, %own
  br i1 %some, label %word, label %run
word:
  %position = add i64 %first, %w
  %operand = getelementptr %Operand, ptr %operands, i64 %position
  %source = load i64, ptr %operand
  %base.at = getelementptr i64, ptr %bases, i64 %source
  %base = load i64, ptr %base.at
  %addend.at = getelementptr %Operand, ptr %operand, i32 0, i32 1
  %addend = load i64, ptr %addend.at
  %value = add i64 %base, %addend
  %word.at = getelementptr i64, ptr %words, i64 %w
  store i64 %value, ptr %word.at
  %w.next = add i64 %w, 1
  br label %gather
run:
  %several = icmp sgt i64 %parts, 1
  br i1 %several, label %region, label %alone
region:
  call void @tadc_region(
      ptr %team, ptr %code, ptr %words, i64 %begin, i64 %end, i64 %grain, i64 %parts, ptr %stop)
  br label %ran
alone:
  call void %code(ptr %words, i64 %begin, i64 %end, ptr %stop)
  br label %ran
ran:
  %n.next = add i64 %n, 1
  br label %next
done:
  ret void
}

define internal void @run(ptr %run) {
  %plan = load ptr, ptr %run
  %bases.at = getelementptr %Run, ptr %run, i32 0, i32 1
  %bases = load ptr, ptr %bases.at
  %stop.at = getelementptr %Run, ptr %run, i32 0, i32 2
  %stop = load ptr, ptr %stop.at
  call void @run_steps(ptr %plan, ptr %bases, ptr %stop)
  ret void
}

define void @tadc_run_plan(ptr %plan, ptr %addresses) {
start:
  %stop = alloca i64
  store i64 0, ptr %stop
  %bytes.at = getelementptr %Plan, ptr %plan, i32 0, i32 4
  %bytes = load i64, ptr %bytes.at
  %count.at = getelementptr %Plan, ptr %plan, i32 0, i32 5
  %count = load i64, ptr %count.at
  %slots = add i64 %count, 2
  %bases = alloca i64, i64 %slots
  store i64 0, ptr %bases
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %filled, label %take
take:
  %block = call ptr @aligned_alloc(i64 64, i64 %bytes)
  br label %filled
filled:
  %workspace = phi ptr [ null, %start ], [ %block, %take ]
  %workspace.at = getelementptr i64, ptr %bases, i64 1
  store ptr %workspace, ptr %workspace.at
  %arrays = getelementptr i64, ptr %bases, i64 2
  %size = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %arrays, ptr %addresses, i64 %size, i1 false)
  call void @run_steps(ptr %plan, ptr %bases, ptr %stop)
  call void @free(ptr %workspace)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i1 @equal(ptr %a, ptr %b, i64 %count) {
start:
  br label %next
next:
  %k = phi i64 [ 0, %start ], [ %k.next, %same ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %compare, label %right
compare:
  %a.at = getelementptr i64, ptr %a, i64 %k
  %x = load i64, ptr %a.at
  %b.at = getelementptr i64, ptr %b, i64 %k
  %y = load i64, ptr %b.at
  %alike = icmp eq i64 %x, %y
  br i1 %alike, label %same, label %wrong
same:
  %k.next = add i64 %k, 1
  br label %next
right:
  ret i1 1
wrong:
  ret i1 0
}

@tadc_ndarray = external global i8

; the address of the elements of an array, or null where it is not as the plan expects it
define internal ptr @elements_of(ptr %array, ptr %expected) {
start:
  %type.at = getelementptr i8, ptr %array, i64 TYPE
  %type = load ptr, ptr %type.at
  %flags.at = getelementptr i8, ptr %array, i64 FLAGS
  %right.type = icmp eq ptr %type, @tadc_ndarray
  br i1 %right.type, label %array.it.is, label %other
array.it.is:
  %flags = load i32, ptr %flags.at
  %strides.expected.at = getelementptr %Tensor, ptr %expected, i32 0, i32 3
  %strides.expected = load ptr, ptr %strides.expected.at
  %strided = icmp ne ptr %strides.expected, null
  %needed.flags = select i1 %strided, i32 ALIGNED, i32 DENSE
  %found.flags = and i32 %flags, %needed.flags
  %lies.right = icmp eq i32 %found.flags, %needed.flags
  %dtype.at = getelementptr i8, ptr %array, i64 DTYPE
  %dtype = load ptr, ptr %dtype.at
  %dtype.expected = load ptr, ptr %expected
  %right.dtype = icmp eq ptr %dtype, %dtype.expected
  %rank.at = getelementptr i8, ptr %array, i64 RANK
  %rank32 = load i32, ptr %rank.at
  %rank = sext i32 %rank32 to i64
  %rank.expected.at = getelementptr %Tensor, ptr %expected, i32 0, i32 1
  %rank.expected = load i64, ptr %rank.expected.at
  %right.rank = icmp eq i64 %rank, %rank.expected
  %a = and i1 %lies.right, %right.dtype
  %b = and i1 %a, %right.rank
  br i1 %b, label %shapes, label %other
shapes:
  %shape.at = getelementptr i8, ptr %array, i64 SHAPE
  %shape = load ptr, ptr %shape.at
  %shape.expected.at = getelementptr %Tensor, ptr %expected, i32 0, i32 2
  %shape.expected = load ptr, ptr %shape.expected.at
  %same.shape = call i1 @equal(ptr %shape, ptr %shape.expected, i64 %rank)
  br i1 %same.shape, label %lies, label %other
lies:
  br i1 %strided, label %strides, label %right
strides:
  %strides.at = getelementptr i8, ptr %array, i64 STRIDES
  %found.strides = load ptr, ptr %strides.at
  %same.strides = call i1 @equal(ptr %found.strides, ptr %strides.expected, i64 %rank)
  br i1 %same.strides, label %right, label %other
right:
  %data.at = getelementptr i8, ptr %array, i64 DATA
  %data = load ptr, ptr %data.at
  ret ptr %data
other:
  ret ptr null
}

; %bases are complete but for the workspace: the one at %block or, where that is null, a small one
define internal ptr @call(ptr %plan, ptr %bases, ptr %block) {
start:
  %stop = alloca i64
  store i64 0, ptr %stop
  %workspace.at = getelementptr i64, ptr %bases, i64 1
  %large = icmp ne ptr %block, null
  br i1 %large, label %modes, label %small
small:
  %bytes.at = getelementptr %Plan, ptr %plan, i32 0, i32 4
  %bytes = load i64, ptr %bytes.at
  %own = alloca i8, i64 %bytes, align 64
  br label %modes
modes:
  %workspace = phi ptr [ %block, %start ], [ %own, %small ]
  store ptr %workspace, ptr %workspace.at
  %mode.at = getelementptr %Plan, ptr %plan, i32 0, i32 7
  %mode = load i64, ptr %mode.at
  switch i64 %mode, label %held [ i64 1, label %released i64 2, label %supervised ]
held:
  call void @run_steps(ptr %plan, ptr %bases, ptr %stop)
  br label %done
released:
  %thread = call ptr @PyEval_SaveThread()
  call void @run_steps(ptr %plan, ptr %bases, ptr %stop)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
supervised:
  %run = alloca %Run
  store ptr %plan, ptr %run
  %run.bases = getelementptr %Run, ptr %run, i32 0, i32 1
  store ptr %bases, ptr %run.bases
  %run.stop = getelementptr %Run, ptr %run, i32 0, i32 2
  store ptr %stop, ptr %run.stop
  %team.at = getelementptr %Plan, ptr %plan, i32 0, i32 8
  %team = load ptr, ptr %team.at
  %status = call i64 @tadc_supervise(ptr %team, ptr @run, ptr %run, ptr %stop)
  %interrupted = icmp slt i64 %status, 0
  br i1 %interrupted, label %raise, label %done
done:
  %yes = call ptr @PyLong_FromLong(i64 1)
  ret ptr %yes
raise:
  ret ptr null
}

; %arrays are the arguments, the results, and the workspace where the plan needs a large one
define ptr @tadc_call(ptr %self, ptr %arrays, i64 %given) {
start:
  %plan = call ptr @PyLong_AsVoidPtr(ptr %self)
  %count.at = getelementptr %Plan, ptr %plan, i32 0, i32 5
  %count = load i64, ptr %count.at
  %tensors.at = getelementptr %Plan, ptr %plan, i32 0, i32 6
  %tensors = load ptr, ptr %tensors.at
  %enough = icmp sge i64 %given, %count
  br i1 %enough, label %begin, label %refuse
begin:
  %slots = add i64 %count, 2
  %bases = alloca i64, i64 %slots
  store i64 0, ptr %bases
  br label %next
next:
  %k = phi i64 [ 0, %begin ], [ %k.next, %fits ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %look, label %prepared
look:
  %array.at = getelementptr ptr, ptr %arrays, i64 %k
  %array = load ptr, ptr %array.at
  %expected = getelementptr %Tensor, ptr %tensors, i64 %k
  %data = call ptr @elements_of(ptr %array, ptr %expected)
  %fit = icmp ne ptr %data, null
  br i1 %fit, label %fits, label %refuse
fits:
  %slot = add i64 %k, 2
  %base.at = getelementptr i64, ptr %bases, i64 %slot
  store ptr %data, ptr %base.at
  %k.next = add i64 %k, 1
  br label %next
prepared:
  %large = icmp sgt i64 %given, %count
  br i1 %large, label %given.workspace, label %run
given.workspace:
  %last.at = getelementptr ptr, ptr %arrays, i64 %count
  %last = load ptr, ptr %last.at
  %last.data.at = getelementptr i8, ptr %last, i64 DATA
  %last.data = load ptr, ptr %last.data.at
  br label %run
run:
  %block = phi ptr [ null, %prepared ], [ %last.data, %given.workspace ]
  %done = call ptr @call(ptr %plan, ptr %bases, ptr %block)
  ret ptr %done
refuse:
  %no = call ptr @PyLong_FromLong(i64 0)
  ret ptr %no
}

; %numbers are the addresses of what `tadc_call` takes
define ptr @tadc_call_at(ptr %self, ptr %numbers, i64 %given) {
start:
  %plan = call ptr @PyLong_AsVoidPtr(ptr %self)
  %count.at = getelementptr %Plan, ptr %plan, i32 0, i32 5
  %count = load i64, ptr %count.at
  %enough = icmp sge i64 %given, %count
  br i1 %enough, label %begin, label %refuse
begin:
  %slots = add i64 %given, 3
  %bases = alloca i64, i64 %slots
  store i64 0, ptr %bases
  %block.at = getelementptr i64, ptr %bases, i64 %count
  %last.at = getelementptr i64, ptr %block.at, i64 2
  store i64 0, ptr %last.at
  br label %next
next:
  %k = phi i64 [ 0, %begin ], [ %k.next, %read ]
  %more = icmp slt i64 %k, %given
  br i1 %more, label %read, label %prepared
read:
  %number.at = getelementptr ptr, ptr %numbers, i64 %k
  %number = load ptr, ptr %number.at
  %address = call ptr @PyLong_AsVoidPtr(ptr %number)
  %slot = add i64 %k, 2
  %base.at = getelementptr i64, ptr %bases, i64 %slot
  store ptr %address, ptr %base.at
  %k.next = add i64 %k, 1
  br label %next
prepared:
  %error = call ptr @PyErr_Occurred()
  %wrong = icmp ne ptr %error, null
  br i1 %wrong, label %raise, label %run
run:
  %block = load ptr, ptr %last.at
  %done = call ptr @call(ptr %plan, ptr %bases, ptr %block)
  ret ptr %done
refuse:
  %no = call ptr @PyLong_FromLong(i64 0)
  ret ptr %no
raise:
  ret ptr null
}
"""
