"""Malformed programs and calls, from which only a located `TadcError` may come.

Half of the texts are damaged in characters, half in words (names, numbers, brackets, operators);
they come from known programs and from random ones. What still is a program is printed and read
back; sometimes it is derived, and called with random arrays. Every tenth input is a valid program
that is called with wrong arguments. What a call accepts must mean the same as plain arrays.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tadc
from tadc.errors import ArgumentError, TadcError
from tadc.language import parse
from tadc.program import Program
from tadc.sizes import SizeMismatch, SizeUnknown, bind_sizes
from tests.fuzz.failures import ROOT, Failure, report, signature
from tests.support.random_programs import random_program

PROGRAMS = (ROOT / "tests" / "language" / "programs.tad").read_text().split("# ---\n")
PROGRAMS += [Path(p).read_text() for p in sorted((ROOT / "examples").rglob("*.tad"))]
CHARACTERS = "()[]{},:;=+-*/%<>!.\n\r\f\t 0129ijkxyNs\"'#\\@~&|^é\0\u2028\ud800\ufeff"
WORDS = (
    *("if", "else", "and", "or", "not", "in", "range", "sum[k]", "max[k]", "prod", "pad(", "max("),
    *("min(", "return", "f64", "f32[", "f32", "real", "x[", "x", "y", "f", "i", "j", "k", "p", "N"),
    *("//", "%", "**", "==", "!=", "<", ":=", "+=", "->", "...", "*", "exp", "lambda", "del"),
    *("0", "-1", "1", "2", "7", "99999999999999999999", "1e400", "1e-400", "1j", "0.5", "True"),
    *("'s'", "None", "(", "((((", ")", ")", "[", "]", "[]", "{", "}", ",", ":", "=", "\n", "\n  "),
    *("αβ", "字", "ﬁ", "x\u0301", "\u200b", "_", "__", "i in range(3)", "k in range(9999999999)"),
    *("x[i]", "x[i - 1]", "x[2*i]", "sum[k](x[k])", "pad(x[i - 1])", "(" * 300, "-" * 400),
    *("1 + " * 300, "x: f64[N]\n", "y: f32[]\n", "return y\n", "9" * 400, "i // 2", "i % 3"),
)
TOKEN = re.compile(r"\s+|\w+|//|\*\*|[=!<>]=|.", re.DOTALL)
LARGEST_WORK = 20_000
"""Scalar operations of a call that is tried; its sizes may be enormous."""
LARGEST_DERIVED = 1500
"""Characters of a program that is derived."""


# --- texts ----------------------------------------------------------------------------------------


def malformed_text(r: random.Random) -> str:
    if r.random() < 0.7:
        text = r.choice(PROGRAMS)
    else:
        options = dict.fromkeys(("kinks", "pads", "reductions", "value_conditions"), True)
        text = random_program(r, depth=2, definitions=1, **options).source
    damage = _damaged_characters if r.random() < 0.5 else _damaged_words
    return damage(r, text)


def _damaged_characters(r: random.Random, text: str) -> str:
    for _ in range(r.choice([1, 1, 1, 2, 3, 5])):
        start = r.randrange(len(text) + 1)
        end = start + r.choice([0, 0, 1, 1, 2, 5, 20])
        other = r.choice(PROGRAMS)
        cut = r.randrange(len(other))
        new = [r.choice(CHARACTERS), r.choice(WORDS), "", other[cut : cut + r.choice([1, 9, 30])]]
        text = text[:start] + r.choices(new, [6, 8, 3, 3])[0] + text[end:]
    return text


def _damaged_words(r: random.Random, text: str) -> str:
    """Words and signs are deleted, doubled, swapped, or replaced by others of the text."""
    tokens: list[str] = TOKEN.findall(text)
    for _ in range(r.choice([1, 1, 1, 2, 2, 4])):
        words = [n for n, t in enumerate(tokens) if not t.isspace()]
        if not words:
            break
        n, m = r.choice(words), r.choice(words)
        match r.randrange(6):
            case 0:
                tokens[n] = ""
            case 1:
                tokens[n] *= 2
            case 2:
                tokens[n], tokens[m] = tokens[m], tokens[n]
            case 3:
                tokens[n] = r.choice(WORDS)
            case 4:
                tokens[n] = tokens[m]
            case _:
                tokens[n] = _another(r, tokens[n])
    return "".join(tokens)


def _another(r: random.Random, token: str) -> str:
    """A word of the same kind: another number, a name misspelt, another operator or bracket."""
    if token.isdigit():
        return r.choice(["0", str(int(token[:9]) + 1), "1", "-1", "1000000", "2.5", "2**70"])
    if token.isidentifier():
        return r.choice([token + "x", token[:-1] or "z", token.upper(), "i", "x", "N"])
    return r.choice(["+", "-", "*", "/", "//", "%", "**", "(", ")", "[", "]", ",", "<", "==", ":"])


# --- what a text may do ---------------------------------------------------------------------------


def try_text(text: str, seed: int) -> None:
    """Compile the text; what is a program is printed, and sometimes derived and called."""
    try:
        module = parse(text)
    except TadcError as error:
        _assert_located(error, text)
        return
    module.verify()
    function = tadc.Function(Program(module, text), "interpret")
    try:
        printed = str(function)
    except TadcError as error:
        _assert_located(error, text)
        return
    assert str(tadc.compile(printed)) == printed
    r = random.Random(seed)
    if r.random() < 0.5:
        _try_call(function, _arrays(function, r), text)
    if r.random() < 0.15 and len(text) < LARGEST_DERIVED:
        _try_derivative(function, r, text)


def _try_derivative(function: tadc.Function, r: random.Random, text: str) -> None:
    try:
        derivative = function.derivative()
    except TadcError:  # nothing to derive with respect to
        return
    printed = str(derivative)
    assert str(tadc.compile(printed)) == printed
    _try_call(derivative, _arrays(derivative, r), text)


def _assert_located(error: TadcError, text: str) -> None:
    lines = len(text.splitlines()) + 1
    assert error.message
    assert error.file == "<program>"
    assert error.line is not None and 1 <= error.line <= lines
    assert error.column is not None and error.column >= 1
    assert str(error).startswith(f"<program>:{error.line}:{error.column}: {error.message}")


def _arrays(function: tadc.Function, r: random.Random) -> list[np.ndarray]:
    """Random arrays of the ranks that the function takes; sizes of the same name mostly agree."""
    sizes: dict[str, int] = {}
    values = np.random.default_rng(r.getrandbits(32))

    def size(declared: int | str) -> int:
        if isinstance(declared, int):
            return declared if declared <= 50 and r.random() < 0.9 else r.randint(0, 4)
        if r.random() < 0.05:
            return r.randint(0, 6)
        return sizes.setdefault(declared, r.choice([0, 1, 2, 3, 4, 5, 6, 7]))

    arrays: list[np.ndarray] = []
    for t in function.args:
        shape = [size(s) for s in t.shape]
        while np.prod(shape, dtype=object) > 2000:
            shape = [min(n, 3) for n in shape]
        dtype = np.float32 if (t.dtype == "f32") != (r.random() < 0.03) else np.float64
        arrays.append(np.asarray(values.uniform(-1, 1, shape), dtype))
    return arrays


def _try_call(function: tadc.Function, arguments: Sequence[Any], text: str) -> None:
    """Call, where that is not much work: numbers, or an error about an argument."""
    if not _is_small(function, arguments):
        return
    try:
        with np.errstate(all="ignore"):
            results = function.call(arguments, {})
    except TadcError as error:
        _assert_explained(error, function, text)
    else:
        assert len(results) == len(function.results)


def _is_small(function: tadc.Function, arguments: Sequence[Any]) -> bool:
    shapes = {t.name: np.shape(a) for t, a in zip(function.args, arguments, strict=False)}
    try:
        return (
            function.program.summary.total_work(bind_sizes(function.program.op, shapes))
            < LARGEST_WORK
        )
    except (SizeMismatch, SizeUnknown):
        return True  # the call has to say so


def _assert_explained(error: TadcError, function: tadc.Function, text: str) -> None:
    """An error of a call: about an argument that exists, it has a place in the text."""
    assert error.message
    if error.argument in {t.name for t in function.args} and str(function.program.op.location):
        assert error.line is not None or isinstance(error, ArgumentError), error


# --- calls ----------------------------------------------------------------------------------------


class _Broken:
    """Offers an array and then gives none."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array today")


