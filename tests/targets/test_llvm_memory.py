"""Loads and stores of vectors: at the edge of memory, beside the caches, and on the stack."""

from __future__ import annotations

import re
from platform import machine

import numpy as np
import pytest

from tadc.errors import TargetError
from tadc.interpreter.loops import run
from tadc.runtime import llvm_compiler
from tadc.runtime import machine as machines
from tadc.runtime.cpu import CpuModule
from tadc.runtime.llvm_compiler import assembly, object_of
from tadc.targets.llvm import LlvmPrinter, print_llvm
from tests.support.guarded_memory import Guarded, before_a_locked_page
from tests.targets.llvm_kernels import DTYPES, CompiledKernel, compile_kernel, function, parse
from tests.targets.vector_kernels import assert_same_bits, of_vectors, run_both, vector_of

MASKED = """loops.parallel (%b) to (%N) {
  %lanes = arith.constant LANES : index  %i = arith.muli %b, %lanes : index
  %from = arith.addi %i, %shift : index  %other = arith.constant dense<7.0> : V
  %steps = arith.constant dense<STEPS> : X  %base = vector.broadcast %from : index to X
  %at = arith.addi %base, %steps : X  %all = vector.broadcast %count : index to X
  %m = loops.compare "ult" %at, %all : X -> M
  %v = vector.maskedload %x[%from], %m, %other : BUFFER, M, V into V
  TWICE
  vector.maskedstore %y[%from], %m, %w : BUFFER, M, V }"""
"""Lanes of which one comparison without sign says that they lie between 0 and the count."""


TWICE = {
    "sum": "%w = arith.addf %v, %v : V",
    "product with zeros": """%two = arith.constant dense<2.0> : V
  %zero = arith.constant dense<0.0> : V  %p = arith.mulf %two, %v fastmath<contract> : V
  %s = arith.addf %zero, %p fastmath<contract> : V  %w = loops.select %m, %s, %zero : M, V""",
}
"""Arithmetic that LLVM may make one operation of with a load under its mask."""


def masked(type_: str, lanes: int, twice: str) -> str:
    words = {
        "LANES": str(lanes),
        "STEPS": str(list(range(lanes))),
        "BUFFER": f"memref<?x{type_}>",
        "V": vector_of(type_, lanes),
        "X": vector_of("index", lanes),
        "M": vector_of("i1", lanes),
    }
    lines = MASKED.replace("TWICE", TWICE[twice])
    lines = re.sub(r"\b[A-Z]+\b", lambda word: words.get(word[0], word[0]), lines)
    return function({"y": type_, "x": type_}, ["N", "shift", "count"], lines)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("lanes", [4, 16, 32])
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("twice", TWICE)
def test_masked_accesses_touch_no_page_outside(
    twice: str, type_: str, lanes: int, at_end: bool
) -> None:
    """Vectors begin before the arrays and end behind them; whole ones lie on locked pages."""
    dtype, count = np.dtype(DTYPES[type_]), 3 * lanes + 1
    values = np.arange(count, dtype=dtype)
    text = masked(type_, lanes, twice)
    for shift in (-2 * lanes - 1, -lanes + 1, 0, 3):
        blocks = (count - shift) // lanes + 3
        x, y = (Guarded((count,), dtype, at_end) for _ in range(2))
        x.array[:] = values
        y.array[:] = -1
        compile_kernel(text)(y.array, x.array, blocks, shift, count)
        expected = np.where(np.arange(count) < shift, -1, 2 * values)
        np.testing.assert_array_equal(y.array, expected)
        assert y.is_intact
        assert_same_bits(
            *run_both(text, np.full(count, -1, dtype), values, sizes=(blocks, shift, count))
        )


