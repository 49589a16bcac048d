"""LLVM IR of gates, at which threads sleep until a number has grown.

The thread that sleeps counts itself first and then compares the number; the one that opens the gate
adds to the number first and then looks for sleepers. All four are sequentially consistent, so one
of the two sees the other, and no opening is missed.

Threads sleep in a futex on Linux and at a condition variable elsewhere, which wakes all that sleep
(docs/decisions/0024-a-team-in-machine-code.md).
"""

from __future__ import annotations

SPINS = 10_000
"""The looks at a gate of an idle thread, some hundred microseconds in all, before it sleeps: what
Python does between two calls should not cost a wake, which takes tens of them."""

_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)"),
}
_PAUSE["arm64"] = _PAUSE["aarch64"]
"""The declaration and the call that let a processor rest while it spins, by architecture."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call on Linux, by architecture."""


def gate_code(architecture: str, linux: bool) -> str:
    """The part of a module that defines gates; without `linux`, threads sleep as POSIX has it."""
    declaration, pause = _PAUSE.get(architecture, ("", ""))
    number = _FUTEX.get(architecture) if linux else None
    sleeping = _POSIX if number is None else _LINUX.replace("FUTEX_CALL", str(number))
    gates = _GATES.replace("SPINS", str(SPINS)).replace("PAUSE", pause)
    return "\n".join([declaration, sleeping, gates])


_LINUX = """\
declare i64 @syscall(i64, ...)

; Sleep until woken, unless the word is not what was seen; for at most so long, if that is not 0.
define internal void @sleep(ptr %word, i32 %seen, i64 %nanoseconds) #0 {
begin:
  %time = alloca { i64, i64 }
  store i64 0, ptr %time
  %rest = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  store i64 %nanoseconds, ptr %rest
  %ever = icmp eq i64 %nanoseconds, 0
  %limit = select i1 %ever, ptr null, ptr %time
  %value = zext i32 %seen to i64
  ; 128 is FUTEX_WAIT and 129 FUTEX_WAKE, of this process alone
  %r = call i64 (i64, ...) @syscall(i64 FUTEX_CALL, ptr %word, i64 128, i64 %value, ptr %limit)
  ret void
}

; Wake so many of those that sleep on a word.
define internal void @wake(ptr %word, i32 %count) #0 {
  %most = zext i32 %count to i64
  %r = call i64 (i64, ...) @syscall(i64 FUTEX_CALL, ptr %word, i64 129, i64 %most)
  ret void
}

define internal void @prepare_gates() #0 {
  ret void
}
"""

_POSIX = """\
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)

@mutex = internal global [16 x i64] zeroinitializer, align 64
@woken = internal global [16 x i64] zeroinitializer, align 64

; Sleep until woken, unless the word is not what was seen; for at most so long, if that is not 0.
define internal void @sleep(ptr %word, i32 %seen, i64 %nanoseconds) #0 {
begin:
  %time = alloca { i64, i64 }
  %a = call i32 @pthread_mutex_lock(ptr @mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %wait, label %end
wait:
  %ever = icmp eq i64 %nanoseconds, 0
  br i1 %ever, label %long, label %short
long:
  %b = call i32 @pthread_cond_wait(ptr @woken, ptr @mutex)
  br label %end
short:
  %c = call i32 @clock_gettime(i32 0, ptr %time)
  %rest.at = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  %seconds = load i64, ptr %time
  %rest = load i64, ptr %rest.at
  %sum = add i64 %rest, %nanoseconds
  %more = udiv i64 %sum, 1000000000
  %until = add i64 %seconds, %more
  %until.rest = urem i64 %sum, 1000000000
  store i64 %until, ptr %time
  store i64 %until.rest, ptr %rest.at
  %d = call i32 @pthread_cond_timedwait(ptr @woken, ptr @mutex, ptr %time)
  br label %end
end:
  %e = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Wake all that sleep, on whatever word: they look at their words again.
define internal void @wake(ptr %word, i32 %count) #0 {
  %a = call i32 @pthread_mutex_lock(ptr @mutex)
  %b = call i32 @pthread_mutex_unlock(ptr @mutex)
  %c = call i32 @pthread_cond_broadcast(ptr @woken)
  ret void
}

define internal void @prepare_gates() #0 {
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @woken, ptr null)
  ret void
}
"""

_GATES = """\
%gate = type { i32, i32, [14 x i32] }  ; a number, threads that sleep; a cache line of its own

; Sleep until the number is not what was seen, or shorter: the caller looks again.
define internal void @wait(ptr %gate, i32 %seen, i64 %nanoseconds) #0 {
begin:
  %sleepers = getelementptr %gate, ptr %gate, i32 0, i32 1
  %s = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %now = load atomic i32, ptr %gate seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %sleep, label %end
sleep:
  call void @sleep(ptr %gate, i32 %seen, i64 %nanoseconds)
  br label %end
end:
  %t = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  ret void
}

; Wake up to so many sleepers, after the number has grown.
define internal void @rouse(ptr %gate, i32 %count) #0 {
begin:
  %sleepers.at = getelementptr %gate, ptr %gate, i32 0, i32 1
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %some = icmp ne i32 %sleepers, 0
  br i1 %some, label %wake, label %end
wake:
  call void @wake(ptr %gate, i32 %count)
  br label %end
end:
  ret void
}

define internal void @open(ptr %gate, i32 %count) #0 {
  %n = atomicrmw add ptr %gate, i32 1 seq_cst
  call void @rouse(ptr %gate, i32 %count)
  ret void
}

; Spin for a while until the number is not what was seen, then sleep.
define internal void @idle(ptr %gate, i32 %seen) #0 {
begin:
  br label %spin
spin:
  %n = phi i32 [ 0, %begin ], [ %next, %again ]
  %now = load atomic i32, ptr %gate acquire, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %again, label %end
again:
  PAUSE
  %next = add i32 %n, 1
  %more = icmp ult i32 %next, SPINS
  br i1 %more, label %spin, label %sleep
sleep:
  call void @wait(ptr %gate, i32 %seen, i64 0)
  br label %end
end:
  ret void
}
"""
