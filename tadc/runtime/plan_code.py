"""The machine code that runs plans: see `plan_runner`."""

from __future__ import annotations

from typing import Any, TypeVar

from tadc.runtime.llvm_builder import (
    Block,
    Global,
    each,
    exported,
    external,
    function,
    local,
    module_of,
    ret,
    row,
    variable,
    when,
)
from tadc.runtime.llvm_values import (
    I32,
    I64,
    U8,
    U32,
    U64,
    Callee,
    Flag,
    Place,
    Pointer,
    Record,
    Row,
)
from tadc.runtime.plan_layout import ALIGNED, C_CONTIGUOUS, FIELDS, RELEASED, SUPERVISED
from tadc.runtime.team_deputy import give_lock, take_lock
from tadc.runtime.team_regions import copy_memory

F = TypeVar("F", bound=Place[Any])
Words = Row[Place[U64]]


class Step(Record):
    """A function over a range, in parts, with its own words from the first operand on."""

    code: Place[Callee[Words, I64, I64, Place[U64]]]
    begin: Place[I64]
    end: Place[I64]
    grain: Place[I64]
    parts: Place[I64]
    first: Place[I64]
    own: Place[I64]


class Operand(Record):
    """A word: the base of a source, and what is added."""

    source: Place[I64]
    addend: Place[U64]


class Tensor(Record):
    """An array as a plan expects it; its strides are null if it is dense."""

    dtype: Place[Pointer]
    rank: Place[I64]
    shape: Place[Words]
    strides: Place[Words]


class Plan(Record):
    """The record of a plan."""

    count: Place[I64]
    """The number of steps."""
    steps: Place[Row[Step]]
    operands: Place[Row[Operand]]
    most: Place[I64]
    """The most operands of a step."""
    bytes: Place[I64]
    """The bytes of the workspace."""
    arrays: Place[I64]
    """The number of arrays."""
    tensors: Place[Row[Tensor]]
    mode: Place[I64]
    team: Place[Pointer]


class Run(Record):
    """A run of a plan, as the one argument of a function."""

    plan: Place[Plan]
    bases: Place[Words]
    stop: Place[Place[U64]]


@function
def run_steps(plan: Plan, bases: Words, stop: Place[U64]) -> None:
    """Gather the words of each step and run it, on the team where it has several parts."""
    steps, operands, team = plan.steps.value, plan.operands.value, plan.team.value
    count = plan.count.value
    words = row(Place[U64], plan.most.value, align=16)
    with each(count) as (n, rounds):
        step = steps[n]
        code, begin, end = step.code.value, step.begin.value, step.end.value
        grain, parts = step.grain.value, step.parts.value
        first, own = step.first.value, step.own.value
        with each(own) as (w, _):
            operand = operands[first + w]
            words[w].value = bases[operand.source.value].value + operand.addend.value
        with when(parts > 1):
            run_region(team, code, words, begin, end, grain, parts, stop)
            rounds.again.go()
        code(words, begin, end, stop)


@external("tadc_region")
def run_region(
    team: Pointer,
    code: Callee[Words, I64, I64, Place[U64]],
    words: Words,
    begin: I64,
    end: I64,
    grain: I64,
    parts: I64,
    stop: Place[U64],
) -> None: ...


@exported
def tadc_run_plan(plan: Plan, addresses: Words) -> None:
    """Run a plan on the addresses of its arguments and results."""
    stop = variable(U64(0))
    bytes, count = plan.bytes.value, plan.arrays.value
    bases = row(Place[U64], count + 2)
    bases[0].value = U64(0)
    workspace = variable(Pointer.null())
    with when(bytes.differs(0)):
        workspace.value = allocate(I64(64), bytes)
    bases[1].value = workspace.value.address()
    copy_memory(bases[2], addresses, (count << 3).to(U64), Flag(0))
    run_steps(plan, bases, stop)
    free(workspace.value)


@external("aligned_alloc")
def allocate(alignment: I64, bytes: I64) -> Pointer: ...


@external("free")
def free(block: Pointer) -> None: ...


# --- arrays of NumPy ------------------------------------------------------------------------------


