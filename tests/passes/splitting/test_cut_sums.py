"""Sums over rows in pieces: what programs mean, what is cut, and how many pieces there are."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import ProgramBuilder, arguments_of, copy_definition
from tadc.passes.splitting import cut_sums as cut
from tadc.passes.splitting.cut_sums import cut_sums
from tadc.passes.splitting.rfactor import row_cuts
from tests.support.campaign import seeds
from tests.support.derivations import Case
from tests.support.reduction_chains import random_chain
from tests.support.rewritten import check_meaning

ROWS = "u[i] = sum[j](x[i, j] * g[j])\nv[j] = sum[i](x[i, j] * h[i])\nreturn u, v"


def cut_for(program: tix.ProgramOp, size: int) -> tix.ProgramOp:
    """The program with sums cut as they are where all sizes are this number."""
    names = {s for t in program.arguments.values() for form in t.type.shape for s in form.sizes}
    return cut_sums(program, dict.fromkeys(names, size))


def cut_in(source: str, size: int = 512) -> list[str]:
    """The definitions of a program for long calls, those of pieces among them."""
    program = tadc.compile(source).program.op
    return [d.label.data for d in cut_for(program, size).definitions]


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_random_programs_keep_their_meaning(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few rows: programs here are small."""
    random = Random(seed)
    monkeypatch.setattr(cut, "ROWS_OF_PIECE", 3)
    monkeypatch.setattr(row_cuts, "FEWEST_COLUMNS_OF_STRIP", random.choice([1, 64]))
    monkeypatch.setattr(row_cuts, "MOST_TERMS_OF_STRIP", random.choice([1, 2048]))
    case, shape = random_chain(random, columns=True), (random.randrange(1, 12), 5)
    values = {"x": np.random.default_rng(seed).normal(size=shape)}
    check_meaning(partial(cut_for, size=512), Case(case, values))


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 64, 95])
def test_pieces_of_any_number_of_rows(length: int) -> None:
    rng = np.random.default_rng(length)
    values = {"x": rng.normal(size=(length, 4)), "g": rng.normal(size=4)}
    assert check_meaning(
        partial(cut_for, size=512), Case(ROWS, values | {"h": rng.normal(size=length)})
    )


def test_there_are_as_many_pieces_as_rows_need() -> None:
    whole = cut_sums(tadc.compile(f"x: f64[256, J]\n{ROWS}").program.op, {"J": 99})
    assert [*whole.definitions[1].shape] == [Affine(constant=8), Affine.of("J")]
    assert not list(whole.derived)
    (count,) = cut_for(tadc.compile(ROWS).program.op, 512).derived
    assert [count.evaluate({"I": n}) for n in (0, 1, 32, 33, 1000)] == [0, 1, 1, 2, 32]


# --- which sums -----------------------------------------------------------------------------------


def test_pieces_stand_behind_what_runs_along_rows() -> None:
    late = "v[j] = sum[i](x[i, j])\nu[i] = sum[j](x[i, j] * g[j])\ny[i, j] = x[i, j] * u[i]"
    assert cut_in(f"{late}\nreturn v, y") == ["u", "v_pieces", "y", "v"]
    read = "v[j] = sum[i](x[i, j])\nu[i] = sum[j](x[i, j])\nz[j] = v[j]**2\ny[i] = u[i] * 2"
    assert cut_in(f"{read}\nreturn z, y") == ["u", "v_pieces", "v", "z", "y"]


def test_readers_in_other_programs_say_nothing() -> None:
    """A copy that a pass has thrown away may still read what this program computes."""
    text = "u[i] = sum[j](x[i, j])\nv[j] = sum[i](x[i, j])\nz[j] = v[j]**2\nreturn u, z"
    program = tadc.compile(text).program.op
    builder = ProgramBuilder(arguments_of(program))
    copy_definition(
        builder, Cloner(BodyBuilder(builder.block, program.location)), program.definitions[2]
    )
    labels = [d.label.data for d in cut_for(program, 512).definitions]
    assert labels == ["u", "v_pieces", "v", "z"]


def test_pieces_stand_behind_what_makes_rows() -> None:
    text = "z[i, j] = x[i, j] * g[j]\nv[j] = sum[i](d[i, j] * x[i, j])\nreturn z, v"
    assert cut_in(text) == ["z", "v_pieces", "v"]
    of_result = "z[i, j] = exp(x[i, j] + y[i])\nv[j] = sum[i](z[i, j])\nreturn z, v"
    assert cut_in(of_result) == ["z", "v_pieces", "v"]


def test_sums_that_are_read_early_do_not_take_others_with_them() -> None:
    text = (
        "v[j] = sum[i](x[i, j])\nw[j] = sum[i](z[i, j])\nu[i] = sum[j](x[i, j])\ny[j] = v[j]**2\n"
    )
    program = f"{text}t[i] = sum[j](z[i, j])\nreturn u, w, y, t"
    assert cut_in(program) == ["u", "v_pieces", "v", "y", "t", "w_pieces", "w"]


