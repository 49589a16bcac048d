"""Random programs that update a state, and numeric Jacobians of programs and of their lumps.

Everything is small: Jacobians are central differences of what the interpreter computes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

import tadc
from tadc.dialects.tix import DefineOp, ProgramOp
from tadc.interpreter.tensor_index import evaluate
from tadc.passes.derive.inversion.lumps import Lump
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, type_of

Array = np.ndarray


def program(source: str) -> ProgramOp:
    return tadc.compile(source).program.op


def part(
    arguments: Sequence[SSAValue], definitions: Sequence[DefineOp], results: Sequence[SSAValue]
) -> ProgramOp:
    """The program of some definitions alone, whose arguments are any tensors."""
    whole = definitions[0].parent_op() if definitions else None
    assert isinstance(whole, ProgramOp)
    named = [(f"a{n}", type_of(t), whole.location) for n, t in enumerate(arguments)]
    builder = ProgramBuilder(named)
    cloner = Cloner(BodyBuilder(builder.block, whole.location))
    cloner.values.update(zip(arguments, builder.block.args, strict=True))
    for n, op in enumerate(definitions):
        cloner.values[op.result] = copy_definition(builder, cloner, op, f"d{n}")
    names = [f"r{n}" for n in range(len(results))]
    return builder.finish(whole, [cloner.value(v) for v in results], names)


def values_of(whole: ProgramOp, arguments: Mapping[str, Array]) -> dict[SSAValue, Array]:
    """The values of all tensors of a program."""
    inputs: dict[SSAValue, Array] = {
        whole.arguments[name]: array for name, array in arguments.items()
    }
    results: list[SSAValue] = [op.result for op in whole.definitions]
    everything = part(list(inputs), whole.definitions, results)
    arrays = dict(zip(everything.arguments, inputs.values(), strict=True))
    return inputs | dict(zip(results, evaluate(everything, arrays), strict=True))


def jacobian(
    function: ProgramOp, arguments: Mapping[str, Array], wrt: Sequence[str], step: float = 1e-5
) -> Array:
    """All results by these arguments, element by element, by central differences."""
    columns: list[Array] = []
    for name in wrt:
        for place in np.ndindex(arguments[name].shape):
            moved: list[Array] = []
            for h in (step, -step):
                array = arguments[name].copy()
                array[place] += h
                results = evaluate(function, {**arguments, name: array})
                moved.append(np.concatenate([r.ravel() for r in results]))
            columns.append((moved[0] - moved[1]) / (2 * step))
    return np.array(columns).T


def lump_jacobian(
    whole: ProgramOp,
    lump: Lump,
    state: Sequence[SSAValue],
    after: Sequence[SSAValue],
    values: Mapping[SSAValue, Array],
) -> Array:
    """The tensors of the state after a lump by those of the one before it."""
    constants = [t for t in values if t not in state]
    known = [*state, *constants]
    definitions = sorted({*lump.derived, *lump.definitions}, key=whole.definitions.index)
    inside = {op.result for op in definitions}
    arguments = [t for t in known if t not in inside]
    step = part(arguments, definitions, list(after))
    arrays = {f"a{n}": values[t] for n, t in enumerate(arguments)}
    return jacobian(step, arrays, [f"a{arguments.index(t)}" for t in state])


def random_state_program(rng: random.Random, same_sizes: bool = False) -> str:
    """Updates of up to three tensors of 1 to 3 elements, through temporaries in any order.

    With `same_sizes`, an index is never one of two tensors of different sizes.
    """
    sizes = {name: rng.randint(1, 3) for name in "xyz"[: rng.randint(1, 3)]}
    state = list(sizes)
    declarations = [f"{name}: f64[{n}]" for name, n in sizes.items()]
    # what is not read before it gets a value is no argument
    lines = [f"u = {' + '.join(f'{name}[0]' for name in sizes)}"]

    def read() -> str:
        name = rng.choice(list(sizes))
        return f"{name}[{rng.randrange(sizes[name])}]"

    def term() -> str:
        forms = ("sin({a})", "0.5 * {a}", "{a} * {b}", "tanh({a} + {b})")
        return rng.choice(forms).format(a=read(), b=read())

    def statement(name: str, old: str) -> str:
        value = term()
        if rng.random() < 0.5:
            value += f" + {term()} * (i + 1)"
        return rng.choice([f"{name}[i] += {value}", f"{name}[i] = {old} * 1.5 + {value}"])

    for n in range(rng.randint(0, 4)):
        name = f"t{n}"
        size = rng.choice([1, 2, 3, *sizes.values()])
        wide = [s for s, m in sizes.items() if m == size or (m > size and not same_sizes)]
        own = f"{rng.choice(wide)}[i] * " if wide and rng.random() < 0.7 else ""
        lines.append(f"{name}[i in range({size})] = {own}{read()} + {term()}")
        sizes[name] = size
        if rng.random() < 0.5:
            target = rng.choice(state)
            lines.append(statement(target, f"{target}[i]"))
    for name in rng.sample(state, len(state)):
        same = [s for s, m in sizes.items() if m == sizes[name]]
        lines.append(statement(name, f"{rng.choice([name, rng.choice(same)])}[i]"))
    return "\n".join([*declarations, *lines, f"return {', '.join(state)}"]) + "\n"