def test_vectors_end_where_their_buffer_ends() -> None:
    lines = "%r = arith.negf %0 : V"
    x = before_a_locked_page(np.arange(48, dtype=np.float32))
    y = before_a_locked_page(np.zeros(48, np.float32))
    compile_kernel(of_vectors(lines, {"y": "f32", "x": "f32"}, 16))(y, x, 3)
    np.testing.assert_array_equal(y, -x)


STREAM = """%zero = arith.constant 0 : index  %lanes = arith.constant 16 : index
  %bytes = arith.constant 64 : index  %size = arith.constant 4 : index
  loops.parallel () to () {
    %address = "memref.extract_aligned_pointer_as_index"(%y) : (memref<?xf32>) -> index
    %over = arith.remsi %address, %bytes : index  %missing = arith.subi %bytes, %over : index
    %aligned = arith.cmpi eq, %over, %zero : index
    %head = arith.divsi %missing, %size : index
    %first = arith.select %aligned, %zero, %head : index
    scf.for %i = %first to %n step %lanes {
      %v = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
      vector.store %v, %y[%i] {nontemporal = true} : memref<?xf32>, vector<16xf32>
    } }"""


@pytest.mark.parametrize("offset", [0, 1, 15])
def test_stores_beside_the_caches_begin_at_an_aligned_address(offset: int) -> None:
    memory = np.zeros(4096, np.float32)
    first = -memory.ctypes.data % 64 // 4 + offset
    y = memory[first : first + 16 * 9 + (16 - offset) % 16]
    x = np.arange(y.size, dtype=np.float32)
    text = function({"y": "f32", "x": "f32"}, ["n"], STREAM)
    compile_kernel(text)(y, x, y.size)
    head = (16 - offset) % 16
    np.testing.assert_array_equal(y[head:], x[head:])
    assert not y[:head].any()
    code = print_llvm(parse(text))
    assert "!nontemporal !0" in code and "fence seq_cst" in code
    assert machine() not in ("x86_64", "AMD64") or "movntps" in assembly(code)


PANEL = """%zero = arith.constant 0 : index  %lanes = arith.constant 8 : index
  loops.parallel (%b) to (%N) {
    %panel = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
    %w = arith.constant 64 : index  %i = arith.muli %b, %w : index
    scf.for %k = %zero to %w step %lanes {
      %at = arith.addi %i, %k : index
      %v = vector.load %x[%at] : memref<?xf32>, vector<8xf32>
      %d = arith.addf %v, %v : vector<8xf32>
      vector.store %d, %panel[%k] {alignment = 32 : i64} : memref<64xf32>, vector<8xf32>
    }
    scf.for %k = %zero to %w step %lanes {
      %at = arith.addi %i, %k : index
      %v = vector.load %panel[%k] {alignment = 32 : i64} : memref<64xf32>, vector<8xf32>
      vector.store %v, %y[%at] : memref<?xf32>, vector<8xf32>
    } }"""


def test_panels_on_the_stack() -> None:
    x = np.arange(192, dtype=np.float32)
    text = function({"y": "f32", "x": "f32"}, ["N"], PANEL)
    got, expected = run_both(text, np.zeros_like(x), x, sizes=(3,))
    assert_same_bits(got, expected)
    np.testing.assert_array_equal(got, 2 * x)


# --- registers ------------------------------------------------------------------------------------


