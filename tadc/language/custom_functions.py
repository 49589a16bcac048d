"""Functions that users bring along: a name, a formula for the value and one for each derivative.

    tadc.define_function("softplus", "x", value="log1p(exp(x))", derivative="sigmoid(x)")

Names are looked up when a program is compiled, and the program then carries all that it calls: what
is defined later under the same name concerns later programs only.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from tadc.dialects.tix import FunctionOp
from tadc.errors import ArgumentError, RankError, TadcSyntaxError, UnknownNameError, did_you_mean
from tadc.language.formulas import Formula, read_formula
from tadc.language.names import RESERVED
from tadc.language.source import Source


@dataclass(frozen=True)
class ScalarFunction:
    """A function as the user gave it."""

    name: str
    parameters: tuple[str, ...]
    value: str
    derivatives: tuple[str, ...]
    """Formulas of the partial derivatives, one for each parameter."""
    needs: tuple[str, ...] = ()
    """The functions that the value calls."""

    def read_value(self, arities: Mapping[str, Sequence[str]]) -> Formula:
        """The value as a body of the parameters."""
        return read_formula(self.value, f"<value of {self.name}>", self.parameters, arities)

    def read_derivatives(self, arities: Mapping[str, Sequence[str]]) -> list[Formula]:
        """The derivatives as bodies of the parameters and the value, which has the own name."""
        inputs = [*self.parameters, self.name]
        return [
            read_formula(text, f"<derivative of {self.name} by {parameter}>", inputs, arities)
            for parameter, text in zip(self.parameters, self.derivatives, strict=True)
        ]


_FUNCTIONS: dict[str, ScalarFunction] = {}


def define(
    name: str,
    arguments: str | Iterable[str],
    value: str,
    derivative: str | Mapping[str, str] | Iterable[str],
) -> None:
    """`tadc.define_function`."""
    head = _Head.read(name, _listed(arguments))
    given = [value, *_derivatives(derivative, head)]
    texts = [text.strip() for text in given if isinstance(text, str)]
    if len(texts) < len(given):
        raise ArgumentError(f"the formulas of {head.name} must be text", hint='write "2 * x"')
    plain = ScalarFunction(head.name, head.parameters, texts[0], tuple(texts[1:]))
    known = {**_FUNCTIONS, head.name: plain}
    arities = arities_of(known)
    read = plain.read_value(arities)
    _check_ends(plain, read, known)
    plain.read_derivatives(arities)
    _FUNCTIONS[head.name] = ScalarFunction(
        plain.name, plain.parameters, plain.value, plain.derivatives, tuple(read.calls)
    )


def known_functions() -> Mapping[str, ScalarFunction]:
    """The functions that are defined now."""
    return dict(_FUNCTIONS)


def arities_of(functions: Mapping[str, ScalarFunction]) -> dict[str, Sequence[str]]:
    """The parameters of each function."""
    return {name: function.parameters for name, function in functions.items()}


def function_ops(names: Iterable[str], functions: Mapping[str, ScalarFunction]) -> list[FunctionOp]:
    """Operations of the functions of these names, and of all that their formulas call."""
    arities = arities_of(functions)
    found: dict[str, FunctionOp] = {}
    pending = list(names)
    while pending:
        name = pending.pop(0)
        if name not in found:
            function = functions[name]
            value, *partials = function.read_value(arities), *function.read_derivatives(arities)
            found[name] = FunctionOp(name, value.body, [p.body for p in partials])
            pending += [called for formula in (value, *partials) for called in formula.calls]
    return list(found.values())


# --- the head: a name and its arguments -----------------------------------------------------------


@dataclass(frozen=True)
class _Head:
    """`hypot(x, y)`: the names, checked."""

    name: str
    parameters: tuple[str, ...]
    source: Source

    @staticmethod
    def read(name: str, arguments: Sequence[str]) -> _Head:
        words = [str(word).strip() for word in (name, *arguments)]
        source = Source(f"{words[0]}({', '.join(words[1:])})", "<function>")
        names = [_checked(n, words, source) for n in range(len(words))]
        return _Head(names[0], tuple(names[1:]), source)


def _listed(given: str | Iterable[str]) -> list[str]:
    """The names in `"x, y"`, or those of a list."""
    try:
        listed = given.strip().split(",") if isinstance(given, str) else list(given)
        return [] if listed == [""] else listed
    except TypeError:
        hint = 'write define_function("hypot", "x, y", ...)'
        raise ArgumentError("a function has a name and names of arguments", hint=hint) from None


def _checked(n: int, words: Sequence[str], source: Source) -> str:
    """Name number `n` as Python reads it; raises what is wrong with it."""
    word, role = words[n], "an argument" if n else "a function"
    column = 1 + sum(len(w) + (1 if m == 0 else 2) for m, w in enumerate(words[:n]))
    span = source.at(1, column, column + len(word))
    if keyword.iskeyword(word) or not word.isidentifier():
        kind = "a word of Python" if keyword.iskeyword(word) else "not a name"
        message = f"{word or 'nothing'} is {kind} and cannot name {role}"
        raise TadcSyntaxError(message, span, "names are like those of Python's functions")
    if word in RESERVED:
        message = f"{word} is a word of the language and cannot name {role}"
        raise TadcSyntaxError(message, span, "choose another name")
    if word in words[:n]:
        raise TadcSyntaxError(f"{word} is given twice", span, "choose another name")
    if len(words) == 1:
        raise TadcSyntaxError(f"{word} has no argument", span, "name one: x")
    return unicodedata.normalize("NFKC", word)  # as in the text of programs


def _derivatives(given: object, head: _Head) -> list[object]:
    """One formula for each parameter, in order; what is no text is for the caller to refuse."""
    match given:
        case Mapping():
            found = _by_name(cast(Mapping[str, object], given), head)
        case Iterable() if not isinstance(given, str):
            found = list(cast(Iterable[object], given))
        case _:
            found = [given]
    if len(found) != len(head.parameters):
        known = ", ".join(head.parameters)
        raise RankError(
            f"{head.name} needs one derivative for each of its arguments, {known}",
            head.source.at(1, 1, len(head.source.text) + 1),
            "give a formula for each, in order or by name",
        )
    return found


def _by_name(given: Mapping[str, object], head: _Head) -> list[object]:
    for name in given:
        if name not in head.parameters:
            hint = did_you_mean(name, head.parameters) or f"there are {', '.join(head.parameters)}"
            raise UnknownNameError(f"{head.name} has no argument {name!r}", hint=hint)
    return [given[name] for name in head.parameters if name in given]


def _check_ends(
    function: ScalarFunction, value: Formula, known: Mapping[str, ScalarFunction]
) -> None:
    """The value must not need itself, through whatever function."""
    for called, node in value.calls.items():
        pending, seen = [called], set[str]()
        while pending:
            name = pending.pop()
            if name == function.name:
                message = f"the value of {name} needs {name} itself"
                hint = "a value cannot be recursive; a derivative may call its function"
                raise TadcSyntaxError(message, value.source.span(node), hint)
            if name not in seen:
                seen.add(name)
                pending += known[name].needs
