"""tadc: element-wise tensor functions and their exact derivatives.

The way of a program through the compiler, stage by stage:

- `tadc.language` reads text of the language and writes it back; it infers ranges, and every error
  it raises points into the text (`tadc.errors`).
- `dialects.tix` is what it makes: tensors defined element by element over index sets.
- `passes` derive and simplify such programs: `passes.pipeline` holds the order and the reasons,
  `passes.polyhedral` the exact mathematics of index equations and bounds.
- `dialects.loops` with `scf`, `arith`, `math` and `memref` is what `passes.schedule` makes.
- `tadc.targets` print LLVM IR and CUDA C; `tadc.runtime` turns them into numbers.
- `tadc.inverse` runs the programs of an inverse mode, and solves the linear systems between them.
- `tadc.ode` follows differential equations, with the derivatives of their solutions.
- `tadc.interpreter` gives every level a meaning of its own, which the tests compare with.

`tadc.function` is the object that users hold, `tadc.commands.cli` the command, `tadc.commands.opt`
the xDSL driver.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadc import ode, verify
    from tadc.api import (
        compile,
        compile_file,
        define_function,
        grad,
        inverse_jvp,
        inverse_vjp,
        jvp,
        log_abs_det,
        vjp,
    )
    from tadc.errors import IllConditionedWarning, SingularError, TadcError
    from tadc.function import Function

__all__ = [
    "Function",
    "IllConditionedWarning",
    "SingularError",
    "TadcError",
    "compile",
    "compile_file",
    "define_function",
    "grad",
    "inverse_jvp",
    "inverse_vjp",
    "jvp",
    "log_abs_det",
    "ode",
    "verify",
    "vjp",
]

_PACKAGES = ("ode", "verify")
_MODULES = {
    "Function": "tadc.function",
    "IllConditionedWarning": "tadc.errors",
    "SingularError": "tadc.errors",
    "TadcError": "tadc.errors",
}
"""Where a name comes from that is not from `tadc.api`."""


def __getattr__(name: str) -> Any:
    """A public name or a module, imported when first asked for: `tadc --help` needs no compiler."""
    if name in __all__ and name not in _PACKAGES:
        return _public(name)
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _public(name: str) -> Any:
    value = globals()[name] = getattr(import_module(_MODULES.get(name, "tadc.api")), name)
    return value


def __dir__() -> list[str]:
    return __all__
