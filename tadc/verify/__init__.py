"""Derivatives compared with numbers that are found without them: `tadc.verify.verify(f)`.

- `gradients`: reverse mode against central differences, one verdict for each argument
- `random_arguments`: the arguments on which they are compared
- `modes`: forward mode against differences, and inverse modes against those that they invert
"""

from tadc.verify.gradients import Verdict, verify
from tadc.verify.modes import ModeVerdict, verify_modes

__all__ = ["ModeVerdict", "Verdict", "verify", "verify_modes"]
