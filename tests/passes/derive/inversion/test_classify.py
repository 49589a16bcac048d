"""Structures of lumps: what is found in designed cases, and never more than numbers allow."""

from __future__ import annotations

import random
from time import process_time

import pytest

from tadc.dialects.tix import Affine
from tadc.passes.derive.inversion import structures
from tadc.passes.derive.inversion.classify import classify, classify_all
from tadc.passes.derive.inversion.lumps import lumps
from tadc.passes.derive.inversion.signed_permutations import SignedPermutation
from tadc.passes.rewriting.failure import PassFailure
from tests.support.campaign import seeds
from tests.support.lump_programs import program
from tests.support.structure_checks import check_structures

LINE = SignedPermutation.identity(1)
PLANE = SignedPermutation.identity(2)
ZERO = Affine()

Z = "z: f64[N]\nw: f64[N, N]\n"
ZZ = "z: f64[N, M]\nw: f64[N, N]\nv: f64[M, M]\n"

CASES: dict[str, tuple[str, list[structures.Structure]]] = {
    "element by element": (
        "p: f64[N]\nq: f64[N]\np[i] -= q[i]**3\nq[i] += p[i]\nreturn p, q",
        [structures.Diagonal(LINE), structures.Diagonal(LINE)],
    ),
    "through temporaries": (
        f"{Z}t[i] = tanh(z[i])\nz[i] += t[i] * w[i, i]\nreturn z",
        [structures.Diagonal(LINE)],
    ),
    "by a sum over one point": (
        f"{Z}z[i] = sum[j](w[i, j] * z[j] if i == j else 0)\nreturn z",
        [structures.Diagonal(LINE)],
    ),
    "in disjuncts": (
        f"{Z}z[i] = 2 * z[i] if i < 2 else z[i] * w[i, 0]\nreturn z",
        [structures.Diagonal(LINE)],
    ),
    "backwards": (
        "z: f64[5]\nz[i] = 2 * z[4 - i]\nreturn z",
        [structures.Diagonal(SignedPermutation((0,), (-1,), (Affine(constant=4),)))],
    ),
    "a quarter turn": (
        "z: f64[N, N]\nz[i, j] = 2 * z[j, N - 1 - i]\nreturn z",
        [structures.Diagonal(SignedPermutation((1, 0), (1, -1), (ZERO, Affine({"N": 1}, -1))))],
    ),
    "round and round": (
        "z: f64[N]\nz[i] = 2 * z[i + 1] if i < N - 1 else z[0]**2\nreturn z",
        [structures.Monomial()],
    ),
    "by remainders": (
        "z: f64[5]\nz[i] = 2 * z[(3*i + 1) % 5]\nreturn z",
        [structures.Monomial()],
    ),
    "there and back": (
        """
z: f64[N, 3]
t[i in range(3*N)] = sin(z[i // 3, i % 3])
z[i, k] = t[3*i + k]
return z
""",
        [structures.Monomial(), structures.Monomial()],
    ),
    "halves that change places": (
        """
x: f64[N]
y: f64[N]
a[i] = 2 * y[i] if i % 2 == 0 else x[N - 1 - i]
b[i] = 2 * x[N - 1 - i] if i % 2 == 0 else y[i]
x[i] = a[i]
y[i] = b[i]
return x, y
""",
        [structures.Monomial(), structures.Diagonal(LINE), structures.Diagonal(LINE)],
    ),
    "a coupling layer": (
        f"""
{Z}m: f64[]
s[i] = sum[j in range(2)](w[i, j] * z[j])
z[i] = z[i] if i < 2 else z[i] * exp(s[i]) + m
return z
""",
        [structures.DiagonalPlusNilpotent(LINE, 2, (0, 1))],
    ),
    "a coupling layer of every other element": (
        f"""
{Z}s[i] = tanh(sum[j](w[i, j] * (z[j] if j % 2 == 0 else 0)))
z[i] = z[i] if i % 2 == 0 else z[i] * exp(s[i]) + s[i]
return z
""",
        [structures.DiagonalPlusNilpotent(LINE, 2, (0, 1))],
    ),
    "a coupling layer with a temporary on the diagonal": (
        f"""
{Z}s[i] = sum[j in range(2)](w[i, j] * z[j])
t[i] = tanh(z[i])
z[i] = z[i] + 2 * t[i] if i < 2 else z[i] * exp(s[i]) + t[i]
return z
""",
        [structures.DiagonalPlusNilpotent(LINE, 2, (0, 1, 2, 4))],
    ),
    "a chain of three": (
        f"{Z}z[i] = z[i] + z[i - 2] if 2 <= i and i < 6 else z[i]\nreturn z",
        [structures.DiagonalPlusNilpotent(LINE, 3, (0, 2))],
    ),
    "one read more off the diagonal": (
        "z: f64[N]\nz[i] += 0.1 * z[i - 1] if i > 0 else 0\nreturn z",
        [structures.Banded(LINE, (), 0, 1, 0)],
    ),
    "a stencil": (
        "z: f64[N]\nz[i] += 0.1 * pad(z[i - 1]) + 0.2 * pad(z[i + 2])\nreturn z",
        [structures.Banded(LINE, (), 0, 1, 2)],
    ),
    "a stencil of few elements": (
        "z: f64[5]\nz[i] += 0.1 * pad(z[i - 1]) + 0.2 * pad(z[i + 2])\nreturn z",
        [structures.Dense()],
    ),
    "a stencil in one dimension": (
        "z: f64[N, M]\nz[i, j] += 0.1 * pad(z[i, j + 1])\nreturn z",
        [structures.Banded(PLANE, (0,), 1, 0, 1)],
    ),
    "a triangle": (
        f"{Z}z[i] += sum[j in range(i)](w[i, j] * z[j])\nreturn z",
        [structures.Triangular(LINE, (), (0,), True)],
    ),
    "an upper triangle, one for each column": (
        f"{ZZ}z[i, k] = sum[j in range(i, N)](w[i, j] * z[j, k])\nreturn z",
        [structures.Triangular(PLANE, (1,), (0,), False)],
    ),
    "a triangle in the order of elements": (
        "z: f64[N, M]\nz[i, k] += z[i - 1, M - 1 - k] if i > 0 else (z[0, k - 1] if k > 0 else 0)"
        "\nreturn z",
        [structures.Triangular(PLANE, (), (0, 1), True)],
    ),
    "a triangle read backwards": (
        "z: f64[N]\nw: f64[N]\nz[i] = z[N - 1 - i] + sum[j in range(N - i, N)](w[j] * z[j])"
        "\nreturn z",
        [
            structures.Triangular(
                SignedPermutation((0,), (-1,), (Affine({"N": 1}, -1),)), (), (0,), True
            )
        ],
    ),
    "the same matrix for all": (
        f"{ZZ}z[i, k] = sum[j](w[i, j] * z[j, k])\nreturn z",
        [structures.Blocks(((1,),), ((1,),))],
    ),
    "one after the other": (
        f"{ZZ}t[i, k] = sum[j](w[i, j] * z[j, k])\nz[i, k] = sum[l](v[k, l] * t[i, l])\nreturn z",
        [structures.Blocks(((1,),), ((1,),)), structures.Blocks(((0,),), ((0,),))],
    ),
    "a rotation": (
        """
x: f64[N]
y: f64[N]
a[i] = 0.6 * x[i] - 0.8 * y[i]
b[i] = 0.8 * x[i] + 0.6 * y[i]
x[i] = a[i]
y[i] = b[i]
return x, y
""",
        [
            structures.Blocks(((0,), (0,)), ((0,), (0,))),
            structures.Diagonal(LINE),
            structures.Diagonal(LINE),
        ],
    ),
    "a rotation of a matrix and a transpose": (
        """
x: f64[N, M]
y: f64[M, N]
a[i, j] = 0.6 * x[i, j] - 0.8 * y[j, i]
b[i, j] = 0.8 * x[j, i] + 0.6 * y[i, j]
x[i, j] = a[i, j]
y[i, j] = b[i, j]
return x, y
""",
        [
            structures.Blocks(((0, 1), (1, 0)), ((0, 1), (1, 0))),
            structures.Diagonal(PLANE),
            structures.Diagonal(PLANE),
        ],
    ),
    "everything by everything": (
        f"{Z}z[i] = sum[j](w[i, j] * z[j])\nreturn z",
        [structures.Dense()],
    ),
    "the same through a narrower tensor": (
        "z: f64[N]\nw: f64[N, 2]\nh[k] = sum[j](w[j, k] * z[j])\n"
        "z[i] += sum[k](w[i, k] * h[k])\nreturn z",
        [structures.Dense()],
    ),
}


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES)
def test_the_most_special_structure_is_found(source: str, expected: list[structures.Structure]):
    assert [classify(lump) for lump in lumps(program(source))] == expected


