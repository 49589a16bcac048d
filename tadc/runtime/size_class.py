"""Classes of sizes: all calls of a class run the same code.

    numbers  0 1 2 3 ... 14 15 16             32             48             64
    buckets                      17-23 24-31    33-39 40-47    49-55 56-63    65-127 ... 4096-

Code for known sizes is faster where ranges are short: loops are unrolled, sums over them are
computed again rather than stored, windows become boxes. Long ranges gain nothing (a product of 1024
x 1024 matrices takes as long with 1024 in the code as with a variable). So short sizes and the
usual widths of tensors are numbers in the code; others stay variables, and the code is made best
for the example of their bucket. Sizes that end one range, as the columns of a matrix and the rows
of another do in their product, are one size in the code where they are equal, and a number where
that ends the range. Where the difference of two is a length that is short, or usual, as the number
of displacements of two images is, one is the other and a number. Short calls all share one class
without numbers, whose code is compiled fast.

The class of a call depends on nothing but its sizes, neither on calls before it nor on their order,
and so do the bits of its results. Of each size there are 33 classes, of programs whose sizes are
numbers two, and of each difference 20: a stream of ever new shapes soon finds all its code
compiled.

On a GPU, where the number of elements says how a reduction is shared, buckets go on by powers of
two without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tadc.summary import Summary

MOST_WORK_WITHOUT_TILES = 4_000
"""Operations of a call that take about a microsecond whatever the loops look like, which is what a
call takes beside them."""

LARGEST_NUMBER = 16
"""Up to here each size is a class of its own: sums of so few terms are not stored."""

WIDTHS = (16, 32, 48, 64)
"""Further sizes that are classes of their own, between the buckets. Behind the last one, which is a
power of two, these begin at powers of two."""

STEP = 8
"""Sizes up to 64 from one multiple of this to the next share a bucket."""

LARGEST_EXAMPLE = 4096
"""The example of all sizes from here on; below, those to the next power of two share a bucket."""

LARGEST_SIZE = 1 << 62
"""The bound of all sizes: indices have 64 bits."""


@dataclass(frozen=True)
class SizeClass:
    """The calls that share code; by default the short ones, and those of targets without tiles."""

    tiles: bool = False
    """True if code may take longer to compile."""
    numbers: tuple[tuple[str, int], ...] = ()
    """The sizes that are numbers in the code."""
    others: tuple[tuple[str, str], ...] = ()
    """The sizes that are another size in the code, which they equal, or another and a number."""
    example: tuple[tuple[str, int], ...] = ()
    """Sizes, like those of its calls, for which the code is made best."""
    strided: bool = False
    """True if tensors are read whose rows lie apart; their strides are sizes."""

    @property
    def values(self) -> Mapping[str, int | str]:
        """The values that sizes have in the code."""
        return {**dict(self.numbers), **dict(self.others)}

    @property
    def least(self) -> dict[str, int]:
        """The least values that its calls have of sizes that are variables in the code."""
        return {name: _least_like(n) for name, n in self.example if name not in self.values}

    def most(self, largest: int) -> dict[str, int]:
        """The largest values that they have, where all examples are less than `largest`."""
        exact = dict(self.numbers)
        return exact | {n: _most_like(e) for n, e in self.example if n not in exact and e < largest}

    def bounds(self, largest: int) -> dict[str, int]:
        """The bounds of the sizes of its calls, also where examples are `largest` or more."""
        return dict.fromkeys(dict(self.example), LARGEST_SIZE) | self.most(largest)

    def most_of_variables(self, largest: int) -> dict[str, int]:
        """The largest values that its calls have of sizes that are variables in the code."""
        return {n: size for n, size in self.most(largest).items() if n not in self.values}


LONG_CALLS = SizeClass(tiles=True)
"""The class of long calls about whose sizes nothing is known."""


def size_class(
    program: Summary, sizes: Mapping[str, int], largest: int = LARGEST_EXAMPLE
) -> SizeClass:
    """The class of calls of a program with these sizes, all that it has; from `largest` on, sizes
    have one example.

    Takes time linear in the length of the program.
    """
    if not is_long(program, sizes):
        return SizeClass()
    ends = set(program.compared_sizes)
    base = _bases(program, {n: size for n, size in sizes.items() if size > LARGEST_NUMBER})
    known = {n for n, size in sizes.items() if is_number(size) or (n, size) in ends}
    known |= {n for n, of in base.items() if any(base.get(name) == of for name in known)}
    left = {n: of for n, of in base.items() if n not in known}
    example = {n: size if n in known else _example(size, largest) for n, size in sizes.items()}
    example |= {n: example[of] + sizes[n] - sizes[of] for n, of in left.items()}
    return SizeClass(
        True,
        tuple((n, size) for n, size in sizes.items() if n in known),
        tuple((n, _form(of, sizes[n] - sizes[of])) for n, of in left.items() if n != of),
        tuple(example.items()),
    )


def _bases(program: Summary, sizes: Mapping[str, int]) -> dict[str, str]:
    """The size that replaces each size in the code, plus a constant: the smallest of those that end
    the same ranges and are equal, or differ by a constant."""
    compared = (pair for pair in program.compared_sizes if sizes.keys() >= {*pair})
    equal = [(a, str(b)) for a, b in compared if sizes[a] == sizes[str(b)]]
    lengths = (found for found in program.size_differences if sizes.keys() >= {*found[:2]})
    near = [(a, b) for a, b, more in lengths if _is_length(sizes[a] - sizes[b] + more)]
    found = {name: name for name in sizes}
    for pair in (*equal, *near):
        one, other = (found[name] for name in pair)
        smaller, larger = (one, other) if sizes[one] <= sizes[other] else (other, one)
        found = {name: smaller if of == larger else of for name, of in found.items()}
    return found


def _form(size: str, more: int) -> str:
    """A size, and a number more if there is one, as options of passes have them."""
    return f"{size}+{more}" if more else size


def is_long(program: Summary, sizes: Mapping[str, int]) -> bool:
    """True if a call of these sizes is long enough for code that takes longer to compile."""
    return program.total_work(sizes) > MOST_WORK_WITHOUT_TILES


def short_sizes(program: Summary, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that are numbers before a program is derived: they decide what a long call stores.

    None for short calls.
    """
    long = is_long(program, sizes)
    return {n: size for n, size in sizes.items() if long and size <= LARGEST_NUMBER}


def is_number(size: int) -> bool:
    """True if code for this size has no variable for it."""
    return size <= LARGEST_NUMBER or size in WIDTHS


def _is_length(difference: int) -> bool:
    """True if code for a dimension of this length has no variable for it."""
    return difference > 0 and is_number(difference)


def _example(size: int, largest: int) -> int:
    """The least size of the bucket, or one below: blocks of its length fit into all others."""
    if size < WIDTHS[-1]:
        return size - size % STEP
    return min(largest, 1 << (size.bit_length() - 1))


def _least_like(example: int) -> int:
    """The least size of the bucket of an example."""
    return example + is_number(example)


def _most_like(example: int) -> int:
    """The largest size of the bucket of an example, unless it is the last bucket."""
    return example + STEP - 1 if example < WIDTHS[-1] else 2 * example - 1
