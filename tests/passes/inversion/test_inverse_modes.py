"""The inverse modes of random programs against dense Jacobians, and the invariants between modes.

Of each program: `J⁻¹ v`, `J⁻ᵀ v` and the determinant against those of NumPy for the Jacobian that
forward mode gives, column by column; and equations (4.7a-d) of Pearlmutter and Siskind, "Automatic
Differentiation: Inverse Accumulation Mode".
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest

import tadc
from passes.inversion import structures
from passes.inversion.classify import classify_all
from passes.inversion.lumps import Lump, lumps
from passes.rewriting.programs import type_of
from tadc.errors import IllConditionedWarning, SingularError, UnsupportedError
from tests.support.derivations import check_together
from tests.support.lump_programs import random_state_program
from tests.support.random_updates import Update, random_update

SEEDS = 300
CHUNK = 75
TOLERANCE = {"f64": 1e-9, "f32": 2e-4}

Array = np.ndarray


def flat(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(a) for a in arrays])


class Modes:
    """All modes of a program at its arguments, of vectors that hold the whole state."""

    def __init__(self, update: Update, target: str):
        self.function = tadc.compile(update.source, target)
        self.names = [t.name for t in self.function.results]
        self.arguments = [update.arguments[t.name] for t in self.function.args]
        self.like = [update.arguments[name] for name in self.names]

    @cached_property
    def size(self) -> int:
        return sum(a.size for a in self.like)

    def split(self, vector: Array) -> list[Array]:
        """A vector as one array for each tensor of the state."""
        ends = np.cumsum([a.size for a in self.like])[:-1]
        parts = zip(np.split(vector, ends), self.like, strict=True)
        return [np.asarray(part.reshape(a.shape), a.dtype) for part, a in parts]

    def jvp(self, vector: Array) -> Array:
        tangents = dict(zip(self.names, self.split(vector), strict=True))
        given = [tangents.get(t.name) for t in self.function.args]
        derivatives: Any = tadc.jvp(self.function, self.arguments, given)[1]
        return flat(derivatives if len(self.names) > 1 else [derivatives])

    def vjp(self, vector: Array) -> Array:
        _, pullback = tadc.vjp(self.function, *self.arguments)
        names = [t.name for t in self.function.args]
        gradients = dict(zip(names, pullback(*self.split(vector)), strict=True))
        return flat([gradients[name] for name in self.names])

    def inverse_jvp(self, vector: Array) -> Array:
        return flat(tadc.inverse_jvp(self.function, self.arguments, self.split(vector)))

    def inverse_vjp(self, vector: Array) -> Array:
        return flat(tadc.inverse_vjp(self.function, self.arguments, self.split(vector)))

    @cached_property
    def jacobian(self) -> Array:
        """Column by column."""
        return np.array([self.jvp(column) for column in np.eye(self.size)], float).T


def assert_near(actual: Array, expected: Array, bound: float, what: str) -> None:
    error = float(np.max(np.abs(actual - expected)))
    assert error <= bound, f"{what}: error {error:.2e} > {bound:.2e}"


def check_against_numpy(modes: Modes, tolerance: float, rng: np.random.Generator) -> None:
    jacobian, vector = modes.jacobian, rng.standard_normal(modes.size)
    assert np.linalg.cond(jacobian) < 1e5, "not regular enough to be a test"
    inverse = np.linalg.inv(jacobian)
    bound = tolerance * float(np.linalg.norm(inverse, 2) * np.linalg.norm(vector))
    assert_near(modes.inverse_jvp(vector), inverse @ vector, bound, "inverse_jvp")
    assert_near(modes.inverse_vjp(vector), inverse.T @ vector, bound, "inverse_vjp")
    sign, logarithm = tadc.log_abs_det(modes.function, modes.arguments)
    expected = np.linalg.slogdet(jacobian)
    assert sign == expected[0], f"sign {sign}"
    assert_near(np.array(logarithm), expected[1], tolerance * (1 + modes.size), "log_abs_det")


def check_invariants(modes: Modes, rng: np.random.Generator) -> None:
    """(4.7a-d), each up to rounding of what is computed on the way."""
    tangent, adjoint = rng.standard_normal((2, modes.size))
    norms = float(np.linalg.norm(tangent) * np.linalg.norm(adjoint))
    forward, back = modes.jvp(tangent), modes.vjp(adjoint)
    largest = float(np.linalg.norm(modes.jacobian, 2))
    assert abs(back @ tangent - adjoint @ forward) <= 1e-9 * largest * norms, "(4.7a)"
    undone, unread = modes.inverse_jvp(tangent), modes.inverse_vjp(adjoint)
    smallest = float(np.linalg.norm(np.linalg.inv(modes.jacobian), 2))
    assert abs(adjoint @ undone - unread @ tangent) <= 1e-9 * smallest * norms, "(4.7b)"
    bound = 1e-9 * largest * smallest * norms
    assert_near(modes.jvp(undone), tangent, bound, "(4.7c), tangents")
    assert_near(modes.inverse_vjp(back), adjoint, bound, "(4.7c), adjoints")
    assert_near(modes.vjp(unread), adjoint, bound, "(4.7d), adjoints")
    assert_near(modes.inverse_jvp(forward), tangent, bound, "(4.7d), tangents")


def check_text(modes: Modes, rng: np.random.Generator) -> None:
    """A mode that solves no linear system prints as a program, which computes the same."""
    vectors = modes.split(rng.standard_normal(modes.size))
    for mode in ("inverse-jvp", "inverse-vjp", "log-abs-det"):
        inverse = modes.function.inverse(mode)
        if len(inverse.steps) > 1:
            continue
        given = [] if mode == "log-abs-det" else vectors
        expected = inverse(modes.arguments, given)
        again = tadc.compile(str(inverse), "interpret")
        arguments = dict(zip(inverse.args, [*modes.arguments, *given], strict=True))
        found = again.call([arguments[t.name] for t in again.args], {})
        named = dict(zip((t.name for t in again.results), found, strict=True))
        for result, e in zip(inverse.results, expected, strict=True):
            assert_near(named[result.name], e, 1e-9 * (1 + float(np.max(np.abs(e)))), mode)


def check(seed: int, dtype: str = "f64") -> None:
    modes = Modes(random_update(random.Random(seed), dtype), "interpret" if seed % 8 else "cpu")
    rng = np.random.default_rng(seed)
    check_against_numpy(modes, TOLERANCE[dtype], rng)
    if dtype == "f64" and seed % 5 == 0:
        check_invariants(modes, rng)
    if dtype == "f64" and seed % 6 == 0:
        check_text(modes, rng)


NAMED = """{a}: f64[3]
{b}: f64[3]
k[i] = sin({b}[i]) * {b}[i]
{a}[i] = 2 * {a}[i] + (sin({a}[i - 1]) * k[i] if i % 2 == 1 else k[i])
{b}[i] += {a}[2 - i] * k[i]
{a}[i] *= exp({b}[i])
"""
TAKEN = [
    "p_dot",
    "dp",
    "p_1",
    "p_1_dot",
    "dp_1",
    "p_slope",
    "p_1_slope",
    "p_2_signdet",
    "p_1_logdet",
    "logdet",
    "signdet",
]


def check_names(name: int) -> None:
    for a, b in (("p", TAKEN[name]), (TAKEN[name], "p")):
        rng = np.random.default_rng(name)
        source = NAMED.format(a=a, b=b)
        arguments = {v: rng.uniform(-0.5, 0.5, 3) for v in (a, b)}
        modes = Modes(Update(source, arguments, ()), "interpret")
        check_against_numpy(modes, 1e-9, rng)
        check_text(modes, rng)


def test_names_of_what_derivatives_bring_may_be_taken() -> None:
    check_together(partial(each, check_names), range(len(TAKEN)))


WRITTEN = {
    "a function with a derivative of its own": """