@pytest.mark.parametrize("source", [source for source, _ in CASES.values()], ids=CASES)
def test_jacobians_of_designed_cases_have_their_structure(source: str):
    check_structures(source, {"N": 6, "M": 4})


REFUSED = {
    "one element for all, which may be the only one": (
        "z: f64[N]\nz[i] = 2 * z[0]\nreturn z",
        None,
    ),
    "one element of three for all": (
        "z: f64[3]\nz[i] = 2 * z[1]\nreturn z",
        "<program>:2:1: the Jacobian must be singular: the value that z[0] has before is lost "
        "here, no result depends on it",
    ),
    "every other element": (
        "z: f64[4]\nz[i] = 2 * z[2*(i // 2)]\nreturn z",
        "<program>:2:1: the Jacobian must be singular: the value that z[1] has before is lost "
        "here, no result depends on it",
    ),
    "a number at one end": (
        "z: f64[N, M]\nz[i, k] = z[i, k]**2 if i < N - 1 or k > 0 else 3\nreturn z",
        "<program>:2:1: the Jacobian must be singular: z[N - 1, 0] gets a value here that does not "
        "depend on what is updated",
    ),
    "a triangle without its diagonal": (
        "z: f64[N]\nz[i] = sum[j in range(i)](z[j])\nreturn z",
        "<program>:2:1: the Jacobian must be singular: z[0] gets a value here that does not depend "
        "on what is updated",
    ),
    "a triangle with a hole in its diagonal": (
        "z: f64[6]\nz[i] = sum[j in range(i)](z[j]) + (z[i] if i != 2 else 0)\nreturn z",
        "<program>:2:1: the Jacobian must be singular: it is triangular, and 0 on the diagonal, "
        "since z[2] does not depend on z[2]",
    ),
}


