"""Sizes solved from shapes."""

from __future__ import annotations

import pytest

from tadc.dialects.tix import ProgramOp
from tadc.sizes import SizeMismatch, SizeUnknown, bind_sizes, shape_of
from tests.interpreter.tix_text import parse


def program(*shapes: str, derived: str = "", result: str = "") -> ProgramOp:
    arguments = ", ".join(
        f'%{n} = "{n}" : !tix.tensor<[{shape}], f64>'
        for n, shape in zip("xyz", shapes, strict=False)
    )
    indices = ", ".join(f"%i{n}" for n in range(len(result.split(",")) if result else 0))
    return parse(f"""
    tix.program @f {derived} ({arguments}) {{
      %f = tix.define "f" ({indices}) : !tix.tensor<[{result}], f64> {{
        %0 = tix.constant 0.0
        tix.yield %0
      }}
      tix.return %f
    }}""")


def bind(program: ProgramOp, *shapes: tuple[int, ...]) -> dict[str, int]:
    return bind_sizes(program, dict(zip("xyz", shapes, strict=False)))


def test_forms_are_solved_one_after_another() -> None:
    assert bind(program("N + M", "2 * N - 1", "3"), (8,), (5,), (3,)) == {"N": 3, "M": 5}


def test_a_dimension_of_0_says_least() -> None:
    p = program("N - 2", "N")
    assert bind(p, (0,), (1,)) == {"N": 1}
    assert bind(program("N - 2"), (0,)) == {"N": 2}


def test_derived_sizes_and_shapes() -> None:
    p = program(
        "N",
        "M",
        derived="sizes (#tix.size<R = min((N) floordiv 1, (M + 1) floordiv 2)>)",
        result="R, R - 9",
    )
    sizes = bind(p, (7,), (4,))
    assert sizes == {"N": 7, "M": 4, "R": 2}
    assert shape_of(p.definitions[0].type, sizes) == (2, 0)


@pytest.mark.parametrize(
    ("shapes", "given", "facts"),
    [
        (("N", "N"), ((3,), (4,)), ("y", 0, "N = 3", 4)),
        (("N", "3"), ((3,), (4,)), ("y", 0, "3", 4)),
        (("2 * N",), ((3,),), ("x", 0, "2 * N", 3)),
        (("N + 4",), ((3,),), ("x", 0, "N + 4", 3)),
        (("N, M",), ((3,),), ("x", None, "2", 1)),
    ],
)
def test_a_mismatch_names_argument_and_dimension(
    shapes: tuple[str, ...], given: tuple[tuple[int, ...], ...], facts: tuple[object, ...]
) -> None:
    with pytest.raises(SizeMismatch) as caught:
        bind(program(*shapes), *given)
    error = caught.value
    assert (error.argument, error.dimension, error.expected, error.actual) == facts


@pytest.mark.parametrize(
    ("p", "given"), [(program("N + M"), (3,)), (program("N", result="M"), (3,))]
)
def test_sizes_that_no_shape_tells_are_named(p: ProgramOp, given: tuple[int, ...]) -> None:
    with pytest.raises(SizeUnknown):
        bind(p, given)
