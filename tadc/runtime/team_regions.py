"""LLVM IR of a team of threads, and of regions: loops cut into pieces that threads take.

Threads are of two kinds. *Helpers* take pieces of regions. The *deputy* runs long calls in place of
Python's main thread; it is a caller of regions like any other.

A caller writes its region down as a *job* in one of a few slots, wakes helpers, takes pieces like
them, and waits for the pieces that others have taken. So nobody ever waits for a thread that has
not begun, and what a caller waits for is always deeper in the nesting of regions: no circle. Where
there is no helper and no slot, the job lies on the stack of the caller, who takes all pieces.

    word of a share    end << 32 | next      one addition takes a piece

Each thread has a share of the pieces, side by side, and takes those of others when there is none
left. So a thread finds in the caches of its core what it computed of the same rows before.

End and next piece share one word, because a helper may be late: it sees a piece left, sleeps, and
takes one when this job has ended and the slot holds the next job. It then has a piece of the next
job, by the share of the next job. Everything else in the slot it reads after that, and nobody
changes what a job says while one of its pieces is not done.
"""

from __future__ import annotations

from tadc.runtime.team_deputy import deputy_code
from tadc.runtime.team_gates import gate_code

SLOTS = 8
"""The number of regions that helpers can work on at once."""


def team_code(architecture: str, linux: bool) -> str:
    """The module of the team, for threads as they are on that machine."""
    regions = "\n".join([_TYPES, _JOBS, _COPIES, _HELPERS]).replace("SLOTS", str(SLOTS))
    return "\n".join([gate_code(architecture, linux), regions, deputy_code(), _ATTRIBUTES])


_TYPES = """\
%job = type {
  [8 x i64],  ; 0 the words of shares, on one line
  i64,        ; 1 the number of pieces
  %gate,      ; 2 the number of pieces that are done
  i64,        ; 3 1 while a caller has the slot
  ptr,        ; 4 entry
  ptr,        ; 5 params
  i64,        ; 6 begin
  i64,        ; 7 end
  i64,        ; 8 grain
  i64,        ; 9 grains
  ptr         ; 10 stop
}

%team = type {
  %gate,         ; 0 jobs written down so far
  %gate,         ; 1 changes of the number of helpers
  %gate,         ; 2 calls given to the deputy
  %gate,         ; 3 calls that the deputy has ended
  i64,           ; 4 helpers that may work
  i64,           ; 5 helpers that have begun
  i64,           ; 6 deputies that may work, 0 or 1
  i64,           ; 7 1 while the main thread waits for the deputy
  i64,           ; 8 the main thread
  i64,           ; 9 processes that this team was of
  ptr,           ; 10 function
  ptr,           ; 11 argument
  i64,           ; 12 deputies that have begun
  i64,           ;    to the end of the line
  [SLOTS x %job] ; 14
}

@tadc_team = global %team zeroinitializer, align 64
"""

