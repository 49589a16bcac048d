"""`ValueAndGradients`: a program cut in two, its value and, given what that saved, its gradients.

    value       arguments                       ->  results, saved tensors
    gradients   arguments, saved, adjoints      ->  gradients

`passes/split_pullback.py` makes the cut. A tensor is saved under its label; one that is a result,
too, is returned once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.program import Tensor
from tadc.runtime.runner import Runner


class ValueAndGradients:
    """Both parts of a program with `results` results, and which argument of the second is what."""

    def __init__(self, value: Runner, gradients: Runner, results: int):
        self.value = value
        self.gradients = gradients
        labels = value.program.result_labels
        self.result_labels = labels[:results]
        arguments, given = len(value.program.args), gradients.program.args
        self.saved: Sequence[str] = [t.name for t in given[arguments : len(given) - results]]
        self.adjoints: Sequence[Tensor] = given[len(given) - results :]
        read = gradients.program.summary.read
        self.reread: Sequence[int] = [n for n, t in enumerate(given[:arguments]) if t.name in read]
        """The numbers of the arguments that the gradients read again."""
        self._places = [labels.index(label) for label in self.saved]
        self._results = results

    def saved_of(self, computed: Sequence[Any]) -> list[Any]:
        """Of all that the value computed, the tensors that the gradients take, in their order.

        Results are copied: they are the user's, who may change them.
        """
        return [computed[n].copy() if n < self._results else computed[n] for n in self._places]
