"""`ValueAndGradients`: a program cut in two, its value and, given what that saved, its gradients.

    value       arguments                       ->  results, saved tensors
    gradients   arguments, saved, adjoints      ->  gradients

`passes/split_pullback.py` makes the cut. A tensor is saved under its label; one that is a result,
too, is returned once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passes.rewriting.programs import reads_of
from tadc.program import Tensor
from tadc.runtime.runner import Runner


class ValueAndGradients:
    """Both parts of a program with `results` results, and which argument of the second is what."""

    def __init__(self, value: Runner, gradients: Runner, results: int):
        self.value = value
        self.gradients = gradients
        self.result_labels = value.program.result_labels[:results]
        arguments, given = len(value.program.args), gradients.program.args
        self.saved: Sequence[str] = [t.name for t in given[arguments : len(given) - results]]
        self.adjoints: Sequence[Tensor] = given[len(given) - results :]
        read = {r.tensor for d in gradients.program.op.definitions for r in reads_of(d)}
        values = list(gradients.program.op.arguments.values())[:arguments]
        self.reread: Sequence[int] = [n for n, v in enumerate(values) if v in read]
        """The numbers of the arguments that the gradients read again."""

    def saved_of(self, computed: Sequence[Any]) -> list[Any]:
        """Of all that the value computed, the tensors that the gradients take, in their order."""
        stored: Mapping[str, Any] = dict(
            zip(self.value.program.result_labels, computed, strict=True)
        )
        return [stored[label] for label in self.saved]
