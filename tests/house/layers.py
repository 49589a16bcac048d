"""Rules for imports: they point down, in layers, and make no circle.

Imports in functions count, and so do those for the type checker alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from tadc.universe import PASSES
from tests.house.sources import imports, modules

LAYERS = (
    ("tadc.__main__",),
    ("tadc.commands",),
    ("tadc",),
    ("tadc.api",),
    ("tadc.torch", "tadc.jax"),
    ("tadc.frameworks",),
    ("tadc.view",),
    ("tadc.ode", "tadc.pullback", "tadc.explain", "tadc.verify", "tadc.checked_plan"),
    ("tadc.function",),
    ("tadc.jacobian",),
    ("tadc.runnable",),
    ("tadc.stages",),
    ("tadc.inverse",),
    ("tadc.emit",),
    ("tadc.runtime",),
    ("tadc.program",),
    ("tadc.language", "tadc.interpreter"),
    ("tadc.targets", "tadc.universe", "tadc.summary"),
    ("tadc.support", "tadc.sizes", "tadc.cost"),
    ("tadc.errors", "tadc.modes", "tadc.choices"),
    ("tadc.passes.code_pipeline",),
    ("tadc.passes", "tadc.passes.pipeline", "tadc.passes.run_passes"),
    ("tadc.passes.layout",),
    ("tadc.passes.lowering",),
    ("tadc.passes.splitting",),
    ("tadc.passes.algebra",),
    ("tadc.passes.derive",),
    ("tadc.passes.simplify",),
    ("tadc.passes.derive.inversion", "tadc.passes.splitting.rfactor"),
    (
        "tadc.passes.derive.differentiation",
        "tadc.passes.algebra.factoring",
        "tadc.passes.scheduling",
    ),
    ("tadc.passes.analysis", "tadc.passes.index_sets"),
    ("tadc.passes.rewriting", "tadc.passes.polyhedral"),
    ("tadc.dialects.loops", "tadc.dialects.tix"),
    ("tadc.dialects.tix.functions",),
    ("tadc.dialects.tix.structure", "tadc.dialects.tix.regions"),
    ("tadc.dialects.tix.elementwise", "tadc.dialects.tix.access", "tadc.dialects.tix.bodies"),
    ("tadc.dialects.tix.elementary",),
    ("tadc.dialects.tix.types", "tadc.dialects.tix.text", "tadc.dialects.tix.registers"),
    ("tadc.dialects.tix.attributes",),
    ("tadc.dialects.tix.constraints",),
    ("tadc.dialects.tix.affine", "tadc.dialects.tix.linear"),
    ("tadc.dialects.quick",),
    ("tadc.dialects",),
    ("tadc.once", "tadc.forks"),
)
"""A module imports from rows below its own and from its own group, which is the longest name here
that its name begins with: `tadc.passes.derive` are the passes of that phase,
`tadc.passes.derive.inversion` all of that wing. A phase is higher than those that it cleans up with
or tries out, whichever comes first in the pipeline.
"""

PHASES = tuple(f"tadc.passes.{p}" for p in ("layout", "splitting", "algebra", "derive", "simplify"))
"""The folders of nothing but passes, and packages of what these share."""

MATHEMATICS = "tadc.passes.polyhedral"
"""Imports nothing of the project but itself, and no xDSL; of the wings, one alone imports it."""
KNOWS_MATHEMATICS = "tadc.passes.index_sets"

ROOTS = ("tadc", "tadc.passes", "tadc.dialects", *PHASES)
"""The packages whose parts have rows of their own."""

WINGS = {group for groups in LAYERS for group in groups if group.rpartition(".")[0] in ROOTS} - {
    *ROOTS,
    "tadc.dialects.tix",
}
PIPELINES = {"tadc.passes.pipeline", "tadc.passes.code_pipeline"}
PASS_MODULES = {module for module, _ in PASSES.values()}
ROWS = {group: row for row, groups in enumerate(LAYERS) for group in groups}


def group_of(module: str) -> str:
    while module not in ROWS:
        module, _, _ = module.rpartition(".")
    return module


def ours(module: str) -> bool:
    return module.partition(".")[0] == "tadc"


def everything_has_a_layer() -> Iterator[str]:
    """The passes of a phase share one; whatever else is new takes a place in the table."""
    for module in modules():
        depth = 4 if group_of(module) in PHASES else 1
        if group_of(module) not in (module, *WINGS) and module.count(".") >= depth:
            yield module


def imports_point_down() -> Iterator[str]:
    for module, path in modules().items():
        group = group_of(module)
        for imported in filter(ours, imports(path)):
            below = group_of(imported)
            if below != group and ROWS[below] <= ROWS[group]:
                yield f"{module} imports {imported}"


def wings_import_no_pass() -> Iterator[str]:
    """What passes share knows none of them, also where it lies in the folder of a phase."""
    for module, path in modules("passes").items():
        if module not in PASS_MODULES and module not in PIPELINES:
            for imported in PASS_MODULES.intersection(imports(path)):
                yield f"{module} imports {imported}"


def imports_are_no_tests() -> Iterator[str]:
    for module, path in modules().items():
        for imported in imports(path):
            if imported.partition(".")[0] in ("tests", "lit_tests"):
                yield f"{module} imports {imported}"


def mathematics_stands_alone() -> Iterator[str]:
    for module, path in modules().items():
        group = group_of(module)
        for imported in imports(path):
            exact = imported.startswith(MATHEMATICS)
            if group == MATHEMATICS:
                broken = not exact and (ours(imported) or imported.startswith("xdsl"))
            else:
                wing = group.startswith("tadc.passes.") and module not in PASS_MODULES
                broken = exact and wing and group != KNOWS_MATHEMATICS
            if broken:
                yield f"{module} imports {imported}"


def imports_make_no_circle() -> Iterator[str]:
    graph = {m: set(filter(ours, imports(path))) - {m} for m, path in modules().items()}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
            yield " > ".join(reversed(circle))
            for module, imported in zip(circle[1:], circle, strict=False):
                graph[module].discard(imported)
        else:
            return
