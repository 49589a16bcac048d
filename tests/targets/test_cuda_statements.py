"""Loops, branches and stores as CUDA C: each statement compiled by g++ and compared with Python."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from tadc.targets.cuda import print_cuda
from tests.host_shim.host_shim import load, needs_compiler
from tests.host_shim.scheduled import compiles, function, parse

pytestmark = needs_compiler

# Loops, branches and names. Each row is a body over `%i`, and what it makes of element i of x.

X = np.array([3.0, -1.0, 4.0, -1.5, 5.0, -9.0, 2.0, 6.0])


def fibonacci(i: int) -> float:
    a, b = 0.0, 1.0
    for _ in range(i):
        a, b = b, a + b
    return a - 10 * b


STATEMENTS = {
    "triangle": (
        """%n = arith.addi %i, %c1 : index
        %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          %t = arith.addf %s, %v : f64
          scf.yield %t : f64
        }""",
        lambda i: sum(X[: i + 1]),
    ),
    "accumulator_shared_by_nested_loops": (
        """%r = scf.for %j = %c0 to %i step %c1 iter_args(%s = %one) -> (f64) {
          %q = scf.for %k = %c0 to %j step %c1 iter_args(%s2 = %s) -> (f64) {
            %v = memref.load %x[%k] : memref<?xf64>
            %t = arith.addf %s2, %v : f64
            scf.yield %t : f64
          }
          scf.yield %q : f64
        }""",
        lambda i: 1 + sum(X[k] for j in range(i) for k in range(j)),
    ),
    "accumulator_read_besides": (
        """%r = scf.for %j = %c0 to %i step %c1 iter_args(%s = %one) -> (f64) {
          %q = scf.for %k = %c0 to %j step %c1 iter_args(%s2 = %s) -> (f64) {
            %t = arith.addf %s2, %s : f64
            scf.yield %t : f64
          }
          scf.yield %q : f64
        }""",
        lambda i: math.prod(1 + j for j in range(i)),
    ),
    "swap": (
        """%a, %b = scf.for %j = %c0 to %i step %c1
            iter_args(%p = %zero, %q = %one) -> (f64, f64) {
          %t = arith.addf %p, %q : f64
          scf.yield %q, %t : f64, f64
        }
        %c = arith.constant -10.0 : f64
        %d = arith.mulf %b, %c : f64
        %r = arith.addf %a, %d : f64""",
        fibonacci,
    ),
    "rotate_three": (
        """%v = memref.load %x[%i] : memref<?xf64>
        %a, %b, %c = scf.for %j = %c0 to %i step %c1
            iter_args(%p = %zero, %q = %one, %w = %v) -> (f64, f64, f64) {
          scf.yield %q, %w, %p : f64, f64, f64
        }
        %d = arith.subf %b, %c : f64
        %r = arith.subf %a, %d : f64""",
        lambda i: (v := [0, 1, X[i]], v[i % 3] - (v[(i + 1) % 3] - v[(i + 2) % 3]))[1],
    ),
    "guarded_load": (
        """%j = arith.subi %i, %c1 : index
        %in = arith.cmpi sge, %j, %c0 : index
        %r = scf.if %in -> (f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          scf.yield %v : f64
        } else {
          scf.yield %zero : f64
        }""",
        lambda i: X[i - 1] if i else 0,
    ),
    "guarded_sum": (
        """%n = arith.constant 8 : index
        %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          %positive = arith.cmpf ogt, %v, %zero : f64
          %t = scf.if %positive -> (f64) {
            %u = arith.addf %s, %v : f64
            scf.yield %u : f64
          } else {
            scf.yield %s : f64
          }
          scf.yield %t : f64
        }""",
        lambda i: X[X > 0].sum(),
    ),
    "branch_beside_another_reader": (
        """%a, %b = scf.for %j = %c0 to %i step %c1
            iter_args(%s = %zero, %last = %one) -> (f64, f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          %positive = arith.cmpf ogt, %v, %zero : f64
          %t = scf.if %positive -> (f64) {
            %u = arith.addf %s, %v : f64
            scf.yield %u : f64
          } else {
            scf.yield %s : f64
          }
          scf.yield %t, %s : f64, f64
        }
        %r = arith.subf %a, %b : f64""",
        lambda i: max(X[i - 1], 0) if i else -1,
    ),
    "branch_with_two_results": (
        """%v = memref.load %x[%i] : memref<?xf64>
        %positive = arith.cmpf ogt, %v, %zero : f64
        %a, %b = scf.if %positive -> (f64, f64) {
          %e = math.sqrt %v : f64
          %f = arith.mulf %e, %e : f64
          scf.yield %f, %e : f64, f64
        } else {
          scf.yield %v, %one : f64, f64
        }
        %r = arith.subf %a, %b : f64""",
        lambda i: math.sqrt(X[i]) ** 2 - math.sqrt(X[i]) if X[i] > 0 else X[i] - 1,
    ),
    "branch_without_result": (
        """%in = arith.cmpi sgt, %i, %c1 : index
        scf.if %in {
          memref.store %one, %out[%i] : memref<?xf64>
        }
        %r = memref.load %out[%i] : memref<?xf64>""",
        lambda i: 1.0 if i > 1 else 99.0,
    ),
    "load_before_store": (
        """%r = memref.load %out[%i] : memref<?xf64>
        memref.store %zero, %out[%i] : memref<?xf64>""",
        lambda i: 99.0,
    ),
    "steps": (
        """%n = arith.constant 11 : index
        %two = arith.constant 2 : index
        %three = arith.constant 3 : index
        %r = scf.for %j = %two to %n step %three iter_args(%s = %zero) -> (f64) {
          %w = arith.index_cast %j : index to i64
          %v = arith.sitofp %w : i64 to f64
          %t = arith.addf %s, %v : f64
          scf.yield %t : f64
        }""",
        lambda i: 2 + 5 + 8,
    ),
    "brackets": (
        """%two = arith.constant 2 : index
        %a = arith.addi %i, %two : index
        %b = arith.subi %i, %a : index
        %c = arith.subi %c1, %b : index
        %d = arith.muli %c, %a : index
        %e = arith.remsi %d, %two : index
        %f = arith.muli %a, %e : index
        %g = arith.ceildivsi %b, %two : index
        %h = arith.subi %f, %g : index
        %w = arith.index_cast %h : index to i64
        %s = arith.sitofp %w : i64 to f64
        %m = arith.negf %s : f64
        %n = arith.negf %m : f64
        %u = arith.divf %one, %n : f64
        %r = arith.divf %one, %u : f64""",
        lambda i: (i + 2) * (3 * (i + 2) % 2) + 1,
    ),
    "logic": (
        """%two = arith.constant 2 : index
        %true = arith.constant true
        %p = arith.cmpi slt, %i, %two : index
        %q = arith.remsi %i, %two : index
        %o = arith.cmpi eq, %q, %c1 : index
        %not = arith.xori %o, %true : i1
        %and = arith.andi %p, %not : i1
        %or = arith.ori %and, %o : i1
        %x1 = arith.xori %or, %p : i1
        %r = arith.select %x1, %one, %zero : f64""",
        lambda i: float(((i < 2 and i % 2 == 0) or i % 2 == 1) != (i < 2)),
    ),
    "casts": (
        """%v = memref.load %x[%i] : memref<?xf64>
        %f = arith.truncf %v : f64 to f32
        %third = arith.constant 0.3 : f32
        %m = arith.mulf %f, %third : f32
        %r = arith.extf %m : f32 to f64""",
        lambda i: float(np.float32(X[i]) * np.float32(0.3)),
    ),
    "bool_as_number": (
        """%p = arith.cmpi eq, %i, %c1 : index
        %r = arith.sitofp %p : i1 to f64""",
        lambda i: -1.0 if i == 1 else 0.0,
    ),
    "large_literals": (
        """%a = arith.constant 100000 : index
        %b = arith.muli %a, %a : index
        %c = arith.constant 3 : index
        %m = arith.minsi %a, %c : index
        %d = arith.muli %b, %m : index
        %e = arith.addi %d, %i : index
        %w = arith.index_cast %e : index to i64
        %r = arith.sitofp %w : i64 to f64""",
        lambda i: 3e10 + i,
    ),
    "smallest_integers": (
        """%a = arith.constant -9223372036854775808 : i64
        %b = arith.constant -2147483648 : i64
        %c = arith.index_cast %i : index to i64
        %d = arith.addi %b, %c : i64
        %m = arith.maxsi %a, %d : i64
        %r = arith.sitofp %m : i64 to f64""",
        lambda i: -(2.0**31) + i,
    ),
    "literals": (
        """%inf = arith.constant 0x7FF0000000000000 : f64
        %ninf = arith.constant 0xFFF0000000000000 : f64
        %nz = arith.constant -0.0 : f64
        %tenth = arith.constant 0.1 : f64
        %small = arith.constant 5.0e-324 : f64
        %big = arith.constant 1.7976931348623157e308 : f64
        %a = arith.divf %one, %inf : f64
        %b = arith.divf %one, %ninf : f64
        %c = math.copysign %tenth, %nz : f64
        %d = arith.divf %small, %small : f64
        %e = arith.divf %big, %big : f64
        %f = arith.addf %a, %b : f64
        %g = arith.addf %f, %c : f64
        %h = arith.addf %d, %e : f64
        %r = arith.addf %g, %h : f64""",
        lambda i: -0.1 + 2,
    ),
}
ARGUMENTS = "%out: memref<?xf64>, %x: memref<?xf64>, %N: index"


@functools.cache
def statement_source() -> str:
    store = "\nmemref.store %r, %out[%i] : memref<?xf64>"
    rows = STATEMENTS.items()
    return print_cuda(
        parse("".join(function(name, ARGUMENTS, "%N", body + store) for name, (body, _) in rows))
    )


@functools.cache
def statement_kernels():
    return load(statement_source())


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_does_what_python_does(name: str):
    out = np.full_like(X, 99)
    statement_kernels()[name](X.size, out, X, X.size)
    expected = [STATEMENTS[name][1](i) for i in range(X.size)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_statements_compile_without_spilling():
    log = compiles(statement_source())
    assert log.count("0 bytes spill stores, 0 bytes spill loads") == len(STATEMENTS)
    assert log.count("0 bytes stack frame") == len(STATEMENTS)


# Indices and sizes
