"""Numbers that handlers and their machine code agree about."""

from __future__ import annotations

NEWEST_MINOR_VERSION = 3
"""The latest version 0.x of the interface in which the fields below were checked."""

SILENT_MINOR_VERSION = 1
"""The version 0.x of libraries that do not tell it when they ask: jaxlib up to 0.7 at least."""

DOORS_OF_A_MODULE = 64
"""The doors that are made at a time."""
