"""Ranges that nobody wrote: which they are, for known, named and unnamed sizes."""

import random

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block

from tadc.dialects.tix import Affine, Constraint, IfOp, ProgramOp, SumOp
from tadc.errors import RangeError
from tadc.language import check_ranges, parse, print_program
from tadc.passes.index_sets.space import feasible
from tadc.passes.polyhedral.diophantine import solve


def program(text):
    op = parse(text).body.block.first_op
    assert isinstance(op, ProgramOp)
    op.verify()
    return op


def described(text):
    """The shapes of the definitions, the sets of their sums, and the derived sizes."""
    op = program(text)
    shapes = [str(d.type).split("[")[1].split("]")[0] for d in op.definitions]
    sums = [str(s.domain).split(" : ")[1][1:-2] for s in op.walk() if isinstance(s, SumOp)]
    derived = [str(d)[len("#tix.size<") : -1] for d in op.derived]
    return "; ".join([*shapes, *sums, *derived])


TABLE = [
    # an index alone in a dimension runs over it
    ("x: f64[8]\ny[i] = x[i]", "8"),
    ("x: f64[8, N]\ny[j, i] = x[i, j]", "N, 8"),
    ("x: f64[N + 1]\ny[i] = x[i]", "N + 1"),
    ("x: f64[8]\ny[i] = x[i] + x[i + 0*i] + x[7 - i]", "8"),
    ("x: f64[0]\ny[i] = x[i]", "0"),
    # the largest interval that keeps every read inside
    ("x: f64[8]\ny[i] = x[i + 3]", "5"),
    ("x: f64[8]\ny[i] = x[2*i]", "4"),
    ("x: f64[7]\ny[i] = x[2*i]", "4"),
    ("x: f64[7]\ny[i] = x[2*i] + x[2*i + 1]", "3"),
    ("x: f64[7]\ny[i] = x[6 - 2*i]", "4"),
    ("x: f64[7]\ny[i] = x[i // 2]", "14"),
    ("x: f64[7]\ny[i] = x[2*(i // 2)]", "8"),
    ("x: f64[7]\ny[i] = x[i // 2] + x[i % 3]", "14"),
    ("x: f64[9]\nw: f64[3]\ny[i] = sum[k](w[k] * x[i + k])", "7; d0 >= 0, d0 <= 2"),
    ("x: f64[9]\nw: f64[3]\ny[i] = sum[k](w[k] * x[2*i + k])", "4; d0 >= 0, d0 <= 2"),
    ("x: f64[0]\ny[i] = x[i + 0] + x[2*i]", "0"),
    # one after the other, in the order of the text
    ("x: f64[4]\ny[i, j] = x[i] * x[i + j]", "4, 1"),
    ("x: f64[9]\nz: f64[3]\ny[i, j, k] = x[i + j + k] + z[i] + z[2 - j + 0*j]", "3, 3, 5"),
    ("x: f64[9]\ny[i in range(3), j] = x[i + j]", "3, 7"),
    ("x: f64[9]\ny[i] = sum[k in range(i + 1)](x[k])", "9; d1 >= 0, d0 >= d1"),
    # conditions and padding
    ("x: f64[8]\ny[i] = x[i + 3] if i < 5 else x[i]", "8"),
    ("x: f64[8]\nz: f64[9]\ny[i] = x[i] if i < 4 else z[i]", "9"),
    ("x: f64[8]\ny[i] = x[i - 1] + x[i] if i >= 1 else 0", "8"),
    ("x: f64[8]\ny[i] = x[2*i] if i % 2 == 0 else 0", "4"),
    ("x: f64[8]\nz: f64[3]\ny[i] = pad(x[i]) * z[i]", "3"),
    ("x: f64[8]\ny[i] = pad(x[i])", "8"),
    ("x: f64[8]\nw: f64[3]\ny[i] = x[i] + sum[k](w[k] * pad(x[i + k - 1]))", "8; d0 >= 0, d0 <= 2"),
    # named sizes
    ("x: f64[N]\ny[i] = x[i + 3]", "N - 3"),
    ("x: f64[N]\ny[i] = x[N - 1 - i]", "N"),
    ("x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[i + k])", "-K + N + 1; d0 >= 0, d0 + 1 <= K"),
    ("x: f64[N]\ny[i] = x[2*i]", "I; I = min((N + 1) floordiv 2)"),
    ("x: f64[N]\ny[i] = x[2*i] + x[3*i + 1]", "I; I = min((N + 1) floordiv 2, (N + 1) floordiv 3)"),
    ("x: f64[N]\ny[i] = x[2*i]\nz[i] = y[i] + x[2*i]", "I; I; I = min((N + 1) floordiv 2)"),
    (
        "x: f64[N]\ny: f64[M]\nz[i] = x[i + 1] * y[i + 2]",
        "I; I = min((N - 1) floordiv 1, (M - 2) floordiv 1)",
    ),
    ("x: f64[N]\ny[i in range(N // 2)] = x[i]", "I; I = min((N) floordiv 2)"),
    # named sizes that must agree
    ("x: f64[3]\nz: f64[N]\ny[i] = x[i] * z[i]", "3"),
    ("z: f64[N]\nx: f64[3]\ny[i] = z[i]\nu[i] = x[i] * z[i]", "3; 3"),
    (
        "x: f64[N]\nz: f64[M]\ny[i] = x[i] * z[i]\nu[i] = z[2*i]",
        "N; I; I = min((N + 1) floordiv 2)",
    ),
    ("x: f64[N + 1]\nz: f64[M]\ny[i] = x[i] * z[i]", "N + 1"),
    ("x: f64[N - 1]\nz: f64[M]\ny[i] = x[i] * z[i]", "M"),
    ("x: f64[2*N]\nz: f64[6]\ny[i] = x[i] * z[i]", "6"),
    ("x: f64[N]\nz: f64[M]\ny: f64[M]\ny[i in range(N)] = x[i] + z[i]", "M"),
    (
        "x: f64[N]\nz: f64[M]\nu[i] = x[2*i]\ny[i] = u[i] * z[i]",
        "M; M; M = min((N + 1) floordiv 2)",
    ),
    (
        "x: f64[N]\nz: f64[M]\nu[i] = x[i + 1] + z[i + 2]\ny[i] = x[i] * z[i]",
        "N - 2; N",
    ),
    # a branch that is never taken tells ranges too
    ("x: f64[3]\ny[i] = x[i] if 1 == 0 else 2", "3"),
    ("x: f64[3]\nz: f64[4]\ny[i] = x[i] if (-i) % 3 == -1 else z[i]", "4"),
    # reads that never happen limit nothing
    ("x: f64[N]\ny[i] = x[i - 7] if i % 2 == 1 and i % 4 == 0 else x[i + 1]", "N - 1"),
    ("x: f64[9]\ny[i] = x[i + 1] + sum[k in range(3, 2)](x[i - 7])", "8; d0 >= 3, d0 <= 1"),
    # the sizes of undeclared arguments
    ("y[i] = x[i]", "I"),
    ("y[i] = x[i + 1]", "X_0 - 1"),
    ("y[i] = x[i] * z[i]\nu[k] = z[k] * v[k + 1]", "I; I"),
    ("y[i] = x[i] * z[i] * w[i]\nw2: f64[5]\nu[k] = z[k] * w2[k]", "5; 5"),
    ("y[i] = x[I*1 + i]\nz: f64[I]\nu[j] = z[j]", "-I + X_0; I"),
    ("y[i] = a[i] + s*I", "I2"),
]


