"""The memory and the processor of this machine in the place of a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.host_shim import host_shim


class OnHost:
    """An array as `tadc.runtime.cuda` makes them, that counts what is alive."""

    alive = peak = 0

    def __init__(self, shape: tuple[int, ...], dtype: Any):
        self.array = np.full(shape, np.nan, dtype)
        OnHost.alive += self.array.nbytes
        OnHost.peak = max(OnHost.peak, OnHost.alive)

    def __del__(self) -> None:
        OnHost.alive -= self.array.nbytes

    def get(self) -> np.ndarray:
        return self.array.copy()


class HostModule:
    def __init__(self, text: str):
        self.kernels = host_shim.load(text)

    def kernel(self, name: str) -> Any:
        run: Any = self.kernels[name]

        def launch(threads: int, *arguments: Any, stream: Any = None) -> None:
            run(threads, *(a.array if isinstance(a, OnHost) else a for a in arguments))

        return launch


def to_host(array: np.ndarray) -> OnHost:
    copy = OnHost(array.shape, array.dtype)
    copy.array[...] = array
    return copy


def put_host_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs for a GPU run on the host; `OnHost` counts bytes anew."""
    monkeypatch.setattr("tadc.runtime.cuda.empty", OnHost)
    monkeypatch.setattr("tadc.runtime.cuda.to_device", to_host)
    monkeypatch.setattr("tadc.runtime.cuda.CudaModule", HostModule)
    OnHost.alive = OnHost.peak = 0
