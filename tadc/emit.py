"""The texts that a function has: the language, and the code of its targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tadc.errors import TargetError

if TYPE_CHECKING:
    from tadc.function import Function


def _llvm(f: Function) -> str:
    from tadc.targets.llvm import print_llvm

    return print_llvm(f.scheduled(tile=True))


def _cuda(f: Function) -> str:
    from tadc.targets.cuda import print_cuda

    return print_cuda(f.scheduled(tile=False))


def _optimized(f: Function) -> str:
    from tadc.runtime.cpu import CpuModule

    return CpuModule(_llvm(f)).optimized()


def _assembly(f: Function) -> str:
    from tadc.runtime.cpu import CpuModule

    return CpuModule(_llvm(f)).assembly()


def _ptx(f: Function) -> str:
    from tadc.runtime import nvrtc

    try:
        return nvrtc.compile(_cuda(f), arch="compute_90").data.decode()
    except nvrtc.NvrtcError as error:
        raise TargetError(str(error), hint="pip install 'tadc[cuda]' brings NVRTC") from error


EMITTERS: dict[str, Callable[[Function], str]] = {
    "source": str,
    "llvm": _llvm,
    "llvm-optimized": _optimized,
    "assembly": _assembly,
    "cuda": _cuda,
    "ptx": _ptx,
}
