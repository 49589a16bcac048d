"""The machine that code is made for: this one, or what the environment variable `TADC_CPU` says.

| `TADC_CPU` | instructions | vectors |
|---|---|---|
| not set, `native` | all that this processor has | the widest that are fast here |
| `baseline` | those that every processor of this kind has | 128 bits |
| `avx2` | x86-64-v3: AVX2 and FMA | 256 bits |
| `avx512` | x86-64-v4: AVX-512 F, BW, CD, DQ and VL | 512 bits |

Code for the same machine has the same bits in its results everywhere; `native` differs between
machines as their instructions do. LLVM knows what this processor is: without it nothing runs, and
texts are those for a level, `baseline` where `TADC_CPU` names none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from tadc.once import once
from tadc.runtime.llvm_library import llvm
from tadc.support.uninterrupted import uninterrupted

LEAST_SPEED_OF_WIDE_VECTORS = 1.5
"""From which 512 bits count as faster than 256: between what one port gives, 1.0, and two, 2.0."""

V3 = ("sse4.2", "popcnt", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
V4 = (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")

TUNING = "+prefer-no-gather,+prefer-no-scatter"
"""Advice to LLVM. Where it may gather, it makes vectors along the outermost of short loops, each of
sixteen loads; where it may not, it finds the vectors that lie in memory."""

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""The caches that the first processor uses, by their level."""

MOST_OF_CACHE = 96 << 20
"""The bytes of a larger cache that are this program's: others have their share of it."""

LEVELS = {
    "baseline": ("x86-64", (), 128),
    "avx2": ("x86-64-v3", V3, 256),
    "avx512": ("x86-64-v4", V4, 512),
}
"""LLVM's name, the features and the bits of a vector of each level of x86-64."""


class Machine(NamedTuple):
    """A processor as a target of LLVM."""

    cpu: str
    """The name that LLVM has for it."""
    features: frozenset[str]
    """The names that LLVM has for what it can do beyond every processor of its kind."""
    flags: str
    """The features in the form of LLVM, as `+avx2,-avx512f`."""
    vector_bits: int
    """The bits of the vectors that code should use."""
    description: str
    shared_cache: int | None = None
    """The bytes of its largest cache that a program may have, if they are known: larger results are
    written past the caches."""

    def has(self, feature: str) -> bool:
        return feature in self.features

    @property
    def registers(self) -> tuple[int, int]:
        """Its vector registers, and how many of them a vector of 64 bytes takes."""
        if self.has("avx512f"):
            return 32, 1
        if self.has("avx"):
            return 16, 2
        return (32 if self.has("neon") else 16), 4


@once
def machine() -> Machine:
    """The machine of this process; what `TADC_CPU` says later changes nothing.

    Raises `TargetError` where that is no level, or one that this processor lacks.
    """
    level = _chosen()
    return uninterrupted(_native) if level == "native" else uninterrupted(_of_level, level)


def has_llvm() -> bool:
    """True if LLVM is there, which knows this processor."""
    from tadc.errors import TargetError  # here: processes that compile begin sooner without

    try:
        llvm()
    except TargetError:
        return False
    return True


def machine_without_llvm() -> Machine:
    """The level that stands for this processor in texts; raises as `machine` does for others."""
    level = _chosen()
    return level_machine("baseline" if level == "native" else level)


def _chosen() -> str:
    """The level that `TADC_CPU` asks for, or `native`; raises `TargetError` for other words."""
    level = os.environ.get("TADC_CPU") or "native"
    if level != "native" and level not in LEVELS:
        from tadc.errors import TargetError  # likewise

        raise TargetError(f"TADC_CPU is {level!r}", hint=f"it can be {_words()}, or not set")
    return level


def _native() -> Machine:
    library = _initialised()
    cpu, found = str(library.get_host_cpu_name()), library.get_host_cpu_features()
    features = frozenset(f for f, there in found.items() if there)
    flags = f"{found.flatten()},{TUNING}"
    bits, reason = 256 if "avx" in features else 128, ""
    if "avx512f" in features:
        # here: processes that compile are told what the machine is, and begin sooner without
        from tadc.runtime.vector_speed import speed_of_512_bits

        speed = speed_of_512_bits(cpu, flags)
        bits = 512 if speed >= LEAST_SPEED_OF_WIDE_VECTORS else 256
        reason = f", as those of 512 are {speed:.2f} times as fast as those of 256"
    about = f"{cpu}, vectors of {bits} bits{reason}"
    return Machine(cpu, features, flags, bits, about, _shared_cache())


def _shared_cache() -> int | None:
    """The bytes of the largest cache that a program may have, where Linux tells them."""
    found = [_bytes(path) for path in CACHES.glob("index*/size")]
    return min(max(found), MOST_OF_CACHE) if found else None


def _bytes(path: Path) -> int:
    """The number in a file of Linux, as `32768K`."""
    text = path.read_text(encoding="ascii").strip()
    return int(text[:-1]) << 10 if text.endswith("K") else int(text)


def _of_level(level: str) -> Machine:
    """The level, which this processor has."""
    library = _initialised()
    features = LEVELS[level][1]
    found: dict[str, bool] = library.get_host_cpu_features()
    missing = [f for f in features if not found.get(f)]
    if missing:
        lacks = ", ".join(missing)
        hint = "without TADC_CPU, code is made for this processor"
        from tadc.errors import TargetError  # likewise

        raise TargetError(f"TADC_CPU is {level}, but this processor lacks {lacks}", hint=hint)
    if not features and not str(library.get_default_triple()).startswith("x86_64"):
        return level_machine(level, cpu="generic")
    return level_machine(level)


def level_machine(level: str, cpu: str | None = None) -> Machine:
    """The machine of a level, by the name that LLVM has for it or by another one."""
    name, features, bits = LEVELS[level]
    cpu = cpu or name
    flags = ",".join([*(f"+{f}" for f in features), TUNING])
    return Machine(cpu, frozenset(features), flags, bits, f"{cpu}, vectors of {bits} bits")


def _words() -> str:
    *words, last = ["native", *LEVELS]
    return f"{', '.join(words)} or {last}"


def _initialised() -> Any:
    """LLVM, which knows what this processor is."""
    found = llvm()
    found.initialize_native_target()
    found.initialize_native_asmprinter()
    return found
