"""Modules of LLVM IR to object files, in this process and in others.

While Python plans the later functions of a program, other processes (`compiler_pool`) compile the
modules of earlier ones; what still waits when all is planned, this process compiles, too. The
others begin with the first program that is worth it, and stay for later ones. Which process
compiles a module makes no difference to the code.

LLVM's pipelines of passes, as `llvmlite` makes them, keep some 50 kB for good with every module. So
this process leaves modules to others once it has compiled many, and these end after so many:
memory stays bounded, however many programs there are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from tadc.errors import ArgumentError
from tadc.runtime.compiler_pool import pool
from tadc.runtime.compiler_process import CompilerProcess, wait
from tadc.runtime.compiler_server import BROKEN
from tadc.runtime.llvm_compiler import object_of
from tadc.runtime.machine import machine
from tadc.runtime.thread_count import processors
from tadc.support.uninterrupted import uninterrupted
from tadc.targets.llvm_sections import effort_of

VARIABLE = "TADC_COMPILER_PROCESSES"
"""The variable of the environment that says how many processes may compile beside this one."""

MOST_PROCESSES = 3
"""The number by default, where there are as many processors beside this one's: planning is too slow
to keep more of them busy."""

LONGEST_QUEUE = 2
"""The number of modules that a process has at a time: the second one is there when it is done with
the first, while this process, which is planning or compiling, cannot look after it."""

MODULES_WORTH_A_PROCESS = 4
"""The number of modules that wait when one more process begins: they take as long as that."""

MOST_CHARACTERS_AHEAD = 40_000
"""The characters that a process is given before it has begun: as many as a pipe has room for."""

MOST_MODULES_HERE = 100
"""The number of modules that this process compiles before it leaves them to others."""


def compile_objects(texts: Iterable[str], quick: bool = False, soon: bool = False) -> list[bytes]:
    """Modules of LLVM IR as object files for this machine, in order.

    Modules are at work while `texts` makes the next ones. With `soon` there will be several large
    ones, which are worth a process from the beginning.
    """
    work = Compilation(quick)
    with pool.user(work):
        if soon:
            begin()
        for text in texts:
            work.add(text)
        return work.finished()


def begin() -> bool:
    """Begin a process, unless one is idle, or there are as many as there may be; True if there is
    any then."""
    return pool.begin(most_processes())


def most_processes(least: int = 0) -> int:
    """The number in the environment; else that of the processors beside this one's, or `least`."""
    text = os.environ.get(VARIABLE, "").strip()
    if text and not text.isdecimal():
        raise ArgumentError(f"{VARIABLE} is {text!r}, expected a whole number")
    return int(text) if text else max(least, min(MOST_PROCESSES, processors() - 1))


class Compilation:
    """The modules of a program: each waits, is in the queue of a process, or has its object."""

    compiled_here = 0
    """The number of modules that this process has compiled for all programs."""

    def __init__(self, quick: bool) -> None:
        self._quick = quick
        self._texts: list[str] = []
        self._objects: dict[int, bytes] = {}
        self._efforts: list[int] = []
        """The efforts of LLVM for the modules (`llvm_sections`)."""
        self._waiting: list[tuple[int, int]] = []
        """A heap of the modules that wait: the one that takes longest begins first, so that none is
        left at the end on which one process works while others have nothing to do."""
        self._queues: dict[CompilerProcess, deque[int]] = {}

    def add(self, text: str) -> None:
        """One more module, for a process that has time now or later."""
        self._efforts.append(effort_of(text))
        heappush(self._waiting, (-self._efforts[-1], len(self._texts)))
        self._texts.append(text)
        if len(self._waiting) > MODULES_WORTH_A_PROCESS:
            begin()
        self._take_answers()
        self._give_requests()

    def finished(self) -> list[bytes]:
        """The objects of all modules, in order."""
        while self._take_answers() < len(self._texts):
            own = None if self._leaves_all() else self._next_here()
            self._give_requests(0 if own is None else self._efforts[own])
            if own is not None:
                self._compile(own)
            else:
                busy = [process for process, queue in self._queues.items() if queue]
                wait(busy, 0.1 if busy else 0.01)  # others than these may end at any time
        return [self._objects[n] for n in range(len(self._texts))]

    def _leaves_all(self) -> bool:
        """True if this process has compiled very much, and others can go on."""
        many = Compilation.compiled_here >= MOST_MODULES_HERE
        return many and pool.begin(most_processes(least=1))

    def _next_here(self) -> int | None:
        """A module that no process has begun, for this one."""
        if self._waiting:
            return heappop(self._waiting)[1]
        for process, queue in self._queues.items():
            for module in [*queue][: 0 if process.has_begun else None : -1]:  # the last one first
                if module not in self._objects:
                    return module
        return None

    def _take_answers(self) -> int:
        """Take all objects that are there; returns how many there are now."""
        for process, queue in [*self._queues.items()]:
            while queue and wait([process], 0):
                self._take(process)
        return len(self._objects)

    def _take(self, process: CompilerProcess) -> None:
        try:
            data = process.answer()
        except BROKEN:
            self._do_without(process)
            return
        if data is None:
            return  # it has begun
        module = self._queues[process].popleft()
        if module in self._objects:
            return  # this process was faster
        if data:
            self._objects[module] = data
        else:
            self._compile(module)  # which raises the error that there was

    def _give_requests(self, busy: int = 0) -> None:
        """Give modules that wait to processes with short queues.

        This process looks after them again when it has compiled a module of the effort `busy`.
        """
        while self._waiting and (process := self._least_busy(busy)):
            _, module = heappop(self._waiting)
            self._queues[process].append(module)
            try:
                process.ask(self._texts[module], self._quick)
            except BROKEN:
                self._do_without(process)

    def _least_busy(self, busy: int) -> CompilerProcess | None:
        """The process with the shortest queue; None if that is long, and not done before `busy`."""
        if all(self._queues.values()) and (idle := pool.take(self)):
            self._queues[idle] = deque()
        shortest = min(self._queues, key=lambda p: len(self._queues[p]), default=None)
        queue = self._queues[shortest] if shortest else deque[int]()
        if shortest and not shortest.has_begun and not self._fits_ahead(queue):
            return None
        later = sum(self._efforts[module] for module in [*queue][1:])
        return shortest if len(queue) < LONGEST_QUEUE or later < busy else None

    def _fits_ahead(self, queue: Iterable[int]) -> bool:
        """True if a pipe has room for a queue and the next module."""
        modules = (*queue, self._waiting[0][1])
        return sum(len(self._texts[module]) for module in modules) <= MOST_CHARACTERS_AHEAD

    def _do_without(self, process: CompilerProcess) -> None:
        """Compile here the modules of a process that has ended."""
        pool.drop_broken(process)
        queue = self._queues.pop(process)
        while queue:
            module = queue.popleft()
            if module not in self._objects:
                self._compile(module)

    def _compile(self, module: int) -> None:
        """Compile a module in this process."""
        Compilation.compiled_here += 1
        self._objects[module] = uninterrupted(
            object_of, self._texts[module], self._quick, machine()
        )
