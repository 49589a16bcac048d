"""The names of JAX that are not public: `tests/jax/test_private.py` tells when they move.

Without any of them operations are right, too: gradients compute values again, and `shard_map` needs
`check_vma=False`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tadc.jax.package import Array, jax, module

Rule = Callable[..., tuple[Sequence[Any], Sequence[bool], Any, Callable[..., Sequence[Any]]]]

_ad, _core = module("jax._src.interpreters.ad"), module("jax._src.core")

LINEARIZATIONS: Any = getattr(_ad, "primitive_linearizations", None)
FALLBACK: Any = getattr(_ad, "fallback_linearize_rule", None)
VARY_ALIKE: Any = getattr(_core, "auto_insert_reshard", None) or getattr(
    _core, "standard_insert_pvary", None
)
VARIES: Any = getattr(_core, "standard_vma_rule", None)
SHARDING: Any = getattr(_core, "get_cur_mesh_sharding", None)


def define_linearization(primitive: Any, rule: Rule) -> None:
    """Let `rule(nonzeros, *primals, **params)` linearize a primitive.

    It gives the results, True for each that has a tangent, residuals, and the linear function
    `(residuals, *tangents)`. Without it JAX takes the rule for tangents.
    """
    if LINEARIZATIONS is None or FALLBACK is None:
        return
    says_mode = "_is_vjp" in inspect.signature(FALLBACK).parameters

    def linearize(mode: bool, *arguments: Any, **params: Any) -> Any:
        return rule(*arguments, **params)

    LINEARIZATIONS[primitive] = linearize if says_mode else rule


def vary_alike(operands: Sequence[Array]) -> Sequence[Array]:
    """The operands, all of them varying over the same axes of the mesh of a `shard_map`."""
    return VARY_ALIKE(*operands) if VARY_ALIKE and operands else operands


def result_type(shape: Sequence[int], dtype: Any, operands: Sequence[Any]) -> Any:
    """The abstract value of a result, which varies over the mesh as the operands do."""
    if not (VARIES and SHARDING and operands):
        return jax.core.ShapedArray(tuple(shape), dtype)
    VARIES("tadc", *operands)
    return operands[0].update(shape=tuple(shape), dtype=dtype, weak_type=False, sharding=SHARDING())
