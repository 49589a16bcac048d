"""Object files of the modules that were compiled last, for programs that have functions in common.

A value alone and the value that a pullback begins with mostly do: the code of such a function is
the same text, which is compiled once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tadc.runtime.compilation import compile_objects
from tadc.runtime.llvm_compiler import machine_key
from tadc.support.disk_store import digest
from tadc.support.recent import Recent

MOST_OBJECTS = 256
"""The number of objects that are kept, of a few kB each."""

recent: Recent[str, bytes] = Recent(MOST_OBJECTS)
"""The objects by what they are made of: texts, the machine, and whether compiled quickly."""


def objects_of(texts: Iterable[str], quick: bool, soon: bool = False) -> list[bytes]:
    """The objects of modules, in order; those that are kept are not compiled again."""
    every: list[str] = []
    new: list[str] = []
    found: dict[str, bytes] = {}
    how = f"{quick} {machine_key()}"

    def unknown() -> Iterator[str]:
        for text in texts:
            every.append(key := digest(text, how))
            if kept := recent.get(key):
                found[key] = kept
            else:
                new.append(key)
                yield text

    made = compile_objects(unknown(), quick, soon)  # which asks for all texts
    for key, data in zip(new, made, strict=True):
        found[key] = data
        recent.put(key, data)
    return [found[key] for key in every]
