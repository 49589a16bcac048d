"""Random programs of definitions that share rows, or strips of columns."""

from __future__ import annotations

from random import Random


def random_chain(
    random: Random, kept: str = "i", reduced: str = "j", all_: str = "i, j", columns: bool = False
) -> str:
    """A chain of tensors over all indices and of reductions of them, which have some indices left,
    of earlier ones; with `columns`, some results are sums over rows, which the chain does not read.
    """
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
    for n in range(random.randrange(1, 3) if columns else 0):
        a, b, number = (random.choice(some) for some in (matrices, matrices, numbers))
        term = random.choice([f"{a} * {number}", a, f"exp({a} / 9) * {b}", f"{a} * {b} - {number}"])
        lines.append(f"c{n}[{reduced}] = sum[{kept}]({term}) / 30")
        results.append(f"c{n}")
    return "\n".join([*lines, f"return {', '.join(results)}"])