@pytest.mark.parametrize(("source", "message"), REFUSED.values(), ids=REFUSED)
def test_what_must_be_singular_is_refused(source: str, message: str | None):
    check_structures(source, {"N": 5, "M": 4})
    (lump,) = lumps(program(source))
    if message is None:
        assert classify(lump)
        return
    with pytest.raises(PassFailure) as failure:
        classify(lump)
    assert str(failure.value) == message


def test_alike_lumps_have_the_structure_that_each_has_alone():
    source = "p: f64[N]\nq: f64[N]\n" + "p[i] -= q[i]**3\nq[i] += p[N - 1 - i] * q[i]\n" * 3
    found = lumps(program(source + "return p, q"))
    assert classify_all(found) == [classify(lump) for lump in found]


def test_two_thousand_lumps_are_classified_in_five_seconds():
    steps = "p[i] -= q[i]**3\nq[i] += p[i]\n" * 1000
    found = lumps(program(f"p: f64[N]\nq: f64[N]\n{steps}return p, q"))
    start = process_time()
    assert set(classify_all(found)) == {structures.Diagonal(LINE)}
    assert process_time() - start < 5


# --- random programs ------------------------------------------------------------------------------

LINES = (
    *("z[i]", "z[i]", "z[i]", "z[N - 1 - i]", "pad(z[i - 1])", "pad(z[i + 1])", "pad(z[i - 3])"),
    *("(z[i - 2] if i >= 2 and i < 5 else 0)", "(z[i] if i % 2 == 0 else 0)"),
    *(
        "(z[i] if i < 3 else z[i - 3])",
        "(z[2*(i // 2)] if i % 2 == 1 else 0)",
        "(z[0] if i > 0 else 0)",
    ),
    *("sum[j in range(i)](w[i, j] * z[j])", "sum[j in range(i, N)](w[i, j] * z[j])"),
    *("sum[j](w[i, j] * z[j] if j % 2 == 0 else 0)", "sum[j in range(2)](w[i, j] * z[j])"),
    *("(sum[j in range(2)](w[i, j] * z[j]) if i >= 2 else 0)", "sum[j](w[i, j] * z[j])"),
    *("(sum[j](w[i, j] * z[j] if j % 2 == 0 else 0) if i % 2 == 1 else 0)",),
)
PLANES = (
    *("z[i, k]", "z[i, k]", "z[k, i]", "z[N - 1 - i, k]", "pad(z[i - 1, k])", "pad(z[i, k + 1])"),
    *("(z[i - 1, k] if i % 2 == 1 else 0)", "(z[i, k] if i < 3 else z[i, 0])"),
    *(
        "sum[j in range(k)](w[k, j] * z[i, j])",
        "sum[j](w[i, j] * z[j, k])",
        "(z[i, i] if k > i else 0)",
    ),
    *("sum[j in range(i), l](w[j, l] * z[j, l])", "(z[i - 1, N - 1 - k] if i > 0 else 0)"),
)


def random_structured_program(rng: random.Random) -> str:
    """One update of a tensor, by reads that are likely to have a structure, and temporaries."""
    indices, terms, shape = rng.choice([("[i]", LINES, "[N]"), ("[i, k]", PLANES, "[N, N]")])
    lines = [f"z: f64{shape}", "w: f64[N, N]"]
    ranges = "[i in range(N), k in range(N)]" if "k" in indices else "[i in range(N)]"
    value = rng.choice(["z" + indices, "z" + indices, rng.choice(terms)])
    for n in range(rng.randint(0, 2)):
        term = rng.choice(terms)
        if rng.random() < 0.5:
            lines.append(f"t{n}{ranges} = tanh({rng.choice(terms)})")
            term = term.replace("z[", f"t{n}[")
        value += rng.choice([f" + {term}", f" + sin({term})", f" * (2 + {term})"])
    lines.append(f"z{indices} = {value}")
    return "\n".join([*lines, "return z"]) + "\n"


@pytest.mark.parametrize("seed", seeds(22, of=200))
def test_jacobians_of_random_programs_have_their_structure(seed: int):
    rng = random.Random(seed)
    check_structures(random_structured_program(rng), {"N": rng.choice([5, 6, 7])})
