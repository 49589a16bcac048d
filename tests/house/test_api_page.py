"""The reference page docs/api.md holds every public name, and each call as it is.

An entry is what a heading or the row of a table begins with, such as `f.memory(*positional)`. The
names in it are those that the examples of the page define.
"""

from __future__ import annotations

import inspect
import math
import re
from functools import cache
from typing import Any

import pytest

import tadc
from tadc import errors
from tests.house.test_documentation import FENCE, Page, block_of, folder_with_examples
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "api.md"
ENTRY = re.compile(r"^(?:### |\| )`(\w[^`]*)`", re.MULTILINE)
ENTRIES = [e for e in ENTRY.findall(PAGE.read_text(encoding="utf-8")) if "." in e or "(" in e]
OBJECTS = ("f", "j", "memory", "kept", "flow", "verdict", "mode_verdict", "error")
"""Objects of the page whose attributes are public as far as they do not begin with `_`."""

OF_EXCEPTIONS = {"args", "add_note", "with_traceback"}


@cache
def names() -> dict[str, Any]:
    """The names that the examples define."""
    page = Page()
    with folder_with_examples():
        for match in FENCE.finditer(PAGE.read_text(encoding="utf-8")):
            page.run(block_of(match))
    return page.names


def called(entry: str) -> str:
    """`f.memory` of `f.memory(*positional)`."""
    return entry.partition("(")[0]


def shape_of(signature: str) -> list[tuple[str, object, object]]:
    """Name, kind and default of each parameter."""
    scope: dict[str, Any] = {"inf": math.inf, "tadc": tadc}
    exec(f"def function{signature}: ...", scope)
    return shown(inspect.signature(scope["function"]))


def shown(signature: inspect.Signature) -> list[tuple[str, object, object]]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_is_as_it_says(entry: str):
    value = eval(called(entry), names())
    if "(" in entry:
        signature = entry[len(called(entry)) :]
        assert shown(inspect.signature(value)) == shape_of(signature)


def public_names() -> list[str]:
    kinds = {name for name in vars(errors) if name.endswith(("Error", "Warning"))}
    return [
        *(f"tadc.{name}" for name in tadc.__all__ if name not in ("ode", "verify", "view")),
        *(f"tadc.ode.{name}" for name in tadc.ode.__all__),
        *(f"tadc.verify.{name}" for name in tadc.verify.__all__),
        *(f"tadc.view.{name}" for name in tadc.view.__all__),
        *(f"tadc.errors.{name}" for name in sorted(kinds - set(tadc.__all__))),
    ]


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_an_entry(name: str):
    assert name in map(called, ENTRIES)


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_attribute_has_an_entry(name: str):
    value = eval(name, names())
    attributes = {a for a in dir(value) if not a.startswith("_")}
    if isinstance(value, Exception):
        attributes -= OF_EXCEPTIONS
    entries = {called(e) for e in ENTRIES}
    assert not {a for a in attributes if f"{name}.{a}" not in entries}
