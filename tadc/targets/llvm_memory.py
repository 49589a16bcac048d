"""Loads, stores and stack buffers as LLVM instructions, of numbers and of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from tadc.dialects.loops import (
    FenceOp,
    PartOp,
    PrefetchOp,
    SelectLanesOp,
    SharedCacheOp,
    StridedLoadOp,
    alignment_of,
    is_nontemporal,
)
from tadc.dialects.quick import operands_of
from tadc.targets.llvm_code import Body, failure
from tadc.targets.llvm_ops import OpPrinter
from tadc.targets.llvm_types import overload

BYTES = {"float": 4, "double": 8, "i1": 1, "i8": 1, "i32": 4, "i64": 8}

LOADS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp, StridedLoadOp)
STORES = (memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp)


def access(buffer: SSAValue) -> str:
    """The attributes of a parameter that tell what a function does with a buffer, where it holds.

    A function that computes with the address captures that, though not the buffer.
    """
    users = [*_users(buffer)]
    captured = any(isinstance(user, memref.ExtractAlignedPointerAsIndexOp) for user in users)
    stored = any(isinstance(user, STORES) for user in users)
    loaded = any(isinstance(user, LOADS) for user in users)
    way = "" if loaded and stored else " writeonly" if stored else " readonly"
    return f"captures({'address' if captured else 'none'}){way}"


def _users(buffer: SSAValue) -> Iterator[Operation]:
    """The operations on a buffer and on its parts."""
    for use in buffer.uses:
        if isinstance(use.operation, PartOp):
            yield from _users(use.operation.result)
        else:
            yield use.operation


def address_of(
    body: Body, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], inside: bool = True
) -> str:
    """The address of an element, which may be outside of the buffer unless it is `inside`."""
    if len(indices) != 1:
        raise failure(op, "buffers are flat: one linear index")
    step = "getelementptr inbounds" if inside else "getelementptr"
    return body.temporary(
        "at", f"{step} {body.element(buffer)}, {body.typed(buffer)}, {body.typed(indices[0])}"
    )


def alignment(body: Body, op: Operation, buffer: SSAValue) -> str:
    """The alignment of an access, as instructions have it."""
    return f"align {max(alignment_of(op), BYTES[body.element(buffer)])}"


def print_load(body: Body, op: Operation) -> None:
    (buffer, *indices), (result,) = operands_of(op), op.results
    address = address_of(body, op, buffer, indices)
    body.define(result, f"load {body.type(result)}, ptr {address}, {alignment(body, op, buffer)}")


def print_store(body: Body, op: Operation) -> None:
    value, buffer, *indices = operands_of(op)
    address = address_of(body, op, buffer, indices)
    store = f"store {body.typed(value)}, ptr {address}, {alignment(body, op, buffer)}"
    if is_nontemporal(op):
        body.needs.nontemporal = body.streams = True
        store += ", !nontemporal !0"
    body.line(store)


def print_masked_load(body: Body, op: Operation) -> None:
    """A load of some lanes, which alone may touch memory."""
    assert isinstance(op, vector.MaskedLoadOp)
    address = address_of(body, op, op.base, op.indices, inside=False)
    type_ = body.type(op.result)
    arguments = f"ptr {alignment(body, op, op.base)} {address}, {body.typed(op.mask)}"
    load = (
        f"call {type_} @llvm.masked.load.{overload(type_)}.p0({arguments}, "
        f"{body.typed(op.pass_thru)})"
    )
    if _is_zeroed_later(op.result):
        # LLVM 22 makes the load an operand of a product with zeros under its mask, and then may
        # load all lanes apart, without a mask, where the other operands are needed again
        loaded = body.temporary("loaded", load)
        load = f"call {type_} @llvm.arithmetic.fence.{overload(type_)}({type_} {loaded})"
    body.define(op.result, load)


def _is_zeroed_later(value: SSAValue, steps: int = 2) -> bool:
    """True if a product of a value, or a sum of that, is replaced by zeros in some lanes."""
    users = [use.operation for use in value.uses]
    chosen = [v for u in users if isinstance(u, SelectLanesOp) for v in (u.lhs, u.rhs)]
    sums = [u for u in users if isinstance(u, arith.MulfOp | arith.AddfOp | arith.SubfOp)]
    return any(map(_is_zero, chosen)) or any(
        steps > 0 and _is_zeroed_later(u.result, steps - 1) for u in sums
    )


def _is_zero(value: SSAValue) -> bool:
    """True for zeros in all lanes."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        owner = owner.source.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    match owner.value:
        case FloatAttr(value=number):
            return number.data == 0
        case DenseIntOrFPElementsAttr() as numbers:
            return numbers.is_splat() and numbers.get_values()[0] == 0
        case _:
            return False


def print_masked_store(body: Body, op: Operation) -> None:
    assert isinstance(op, vector.MaskedStoreOp)
    address = address_of(body, op, op.base, op.indices, inside=False)
    value = op.value_to_store
    callee = f"@llvm.masked.store.{overload(body.type(value))}.p0"
    where = f"ptr {alignment(body, op, op.base)} {address}, {body.typed(op.mask)}"
    body.line(f"call void {callee}({body.typed(value)}, {where})")


def print_shared_cache(body: Body, op: Operation) -> None:
    """A number of the machine is written where it is used."""
    body.names[op.results[0]] = str(body.needs.shared_cache)


def print_prefetch(body: Body, op: Operation) -> None:
    """For a read, into all caches, of data."""
    assert isinstance(op, PrefetchOp)
    address = address_of(body, op, op.base, [op.index], inside=False)
    body.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")


def print_fence(body: Body, _op: Operation) -> None:
    """For this thread alone, which takes no instruction."""
    body.line('fence syncscope("singlethread") acq_rel')


def print_address(body: Body, op: Operation) -> None:
    assert isinstance(op, memref.ExtractAlignedPointerAsIndexOp)
    body.define(op.aligned_pointer, f"ptrtoint {body.typed(op.source)} to i64")


def print_part(body: Body, op: Operation) -> None:
    assert isinstance(op, PartOp)
    body.names[op.result] = address_of(body, op, op.base, [op.index])


def print_alloca(body: Body, op: Operation) -> None:
    """A small buffer of one iteration, of constant size, on the stack of the function."""
    assert isinstance(op, memref.AllocaOp)
    type_ = op.memref.type
    assert isinstance(type_, MemRefType)
    if op.dynamic_sizes or not type_.has_static_shape():
        raise failure(op, "memref.alloca must have a constant size")
    element, count = body.element(op.memref), prod(type_.get_shape())
    wanted = op.alignment.value.data if isinstance(op.alignment, IntegerAttr) else 0
    # In the entry block, or every iteration would take new stack.
    name, most = body.name(op.memref), max(wanted, BYTES[element] * 16)
    body.allocas.append(f"  {name} = alloca [{count} x {element}], align {most}")


MEMORY_PRINTERS: dict[type[Operation], OpPrinter] = {
    memref.AllocaOp: print_alloca,
    memref.ExtractAlignedPointerAsIndexOp: print_address,
    memref.LoadOp: print_load,
    memref.StoreOp: print_store,
    PartOp: print_part,
    FenceOp: print_fence,
    PrefetchOp: print_prefetch,
    SharedCacheOp: print_shared_cache,
    vector.LoadOp: print_load,
    vector.MaskedLoadOp: print_masked_load,
    vector.MaskedStoreOp: print_masked_store,
    vector.StoreOp: print_store,
}
