"""The examples in Python run, and show what they say."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import EXAMPLES


def run(name: str) -> Any:
    """What `main` of an example gives."""
    return runpy.run_path(str(EXAMPLES / name))["main"]()


def test_the_perceptron_learns():
    first, last, right = run("mlp.py")
    assert first > 0.6
    assert last < 0.01
    assert right == 1


def test_the_gaussian_process_fits():
    before, after, lengths, noise, error = run("gaussian_process.py")
    assert error < 1e-6
    assert before < -90
    assert after > 40
    assert lengths[1] > 100 * lengths[0]
    assert noise == pytest.approx(0.1, rel=0.2)


def test_the_coupling_flow_fits():
    normal, last, errors = run("coupling_flow.py")
    assert normal == pytest.approx(2.73, abs=0.01)
    assert last < 2.1
    assert max(errors) < 1e-9


def test_leapfrog_keeps_its_energy_and_is_undone():
    lost, error, log_det = run("leapfrog.py")
    assert lost[0] < 1e-4
    assert lost[0] / lost[1] == pytest.approx(4, rel=0.2)  # a method of order 2
    assert error < 1e-9
    assert abs(log_det) < 1e-9


def test_newton_converges_quadratically():
    lengths, error, slope_error = run("newton.py")
    assert len(lengths) == 5
    assert all(b < 0.2 * a**2 for a, b in pairwise(lengths[:4]))
    assert lengths[-1] < 1e-12
    assert error < 1e-5
    assert slope_error < 1e-8


def test_newton_converges_with_a_sparse_jacobian():
    lengths, error, entries = run("elliptic.py")
    assert len(lengths) <= 7
    assert all(b < 0.2 * a**2 for a, b in pairwise(lengths[1:5]))
    assert lengths[-1] < 1e-12
    assert error < 5e-3
    assert entries == 5 * 40**2 - 4 * 40


def test_graph_attention_learns_from_neighbours():
    first, last, right, alone = run("gat.py")
    assert first > 1.3  # log(4) of four classes that are equally likely
    assert last < 0.15
    assert alone < 0.6
    assert right > 0.8


def test_forces_tell_the_potential():
    found, force_error, gradient_error = run("neighbours.py")
    assert found == pytest.approx([1.7, 0.9], rel=1e-6)
    assert force_error < 1e-7
    assert gradient_error < 1e-7


def test_tomography_finds_the_image():
    error, before = run("tomography.py")
    assert error < 0.08
    assert before == 1


def test_every_example_is_tested():
    tests = Path(__file__).read_text(encoding="utf-8")
    assert [p.name for p in EXAMPLES.glob("*.py") if f'run("{p.name}")' not in tests] == []