@function
def elements_of(array: Pointer, expected: Tensor) -> Pointer:
    """The address of the elements of an array, or null where it is not as the plan expects it."""
    other = Block("other")
    other.go_unless(field(array, "TYPE", Place[Pointer]).value.equals(ndarray.address()))
    strides = expected.strides.value
    is_strided = strides.exists()
    needed = is_strided.choose(U32(ALIGNED), U32(C_CONTIGUOUS | ALIGNED))
    found = field(array, "FLAGS", Place[U32]).value & needed
    lies_right = found.equals(needed)
    right_dtype = field(array, "DTYPE", Place[Pointer]).value.equals(expected.dtype.value)
    rank = field(array, "RANK", Place[I32]).value.to(I64)
    right_rank = rank.equals(expected.rank.value)
    other.go_unless(lies_right & right_dtype & right_rank)
    other.go_unless(
        are_equal(field(array, "SHAPE", Place[Words]).value, expected.shape.value, rank)
    )
    with when(is_strided):
        other.go_unless(are_equal(field(array, "STRIDES", Place[Words]).value, strides, rank))
    ret(field(array, "DATA", Place[Pointer]).value)
    other.begin()
    return Pointer.null()


def field(array: Pointer, name: str, type: type[F]) -> F:
    """A field of an array, which is at its begin where NumPy has it."""
    return array.plus(U64(FIELDS[name])).as_a(type)


ndarray = Global("tadc_ndarray", Place[U8], linkage="external")
"""The type of arrays."""


@function
def are_equal(a: Words, b: Words, count: I64) -> Flag:
    with each(count) as (n, _), when(a[n].value.differs(b[n].value)):
        ret(Flag(0))
    return Flag(1)


# --- builtin functions of Python ------------------------------------------------------------------


@function
def call(plan: Plan, bases: Words, block: Pointer) -> Pointer:
    """Run a plan whose bases are there but for the workspace: the block, or a small one."""
    stop = variable(U64(0))
    workspace = variable(block)
    with when(block.equals(Pointer.null())):
        workspace.value = row(Place[U8], plan.bytes.value, align=64)
    bases[1].value = workspace.value.address()
    mode = plan.mode.value
    with when(mode.equals(RELEASED)):
        thread = give_lock()
        run_steps(plan, bases, stop)
        take_lock(thread)
        ret(whole_number(I64(1)))
    with when(mode.equals(SUPERVISED)):
        run = local(Run)
        run.plan.value = plan
        run.bases.value = bases
        run.stop.value = stop
        status = supervise(plan.team.value, run_supervised.address(), run, stop)
        with when(status < 0):
            ret(Pointer.null())
        ret(whole_number(I64(1)))
    run_steps(plan, bases, stop)
    return whole_number(I64(1))


@external("tadc_supervise")
def supervise(
    team: Pointer, function: Callee[Pointer], argument: Pointer, stop: Place[U64]
) -> I64: ...


@function
def run_supervised(argument: Pointer) -> None:
    run = argument.as_a(Run)
    run_steps(run.plan.value, run.bases.value, run.stop.value)


@exported
def tadc_call(self: Pointer, arrays: Row[Place[Pointer]], given: I64) -> Pointer:
    """Run a plan on its arguments, its results, and a workspace where it needs a large one."""
    refuse = Block("refuse")
    plan = address_in(self).as_a(Plan)
    count, tensors = plan.arrays.value, plan.tensors.value
    refuse.go_if(given < count)
    bases = row(Place[U64], count + 2)
    bases[0].value = U64(0)
    with each(count) as (n, _):
        data = elements_of(arrays[n].value, tensors[n])
        refuse.go_unless(data.exists())
        bases[n + 2].value = data.address()
    block = variable(Pointer.null())
    with when(given > count):
        block.value = field(arrays[count].value, "DATA", Place[Pointer]).value
    ret(call(plan, bases, block.value))
    refuse.begin()
    return whole_number(I64(0))


@exported
def tadc_call_at(self: Pointer, numbers: Row[Place[Pointer]], given: I64) -> Pointer:
    """Run a plan on the addresses of what `tadc_call` takes."""
    refuse = Block("refuse")
    plan = address_in(self).as_a(Plan)
    count = plan.arrays.value
    refuse.go_if(given < count)
    bases = row(Place[U64], given + 3)
    bases[0].value = U64(0)
    last = bases[count + 2].as_a(Place[Pointer])
    last.value = Pointer.null()
    with each(given) as (n, _):
        bases[n + 2].value = address_in(numbers[n].value).address()
    with when(error().exists()):
        ret(Pointer.null())
    ret(call(plan, bases, last.value))
    refuse.begin()
    return whole_number(I64(0))


@external("PyLong_AsVoidPtr")
def address_in(number: Pointer) -> Pointer: ...


@external("PyLong_FromLong")
def whole_number(number: I64) -> Pointer: ...


@external("PyErr_Occurred")
def error() -> Pointer: ...


def plan_code() -> str:
    """The module."""
    return str(module_of(tadc_run_plan, tadc_call, tadc_call_at))
