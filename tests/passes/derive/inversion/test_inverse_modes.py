"""The inverse modes of random programs against dense Jacobians, and the invariants between modes.

Of each program: `J⁻¹ v`, `J⁻ᵀ v` and the determinant against those of NumPy for the Jacobian that
forward mode gives, column by column; and equations (4.7a-d) of Pearlmutter and Siskind, "Automatic
Differentiation: Inverse Accumulation Mode".
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.errors import IllConditionedWarning, SingularError, UnsupportedError
from tadc.passes.derive.inversion import structures
from tadc.passes.derive.inversion.classify import classify_all
from tadc.passes.derive.inversion.lumps import Lump, lumps
from tadc.passes.rewriting.programs import type_of
from tests.support.campaign import CAMPAIGN, seeds
from tests.support.derivations import check_seeds
from tests.support.inverse_checks import (
    TOLERANCE,
    Modes,
    check_against_numpy,
    check_invariants,
    check_text,
)
from tests.support.lump_programs import random_state_program
from tests.support.random_updates import Update, random_update

SEEDS = 300
TESTED = seeds(20, of=SEEDS)
CHUNK = 5


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
    """As the name of what is updated first, or second; of both in a campaign."""
    orders = ("p", TAKEN[name]), (TAKEN[name], "p")
    for a, b in orders if CAMPAIGN else orders[name % 2 :][:1]:
        rng = np.random.default_rng(name)
        source = NAMED.format(a=a, b=b)
        arguments = {v: rng.uniform(-0.5, 0.5, 3) for v in (a, b)}
        modes = Modes(Update(source, arguments, ()), "interpret")
        check_against_numpy(modes, 1e-9, rng)
        check_text(modes, rng)


def test_arguments_may_have_the_names_that_derivatives_would_get() -> None:
    check_seeds(check_names, range(len(TAKEN)), TAKEN.__getitem__)


def random_source(seed: int) -> str:
    return random_update(random.Random(seed)).source


@pytest.mark.parametrize("first", TESTED[::CHUNK])
def test_inverse_modes_invert_the_jacobian(first: int) -> None:
    check_seeds(check, range(first, first + CHUNK), random_source)


def any_source(seed: int) -> str:
    return random_state_program(random.Random(seed))


def check_any(seed: int) -> None:
    """Of any program that updates its state: refused is what is singular, and nothing else."""
    source = any_source(seed)
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


def test_what_is_singular_is_refused_and_nothing_else() -> None:
    check_seeds(check_any, seeds(10, of=40), any_source)


def test_inverse_modes_invert_the_jacobian_in_single_precision() -> None:
    check_seeds(partial(check, dtype="f32"), seeds(5, of=30, start=SEEDS), random_source)


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
"""The number of all random programs in which each kind of structure has to occur."""


def test_every_structure_occurs_in_random_updates() -> None:
    """In a campaign that often, and each one in the programs that are always tested."""
    found: Counter[str] = Counter()
    for seed in TESTED:
        steps = lumps(tadc.compile(random_update(random.Random(seed)).source).program.op)
        for lump, structure in zip(steps, classify_all(steps), strict=True):
            found.update(kinds(lump, structure))
    least = LEAST if CAMPAIGN else dict.fromkeys(LEAST, 1)
    assert {name: found[name] for name in least if found[name] < least[name]} == {}