def test_all_sums_of_a_definition_are_cut() -> None:
    text = "u[i] = sum[j](x[i, j])\nv[j] = sum[i](x[i, j]) / sum[i](x[i, j]**2)\nreturn u, v"
    assert cut_in(text) == ["u", "v_pieces", "v_pieces_1", "v"]


def test_of_several_indices_the_last_one_is_cut() -> None:
    text = "u[n, i] = sum[j](x[n, i, j]**2)\nv[j] = sum[n, i](x[n, i, j] * u[n, i])\nreturn u, v"
    program = cut_for(tadc.compile(text).program.op, 512)
    assert [*program.definitions[1].shape] == [Affine.of(name) for name in "NPJ"]


APART = {
    "no rows": "v[j] = sum[i](x[i, j])",
    "product of matrices": "u[i, k] = sum[j](x[i, j] * w[j, k])\nv[j] = sum[i](x[i, j])\n"
    "return u, v",
    "product with a transpose": "u[i] = sum[j](x[i, j])\n"
    "v[k, j] = sum[i](d[i, k] * x[i, j])\nreturn u, v",
    "columns of both": "u[j] = sum[i](x[i, j])\nv[j] = sum[i](x[i, j]**2)\nreturn u, v",
    "what rows need": "v[j] = sum[i](x[i, j])\nu[i] = sum[j](x[i, j] * v[j])\nreturn u, v",
    "what other rows are made of": "v[j] = sum[i](x[i, j])\ny[i, j] = x[i, j] * v[j]\nreturn v, y",
    "rows of other places": "y[i, j] = x[i + 1, j] - x[i, j + 1]\nv[j] = sum[i](x[i, j])\n"
    "return y, v",
    "some rows": "x: real[I, J]\nu[i] = sum[j](x[i, j])\nv[j] = sum[i in range(1, I)](x[i, j])\n"
    "return u, v",
    "extrema": "u[i] = sum[j](x[i, j])\nv[j] = max[i](x[i, j])\nreturn u, v",
    "columns that lie apart": "u[i] = sum[j, k](x[i, j, k])\nv[j] = sum[i](x[i, j, 0])\n"
    "return u, v",
}


@pytest.mark.parametrize("why", APART)
def test_nothing_is_cut(why: str) -> None:
    program = tadc.compile(APART[why]).program.op
    assert cut_for(program, 512) is program


@pytest.mark.parametrize(
    ("rows", "columns", "cuts"), [(512, 99, True), (128, 99, False), (512, 99999, False)]
)
def test_what_is_cut_has_many_rows_of_no_great_length(rows: int, columns: int, cuts: bool) -> None:
    program = tadc.compile(ROWS).program.op
    assert (cut_sums(program, {"I": rows, "J": columns}) is not program) == cuts


def test_sums_over_very_many_rows_need_nobody_beside_them() -> None:
    mean = "m[j] = sum[i](x[i, j])\nv[j] = sum[i]((x[i, j] - m[j])**2)\ny[i, j] = x[i, j] * v[j]"
    pieces = ["m_pieces", "m", "v_pieces", "v", "y"]
    program = tadc.compile(mean).program.op
    for rows, columns, cuts in (
        (2048, 1023, False),
        (2048, 1024, True),
        (2049, 64, True),
        (4096, 63, False),
        (1024, 4096, False),
    ):
        found = cut_sums(program, {"I": rows, "J": columns}).definitions
        assert [d.label.data for d in found] == (pieces if cuts else ["m", "v", "y"])


def test_pieces_stand_where_all_is_there_that_their_sum_reads() -> None:
    """A definition may read more beside its sum, which comes behind the pieces."""
    text = "m[j] = sum[i](x[i, j])\nz[j] = exp(m[j])\nu[j] = z[j] * sum[i](x[i, j]**2)\nreturn u"
    assert cut_in(text, size=4096) == ["m_pieces", "u_pieces", "m", "z", "u"]
    chain = (
        "m[j] = sum[i](x[i, j])\nu[j] = m[j] * sum[i](x[i, j]**2)\nv[j] = sum[i](x[i, j] - u[j])"
    )
    labels = ["m_pieces", "u_pieces", "m", "u", "v_pieces", "v"]
    assert cut_in(f"{chain}\nreturn v", size=4096) == labels


@pytest.mark.parametrize(("columns", "cuts"), [(63, False), (64, True)])
def test_rows_as_narrow_as_a_strip_need_no_pieces(columns: int, cuts: bool) -> None:
    text = "z[i, j] = x[i, j] * g[j]\nv[j] = sum[i](d[i, j] * x[i, j])\nreturn z, v"
    program = tadc.compile(text).program.op
    assert (cut_sums(program, {"I": 512, "J": columns}) is not program) == cuts


def test_sums_of_unknown_length_stay() -> None:
    program = tadc.compile(ROWS).program.op
    assert cut_sums(program, {}) is program
