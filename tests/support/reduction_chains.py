"""Random programs of definitions that share rows, or strips of columns."""

from __future__ import annotations

from random import Random


def random_chain(random: Random, kept: str = "i", reduced: str = "j", all_: str = "i, j") -> str:
    """A chain of tensors over all indices and of reductions of them, which have some indices left,
    of earlier ones."""
    matrices, numbers = [f"x[{all_}]"], ["1"]
    lines: list[str] = []
    for n in range(random.randrange(2, 7)):
        a, b = random.choice(matrices), random.choice(matrices)
        number = random.choice(numbers)
        term = random.choice([f"{a} * {number}", f"{a} - {b}", f"exp({a} / 9)", f"{a} * {b}"])
        term = random.choice([term, term, f"({term} if {a} > {number} else {b})"])
        if random.random() < 0.5:
            kind = random.choice(["sum", "max", "min"])
            lines.append(f"s{n}[{kept}] = {kind}[{reduced}]({term}) / 30")
            numbers.append(f"s{n}[{kept}]")
        else:
            lines.append(f"r{n}[{all_}] = {term} / 3")
            matrices.append(f"r{n}[{all_}]")
    made = [line.partition("[")[0] for line in lines]
    results = sorted({made[-1], random.choice(made)})
    return "\n".join([*lines, f"return {', '.join(results)}"])
