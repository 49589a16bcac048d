"""Scheduled modules from text, and what NVRTC says about the CUDA C that is printed for them."""

from __future__ import annotations

import functools

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.math import Math
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.parser import Parser

from tadc.dialects.loops import Loops
from tadc.runtime import nvrtc


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Scf, Arith, Math, MemRef, Loops):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


@functools.cache
def has_nvrtc() -> bool:
    try:
        return nvrtc.version() > (0, 0)
    except nvrtc.NvrtcError:
        return False


def compiles(source: str) -> str:
    """NVRTC takes the source; the answer is what its assembler says about registers."""
    if not has_nvrtc():
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    assert "atomic" not in source
    return nvrtc.compile(source, options=["--ptxas-options=-v"]).log


def function(name: str, arguments: str, sizes: str, body: str) -> str:
    """A function with one index `%i` for each of `sizes`."""
    indices = ", ".join(f"%{'ijkl'[n]}" for n in range(len(sizes.split(", "))))
    return f"""
    func.func @{name}({arguments}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f64
      %one = arith.constant 1.0 : f64
      loops.parallel ({indices}) to ({sizes}) {{
        {body}
      }}
      func.return
    }}"""
