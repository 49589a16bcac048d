"""PyTorch and JAX in texts that tests run: what is not installed, and settings that stay."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

IMPORT = re.compile(r"^ *import (torch|jax)\b", re.MULTILINE)


def missing(text: str) -> list[str]:
    """The frameworks that Python code in a text imports, and that are not installed."""
    return sorted(name for name in set(IMPORT.findall(text)) if not find_spec(name))


@contextmanager
def settings_kept() -> Iterator[None]:
    """Whatever a text sets, frameworks compute in the precision afterwards that they begin with.

    Inside, what PyTorch deprecates of its own is no error.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
            yield
    finally:
        if "jax" in sys.modules:
            sys.modules["jax"].config.update("jax_enable_x64", False)
        if "torch" in sys.modules:
            sys.modules["torch"].set_default_dtype(sys.modules["torch"].float32)