class _Odd:
    """Numbers of an unusual kind."""

    def __float__(self) -> float:
        return 1.5


ODD_VALUES: tuple[Callable[[np.ndarray], Any], ...] = (
    lambda a: None,
    lambda a: "x",
    lambda a: a.tolist(),
    lambda a: a.astype(np.complex128),
    lambda a: a.astype(object),
    lambda a: a.astype(np.int64),
    lambda a: a.astype(np.float16),
    lambda a: a.astype(bool),
    lambda a: a.astype(a.dtype.newbyteorder()),
    lambda a: a[None],
    lambda a: a.reshape(-1),
    lambda a: a[..., None],
    lambda a: a.ravel()[:1].reshape([1] * a.ndim) if a.size else a,
    lambda a: np.resize(a, [n + 1 for n in a.shape]),
    lambda a: np.resize(a, [max(n - 1, 0) for n in a.shape]),
    lambda a: a[:0] if a.ndim else a,
    lambda a: 10**400,
    lambda a: float("nan"),
    lambda a: np.float64(0.5),
    lambda a: True,
    lambda a: 2,
    lambda a: 1j,
    lambda a: {},
    lambda a: [[1.0], [2.0, 3.0]],
    lambda a: np.array("x"),
    lambda a: np.zeros(a.shape, [("f", float)]),
    lambda a: memoryview(np.ascontiguousarray(a)),
    lambda a: _Broken(),
    lambda a: _Odd(),
    lambda a: object,
)
SAME_VALUES: tuple[Callable[[np.ndarray], Any], ...] = (
    lambda a: a,
    lambda a: np.asfortranarray(a) if a.ndim else a,
    lambda a: np.repeat(a, 2, axis=0)[::2] if a.ndim else a,
    lambda a: a[::-1].copy()[::-1] if a.ndim else a,
    lambda a: _unaligned(a),
    lambda a: _read_only(a),
    lambda a: np.broadcast_to(a, a.shape),
)
"""Other forms of the same array."""


