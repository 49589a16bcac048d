"""The modes in which a program is derived, by the words that commands and functions take."""

from __future__ import annotations

INVERSE_MODES = ("inverse-jvp", "inverse-vjp", "log-abs-det")
"""Modes of programs whose results are exactly the arguments that they update."""
MODES = ("reverse", "forward", *INVERSE_MODES)
OTHER_WORDS = {"vjp": "reverse", "jvp": "forward"}
"""Other words for some modes."""
