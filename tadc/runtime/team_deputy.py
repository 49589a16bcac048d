"""LLVM IR of the deputy: a thread that runs a long call while Python's main thread takes signals.

Python runs the handlers of signals, and so raises `KeyboardInterrupt`, in its main thread only.
"""

from __future__ import annotations

NANOSECONDS_BETWEEN_SIGNALS = 30_000_000
"""The time that the main thread sleeps before it looks for signals again."""


def deputy_code() -> str:
    """The part of a module that defines `tadc_deputize` and `tadc_supervise`."""
    return _DEPUTY.replace("NANOSECONDS", str(NANOSECONDS_BETWEEN_SIGNALS))


_DEPUTY = """\
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare i64 @pthread_self()

define ptr @tadc_deputize(ptr %team) #0 {
begin:
  %given.at = getelementptr %team, ptr %team, i32 0, i32 2
  %ended.at = getelementptr %team, ptr %team, i32 0, i32 3
  %function.at = getelementptr %team, ptr %team, i32 0, i32 10
  %argument.at = getelementptr %team, ptr %team, i32 0, i32 11
  %begun.at = getelementptr %team, ptr %team, i32 0, i32 12
  %others = atomicrmw add ptr %begun.at, i64 1 monotonic
  %first = icmp eq i64 %others, 0
  br i1 %first, label %look, label %superfluous
superfluous:  ; an exception came between the beginning of a deputy and the note of it
  ret ptr null
look:
  %ended = load atomic i32, ptr %ended.at monotonic, align 4
  %given = load atomic i32, ptr %given.at acquire, align 4
  %none = icmp eq i32 %given, %ended
  br i1 %none, label %wait, label %work
wait:
  call void @wait(ptr %given.at, i32 %given, i64 0)
  br label %look
work:
  %function = load ptr, ptr %function.at
  %argument = load ptr, ptr %argument.at
  call void %function(ptr %argument)
  call void @open(ptr %ended.at, i32 1)
  br label %look
}

; Run function(argument), and return -1 with the exception of a signal, or 0.
define i64 @tadc_supervise(ptr %team, ptr %function, ptr %argument, ptr %stop) #0 {
begin:
  %is.team = icmp ne ptr %team, null
  br i1 %is.team, label %who, label %direct
who:  ; other threads never run the handlers of signals
  %main.at = getelementptr %team, ptr %team, i32 0, i32 8
  %main = load atomic i64, ptr %main.at monotonic, align 8
  %self = call i64 @pthread_self()
  %is.main = icmp eq i64 %self, %main
  br i1 %is.main, label %ready, label %direct
ready:  ; the handler of a signal may have come here while its thread waits for the deputy
  %deputy.at = getelementptr %team, ptr %team, i32 0, i32 6
  %deputies = load atomic i64, ptr %deputy.at monotonic, align 8
  %waits.at = getelementptr %team, ptr %team, i32 0, i32 7
  %waits = load atomic i64, ptr %waits.at monotonic, align 8
  %is.deputy = icmp ne i64 %deputies, 0
  %is.free = icmp eq i64 %waits, 0
  %can = and i1 %is.deputy, %is.free
  br i1 %can, label %give, label %direct
give:
  %given.at = getelementptr %team, ptr %team, i32 0, i32 2
  %ended.at = getelementptr %team, ptr %team, i32 0, i32 3
  %forks.at = getelementptr %team, ptr %team, i32 0, i32 9
  %function.at = getelementptr %team, ptr %team, i32 0, i32 10
  %argument.at = getelementptr %team, ptr %team, i32 0, i32 11
  store atomic i64 1, ptr %waits.at monotonic, align 8
  store ptr %function, ptr %function.at
  store ptr %argument, ptr %argument.at
  %ended = load atomic i32, ptr %ended.at monotonic, align 4
  %forks = load atomic i64, ptr %forks.at monotonic, align 8
  %thread = call ptr @PyEval_SaveThread()
  call void @open(ptr %given.at, i32 1)
  br label %wait
wait:
  %thread.now = phi ptr [ %thread, %give ], [ %thread.2, %resume ]
  call void @wait(ptr %ended.at, i32 %ended, i64 NANOSECONDS)
  %ended.now = load atomic i32, ptr %ended.at acquire, align 4
  %over = icmp ne i32 %ended.now, %ended
  call void @PyEval_RestoreThread(ptr %thread.now)
  br i1 %over, label %end, label %signals
signals:
  %raised = call i32 @PyErr_CheckSignals()
  %forks.now = load atomic i64, ptr %forks.at monotonic, align 8
  %forked = icmp ne i64 %forks.now, %forks
  br i1 %forked, label %child, label %same
same:
  %go.on = icmp eq i32 %raised, 0
  br i1 %go.on, label %resume, label %halt
resume:
  %thread.2 = call ptr @PyEval_SaveThread()
  br label %wait
halt:
  store atomic i64 1, ptr %stop seq_cst, align 8
  %thread.3 = call ptr @PyEval_SaveThread()
  br label %halting
halting:
  call void @wait(ptr %ended.at, i32 %ended, i64 0)
  %ended.last = load atomic i32, ptr %ended.at acquire, align 4
  %halted = icmp ne i32 %ended.last, %ended
  br i1 %halted, label %abandon, label %halting
abandon:
  call void @PyEval_RestoreThread(ptr %thread.3)
  br label %end
end:
  %result = phi i64 [ 0, %wait ], [ -1, %abandon ]
  store atomic i64 0, ptr %waits.at monotonic, align 8
  ret i64 %result
child:  ; a handler has forked: the deputy is in the other process, so begin again without one
  %go.on.too = icmp eq i32 %raised, 0
  br i1 %go.on.too, label %direct, label %failed
failed:
  ret i64 -1
direct:
  %thread.4 = call ptr @PyEval_SaveThread()
  call void %function(ptr %argument)
  call void @PyEval_RestoreThread(ptr %thread.4)
  ret i64 0
}
"""