def tile(rows: int, vectors: int, lanes: int) -> str:
    """`y[i, j] = sum[k](a[i, k] * b[k, j])` of one block, its sums carried in registers."""
    v = vector_of("f32", lanes)
    names = [(r, c) for r in range(rows) for c in range(vectors)]
    types = ", ".join([v] * len(names))
    carried = ", ".join(f"%s{r}_{c} = %none" for r, c in names)
    body = [
        *(f"%j{c} = arith.constant {c * lanes} : index" for c in range(vectors)),
        f"%n = arith.constant {vectors * lanes} : index  %kn = arith.muli %k, %n : index",
        *(
            f"%b{c}at = arith.addi %kn, %j{c} : index "
            f"%b{c} = vector.load %b[%b{c}at] : memref<?xf32>, {v}"
            for c in range(vectors)
        ),
        *(
            f"%i{r} = arith.constant {r} : index  %a{r}row = arith.muli %i{r}, %K : index "
            f"%a{r}at = arith.addi %a{r}row, %k : index "
            f"%e{r} = memref.load %a[%a{r}at] : memref<?xf32> "
            f"%a{r} = vector.broadcast %e{r} : f32 to {v}"
            for r in range(rows)
        ),
        *(f"%t{r}_{c} = math.fma %a{r}, %b{c}, %s{r}_{c} : {v}" for r, c in names),
    ]
    stores = [
        f"%y{i} = arith.constant {i * lanes} : index "
        f"vector.store %sums#{i}, %y[%y{i}] : memref<?xf32>, {v}"
        for i in range(len(names))
    ]
    lines = f"""%zero = arith.constant 0 : index  %one = arith.constant 1 : index
      %none = arith.constant dense<0.0> : {v}
      loops.parallel () to () {{
        %sums:{len(names)} = scf.for %k = %zero to %K step %one iter_args({carried}) -> ({types}) {{
          {" ".join(body)}
          scf.yield {", ".join(f"%t{r}_{c}" for r, c in names)} : {types}
        }}
        {" ".join(stores)} }}"""
    return function({"y": "f32", "a": "f32", "b": "f32"}, ["K"], lines)


@pytest.mark.parametrize(("rows", "vectors", "lanes"), [(8, 3, 16), (4, 1, 64), (3, 2, 4)])
def test_a_tile_has_the_bits_of_the_interpreter(rows: int, vectors: int, lanes: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=n).astype(np.float32) for n in (rows * 5, 5 * vectors * lanes))
    result = np.zeros(rows * vectors * lanes, np.float32)
    assert_same_bits(*run_both(tile(rows, vectors, lanes), result, a, b, sizes=(5,)))


@pytest.fixture
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The machine that code is made for is of a level of x86-64."""
    try:
        found = machines._of_level(request.param)
    except TargetError as error:
        pytest.skip(error.message)
    monkeypatch.setattr(llvm_compiler, "machine", lambda: found)
    return request.param


@pytest.mark.parametrize("shape", [(8, 3, 16), (6, 2, 32), (6, 1, 64)])
@pytest.mark.parametrize("level", ["avx512"], indirect=True)
def test_24_carried_registers_are_not_saved_on_the_stack(
    level: str, shape: tuple[int, int, int]
) -> None:
    """There are 32, and up to four hold what is read from b; a wide vector takes several."""
    text = print_llvm(parse(tile(*shape)), LlvmPrinter(512))
    loop = re.search(r"^y\.entry:$.*?\.size\s+y\.entry,", assembly(text), re.MULTILINE | re.DOTALL)
    assert loop is not None and loop[0].count("vfmadd") >= 24
    assert not re.search(r"zmm\d+, .*\(%rsp\)|\(%rsp\).*zmm", loop[0])


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"], indirect=True)
def test_the_bits_do_not_depend_on_the_width_of_registers(level: str) -> None:
    """The order of a sum of lanes is that of the program, and fused products round once."""
    lines = """%p = math.fma %0, %1, %0 : V
      %t = vector.reduction <add>, %p fastmath<reassoc> : V into f32
      %r = vector.broadcast %t : f32 to V"""
    text = of_vectors(lines, {"y": "f32", "x": "f32", "z": "f32"}, 32)
    x, z = np.random.default_rng(0).normal(size=(2, 320)).astype(np.float32)
    got, expected = np.zeros_like(x), np.zeros_like(x)
    code = object_of(print_llvm(parse(text)), False, llvm_compiler.machine())
    CompiledKernel(CpuModule.of_objects([code]), "y")(got, x, z, 10)
    run(parse(text), "y", [expected, x, z], [10])
    assert_same_bits(got, expected)