@pytest.mark.parametrize("text, expected", TABLE)
def test_ranges_are_the_largest_that_fit(text, expected):
    assert described(text) == expected


SYMBOLIC = [
    # text, sizes that fit, sizes that do not
    ("x: f64[N]\ny[i in range(3)] = x[N - 1 - i]", [3, 4], [0, 2]),
    ("x: f64[N]\ny[i in range(5)] = x[i]", [5, 6], [4, 0]),
    ("x: f64[N]\ny[i] = x[i] + x[2]", [3, 0], [1, 2]),
    ("x: f64[N]\ny[i] = x[i] + x[N - 1 - i] + pad(x[i + 5])", [0, 1, 9], []),
    ("x: f64[N]\ny[i] = x[2*i]\ns = sum[k](y[k] * x[N - 1 - k])", [0, 1, 5, 8], []),
    ("x: f64[N]\ny[i] = x[2*i]\ns = sum[k](y[k] * x[2*k + 1])", [0, 2, 8], [1, 7]),
    ("x: f64[N]\ny[i] = x[i] + x[i // 2] + x[i + 1 - (i + 2) // 2]", [0, 1, 2, 3], []),
    ("x: f64[N]\ny[i] = x[i] + (x[i + 1] if i + 1 < N else 0)", [0, 1, 5], []),
    ("x: f64[N]\ny[i] = x[i] + (x[3] if N > 3 else 0)", [0, 1, 3, 4], []),
    ("x: f64[N]\ny[i in range(4)] = x[3*(i % 2)] if i != 3 else 0", [4, 5], [3, 1]),
    ("x: f64[N]\ny[i in range(9)] = x[i - 4*(i // 4)]", [4], [3]),
    ("x: f64[N]\ny[i in range(4)] = x[(i + N) // 2]", [4, 5], [3, 2, 1, 0]),
    ("x: f64[N]\ny[i in range(4)] = x[(i + (i + N) // 2) // 3]", [2, 3], [1, 0]),
    ("x: f64[N]\ny[i in range(4)] = x[i] if (i + N) % 2 == 1 else 0", [3], [2, 1]),
    ("x: f64[N]\ns = sum[k in range(N // 2)](x[2*k + 1])", [0, 1, 2, 5], []),
]


