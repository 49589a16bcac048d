"""Loops of explicit vectors keep the addresses that they were emitted with; LLVM may improve all
others."""

from __future__ import annotations

from tadc.runtime.llvm_compiler import object_of, target_machine
from tadc.runtime.llvm_library import llvm
from tadc.runtime.machine import machine
from tadc.targets.llvm_sections import EXPLICIT

LOOP = """
define void @f(ptr %x, ptr %y, i64 %rows, i64 %stride) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %row = mul nsw i64 %i, %stride
  %from = getelementptr inbounds float, ptr %x, i64 %row
  %to = getelementptr inbounds float, ptr %y, i64 %row
  %v = load <16 x float>, ptr %from, align 4
  store <16 x float> %v, ptr %to, align 4
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %rows
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
"""LLVM adds up the position of a row, where it was told to multiply."""


def by_another_library() -> bytes:
    """The machine code of the loop, by a user of LLVM who asks for nothing."""
    with llvm().create_context() as context, llvm().parse_assembly(LOOP, context) as module:
        target = target_machine(machine())
        module.triple, module.data_layout = target.triple, str(target.target_data)
        code: bytes = target.emit_object(module)
        return code


def test_explicit_loops_keep_their_addresses() -> None:
    before = by_another_library()
    own = object_of(EXPLICIT + LOOP, False, machine())
    assert own != before
    assert by_another_library() == before
