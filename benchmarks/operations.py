"""Operations and bytes of the workloads, as the hand-written C has them.

An operation is an arithmetic instruction on one element of a vector: a product with a sum is one,
an exponential is eleven. Moving elements inside a register, loads, stores and indices are none.
Bytes are those of the arguments, the value, its adjoint and the gradients, each once for the value,
and once for the gradients: what a program keeps or reads again in between comes on top.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.workloads.workload import Workload

EXP = 11

_PAIRS_2, _PAIRS_13 = 4096**2, 2048**2
_STRIDED, _PLANE = 8 * 32 * 512 * 32 * 5, 4 * 32 * 56**2 * 32 * 9
_STENCIL, _SUMS = 4094**2, 32 * 64 * 56**2
_DISTANCES = 1024 * 1024 * 64
_UP, _ROWS = 515 * 1024, 1024 * 1024
_DEPTHWISE, _GROUPED = 8 * 64 * 9, 4 * 64 * 56**2 * 72
_SCORES, _KHATRI_RAO, _CORRELATION = 4 * 384**2 * 64, 128 * 96 * 128 * 32, 32 * 128 * 256 * 32
_NORM = 2048 * 768
_TRANSPOSED, _VOLUME = 4 * 32 * 28**2 * 32 * 16, 16 * 16 * 24**3 * 27
_FIRST, _SECOND, _THIRD = 132 * 132 * 128, 132 * 128 * 128, 128**3

OPERATIONS: Mapping[str, tuple[float, float]] = {
    "W1": (512 * 512 * (2 * 64 + 1 + EXP), 512 * 512 * (2 * 64 + 5)),
    "W2": (_PAIRS_2 * (7 + EXP), _PAIRS_2 * (17 + EXP)),
    "W3": (_STRIDED, 2 * _STRIDED),
    "W3b": (_PLANE, 2 * _PLANE),
    "W4": (1024**3, 2 * 1024**3),
    "W4b": (256 * 64**3, 2 * 256 * 64**3),
    "W5": (5 * _STENCIL, 5 * _STENCIL),
    "W5b": (_STENCIL * (10 + 2 * EXP), _STENCIL * (16 + 2 * EXP)),
    "W6": (4096**2, 2 * 4096**2),
    "W6b": (2**22 * EXP, 2**22),
    "W7": (_SUMS, 0),
    "W7b": (4096**2 * (EXP + 1), 4096**2 * (EXP + 2)),
    "W8": (3 * _DISTANCES, 6 * _DISTANCES),
    "W9": (65536 * 64, 2 * 65536 * 64),
    "W9b": (4096 * 4096, 2 * 4096 * 4096),
    "W10": (2048**2 * 8.25, 2054**2 * 8.25),
    "W11": (4 * (_UP + _ROWS), 4 * _UP + 16 * _UP + 16 * 515 * 512),
    "W12": (6 * 160**3, 6 * 162**3),
    "W12b": (5 * (_FIRST + _SECOND + _THIRD), 25 * _FIRST + 15 * _SECOND),
    "W13": (18 * _PAIRS_13, 34 * _PAIRS_13),
    "W14": (_DEPTHWISE * 56**2, _DEPTHWISE * (56**2 + 58**2)),
    "W14b": (_GROUPED, 2 * _GROUPED),
    "W15": (2 * _SCORES, 4 * _SCORES),
    "W16": (_KHATRI_RAO, 2 * _KHATRI_RAO),
    "W17": (_CORRELATION, 2 * _CORRELATION),
    "W18": (6 * _NORM, 11 * _NORM),
    "W19": (_TRANSPOSED, 2 * _TRANSPOSED),
    "W19b": (_VOLUME, 2 * _VOLUME),
}
"""By workload: of the value, and of the gradients."""

UNREAD: Mapping[str, str] = {"W1": "c", "W5": "x", "W7": "x", "W10": "x", "W12": "x"}
"""Arguments that the gradients do not read, or only a diagonal of them."""


def moved(workload: Workload) -> tuple[int, int]:
    """The bytes that have to be read and written: for the value, and for the gradients."""
    arrays = workload.inputs(np.random.default_rng(0))
    arguments = {name: a.nbytes for name, a in arrays.items()}
    value = workload.value(*arrays.values()).nbytes
    every = sum(arguments.values())
    return every + value, value + every + every - arguments.get(UNREAD.get(workload.name, ""), 0)
