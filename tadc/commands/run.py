"""`tadc run`: run a program, or it and its derivatives, on arrays from files."""

from __future__ import annotations

import ast
import zipfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, cast

import numpy as np

from tadc.commands.programs import load
from tadc.commands.streams import say
from tadc.errors import ArgumentError, FileError
from tadc.function import Function, Tensor
from tadc.runtime.arguments import DTYPES, Array
from tadc.runtime.memory import memory_of, pullback_memory_of
from tadc.runtime.runner import Runner

Named = dict[str, Any]


def run(options: Namespace) -> int:
    """The command; its exit code."""
    function = load(options.file, options.target)
    if options.wrt and not options.vjp:
        raise ArgumentError("--wrt chooses gradients", hint="--vjp computes them")
    both = function.with_pullback(*options.wrt) if options.vjp else None
    value = both.value if both else function.runner
    adjoints = both.adjoints if both else ()
    given = _read_all(options.arg, (*function.args, *adjoints))
    arguments = _arguments(given, function, adjoints)
    start = perf_counter()
    computed = value.call((), arguments)
    if options.stats:
        _say_times(value, arguments, perf_counter() - start)
        _say_lines(
            pullback_memory_of(both, (), arguments) if both else memory_of(value, (), arguments)
        )
    results = computed[: len(function.results)]
    named = {t.name: np.asarray(v) for t, v in zip(function.results, results, strict=True)}
    if both:
        saved = dict(zip(both.saved, both.saved_of(computed), strict=True))
        seeds = _seeds(adjoints, given, results)
        gradients = both.gradients.call((), {**arguments, **saved, **seeds})
        labels = (t.name for t in both.gradients.program.results)
        named |= {n: np.asarray(v) for n, v in zip(labels, gradients, strict=True)}
    if options.out:
        write_npz(options.out, named)
    else:
        _print_all(named)
    return 0


def _arguments(given: Named, function: Function, adjoints: Sequence[Tensor]) -> Named:
    """The arguments of the program itself, from all that are given: those that are no adjoints."""
    if adjoints:
        names = [t.name for t in adjoints]
        return {name: value for name, value in given.items() if name not in names}
    names = [t.name for t in function.args]
    for t in function.results:
        adjoint = f"d{t.name}"
        if adjoint in given and adjoint not in names:
            message = f"{adjoint} is the adjoint of {t.name}, not an argument of the program"
            raise ArgumentError(message, hint="--vjp computes gradients with it", argument=adjoint)
    return given


def _seeds(adjoints: Sequence[Tensor], given: Named, results: Sequence[Array]) -> Named:
    """The adjoints that are given, and ones for the others."""
    missing = [t.name for t in adjoints if t.name not in given]
    if missing:
        say(f"tadc: {', '.join(missing)}: ones, since no --arg gives other values")
    pairs = zip(adjoints, results, strict=True)
    return {t.name: given.get(t.name, np.ones_like(v)) for t, v in pairs}


def _say_times(runner: Runner, arguments: Named, first: float) -> None:
    start = perf_counter()
    runner.call((), arguments)
    again = perf_counter() - start
    say(f"tadc: first run, with compiling: {first * 1e3:.3g} ms; second run: {again * 1e3:.3g} ms")


def _say_lines(text: object) -> None:
    for line in str(text).splitlines():
        say(f"tadc: {line}")


# --- reading --------------------------------------------------------------------------------------


def _read_all(pairs: Sequence[tuple[str, str]], arguments: Sequence[Tensor]) -> Named:
    dtypes = {t.name: DTYPES.get(t.dtype, DTYPES["f64"]) for t in arguments}
    values: Named = {}
    for name, text in pairs:
        if name in values:
            raise ArgumentError(f"--arg gives {name} twice", argument=name)
        values[name] = read_value(name, text, dtypes.get(name, DTYPES["f64"]))
    return values


def read_value(name: str, text: str, dtype: np.dtype[Any]) -> Array:
    """A number, numbers in brackets, or the array in `x.npy`, `x.npz:key` or `x.npz`.

    Numbers get `dtype`; arrays keep their own. A file `x.npz` without a key must hold `name`.
    """
    if text.endswith(".npy"):
        return _load(text)
    if ".npz" in text:
        path, _, key = text.partition(".npz")
        return _member(f"{path}.npz", key.removeprefix(":") or name)
    try:
        return np.array(ast.literal_eval(text), dtype)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ArgumentError(
            f"--arg {name}={text} is neither a number nor a file",
            hint=f"write {name}=0.5, {name}='[1, 2]', {name}=file.npy or {name}=file.npz:key",
            argument=name,
        ) from None


def _load(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise FileError(f"cannot read it: {error.strerror or error}", file=path) from None
    except (ValueError, EOFError, zipfile.BadZipFile):
        hint = "numpy.save and numpy.savez write such files"
        raise FileError("no array of numbers in NumPy's format", hint=hint, file=path) from None


def _member(path: str, key: str) -> Array:
    archive: Any = _load(path)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise FileError("not an archive of NumPy (.npz)", file=path)
    with archive:
        if key not in archive.files:
            hint = f"it holds {', '.join(archive.files) or 'nothing'}"
            raise FileError(f"there is no array {key} in it", hint=hint, file=path)
        try:
            return cast(Array, archive[key])
        except (ValueError, EOFError, zipfile.BadZipFile):
            raise FileError(f"{key} is no array of numbers", file=path) from None


# --- writing --------------------------------------------------------------------------------------


def write_npz(path: str, arrays: Mapping[str, Array]) -> None:
    """Write arrays as `numpy.savez` does, under any names and exactly to `path`."""
    try:
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
    except OSError as error:
        raise FileError(f"cannot write it: {error.strerror}", file=path) from None


def _print_all(arrays: Mapping[str, Array]) -> None:
    for name, array in arrays.items():
        head = f"{name}: {array.dtype} {array.shape}"
        if array.ndim:
            print(head, np.array2string(array, max_line_width=100), sep="\n")
        else:
            print(f"{head} = {array[()]}")