x: f64[4]
x[i] = x[i]+soft(x[i])
""",
    "sums and products of all": """
x: f64[2,3]
s[i] = sum[j](x[i,j]*max[k](x[k,j]))
x[i,j] = 2*x[i,j]+0.1*s[i]*prod[a,b](1+0.1*x[a,b])
""",
    "indices that wrap": """
x: f64[6]
y: f64[6]
y[i] += x[(2*i)%6]
x[i] = x[(i+1)%6]*2 + y[i//2]
""",
    "a triangle in two dimensions": """
x: f64[3,3]
x[i,j] = 2*x[i,j] + 0.2*sum[a in range(i)](x[a,2-j]) + (0.3*x[i,j-1] if j>0 else 0)
""",
    "a matrix by its transpose": """
x: f64[3,3]
x[i,j] = x[j,i]*2 + (sin(x[i,j]) if i>j else 0)
""",
    "results in another order": """
x: f64[2]
y: f64[3]
x[i] *= 2
y[i] *= -3
return y, x
""",
    "a temporary with three readers": """
x: f64[3]
y: f64[3]
t[i] = sin(x[i])
x[i] = 2*x[i]+t[2-i]
y[i] = y[i]*exp(t[i])
x[i] += y[i]
""",
    "all by one element": """
x: f64[5]
x[i] = x[i] if i == 2 else 2*x[i]+x[2]**2
""",
    "conditions on values and indices": """
x: f64[5]
y: f64[5]
x[i] = 2*x[i] if y[i] > 0 and i < 3 or x[i] < 0.5 else -x[i]
y[i]+=x[i]
""",
    "halves of a symbolic size": """
x: f64[2*H]
x[i] = x[i] if i < H else x[i]*exp(x[i-H])
""",
    "a staggered grid": """
x: f64[N + 1]
y: f64[N]
d[i in range(N)] = x[i+1] - x[i]
y[i] += d[i]
e[i in range(N + 1)] = pad(y[i-1]) - pad(y[i])
x[i] += e[i]
""",
    "a matrix and a transposed one": """
x: f64[M,N]
y: f64[N,M]
a[i,j]=x[i,j]+0.2*y[j,i]
b[i,j]=y[i,j]-0.3*x[j,i]
x[i,j]=a[i,j]
y[i,j]=b[i,j]
""",
    "they change places": """
x: f64[M,N]
y: f64[N,M]
a[i,j]=2*y[j,i]
b[i,j]=3*x[j,i]
x[i,j]=a[i,j]
y[i,j]=b[i,j]
""",
    "three tensors change places": """
x: f64[3]
y: f64[3]
z: f64[3]
t[i]=x[i]
x[i]=y[i]*2
y[i]=z[2-i]
z[i]=t[i]+sin(x[i])
""",
    "even elements first": """
x: f64[6]
x[i] = x[2*i] if i<3 else x[2*i-5]
""",
    "scalars": """
a: f64[]
b: f64[]
c=a*2+b
d=b*2-a
a=d
b=c
b*=a
""",
    "polar coordinates": """
x: f64[3]
y: f64[3]
r[i]=(x[i]**2+y[i]**2)**0.5
t[i]=atan2(y[i],x[i])
x[i]=r[i]
y[i]=t[i]
""",
    "sorted pairs": """
x: f64[3]
y: f64[3]
a[i]=min(x[i],y[i])
b[i]=max(x[i],y[i])
x[i]=a[i]
y[i]=b[i]
""",
    "the map of Hénon": """
x: f64[]
y: f64[]
t = 1 - 1.4*x**2 + y
y = 0.3*x
x = t
""",
}
"""Programs with what random ones seldom have."""


@pytest.mark.parametrize("name", WRITTEN)
def test_written_programs(name: str) -> None:
    tadc.define_function("soft", "x", value="log1p(exp(x))", derivative="sigmoid(x)")
    rng = np.random.default_rng(5)
    sizes = {"N": 3, "M": 4, "H": 3, "2 * H": 6, "N + 1": 4}
    arguments = {
        t.name: rng.uniform(-1, 1, [sizes[n] if isinstance(n, str) else n for n in t.shape])
        for t in tadc.compile(WRITTEN[name]).args
    }
    modes = Modes(Update(WRITTEN[name], arguments, ()), "interpret")
    check_against_numpy(modes, TOLERANCE["f64"], rng)
    check_invariants(modes, rng)
    check_text(modes, rng)


def random_source(rng: random.Random) -> str:
    return random_update(rng).source


def each(
    check: Callable[[int], None],
    seeds: Sequence[int],
    of: Callable[[random.Random], str] = random_source,
) -> list[str]:
    """What went wrong, with the programs."""
    failures: list[str] = []
    for seed in seeds:
        try:
            check(seed)
        except Exception as error:
            source = of(random.Random(seed))
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{source}")
    return failures


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_inverse_modes_invert_the_jacobian(first: int) -> None:
    check_together(partial(each, check), range(first, first + CHUNK))


def check_any(seed: int) -> None:
    """Of any program that updates its state: refused is what is singular, and nothing else."""
    source = random_state_program(random.Random(seed))
    rng = np.random.default_rng(seed)
    sizes = {t.name: t.shape for t in tadc.compile(source).args}
    arguments = {name: rng.uniform(-1, 1, [int(n) for n in s]) for name, s in sizes.items()}
    modes = Modes(Update(source, arguments, ()), "interpret")
    condition = float(np.linalg.cond(modes.jacobian))
    if condition < 1e5:
        check_against_numpy(modes, TOLERANCE["f64"], rng)
    if condition > 1e17:
        refused = SingularError, UnsupportedError, IllConditionedWarning
        with warnings.catch_warnings(action="error"), pytest.raises(refused):
            modes.inverse_jvp(np.ones(modes.size))


def test_programs_that_are_not_made_regular() -> None:
    check_together(partial(each, check_any, of=random_state_program), range(40))


def test_inverse_modes_in_single_precision() -> None:
    check_together(partial(each, partial(check, dtype="f32")), range(SEEDS, SEEDS + 30))


def kinds(lump: Lump, structure: structures.Structure) -> list[str]:
    """All that is to occur in the random programs."""
    found = [type(structure).__name__]
    several = len(lump.ins) > 1
    match structure:
        case structures.Diagonal(permutation=permutation):
            found += [] if permutation.is_identity else ["Diagonal, elsewhere"]
        case structures.DiagonalPlusNilpotent(permutation=permutation, depth=depth):
            found += [] if permutation.is_identity else ["DiagonalPlusNilpotent, elsewhere"]
            found += [f"DiagonalPlusNilpotent, depth {depth}"]
        case structures.Banded(permutation=permutation, batch=batch):
            found += [] if permutation.is_identity else ["Banded, elsewhere"]
            found += ["Banded, batch"] if batch else []
        case structures.Triangular(permutation=permutation, batch=batch, lower=lower):
            found += [] if permutation.is_identity else ["Triangular, elsewhere"]
            found += ["lower" if lower else "upper"] + (["Triangular, batch"] if batch else [])
        case structures.Blocks():
            found += ["Blocks, several tensors"] if several else []
        case structures.Dense():
            ranks = {type_of(v).rank for v in lump.ins}
            found += ["Dense, several tensors"] if several else []
            found += ["Dense, several ranks"] if len(ranks) > 1 else []
        case _:
            pass
    return found


LEAST = {
    **dict.fromkeys(
        ("Diagonal", "DiagonalPlusNilpotent, depth 2", "Dense", "Dense, several tensors"), 30
    ),
    **dict.fromkeys(("Banded", "Triangular", "Blocks", "Monomial", "Dense, several ranks"), 20),
    **dict.fromkeys(("Diagonal, elsewhere", "lower", "Blocks, several tensors"), 10),
    **dict.fromkeys(("upper", "Banded, batch", "Triangular, batch"), 5),
    **dict.fromkeys(
        ("DiagonalPlusNilpotent, depth 3", "DiagonalPlusNilpotent, depth 4", "Banded, elsewhere"), 3
    ),
    **dict.fromkeys(("DiagonalPlusNilpotent, elsewhere", "Triangular, elsewhere"), 3),
}
"""How often each kind of structure has to occur."""


def test_every_structure_occurs() -> None:
    found: Counter[str] = Counter()
    for seed in range(SEEDS):
        steps = lumps(tadc.compile(random_update(random.Random(seed)).source).program)
        for lump, structure in zip(steps, classify_all(steps), strict=True):
            found.update(kinds(lump, structure))
    assert {name: found[name] for name in LEAST if found[name] < LEAST[name]} == {}