def _unaligned(a: np.ndarray) -> np.ndarray:
    raw = np.zeros(a.nbytes + 1, np.uint8)
    view = raw[1:].view(a.dtype).reshape(a.shape) if a.size else a
    if a.size:
        view[...] = a
    return view


def _read_only(a: np.ndarray) -> np.ndarray:
    copy = a.copy()
    copy.flags.writeable = False
    return copy


def try_call(seed: int) -> str:
    """Call a valid program with odd arguments; its text."""
    r = random.Random(seed)
    program = random_program(r, depth=1, definitions=1, pads=True)
    function = tadc.compile(program.source, "cpu" if seed % 200 == 0 else "interpret")
    plain = [program.arguments[t.name] for t in function.args]
    arguments: list[Any] = [r.choice(SAME_VALUES)(a) for a in plain]
    names: dict[str, Any] = {}
    odd = r.random() < 0.8
    if odd:
        match r.randrange(5):
            case 0:
                arguments.append(1.0)
            case 1:
                names[r.choice(["x", "y", "xx", "α", "self", "target"])] = 1.0
            case 2:
                arguments.pop()
            case _:
                n = r.randrange(len(arguments))
                arguments[n] = r.choice(ODD_VALUES)(plain[n])
    try:
        with np.errstate(all="ignore"):
            results = function.call(arguments, names)
    except TadcError as error:
        assert odd, f"refused another form of an array: {error}"
        assert error.message
        assert error.argument is None or error.argument in str(error)
        return program.source
    if not odd:
        for a, b in zip(results, function.call(plain, {}), strict=True):
            assert np.array_equal(a, b), "another form of an array gives other numbers"
    return program.source


# --- runs -----------------------------------------------------------------------------------------


class Malformed:
    """Tries inputs seed by seed; `check` gives the failures that it has seen."""

    kind = "malformed"

    def check(self, seed: int) -> list[Failure]:
        r = random.Random(seed)
        if seed % 10 == 0:
            failure = _failure_of_call(seed)
        else:
            failure = _failure_of_text(malformed_text(r), seed)
        return [failure] if failure else []

    def flush(self) -> list[Failure]:
        return []


def _failure_of_text(text: str, seed: int) -> Failure | None:
    try:
        try_text(text, seed)
    except Exception as error:
        return Failure("malformed", seed, signature(error), text, {"call": False}, report(error))
    return None


def _failure_of_call(seed: int) -> Failure | None:
    try:
        try_call(seed)
    except Exception as error:
        facts = {"call": True}
        return Failure("malformed", seed, f"call: {signature(error)}", "", facts, report(error))
    return None


def again(failure: Failure) -> Failure | None:
    """The failure of the same input; None where it is none."""
    if failure.facts["call"]:
        return _failure_of_call(failure.seed)
    return _failure_of_text(failure.text, failure.seed)
