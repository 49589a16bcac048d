"""Parsed and interpreted, a random program means what Python says it means."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tadc.dialects.tix import ProgramOp
from tadc.interpreter.tensor_index import evaluate
from tests.support.campaign import seeds
from tests.support.random_programs import EVERYTHING, random_program, reference

parser = pytest.importorskip("tadc.language.parse", reason="there is no parser")


def check(seed: int, rtol: float = 1e-9, **options: object) -> None:
    program = random_program(random.Random(seed), **options)
    ir = parser.parse(program.source, "random.tad").body.block.first_op
    assert isinstance(ir, ProgramOp)
    results = evaluate(ir, program.arguments)
    for result, expected in zip(results, reference(program.source, program.arguments), strict=True):
        np.testing.assert_allclose(result, expected, rtol, rtol, err_msg=program.source)
        assert result.dtype == expected.dtype, program.source


@pytest.mark.parametrize("seed", seeds(75, of=200))
def test_parsed_programs_mean_what_python_says(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", seeds(37, of=100))
def test_random_programs_with_everything(seed: int) -> None:
    check(seed, **EVERYTHING)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_in_single_precision(seed: int) -> None:
    check(seed, rtol=1e-3, dtype="f32")
