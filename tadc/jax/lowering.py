"""The custom call of XLA that a call of an operation becomes, and the target that it names.

A target is a program for arguments of given shapes: a plan behind a handler. Its name is a hash of
that, no address: so an executable from JAX's persistent cache finds it in another process, where
lowering has registered it before XLA looks for the executable.

Nothing is ever taken back from XLA, so targets live as long as the process: one for each program,
shapes and precision that was lowered.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

from tadc.errors import TargetError, UnsupportedError
from tadc.jax.call import Call, Shape
from tadc.jax.handler import doors
from tadc.jax.package import ffi
from tadc.once import Lock
from tadc.runtime.team import team
from tadc.support.disk_store import digest


def lower(context: Any, *operands: Any, call: Call) -> Sequence[Any]:
    """The results of a custom call.

    Raises `UnsupportedError` for `jax.export`, whose programs run where machine code is not.
    """
    if context.module_context.lowering_parameters.for_export:
        raise UnsupportedError(
            "jax.export cannot store an operation of tadc, which is machine code of this process",
            hint="jax.jit and its persistent compilation cache work in every process",
        )
    name = target(call, tuple(tuple(a.shape) for a in call.arguments(context.avals_in)))
    return ffi.ffi_lowering(name)(context, *operands)


def refuse(context: Any, *operands: Any, **params: Any) -> Any:
    """The lowering for other platforms: raises `TargetError`."""
    platforms = ", ".join(context.module_context.platforms)
    raise TargetError(
        f"operations of tadc run on the CPU, not on {platforms}",
        hint="jax.default_device(jax.devices('cpu')[0]) runs what is inside on the CPU",
    )


_targets: set[str] = set()
_lock = Lock()


def target(call: Call, shapes: Sequence[Shape]) -> str:
    """The name of the target of a call with arguments of these shapes, registered with XLA."""
    name = "tadc_" + digest(call.operation.key, repr((shapes, call.precision, call.unread)))[:32]
    with _lock:
        if name not in _targets:
            _register(name, call, shapes)
            _targets.add(name)
    return name


def _register(name: str, call: Call, shapes: Sequence[Shape]) -> None:
    plan = call.operation.plan(shapes, call.precision)
    numbers = itertools.count(1)
    arguments = [next(numbers) if shape is None else 0 for shape in call.unread]
    results = [-n for n in range(1, 1 + len(plan.results))]
    handler = ctypes.c_void_p(doors.handler(plan, [*arguments, *results]))
    team.address()  # its threads begin before a call wants them
    try:
        ffi.register_ffi_target(name, ffi.pycapsule(handler), platform="cpu")
    except Exception as error:
        raise TargetError(f"this version of jaxlib takes no handler of tadc: {error}") from error
