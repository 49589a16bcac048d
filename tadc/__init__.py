"""tadc: tensor functions written element by element, and their exact derivatives.

    import numpy as np
    import tadc

    f = tadc.compile("y[i] = sum[k](w[k] * x[i + k])")   # a function of the arrays w and x
    w, x = np.ones(3), np.arange(8.0)
    y = f(w, x)                                          # or by name: f(x=x, w=w)
    y, pullback = tadc.vjp(f, w, x)                      # the value, and a function that makes
    dw, dx = pullback(np.ones_like(y))                   # gradients by w and x from one by y
    print(f.derivative("x"))                             # what that runs, as a program

`tadc.grad` gives the gradient of a program whose result is one number, `tadc.torch.op` and
`tadc.jax.op` make operations for PyTorch and JAX; `help(tadc.compile)` and `help(tadc.Function)`
say more, and docs/tutorial.md begins at the beginning. The rest of this text is for those who read
or change the compiler.

The way of a program from its text to numbers
---------------------------------------------
A user calls what `api` offers: `tadc.api.compile` for a program, `tadc.api.vjp` and others for its
derivatives. The text goes to `language`: `tadc.language.parse` makes it a program of the dialect
`tadc.dialects.tix`, with all ranges inferred, or raises one of the `errors`, which point into the
text. `program` keeps both together, as `tadc.program.Program`: what runs passes over the IR, prints
it back in the language, and finds the place of an error. The passes themselves are `passes`, what
they read and write is `dialects`; their order is `tadc.passes.pipeline` and
`tadc.passes.code_pipeline`. (Both folders lie at the top of the repository, and come in here by
links.)

`function` gives the user a face of all that, `tadc.function.Function`: called (by `runnable`),
derived, printed and looked at. A call goes through `runtime`: arguments become arrays, their shapes
give `sizes`, and a program becomes code for its target, which `targets` print as LLVM IR or CUDA C.
What a call needs to know of a program, its types, sizes and `cost`, is its `summary`. `emit` prints
the same code without running it, and `stages` a derivative on the way to it. `interpreter` is the
slow reference that all tests compare with.

What `tadc.api.vjp` returns is a `pullback`: its program is cut in two, the value and, given what
that saved, the gradients. A `jacobian` is a sparse matrix of derivatives, its pattern known from
index sets. Programs that update their arguments have an `inverse`, run in parts with linear systems
between them. `ode` follows differential equations and derives their solutions. `frameworks` makes
operations of programs for PyTorch and JAX; `torch` and `jax` have them as functions of their
tensors.

What users see beside numbers
-----------------------------
`explain` says where each sum, guard and bound of a derivative comes from, and `view` draws it;
`verify` compares derivatives with differences; `checked_plan` refuses plans of loops that are not
possible; `commands` is the command line, which `__main__` runs.

- `choices` and `modes` are the words that options choose from: they need no compiler
- `once` makes values once, whoever asks first, and `forks` lets no process begin in the middle
- `universe` tells xDSL of the dialects, passes and targets, for `tadc-opt`
- `support` holds what has nothing to do with tensors: garbage, recursion, time, text of the IR
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tadc.forks import let_forks_wait as _let_forks_wait

if TYPE_CHECKING:
    from tadc import ode, verify, view
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
    from tadc.errors import EmptyRangeWarning, IllConditionedWarning, SingularError, TadcError
    from tadc.function import Function
    from tadc.runtime.team import get_num_threads, set_num_threads

__version__ = "0.1.0"
"""The version, which `pyproject.toml` takes from here."""

__all__ = [
    "EmptyRangeWarning",
    "Function",
    "IllConditionedWarning",
    "SingularError",
    "TadcError",
    "__version__",
    "compile",
    "compile_file",
    "define_function",
    "get_num_threads",
    "grad",
    "inverse_jvp",
    "inverse_vjp",
    "jvp",
    "log_abs_det",
    "ode",
    "set_num_threads",
    "verify",
    "view",
    "vjp",
]

_let_forks_wait()

_PACKAGES = ("ode", "verify", "view")
_MODULES = {
    "EmptyRangeWarning": "tadc.errors",
    "Function": "tadc.function",
    "IllConditionedWarning": "tadc.errors",
    "SingularError": "tadc.errors",
    "TadcError": "tadc.errors",
    "get_num_threads": "tadc.runtime.team",
    "set_num_threads": "tadc.runtime.team",
}
"""The module of each name that is not from `tadc.api`."""


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
