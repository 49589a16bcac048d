"""Packages that only some calls need: imported there, with an error that says what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def installed(module: str, purpose: str) -> Any:
    """A module of another package, for `purpose`; raises `TargetError` where there is none."""
    try:
        return import_module(module)
    except ImportError as error:
        from tadc.errors import TargetError  # processes that compile begin sooner without

        package = module.partition(".")[0]
        raise TargetError(
            f"{purpose} needs the package {package}, which cannot be imported: {error}",
            hint=f"pip install {package}",
        ) from error