_JOBS = """\
; Take pieces of a job until there are none, those of a thread's own share first.
define internal void @take(ptr %job, i64 %self) #0 {
begin:
  %count.at = getelementptr %job, ptr %job, i32 0, i32 1
  %done.at = getelementptr %job, ptr %job, i32 0, i32 2
  %entry.at = getelementptr %job, ptr %job, i32 0, i32 4
  %params.at = getelementptr %job, ptr %job, i32 0, i32 5
  %from.at = getelementptr %job, ptr %job, i32 0, i32 6
  %to.at = getelementptr %job, ptr %job, i32 0, i32 7
  %grain.at = getelementptr %job, ptr %job, i32 0, i32 8
  %grains.at = getelementptr %job, ptr %job, i32 0, i32 9
  %stop.at = getelementptr %job, ptr %job, i32 0, i32 10
  br label %share
share:
  %n = phi i64 [ 0, %begin ], [ %n.next, %other ]
  %which = add i64 %self, %n
  %place = and i64 %which, 7
  %word.at = getelementptr i64, ptr %job, i64 %place
  br label %look
look:  ; without writing: most slots that helpers look at are empty
  %seen = load atomic i64, ptr %word.at acquire, align 8
  %seen.end = lshr i64 %seen, 32
  %seen.next = and i64 %seen, 4294967295
  %left = icmp ult i64 %seen.next, %seen.end
  br i1 %left, label %try, label %other
other:
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, 8
  br i1 %more, label %share, label %end
try:
  %word = atomicrmw add ptr %word.at, i64 1 acq_rel
  %share.end = lshr i64 %word, 32
  %piece = and i64 %word, 4294967295
  %mine = icmp ult i64 %piece, %share.end
  br i1 %mine, label %test, label %other
test:
  %count = load i64, ptr %count.at
  %stop = load ptr, ptr %stop.at
  %stopped.word = load atomic i64, ptr %stop monotonic, align 8
  %stopped = icmp ne i64 %stopped.word, 0
  br i1 %stopped, label %done, label %work
work:
  %entry = load ptr, ptr %entry.at
  %params = load ptr, ptr %params.at
  %from = load i64, ptr %from.at
  %to = load i64, ptr %to.at
  %grain = load i64, ptr %grain.at
  %grains = load i64, ptr %grains.at
  %before = mul i64 %grains, %piece
  %first = udiv i64 %before, %count
  %skipped = mul i64 %first, %grain
  %low = add i64 %from, %skipped
  %piece.next = add i64 %piece, 1
  %through = mul i64 %grains, %piece.next
  %second = udiv i64 %through, %count
  %behind = mul i64 %second, %grain
  %cut = add i64 %from, %behind
  %last = icmp eq i64 %piece.next, %count
  %high = select i1 %last, i64 %to, i64 %cut
  call void %entry(ptr %params, i64 %low, i64 %high, ptr %stop)
  br label %done
done:
  %before.done = atomicrmw add ptr %done.at, i32 1 seq_cst
  %now.done = add i32 %before.done, 1
  %all = trunc i64 %count to i32
  %finished = icmp eq i32 %now.done, %all
  br i1 %finished, label %tell, label %look
tell:  ; the slot may have the next job by now, whose caller then looks at its gate once more
  call void @rouse(ptr %done.at, i32 1)
  br label %end
end:
  ret void
}

; A slot for a job that helpers can take pieces of, or null.
define internal ptr @claim(ptr %team) #0 {
begin:
  %helpers.at = getelementptr %team, ptr %team, i32 0, i32 4
  %helpers = load atomic i64, ptr %helpers.at monotonic, align 8
  %some = icmp ne i64 %helpers, 0
  br i1 %some, label %look, label %none
look:
  %n = phi i64 [ 0, %begin ], [ %next, %again ]
  %job = getelementptr %team, ptr %team, i32 0, i32 14, i64 %n
  %owned = getelementptr %job, ptr %job, i32 0, i32 3
  %old = load atomic i64, ptr %owned monotonic, align 8
  %free = icmp eq i64 %old, 0
  br i1 %free, label %try, label %again
try:
  %pair = cmpxchg ptr %owned, i64 0, i64 1 acquire monotonic
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %end, label %again
again:
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, SLOTS
  br i1 %more, label %look, label %none
none:
  ret ptr null
end:
  ret ptr %job
}

; Give each thread a share of the pieces, of 8 shares at most. Helpers may take pieces from now on.
define internal void @part(ptr %job, i64 %count, i64 %threads) #0 {
begin:
  %shares = call i64 @llvm.umin.i64(i64 %threads, i64 8)
  br label %share
share:
  %n = phi i64 [ 0, %begin ], [ %next, %share ]
  %next = add i64 %n, 1
  %before = mul i64 %count, %n
  %through = mul i64 %count, %next
  %first = udiv i64 %before, %shares
  %last = udiv i64 %through, %shares
  %is.share = icmp ult i64 %n, %shares
  %end = select i1 %is.share, i64 %last, i64 0
  %high = shl i64 %end, 32
  %word = or i64 %high, %first
  %at = getelementptr i64, ptr %job, i64 %n
  store atomic i64 %word, ptr %at release, align 8
  %more = icmp ult i64 %next, 8
  br i1 %more, label %share, label %end.of.shares
end.of.shares:
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)

; Wait until all pieces of a job are done.
define internal void @finish(ptr %job, i32 %count) #0 {
begin:
  %done.at = getelementptr %job, ptr %job, i32 0, i32 2
  br label %look
look:
  %done = load atomic i32, ptr %done.at acquire, align 4
  %all = icmp eq i32 %done, %count
  br i1 %all, label %end, label %wait
wait:
  call void @idle(ptr %done.at, i32 %done)
  br label %look
end:
  ret void
}

; Run void entry(ptr params, i64 begin, i64 end, ptr stop) over [from, to), cut into pieces at
; cut(c) = from + (grains * c / pieces) * grain, the last one at `to`.
define void @tadc_region(ptr %team, ptr %entry, ptr %params,
                         i64 %from, i64 %to, i64 %grain, i64 %pieces,
                         ptr %stop) #0 {
begin:
  %own = alloca %job, align 64
  %several = icmp ugt i64 %pieces, 1
  %count = select i1 %several, i64 %pieces, i64 1
  %is.team = icmp ne ptr %team, null
  %may.share = and i1 %several, %is.team
  br i1 %may.share, label %claim, label %write
claim:
  %slot = call ptr @claim(ptr %team)
  br label %write
write:
  %found = phi ptr [ null, %begin ], [ %slot, %claim ]
  %shared = icmp ne ptr %found, null
  %job = select i1 %shared, ptr %found, ptr %own
  %done.at = getelementptr %job, ptr %job, i32 0, i32 2
  %sleepers.at = getelementptr %job, ptr %job, i32 0, i32 2, i32 1
  %owned.at = getelementptr %job, ptr %job, i32 0, i32 3
  %count.at = getelementptr %job, ptr %job, i32 0, i32 1
  %entry.at = getelementptr %job, ptr %job, i32 0, i32 4
  %params.at = getelementptr %job, ptr %job, i32 0, i32 5
  %from.at = getelementptr %job, ptr %job, i32 0, i32 6
  %to.at = getelementptr %job, ptr %job, i32 0, i32 7
  %grain.at = getelementptr %job, ptr %job, i32 0, i32 8
  %grains.at = getelementptr %job, ptr %job, i32 0, i32 9
  %stop.at = getelementptr %job, ptr %job, i32 0, i32 10
  store atomic i32 0, ptr %done.at monotonic, align 4
  store atomic i32 0, ptr %sleepers.at monotonic, align 4
  store ptr %entry, ptr %entry.at
  store ptr %params, ptr %params.at
  store i64 %from, ptr %from.at
  store i64 %to, ptr %to.at
  store i64 %grain, ptr %grain.at
  %extent = sub i64 %to, %from
  %up = add i64 %extent, %grain
  %up.1 = sub i64 %up, 1
  %grains = udiv i64 %up.1, %grain
  store i64 %grains, ptr %grains.at
  store ptr %stop, ptr %stop.at
  store i64 %count, ptr %count.at
  br i1 %shared, label %share, label %alone
share:
  %others = sub i64 %count, 1
  %helpers.at = getelementptr %team, ptr %team, i32 0, i32 4
  %helpers = load atomic i64, ptr %helpers.at monotonic, align 8
  %few = icmp ult i64 %others, %helpers
  %wanted = select i1 %few, i64 %others, i64 %helpers
  %wanted.32 = trunc i64 %wanted to i32
  %threads = add i64 %wanted, 1
  call void @part(ptr %job, i64 %count, i64 %threads)
  call void @open(ptr %team, i32 %wanted.32)
  call void @take(ptr %job, i64 0)
  %count.32 = trunc i64 %count to i32
  call void @finish(ptr %job, i32 %count.32)
  store atomic i64 0, ptr %owned.at release, align 8
  ret void
alone:
  call void @part(ptr %job, i64 %count, i64 1)
  call void @take(ptr %job, i64 0)
  ret void
}
"""