@pytest.mark.parametrize("text, good, bad", SYMBOLIC)
def test_checks_at_the_call(text, good, bad):
    op = program(text)
    for n in good:
        check_ranges(op, {"N": n})
    for n in bad:
        with pytest.raises(RangeError) as caught:
            check_ranges(op, {"N": n}, text)
        assert caught.value.argument == "x"
        assert caught.value.size == n
        assert caught.value.line and caught.value.column


def test_numbers_that_sizes_become():
    op = program(
        "x: f64[N]\nz: f64[3]\ny[i] = x[i]*z[i]/N + (1 if N == 3 else x[9]) + N//2 + x[N - 1 - i]"
    )
    assert print_program(op).splitlines()[2:-1] == ["y[i] = x[i] * z[i] / 3 + 1 + 1 + x[2 - i]"]


def test_what_a_branch_that_is_never_taken_tells():
    op = program(
        "a: f32[3]\nb: f32[3]\nt[i] = b[i]\nu[i] = a[i]\n"
        "y[i in range(3)] = t[i] if i < i else 2\n"
        "z[i] = c[i] if 1 == 1 else d[i]"
    )
    assert list(op.arguments) == ["a", "b", "c", "d"]
    assert [d.label.data for d in op.definitions if d.result in op.returned] == ["u", "y", "z"]
    assert [d.type.dtype for d in op.definitions] == ["f32", "f32", "f32", "real"]
    assert not any(isinstance(inner, IfOp) for inner in op.walk())


NEVER = [
    "sum[p in range(-1, 1), q in range(max(0, j + i + 1), j + i)](x[q + p - p, p])",
    "sum[k in range(3)](x[i - 7, j] if (2*i + 2*k) % 2 != 0 else 1)",
    "sum[k in range(3)](x[i - 7, j] if i % 2 == 1 and i % 4 == 0 else 1)",
    "sum[k in range(3)](x[-1, j] if (6*i + 10*k) % 15 == 1 and (6*i + 10*k) % 2 == 1 else 1)",
]


@pytest.mark.parametrize("sizes", ["4, 4", "N, M"])
@pytest.mark.parametrize("text", NEVER)
def test_reads_that_never_happen(text, sizes):
    op = program(f"x: f64[{sizes}]\ny[i, j] = x[i, j] + {text}")
    check_ranges(op, {"N": 4, "M": 4})


def test_a_read_that_some_sizes_exclude_waits_for_the_call():
    op = program("x: f64[N]\ny[i] = x[i] + sum[q in range(N, 3)](x[-1])")
    check_ranges(op, {"N": 3})
    with pytest.raises(RangeError, match="reaches -1"):
        check_ranges(op, {"N": 2})


def test_the_counterexample_is_one():
    with pytest.raises(RangeError) as caught:
        parse("x: f64[8]\ny[i in range(4), j in range(4)] = x[3*i - j] if i != j else 0")
    assert "x[3*i - j] reaches" in str(caught.value)
    assert caught.value.dimension == 0


def test_an_exact_check_sees_what_intervals_do_not():
    parse("x: f64[4]\ny[i in range(4), j in range(4)] = x[i - j] if i >= j else x[j - i]")
    parse("x: f64[4]\ny[i in range(8)] = x[i // 2] + x[i - 4*(i // 4)]")
    parse("x: f64[2]\ny[i in range(9)] = x[2*i - 5] if 4 <= 2*i - 1 <= 5 else 0")
    parse("x: f64[3]\ns = sum[k in range(2, 9), l in range(k, 2)](x[k + l])")


@pytest.mark.parametrize("seed", range(40))
def test_equations_without_integer_solutions_are_seen(seed):
    """Each of them alone may have some, as where remainders of one index contradict each other."""
    choose = random.Random(seed)
    indices = Block(arg_types=[IndexType()] * 3).args
    rows = [[choose.randrange(-6, 7) for _ in range(4)] for _ in range(choose.choice((2, 3)))]
    forms = [Affine(dict(zip(indices, row[:3], strict=True)), row[3]) for row in rows]
    matrix, right = tuple(tuple(row[:3]) for row in rows), tuple((-row[3],) for row in rows)
    unsolvable = solve(matrix, right, 3, 0, range(3)).empty
    assert feasible([Constraint(form, equality=True) for form in forms]) == (not unsolvable)
