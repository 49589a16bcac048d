"""The modules that this process compiles, as texts."""

from __future__ import annotations

from typing import Any

import pytest

from tadc.runtime import compilation, recent_objects
from tadc.runtime.plan_runner import plan_runner
from tadc.support.recent import Recent


def compiled_texts(patch: pytest.MonkeyPatch) -> list[str]:
    """The LLVM IR of every module that this process compiles from now on, also of those that it has
    compiled before."""
    plan_runner()  # what runs plans is compiled with the first of them
    patch.setattr(recent_objects, "recent", Recent(recent_objects.MOST_OBJECTS))
    texts: list[str] = []
    object_of = compilation.object_of

    def recorded(text: str, *options: Any) -> bytes:
        texts.append(text)
        return object_of(text, *options)

    patch.setattr(compilation, "object_of", recorded)
    return texts
