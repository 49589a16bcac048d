"""Functions that the builder makes do what they say, and what cannot be right is not built."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from tadc.runtime.cpu import CpuModule
from tadc.runtime.llvm_builder import (
    Block,
    Function,
    Global,
    each,
    exported,
    external,
    function,
    local,
    loop,
    module_of,
    ret,
    variable,
    when,
)
from tadc.runtime.llvm_values import (
    I32,
    I64,
    U32,
    U64,
    Callee,
    Flag,
    Order,
    Place,
    Pointer,
    Record,
    Row,
)
from tests.support.own_process import output_of


class Pair(Record):
    first: Place[U32]
    second: Place[U64]


class Table(Record):
    count: Place[U64]
    pairs: Annotated[Row[Pair], 3]
    last: Place[Place[U64]]


def built(*functions: Function[Any, Any]) -> Callable[..., int]:
    """The first one, as a function of whole numbers."""
    module = CpuModule(str(module_of(*functions)), quick=True)
    address = module.address(functions[0].name)

    module.keep()

    def call(*arguments: int) -> int:
        type = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
        return type(address)(*arguments)

    return call


# --- what is built --------------------------------------------------------------------------------


@exported
def arithmetic(a: I64, b: I64) -> I64:
    quotients = a.to(I32).to(I64) // b % 7 + (a << 2) - (b >> 1) * 3
    return ((quotients & 255) | 1024) ^ 1026


@exported
def unsigned(a: U64, b: U64) -> U64:
    return (a < b).choose(a // b, a >> 60) + (a > b).choose(U64(1), U64(0))


def test_signed_and_unsigned_numbers_differ():
    quotients = -5 - 400 - 3  # rounded to 0
    assert built(arithmetic)(-100, 3) == ((quotients & 255) | 1024) ^ 1026
    assert built(unsigned)(-1, 3) == 15 + 1
    assert built(unsigned)(7, -1) == 0


@exported
def sum_below(numbers: Row[Place[U64]], count: U64, most: U64) -> U64:
    """The sum of the even numbers, up to the first one that is too large."""
    total = variable(U64(0))
    with each(count) as (n, numbers_left):
        number = numbers[n].value
        numbers_left.end.go_if(number > most)
        numbers_left.again.go_unless((number & 1).equals(0))
        total.value = total.value + number
    return total.value


def test_loops_end_and_go_on():
    numbers = (ctypes.c_uint64 * 6)(2, 3, 4, 50, 6, 8)
    call = built(sum_below)
    assert call(ctypes.addressof(numbers), 6, 100) == 70
    assert call(ctypes.addressof(numbers), 6, 10) == 6
    assert call(ctypes.addressof(numbers), 0, 10) == 0


@exported
def fields(table: Table) -> U64:
    copy = local(Pair)
    copy.first.value = table.pairs[1].first.value + 1
    copy.second.value = table.pairs[U64(2)].second.value
    table.last.value = table.pairs[0].second
    table.pairs[0].second.value = Table.size()
    return copy.first.value.to(U64) + copy.second.value + table.last.value.value


def test_records_have_the_layout_of_c():
    words = (ctypes.c_uint64 * 8)(0, 0, 0, 10, 0, 0, 100, 0)
    assert built(fields)(ctypes.addressof(words)) == 11 + 100 + 64
    assert words[7] == ctypes.addressof(words) + 16


@exported
def atomic(word: Place[U64]) -> U64:
    before = word.fetch_add(5, Order.ACQ_REL)
    seen = word.load(Order.ACQUIRE)
    word.fetch_subtract(1, Order.SEQ_CST)
    changed = word.replace(seen - 1, 70, Order.ACQUIRE)
    failed = word.replace(0, 1, Order.ACQUIRE)
    result = before + (changed & failed.equals(0)).choose(word.load(Order.MONOTONIC), U64(0))
    word.store(9, Order.RELEASE)
    return result


def test_atomic_accesses_return_what_was_there():
    word = ctypes.c_uint64(3)
    assert built(atomic)(ctypes.addressof(word)) == 73
    assert word.value == 9
    text = str(module_of(atomic))
    for order in ("acq_rel", "acquire", "seq_cst", "acquire monotonic", "monotonic", "release"):
        assert f" {order}" in text


@function
def add_one(params: Pointer, n: U64) -> None:
    place = params.as_a(Pair).second
    place.value = place.value + n


@exported
def call_back(pair: Pair) -> U64:
    apply(add_one.address(), pair)
    with when(calls.address().first.value.differs(1)):
        ret(U64(0))
    return pair.plus(U64(8)).as_a(Pair).first.value.to(U64) + absolute(I64(-3), Flag(0)).to(U64)


@function
def apply(entry: Callee[Pointer, U64], pair: Pair) -> None:
    entry(pair, U64(4))
    calls.address().first.value = calls.address().first.value + 1


@external("llvm.abs.i64")
def absolute(number: I64, poison: Flag) -> I64: ...


calls = Global("calls", Pair)


def test_functions_call_others_by_name_and_by_address():
    words = (ctypes.c_uint64 * 2)(0, 30)
    assert built(call_back)(ctypes.addressof(words)) == 34 + 3


@exported
def through_blocks(n: I64) -> I64:
    negative = Block("negative")
    negative.go_if(n < 0)
    with loop() as rounds:
        rounds.end.go_if(n > 5)
        ret(n)
    ret(I64(6))
    negative.begin()
    return I64(-1)


def test_blocks_are_gone_to():
    assert [*map(built(through_blocks), (-3, 4, 9))] == [-1, 4, 6]


# --- what is not built ----------------------------------------------------------------------------


def add_other_bits(a: U32, b: U64) -> None:
    a + b


def add_other_sign(a: I64, b: U64) -> None:
    a + b


def compare_other_bits(a: U32, b: U64) -> None:
    a.equals(b)


def store_other_bits(place: Place[U32], b: U64) -> None:
    place.value = b


def store_atomically_other_bits(place: Place[U32], b: U64) -> None:
    place.store(b, Order.RELEASE)


def go_on_a_number(n: U64) -> None:
    with when(n):
        pass


def choose_other_bits(flag: Flag, a: U32, b: U64) -> None:
    flag.choose(a, b)


def pass_other_bits(pair: Pair, n: U32) -> None:
    add_one(pair, n)


def pass_another_place(place: Place[U32]) -> None:
    atomic(place)


def pass_another_function(pair: Pair) -> None:
    apply(atomic.address(), pair)


def return_other_bits(n: U32) -> U64:
    return n


def return_nothing(n: U32) -> U64:
    ret()
    return U64(0)


def call_with_more(callee: Callee[Pointer], n: U64) -> None:
    callee(n)


MISTAKES = (
    add_other_bits,
    add_other_sign,
    compare_other_bits,
    store_other_bits,
    store_atomically_other_bits,
    go_on_a_number,
    choose_other_bits,
    pass_other_bits,
    pass_another_place,
    pass_another_function,
    return_other_bits,
    return_nothing,
    call_with_more,
)


@pytest.mark.parametrize("body", MISTAKES, ids=lambda body: body.__name__)
def test_wrong_types_are_refused(body: Callable[..., Any]):
    with pytest.raises(TypeError, match="expected"):
        module_of(exported(body))


def runs_on(n: U64) -> None:
    ret()
    n + 1


def begins_twice(n: U64) -> None:
    other = Block("other")
    other.go_if(n.equals(0))
    other.begin()


def is_not_reached(n: U64) -> None:
    other = Block("other")
    ret()
    other.begin()


def has_no_code(n: U64) -> None:
    Block("other").go_if(n.equals(0))


def follows_an_endless_loop(n: U64) -> None:
    with loop():
        n + 1
    n + 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (runs_on, "nothing leads to what follows the block 'begin'"),
        (begins_twice, "the block 'on' leads nowhere"),
        (is_not_reached, "nothing leads to the block 'other'"),
        (has_no_code, "the block 'other' has no code"),
        (follows_an_endless_loop, "nothing leads to what follows the block 'again'"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_code_that_is_not_reached_or_leads_nowhere_is_refused(
    body: Callable[..., Any], message: str
):
    with pytest.raises(RuntimeError, match=message):
        module_of(exported(body))


def test_fields_have_names_of_their_own():
    with pytest.raises(TypeError, match="names of methods: \\['size'\\]"):
        type("Sized", (Record,), {"__annotations__": {"size": Place[U64]}})


def test_calls_have_as_many_arguments_as_parameters():
    def too_few(pair: Pair) -> None:
        add_one(pair)

    with pytest.raises(ValueError, match="longer than"):
        module_of(exported(too_few))


FROM_DISK = """
import sys, tadc, numpy
tadc.compile("y[i] = 2 * x[i]")(numpy.ones(3))
made = ("llvm_values", "llvm_builder", "team_regions")
print([name for name in made if f"tadc.runtime.{name}" in sys.modules])
"""


def test_code_from_disk_needs_no_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TADC_CACHE", str(tmp_path))
    output_of("-c", FROM_DISK)
    assert output_of("-c", FROM_DISK).strip() == "[]"
