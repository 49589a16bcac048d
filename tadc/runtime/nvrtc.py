"""Compile CUDA C with NVRTC, through ctypes alone.

Neither a GPU nor a driver nor a toolkit is needed: `pip install nvidia-cuda-nvrtc` brings the
library. It is looked for, in this order,

1. where `$TADC_NVRTC` says (the path of a `libnvrtc.so.*`),
2. in the wheel, beside the other packages of this interpreter,
3. where the loader looks (`$LD_LIBRARY_PATH`, the system),
4. in `lib64` of `$CUDA_HOME`, `$CUDA_PATH` and `/usr/local/cuda`.

For an `sm_` architecture the result is a cubin, which any driver of the same CUDA generation runs;
for a `compute_` one it is PTX, which a driver older than the NVRTC that wrote it refuses.
"""

from __future__ import annotations

import contextlib
import ctypes as ct
import importlib.util
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tadc.errors import TargetError
from tadc.once import once

LIBRARIES = "libnvrtc.so.1[0-9]"
Program = ct.c_void_p
Size = ct.POINTER(ct.c_size_t)
Strings = ct.POINTER(ct.c_char_p)
SIGNATURES: dict[str, list[object]] = {
    "nvrtcVersion": [ct.POINTER(ct.c_int), ct.POINTER(ct.c_int)],
    "nvrtcCreateProgram": [
        ct.POINTER(Program),
        ct.c_char_p,
        ct.c_char_p,
        ct.c_int,
        Strings,
        Strings,
    ],
    "nvrtcCompileProgram": [Program, ct.c_int, Strings],
    "nvrtcDestroyProgram": [ct.POINTER(Program)],
    "nvrtcGetErrorString": [ct.c_int],
    "nvrtcGetPTXSize": [Program, Size],
    "nvrtcGetPTX": [Program, ct.c_char_p],
    "nvrtcGetCUBINSize": [Program, Size],
    "nvrtcGetCUBIN": [Program, ct.c_char_p],
    "nvrtcGetProgramLogSize": [Program, Size],
    "nvrtcGetProgramLog": [Program, ct.c_char_p],
}


class NvrtcError(TargetError):
    """NVRTC is not there, or refused a source; `log` is what it had to say."""

    def __init__(self, message: str, log: str = "", hint: str | None = None):
        super().__init__(f"{message}\n{log}".rstrip(), hint=hint)
        self.log = log


@dataclass(frozen=True)
class Compiled:
    """A cubin or PTX, and the warnings and statistics that were asked for by the options."""

    data: bytes
    log: str


def wheel_folders() -> Iterator[Path]:
    """The folders in which wheels keep NVRTC: of CUDA 13, then of CUDA 12."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(root, "cu13", "lib")
        yield Path(root, "cuda_nvrtc", "lib")


def candidates() -> Iterator[str]:
    """The paths and names to try, the best first."""
    if chosen := os.environ.get("TADC_NVRTC"):
        yield chosen
    for folder in wheel_folders():
        yield from map(str, sorted(folder.glob(LIBRARIES), reverse=True))
    yield from ("libnvrtc.so.13", "libnvrtc.so.12")
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            yield from map(str, sorted(Path(home, "lib64").glob(LIBRARIES), reverse=True))


def load(name: str) -> ct.CDLL:
    """Load one library.

    NVRTC 13.0 does not say where its built-in headers lie and finds them only if they are loaded.
    """
    if os.path.isabs(name):
        for builtins in Path(name).parent.glob("libnvrtc-builtins.so.*"):
            with contextlib.suppress(OSError):
                ct.CDLL(str(builtins))
    library = ct.CDLL(name)
    for function, arguments in SIGNATURES.items():
        getattr(library, function).argtypes = arguments
    library.nvrtcGetErrorString.restype = ct.c_char_p
    return library


@once
def library() -> ct.CDLL:
    """The first NVRTC that loads."""
    tried: list[str] = []
    for name in candidates():
        try:
            return load(name)
        except (OSError, AttributeError) as error:
            tried.append(f"  {name}: {error}")
    hint = "pip install nvidia-cuda-nvrtc brings it; no GPU, driver or toolkit is needed"
    raise NvrtcError("NVRTC was not found", "\n".join(tried), hint)


def check(code: int, what: str, log: str = "") -> None:
    """Raise what the library reports."""
    if code:
        reason: bytes = library().nvrtcGetErrorString(code)
        raise NvrtcError(f"{what}: {reason.decode()}", log)


def version() -> tuple[int, int]:
    """The CUDA version of the library, as (13, 5)."""
    major, minor = ct.c_int(), ct.c_int()
    check(library().nvrtcVersion(ct.byref(major), ct.byref(minor)), "nvrtcVersion")
    return major.value, minor.value


def fetch(program: ct.c_void_p, kind: str) -> bytes:
    """One of the texts that a program has: PTX, CUBIN or ProgramLog."""
    nvrtc, size = library(), ct.c_size_t()
    check(getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ct.byref(size)), kind)
    buffer = ct.create_string_buffer(size.value)
    check(getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer), kind)
    return buffer.raw


def compile(
    source: str, arch: str = "sm_90", options: Sequence[str] = (), name: str = "kernel.cu"
) -> Compiled:
    """Compile CUDA C; `name` is what messages call the source."""
    nvrtc, program = library(), ct.c_void_p()
    created = nvrtc.nvrtcCreateProgram(
        ct.byref(program), source.encode(), name.encode(), 0, None, None
    )
    check(created, "nvrtcCreateProgram")
    try:
        words = [f"-arch={arch}".encode(), *(option.encode() for option in options)]
        code = nvrtc.nvrtcCompileProgram(program, len(words), (ct.c_char_p * len(words))(*words))
        log = fetch(program, "ProgramLog").rstrip(b"\0").decode()
        check(code, f"{name} does not compile for {arch}", log)
        binary = arch.startswith("sm_")
        data = fetch(program, "CUBIN") if binary else fetch(program, "PTX").rstrip(b"\0")
        return Compiled(data, log)
    finally:
        nvrtc.nvrtcDestroyProgram(ct.byref(program))
