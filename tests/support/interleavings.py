"""All interleavings of threads that run functions of LLVM IR, one shared access at a time.

    explore(Program(module_of(...), outside, entries), memory, threads, at_return, at_end)

A step of a thread is one access to memory that others can see, or one call of a function outside of
the module, with what the thread computes by itself up to the next one. States that were seen before
are not visited again. So all orders of steps are tried; memory orders are not, as memory is
sequentially consistent here.

The system call of a futex puts threads to sleep. A state in which no thread can go on is an end, of
which `check` says if it is right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, count
from typing import Any, NamedTuple

from llvmlite import ir

FUTEX_WAIT, FUTEX_WAKE = 128, 129
STACKS = 1_000_000
"""The address of the first stack, and the bytes from one to the next."""

Memory = dict[int, int]
Call = tuple[str, tuple[int, ...]]
Outside = Callable[[Memory, Sequence[int]], Sequence[int]]
"""A function outside of the module: changes the memory, and says which results there may be."""


class Frame(NamedTuple):
    """A function that a thread is in: its next instruction, its values, and where its stack begins.

    While the thread runs, `values` is a dictionary, else the items of the values to come."""

    function: str
    block: str
    at: int
    values: Any
    stack: int


class Thread(NamedTuple):
    """A thread with its calls to come and the functions that it is in, the inmost last."""

    calls: tuple[Call, ...]
    frames: tuple[Frame, ...] = ()
    asleep: int = 0
    """The address of the word at which it sleeps, if it does."""
    wakes: bool = False
    """True if it may wake up by itself."""
    results: tuple[int, ...] = ()
    """The results of the calls that have returned."""


class State(NamedTuple):
    """The memory, by address, and the threads."""

    memory: tuple[tuple[int, int], ...]
    threads: tuple[Thread, ...]


Check = Callable[[Memory, Sequence[Thread]], None]
"""Raises an error if a state is wrong."""


class Program:
    """The functions of a module, those outside that they call, and those at certain addresses."""

    def __init__(
        self, module: Any, outside: Mapping[str, Outside], entries: Mapping[int, Outside]
    ) -> None:
        defined = [f for f in module.functions if f.blocks]
        self.first = {f.name: (f.blocks[0].name, [a.name for a in f.args]) for f in defined}
        self.code = {(f.name, b.name): b.instructions for f in defined for b in f.blocks}
        self.needed = {place: names for f in defined for place, names in _needed(f)}
        self.outside, self.entries = outside, entries

    def entered(self, name: str, arguments: Iterable[int], stack: int) -> Frame:
        block, names = self.first[name]
        return Frame(name, block, 0, dict(zip(names, arguments, strict=True)), stack)


def explore(
    program: Program,
    memory: Memory,
    threads: Sequence[Sequence[Call]],
    at_return: Check,
    at_end: Check,
) -> int:
    """The number of states that there are from the first one, in which no thread has begun."""
    waiting = [State(tuple(memory.items()), tuple(Thread(tuple(calls)) for calls in threads))]
    seen = set(waiting)
    while waiting:
        state = waiting.pop()
        following = [s for n in range(len(threads)) for s in _steps(program, state, n, at_return)]
        if not following:
            at_end(dict(state.memory), state.threads)
        new = [next for next in following if next not in seen]
        seen.update(new)
        waiting += new
    return len(seen)


def _steps(program: Program, state: State, number: int, at_return: Check) -> Iterator[State]:
    """The states after one step of a thread."""
    thread = state.threads[number]
    if thread.asleep:
        if thread.wakes:
            yield _Run(program, state, number).state(asleep=0, wakes=False)
        return
    if not thread.frames and not thread.calls:
        return
    for choice in count():
        run = _Run(program, state, number)
        choices = run.step(choice)
        if run.has_returned:
            at_return(run.memory, run.threads)
        yield run.state()
        if choice + 1 >= choices:
            return


class _Run:
    """A step of a thread, on copies of what a state holds."""

    def __init__(self, program: Program, state: State, number: int) -> None:
        self.program, self.number = program, number
        self.memory, self.threads = dict(state.memory), list(state.threads)
        self.frames = [f._replace(values=dict(f.values)) for f in self.threads[number].frames]
        self.has_returned = False

    def state(self, **changes: Any) -> State:
        frames = tuple(map(self._frozen, self.frames))
        changed = self.threads[self.number]._replace(frames=frames, **changes)
        threads = (*self.threads[: self.number], changed, *self.threads[self.number + 1 :])
        return State(tuple(sorted(self.memory.items())), threads)

    def _frozen(self, frame: Frame) -> Frame:
        needed = self.program.needed[frame.function, frame.block, frame.at]
        values = sorted((name, v) for name, v in frame.values.items() if name in needed)
        return frame._replace(values=tuple(values))

    def step(self, choice: int) -> int:
        """Go on to the next access that others see, by the n-th way; returns how many there are."""
        choices = 1
        if self.frames:
            choices = self._execute(self._next(), choice)
        else:
            (name, arguments), *later = self.threads[self.number].calls
            self._update(calls=tuple(later))
            self.frames = [self.program.entered(name, arguments, STACKS * (self.number + 1))]
        while self.frames and not self._is_visible(self._next()):
            self._execute(self._next(), 0)
        return choices

    def _update(self, **changes: Any) -> None:
        self.threads[self.number] = self.threads[self.number]._replace(**changes)

    def _next(self) -> Any:
        frame = self.frames[-1]
        return self.program.code[frame.function, frame.block][frame.at]

    def _is_visible(self, instruction: Any) -> bool:
        match instruction.opname:
            case "load" | "load atomic" | "atomicrmw" | "cmpxchg":
                return self._value(instruction.operands[0]) < STACKS
            case "store" | "store atomic":
                return self._value(instruction.operands[1]) < STACKS
            case "call":
                return _name(instruction.callee) not in self.program.first
        return False

    def _value(self, operand: Any) -> int:
        if _is_constant(operand):
            return int(operand.constant or 0) % 2**64
        return self.frames[-1].values[_name(operand)]

    def _execute(self, instruction: Any, choice: int) -> int:
        """Execute an instruction; returns in how many ways that is possible."""
        frame = self.frames[-1]
        self.frames[-1] = frame._replace(at=frame.at + 1)
        operands, choices = instruction.operands, 1
        match instruction.opname:
            case "br":
                taken = (
                    operands[-1]
                    if len(operands) == 3 and not self._value(operands[0])
                    else (operands[len(operands) // 2])
                )
                self.frames[-1] = frame._replace(block=taken.name, at=0)
                return 1
            case "ret" | "ret void":
                self._return([self._value(operand) for operand in operands])
                return 1
            case "call" if _name(instruction.callee) in self.program.first:
                arguments = [self._value(argument) for argument in instruction.args]
                name = _name(instruction.callee)
                self.frames.append(self.program.entered(name, arguments, frame.stack))
                return 1
            case "call":
                arguments = [self._value(argument) for argument in instruction.args]
                results = self._outside(instruction.callee, arguments, choice)
                result, choices = results[choice], len(results)
            case "alloca":
                result = frame.stack
                self.frames[-1] = self.frames[-1]._replace(
                    stack=frame.stack + _size(instruction.allocated_type)
                )
            case "load" | "load atomic":
                result = self.memory.get(self._value(operands[0]), 0)
            case "store" | "store atomic":
                self.memory[self._value(operands[1])] = result = self._value(operands[0])
            case "atomicrmw":
                address, operand = map(self._value, operands)
                result = self.memory.get(address, 0)
                changed = result + (operand if instruction.operation == "add" else -operand)
                self.memory[address] = changed % 2**instruction.type.width
            case "cmpxchg":
                address, old, new = map(self._value, operands)
                result = int(self.memory.get(address, 0) == old)
                if result:
                    self.memory[address] = new
            case "getelementptr":
                result = self._address(instruction)
            case "select":
                flag, yes, no = map(self._value, operands)
                result = yes if flag else no
            case "extractvalue" | "zext" | "trunc" | "ptrtoint":
                result = self._value(operands[0])
            case "icmp":
                result = int(COMPARISONS[instruction.op](*map(self._value, operands)))
            case name:
                result = ARITHMETIC[name](*map(self._value, operands))
        if isinstance(instruction.type, ir.IntType):
            result %= 2**instruction.type.width
        frame.values[instruction.name] = result
        return choices

    def _return(self, result: list[int]) -> None:
        *outer, ended = self.frames
        self.frames = outer
        begin = outer[-1].stack if outer else STACKS * (self.number + 1)
        for address in [a for a in self.memory if begin <= a < ended.stack]:
            del self.memory[address]  # of its variables
        if outer:
            called = self.program.code[outer[-1].function, outer[-1].block][outer[-1].at - 1]
            outer[-1].values[called.name] = sum(result)
        else:
            self.has_returned = True
            self._update(results=(*self.threads[self.number].results, *(result or [0])))

    def _outside(self, callee: Any, arguments: list[int], choice: int) -> Sequence[int]:
        """The results that there may be of a call outside of the module."""
        if _name(callee) == "syscall":
            return self._futex(choice, *arguments)
        if _name(callee) in self.program.outside:
            return self.program.outside[_name(callee)](self.memory, arguments)
        address = self._value(callee)
        return self.program.entries[address](self.memory, arguments)

    def _futex(
        self, choice: int, _: int, word: int, wish: int, number: int, *time: int
    ) -> list[int]:
        """Sleep at a word if it has that value; or wake so many of those that sleep there."""
        if wish == FUTEX_WAIT:
            if self.memory.get(word, 0) == number:
                self._update(asleep=word, wakes=bool(time[0]))
            return [0]
        asleep = [n for n, thread in enumerate(self.threads) if thread.asleep == word]
        ways = [*combinations(asleep, min(number, len(asleep)))]
        for n in ways[choice]:
            self.threads[n] = self.threads[n]._replace(asleep=0, wakes=False)
        return [0] * len(ways)

    def _address(self, instruction: Any) -> int:
        """The address of a part of what lies at a pointer."""
        address, type = self._value(instruction.pointer), instruction.source_etype
        first, *others = map(self._value, instruction.indices)
        address += first * _size(type)
        for index in others:
            if isinstance(type, ir.ArrayType):
                type = type.element
                address += index * _size(type)
            else:
                address += _offset(type, index)
                type = type.elements[index]
        return address


def _name(operand: Any) -> str:
    """The name of a value, a function or a block."""
    formatted = isinstance(operand, ir.FormattedConstant)
    return operand.constant[2:-1] if formatted else operand.name


@cache
def _size(type: Any) -> int:
    if isinstance(type, ir.ArrayType):
        return type.count * _size(type.element)
    if isinstance(type, ir.IntType):
        return type.width // 8
    return 8 if isinstance(type, ir.PointerType) else _offset(type, len(type.elements))


@cache
def _offset(struct: Any, index: int) -> int:
    """The bytes ahead of a field; all structs here have their fields without gaps."""
    return sum(map(_size, struct.elements[:index]))


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "ult": operator.lt,
    "ugt": operator.gt,
}
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "udiv": operator.floordiv,
    "and": operator.and_,
    "or": operator.or_,
    "shl": operator.lshift,
    "lshr": operator.rshift,
}


def _needed(function: Any) -> Iterator[tuple[tuple[str, str, int], frozenset[str]]]:
    """The values that each place of a function, or one behind it, still uses."""
    begins: dict[str, frozenset[str]] = {block.name: frozenset() for block in function.blocks}
    while True:
        found: dict[tuple[str, str, int], frozenset[str]] = {}
        for block in function.blocks:
            targets = [t for t in block.terminator.operands if isinstance(t, ir.Block)]
            names = frozenset[str]().union(*(begins[target.name] for target in targets))
            for at in reversed(range(len(block.instructions))):
                instruction = block.instructions[at]
                values = (o for o in instruction.operands if not _is_constant(o))
                # a call that waits for its function to return is behind it already
                names = names - {instruction.name} | {_name(o) for o in values}
                found[function.name, block.name, at] = names
        following = {name: found[function.name, name, 0] for name in begins}
        if following == begins:
            yield from found.items()
            return
        begins = following


def _is_constant(operand: Any) -> bool:
    return isinstance(operand, ir.Constant) and not isinstance(operand, ir.FormattedConstant)
