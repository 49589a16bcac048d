"""Run CUDA kernels on a GPU through PyCUDA, which is imported when the first one is to run.

    module = CudaModule(print_cuda(scheduled))
    module.kernel("y")(thread_count, y, x, 1000)

Arguments are what `tadc.targets.cuda` says: the buffers, the written one first, then the sizes. A
buffer is either any object with `__cuda_array_interface__` (torch, CuPy, PyCUDA, `empty` below),
which is used in place, or a numpy array, which is copied to the device and, if it is the written
one, back. Everything happens in the primary context, the one that torch, CuPy and JAX use too.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tadc.errors import TargetError
from tadc.once import once
from tadc.runtime import nvrtc

THREADS = 256  # threads of a block, as in `tadc.targets.cuda`
Array = npt.NDArray[Any]


@runtime_checkable
class OnDevice(Protocol):
    """An array in the memory of a GPU."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


Argument = Array | OnDevice | int


class CudaUnavailable(TargetError):
    """There is no GPU to run on, or no way to it; the message says what to do."""


@once
def driver() -> Any:
    """PyCUDA's `pycuda.driver`, initialised."""
    try:
        drv = importlib.import_module("pycuda.driver")
    except ModuleNotFoundError as error:
        raise CudaUnavailable(
            "running on a GPU needs PyCUDA: pip install 'tadc[cuda]' (it is built from source, "
            "which needs a C++ compiler and the CUDA toolkit)"
        ) from error
    except ImportError as error:
        raise CudaUnavailable(
            f"PyCUDA is installed but cannot be loaded: {error}; libcuda.so.1 comes with the "
            "NVIDIA driver"
        ) from error
    try:
        drv.init()
        count = drv.Device.count()
    except drv.Error as error:
        raise CudaUnavailable(f"the NVIDIA driver found no usable GPU: {error}") from error
    if count == 0:
        raise CudaUnavailable("the NVIDIA driver found no GPU")
    return drv


@once
def primary_context(device: int) -> Any:
    """The context that all libraries of the process share; it is kept until the end."""
    return driver().Device(device).retain_primary_context()


@contextmanager
def current(device: int) -> Generator[None]:
    """Make the primary context that of this thread for a while."""
    context = primary_context(device)
    context.push()
    try:
        yield
    finally:
        context.pop()


class DeviceArray:
    """A dense array on the device that frees its memory with itself."""

    def __init__(self, shape: Sequence[int], dtype: npt.DTypeLike, device: int = 0):
        self.shape, self.dtype, self.device = tuple(shape), np.dtype(dtype), device
        with current(device):
            self.memory = driver().mem_alloc(max(1, self.nbytes))

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (int(self.memory), False),
            "strides": None,
            "version": 3,
        }

    def set(self, array: Array) -> None:
        """Copy from a numpy array of the same shape and type."""
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError(f"{array.dtype}{array.shape} into {self.dtype}{self.shape}")
        if self.nbytes:
            with current(self.device):
                driver().memcpy_htod(self.memory, np.ascontiguousarray(array))

    def get(self) -> Array:
        """A copy as a numpy array."""
        array = np.empty(self.shape, self.dtype)
        if self.nbytes:
            with current(self.device):
                driver().memcpy_dtoh(array, self.memory)
        return array


def empty(shape: Sequence[int], dtype: npt.DTypeLike, device: int = 0) -> DeviceArray:
    """An array on the device for a kernel to write."""
    return DeviceArray(shape, dtype, device)


def to_device(array: Array, device: int = 0) -> DeviceArray:
    """A copy of a numpy array on the device."""
    copy = DeviceArray(array.shape, array.dtype, device)
    copy.set(array)
    return copy


def address(array: OnDevice) -> int:
    """The address of the first element of a dense array on the device."""
    interface = array.__cuda_array_interface__
    strides, step = interface.get("strides"), np.dtype(interface["typestr"]).itemsize
    for size, stride in zip(reversed(interface["shape"]), reversed(strides or ()), strict=False):
        if size > 1 and stride != step:
            raise ValueError("a buffer must be dense and row-major")
        step *= size
    return interface["data"][0]


@cache
def packer(format: str) -> struct.Struct:
    """The layout of the parameters of a kernel: C's own."""
    return struct.Struct(format)


class CudaKernel:
    """One kernel: `kernel(threads, *arguments)`."""

    def __init__(self, function: Any, device: int):
        self.function, self.device = function, device

    def __call__(self, threads: int, *arguments: Argument, stream: Any = None) -> None:
        """Launch; with `stream` (PyCUDA's) on that one, else on the default stream.

        The call returns before the kernel is done, unless a numpy array waits for the result.
        """
        if threads < 1:
            return
        with ExitStack() as after:
            places = [self._place(a, i == 0, stream, after) for i, a in enumerate(arguments)]
            self._launch(threads, places, stream)

    def _place(
        self, argument: Argument, written: bool, stream: Any, after: ExitStack
    ) -> OnDevice | int:
        """Bring an argument to the device; what is to follow the launch goes to `after`."""
        if not isinstance(argument, np.ndarray):
            return argument
        copy = to_device(argument, self.device)
        if written:
            after.callback(lambda: np.copyto(argument, copy.get()))
            if stream is not None:
                after.callback(stream.synchronize)
        return copy

    def _launch(self, threads: int, places: Sequence[OnDevice | int], stream: Any) -> None:
        """Pack the parameters as the compiler lays them out and start the blocks."""
        format = "".join("q" if isinstance(place, int) else "P" for place in places)
        values = [place if isinstance(place, int) else address(place) for place in places]
        grid = (-(-threads // THREADS), 1, 1)
        with current(self.device):
            packed = packer(format).pack(*values)
            self.function._launch_kernel(grid, (THREADS, 1, 1), packed, 0, stream)


class CudaModule:
    """The kernels of a CUDA C source, compiled for the device that is there."""

    def __init__(self, source: str, device: int = 0, options: Sequence[str] = ()):
        major, minor = driver().Device(device).compute_capability()
        self.device = device
        self.compiled = nvrtc.compile(source, f"sm_{major}{minor}", options)
        with current(device):
            self.module = driver().module_from_buffer(self.compiled.data)

    def kernel(self, name: str) -> CudaKernel:
        """The kernel of that C name (`tadc.targets.cuda.kernel_names`)."""
        with current(self.device):
            return CudaKernel(self.module.get_function(name), self.device)