_COPIES = """\
define internal void @copy_part(ptr %places, i64 %low, i64 %high, ptr %stop) #0 {
begin:
  %source.at = getelementptr ptr, ptr %places, i64 1
  %target = load ptr, ptr %places
  %source = load ptr, ptr %source.at
  %to = getelementptr i8, ptr %target, i64 %low
  %from = getelementptr i8, ptr %source, i64 %low
  %bytes = sub i64 %high, %low
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Copy memory that does not overlap, each thread what its core is likely to have in a cache.
define void @tadc_copy(ptr %team, ptr %target, ptr %source, i64 %bytes) #0 {
begin:
  %places = alloca [2 x ptr]
  %stop = alloca i64
  %source.at = getelementptr ptr, ptr %places, i64 1
  store ptr %target, ptr %places
  store ptr %source, ptr %source.at
  store i64 0, ptr %stop
  call void @tadc_region(
      ptr %team, ptr @copy_part, ptr %places, i64 0, i64 %bytes, i64 4096, i64 64, ptr %stop)
  ret void
}
"""

_HELPERS = """\
define ptr @tadc_help(ptr %team) #0 {
begin:
  %changes.at = getelementptr %team, ptr %team, i32 0, i32 1
  %helpers.at = getelementptr %team, ptr %team, i32 0, i32 4
  %begun.at = getelementptr %team, ptr %team, i32 0, i32 5
  %self = atomicrmw add ptr %begun.at, i64 1 monotonic
  %place = add i64 %self, 1
  br label %again
again:
  %changes = load atomic i32, ptr %changes.at seq_cst, align 4
  %helpers = load atomic i64, ptr %helpers.at seq_cst, align 8
  %wanted = icmp ult i64 %self, %helpers
  br i1 %wanted, label %serve, label %rest
rest:
  call void @wait(ptr %changes.at, i32 %changes, i64 0)
  br label %again
serve:
  %seen = load atomic i32, ptr %team acquire, align 4
  br label %look
look:
  %n = phi i64 [ 0, %serve ], [ %next, %look ]
  %job = getelementptr %team, ptr %team, i32 0, i32 14, i64 %n
  call void @take(ptr %job, i64 %place)
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, SLOTS
  br i1 %more, label %look, label %idle
idle:
  call void @idle(ptr %team, i32 %seen)
  br label %again
}

; So many helpers may work, and there are so many deputies; other helpers rest from their next look
; at the team on.
define void @tadc_resize(ptr %team, i64 %helpers, i64 %deputies) #0 {
  %changes.at = getelementptr %team, ptr %team, i32 0, i32 1
  %helpers.at = getelementptr %team, ptr %team, i32 0, i32 4
  %deputies.at = getelementptr %team, ptr %team, i32 0, i32 6
  store atomic i64 %helpers, ptr %helpers.at seq_cst, align 8
  store atomic i64 %deputies, ptr %deputies.at seq_cst, align 8
  call void @open(ptr %changes.at, i32 2147483647)
  call void @open(ptr %team, i32 2147483647)
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; A team without threads, in a new process whose main thread is given.
define void @tadc_reset(ptr %team, i64 %main) #0 {
  %forks.at = getelementptr %team, ptr %team, i32 0, i32 9
  %main.at = getelementptr %team, ptr %team, i32 0, i32 8
  %forks = load i64, ptr %forks.at
  %forks.now = add i64 %forks, 1
  %end = getelementptr %team, ptr null, i32 1
  %bytes = ptrtoint ptr %end to i64
  call void @llvm.memset.p0.i64(ptr %team, i8 0, i64 %bytes, i1 false)
  store i64 %forks.now, ptr %forks.at
  store i64 %main, ptr %main.at
  call void @prepare_gates()
  ret void
}
"""

_ATTRIBUTES = "attributes #0 = { nounwind uwtable }\n"
