"""NVRTC, and launching through PyCUDA: with a stand-in for it whose device is the CPU."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tadc
from tadc.runtime import cuda, nvrtc
from tadc.targets.cuda import print_cuda
from tests.host_shim.host_shim import Kernel, load, needs_compiler
from tests.host_shim.scheduled import function, has_nvrtc, parse

needs_nvrtc = pytest.mark.skipif(
    not has_nvrtc(), reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc"
)
SCALE = print_cuda(
    parse(
        function(
            "scale",
            "%y: memref<?xf64>, %x: memref<?xf64>, %N: index",
            "%N",
            """%two = arith.constant 2.0 : f64
            %v = memref.load %x[%i] : memref<?xf64>
            %r = arith.mulf %v, %two : f64
            memref.store %r, %y[%i] : memref<?xf64>""",
        )
    )
)


@needs_nvrtc
def test_nvrtc_gives_a_cubin_or_ptx():
    assert nvrtc.compile(SCALE).data.startswith(b"\x7fELF")
    assert b".visible .entry scale(" in nvrtc.compile(SCALE, "compute_90").data
    assert nvrtc.compile(SCALE).log == ""


@needs_nvrtc
def test_nvrtc_says_where_an_error_is():
    with pytest.raises(nvrtc.NvrtcError, match=r'y\.cu\(1\): error: identifier "z"') as error:
        nvrtc.compile("__device__ int f() { return z; }", name="y.cu")
    assert error.value.log.startswith("y.cu(1)")


def test_nvrtc_that_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nvrtc, "candidates", lambda: iter(["/nowhere/libnvrtc.so.13"]))
    nvrtc.library.cache_clear()
    with pytest.raises(nvrtc.NvrtcError, match=r"not found\n  /nowhere") as error:
        nvrtc.version()
    assert str(error.value).endswith("\nhint: " + str(error.value.hint))
    with pytest.raises(nvrtc.NvrtcError) as emitted:
        tadc.compile("y[i] = x[i]").emit("ptx")
    assert emitted.value.hint == error.value.hint
    assert str(emitted.value).count("pip install nvidia-cuda-nvrtc ") == 1
    nvrtc.library.cache_clear()


# The driver


@pytest.fixture(autouse=True)
def fresh_driver():
    """No test sees the driver of another."""
    yield
    cuda.driver.cache_clear()
    cuda.primary_context.cache_clear()


class DriverError(Exception):
    pass


def no_driver() -> None:
    raise DriverError("no CUDA-capable device is detected")


BROKEN = {
    r"pip install 'tadc\[cuda\]'": None,
    "no CUDA-capable device is detected": SimpleNamespace(Error=DriverError, init=no_driver),
    "found no GPU": SimpleNamespace(
        Error=DriverError, init=lambda: None, Device=SimpleNamespace(count=lambda: 0)
    ),
}


@pytest.mark.parametrize("message", BROKEN)
def test_no_way_to_a_gpu(message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pycuda.driver", BROKEN[message])
    with pytest.raises(cuda.CudaUnavailable, match=message):
        cuda.CudaModule(SCALE)


def test_pycuda_without_the_library_of_the_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
):
    def missing(name: str) -> None:
        raise ImportError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(cuda.importlib, "import_module", missing)
    with pytest.raises(cuda.CudaUnavailable, match=r"libcuda\.so\.1 comes with the NVIDIA driver"):
        cuda.driver()


class HostMemory:
    """What `mem_alloc` gives: its number is the address."""

    def __init__(self, size: int):
        self.bytes = np.full(size, 0xFF, np.uint8)

    def __int__(self) -> int:
        return self.bytes.ctypes.data


class HostDriver:
    """As much of `pycuda.driver` as is used, on the CPU."""

    Error = DriverError

    def __init__(self) -> None:
        self.depth = self.launches = 0
        self.Device = lambda number: self
        self.Device.count = lambda: 1

    def init(self) -> None: ...

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0

    def retain_primary_context(self) -> HostDriver:
        return self

    def push(self) -> None:
        self.depth += 1

    def pop(self) -> None:
        self.depth -= 1

    def mem_alloc(self, size: int) -> HostMemory:
        assert self.depth and size
        return HostMemory(size)

    def memcpy_htod(self, to: HostMemory, source: np.ndarray) -> None:
        to.bytes[:] = source.reshape(-1).view(np.uint8)

    def memcpy_dtoh(self, to: np.ndarray, source: HostMemory) -> None:
        to.reshape(-1).view(np.uint8)[:] = source.bytes

    def module_from_buffer(self, cubin: bytes) -> HostDriver:
        assert self.depth and cubin.startswith(b"\x7fELF")
        return self

    def get_function(self, name: str) -> SimpleNamespace:
        kernel = load(SCALE)[name]
        return SimpleNamespace(_launch_kernel=lambda *a: self.start(kernel, *a))

    def start(self, kernel: Kernel, grid, block, packed: bytes, shared: int, stream) -> None:
        assert self.depth and shared == 0
        self.launches += 1
        kernel.start(grid, block, None, packed)


@pytest.fixture
def host_driver(monkeypatch: pytest.MonkeyPatch) -> HostDriver:
    driver = HostDriver()
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    return driver


@needs_nvrtc
@needs_compiler
def test_launch_on_numpy_arrays(host_driver: HostDriver):
    kernel = cuda.CudaModule(SCALE).kernel("scale")
    x, y = np.arange(1000.0), np.zeros(1000)
    kernel(1000, y, x, 1000)
    assert (y == 2 * x).all() and (x == np.arange(1000.0)).all()
    assert host_driver.launches == 1 and host_driver.depth == 0
    kernel(0, np.zeros(0), np.zeros(0), 0)
    assert host_driver.launches == 1


@needs_nvrtc
@needs_compiler
def test_launch_on_arrays_of_the_device(host_driver: HostDriver):
    kernel = cuda.CudaModule(SCALE).kernel("scale")
    x, y = cuda.to_device(np.arange(12.0).reshape(3, 4)), cuda.empty((3, 4), np.float64)
    kernel(12, y, x, 12)
    assert (y.get() == 2 * x.get()).all()
    strided = {**x.__cuda_array_interface__, "shape": (4, 3), "strides": (8, 32)}
    with pytest.raises(ValueError, match="dense"):
        kernel(12, y, SimpleNamespace(__cuda_array_interface__=strided), 12)
    dense = {**strided, "strides": (24, 8)}
    kernel(12, y, SimpleNamespace(__cuda_array_interface__=dense), 12)
    with pytest.raises(ValueError, match=r"float32\(3, 4\) into float64"):
        x.set(np.zeros((3, 4), np.float32))
    assert cuda.empty((0, 3), np.float32).get().shape == (0, 3)
    assert host_driver.depth == 0
