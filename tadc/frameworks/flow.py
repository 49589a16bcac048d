"""Flows of differential equations as operations: what PyTorch and JAX have in common.

A flow is integrated with steps of the solver's choice, so it is no program: its derivatives are
linear equations along the path, integrated likewise, and have no derivatives themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.errors import UnsupportedError
from tadc.ode.flow import Flow


def underived(flow: Flow) -> UnsupportedError:
    """The error about second derivatives."""
    return UnsupportedError(
        "the derivatives and inverse modes of a flow have no derivatives themselves",
        flow.g.program.span_of_argument(flow.state[0]),
        "a flow of g.forward(keep_values=True) moves tangents along with the state, and has "
        "derivatives in turn",
    )


def several(values: Any) -> Sequence[Any]:
    """The tensors of a state, of which one comes alone and several as a tuple."""
    return values if isinstance(values, tuple) else (values,)  # pyright: ignore[reportUnknownVariableType]
