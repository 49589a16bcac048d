"""Moves of random updates: statements that take a tensor of the state to new values.

The Jacobian of each is regular by construction: a diagonal between 1 and 3, or a permutation or a
rotation times one, plus a small part with the structure that the move is there for.
"""

from __future__ import annotations

from tests.support.update_expressions import Expressions, Unfit, element


class Moves(Expressions):
    """Each appends lines, or raises `Unfit` where the shapes do not allow it."""

    # --- moves: diagonals -------------------------------------------------------------------------

    def scale(self, name: str) -> None:
        """Each element by itself, in one statement of any form."""
        indices = self.indices(name)
        here, rest = element(name, indices), self.others(name, indices)
        form = self.rng.randrange(4)
        if form == 0:
            self.lines.append(f"{here} += {rest}")
        elif form == 1:
            self.lines.append(f"{here} *= exp(0.3 * sin({rest}))")
        elif form == 2:
            self.lines.append(f"{here} /= 1.5 + 0.3 * cos({rest})")
        else:
            self.add(name, self.bent(here, rest), self.maybe_others(name))

    def turn(self, name: str) -> None:
        """Dimensions reversed or exchanged."""
        shape, indices = self.shape(name), self.indices(name)
        if not shape:
            raise Unfit
        order = list(range(len(shape)))
        self.rng.shuffle(order)
        if [shape[d] for d in order] != list(shape):
            order = list(range(len(shape)))
        places = [
            f"{self.size(shape[d])} - 1 - {indices[d]}" if self.chance(0.5) else indices[d]
            for d in order
        ]
        self.add(name, self.bent(element(name, places)), self.maybe_others(name))

    def exchange(self, name: str) -> None:
        """Two tensors of the same shape."""
        other, indices = self.alike(name), self.indices(name)
        label = self.fresh(self.shape(name))
        self.add(label, self.bent(element(name, indices)))
        self.add(name, self.bent(element(other, indices)))
        self.add(other, element(label, indices))

    # --- moves: several tensors -------------------------------------------------------------------

    def rotate(self, name: str) -> None:
        """Two tensors of the same shape, element by element."""
        other, indices = self.alike(name), self.indices(name)
        a, b = self.fresh(self.shape(name)), self.fresh(self.shape(name))
        x, y = element(name, indices), element(other, indices)
        angle = self.rng.choice(("0.7", self.others(name, ())))
        c, s = f"cos({angle})", f"sin({angle})"
        if "t" in angle or name in angle or other in angle:
            c, s = "0.8", "0.6"  # that of what turns would change the determinant
        self.add(a, f"{c} * {x} - {s} * {y}")
        self.add(b, f"{s} * {x} + {c} * {y}")
        self.add(name, self.bent(element(a, indices)))
        self.add(other, element(b, indices), self.maybe_others(name))

    def mix(self, name: str) -> None:
        """Two tensors of any shapes, each with sums of the other."""
        others = [v for v in self.state if v != name]
        if not others:
            raise Unfit
        other = self.rng.choice(others)
        a, b = self.fresh(self.shape(name)), self.fresh(self.shape(other))
        for label, x, y in ((a, name, other), (b, other, name)):
            indices = self.indices(x)
            rest = self.reduced(y, self.shape(y), indices, self.shape(x)) if self.shape(y) else y
            self.lines.append(
                f"{element(label, indices)} = {self.bent(element(x, indices))} + 0.2 * {rest}"
            )
        for label, x in ((a, name), (b, other)):
            self.add(x, element(label, self.indices(x)))

    def reshape(self, name: str) -> None:
        """A matrix and a vector of as many elements change places."""
        vectors = [v for v, s in self.state.items() if len(s) == 1]
        shape = self.shape(name)
        fitting = [
            v for v in vectors if len(shape) == 2 and self.shape(v)[0] == shape[0] * shape[1]
        ]
        if not fitting or self.style != "numbers":
            raise Unfit
        vector, width = fitting[0], shape[1]
        a, b = self.fresh(shape), self.fresh(self.shape(vector))
        head = f"{a}[i in range({shape[0]}), j in range({width})]"
        self.lines.append(f"{head} = {self.bent(f'{vector}[{width} * i + j]')}")
        head = f"{b}[i in range({shape[0] * width})]"
        self.lines.append(f"{head} = {self.bent(f'{name}[i // {width}, i % {width}]')}")
        self.add(name, element(a, "ij"))
        self.add(vector, element(b, "i"))

    def coupled(self, name: str) -> None:
        """A sum of all of a tensor that it and others read: wide until the last of them."""
        if not self.shape(name):
            raise Unfit
        label = self.fresh(())
        letters = "abc"[: len(self.shape(name))]
        self.lines.append(f"{label} = sum[{', '.join(letters)}](sin({element(name, letters)}))")
        for v in self.rng.sample(list(self.state), self.rng.randint(1, len(self.state))):
            self.add(v, self.bent(element(v, self.indices(v))), f"0.3 * {label}")
        self.add(name, element(name, self.indices(name)), f"0.3 * {label}")

    # --- moves: one tensor, more than a diagonal --------------------------------------------------

    def halves(self, name: str) -> None:
        """The second part by the first one, which stays, through a temporary."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        h, i = self.shape(name)[d] // 2, self.indices(name)[d]
        here = self.at(name, {})
        reach = self.at(name, {d: "a"})
        if self.style == "none" or self.chance(0.4):
            value = f"sum[a in range({h})](sin({reach}))"
        else:
            label = self.fresh(self.shape(name))
            ranges = [
                f"{v} in range({self.size(n)})"
                for v, n in zip(self.indices(name), self.shape(name), strict=True)
            ]
            self.lines.append(
                f"{element(label, ranges)} = sum[a in range({h})](sin({reach})) + 0.1 * {i}"
            )
            value = element(label, self.indices(name))
        bent = self.bent(here, value)
        self.add(name, f"{here} if {i} < {h} else {bent} + 0.4 * {value}")

    def parity(self, name: str) -> None:
        """Odd elements by even ones."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        i, here = self.indices(name)[d], self.at(name, {})
        before = self.at(name, {d: f"{i} - 1"})
        forms = (
            f"{self.bent(here)} + sin({before}) if {i} % 2 == 1 else 1.5 * {here}",
            f"{here} * exp(0.4 * cos({before})) if {i} % 2 == 1 else {here}",
            f"{self.bent(here)} + 0.5 * pad({before}) if {i} % 2 != 0 else -{here}",
        )
        self.add(name, self.rng.choice(forms))

    def steps(self, name: str) -> None:
        """Each part by the one before, as that was."""
        self.flip(name)
        d = self.chosen_dimension(name, 3)
        n, i = self.shape(name)[d], self.indices(name)[d]
        width = -(-n // self.rng.choice((2, 3, 4)))
        here, before = self.at(name, {}), self.at(name, {d: f"{i} - {width}"})
        self.add(name, f"{self.bent(here)} + (0.5 * sin({before}) if {i} >= {width} else 0)")

    def first_row(self, name: str) -> None:
        """All by the first element in one dimension, which only changes itself."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        i, here, first = (
            self.indices(name)[d],
            self.at(name, {}),
            self.at(name, {d: "0"}),
        )
        self.add(name, f"{here} * (2 + sin({first})) if {i} > 0 else {self.bent(here)}")

    def band(self, name: str) -> None:
        """Neighbours in one dimension."""
        self.flip(name)
        d = self.chosen_dimension(name, 6)
        i, here = self.indices(name)[d], self.at(name, {})
        below, above = self.at(name, {d: f"{i} - 1"}), self.at(name, {d: f"{i} + 1"})
        terms = [f"sin(pad({below}))", f"0.4 * pad({above})", f"0.5 * tanh(pad({above}, 0.3))"]
        chosen = self.rng.sample(terms, self.rng.randint(1, 3))
        self.add(name, f"3 * {self.bent(here)} + {' + '.join(chosen)}", self.maybe_others(name))

    def triangle(self, name: str) -> None:
        """Sums of all before, or behind, in one dimension."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        i, here, there = (
            self.indices(name)[d],
            self.at(name, {}),
            self.at(name, {d: "a"}),
        )
        bounds = [f"{i}"]
        if self.style != "none":
            bounds.append(f"{i} + 1, {self.size(self.shape(name)[d])}")
        forms = ("0.5 * sum[a in range({b})](sin({r}))", "prod[a in range({b})](1 + 0.2 * {r})")
        rest = self.rng.choice(forms).format(b=self.rng.choice(bounds), r=there)
        self.add(name, f"{self.bent(here)} + {rest}", self.maybe_others(name))

    def blocks(self, name: str) -> None:
        """A small matrix for each index of the other dimensions."""
        d = self.chosen_dimension(name, 2)
        shape, indices = self.shape(name), self.indices(name)
        if len(shape) < 2:
            raise Unfit
        weights = self.parameter((shape[d], shape[d]))
        rest = f"sum[a]({weights}[{indices[d]}, a] * tanh({self.at(name, {d: 'a'})}))"
        here = element(name, indices)
        self.add(name, f"2 * {self.bent(here)} + 0.4 * {rest}", self.maybe_others(name))

    def dense(self, name: str) -> None:
        """All by all, through a parameter or a reduction."""
        shape, indices = self.shape(name), self.indices(name)
        if not shape:
            raise Unfit
        rest = self.reduced(name, shape, indices, shape)
        self.add(name, f"2 * {self.bent(element(name, indices))} + 0.3 * {rest}")

    def cycle(self, name: str) -> None:
        """Elements in another order along one dimension."""
        d = self.chosen_dimension(name, 2)
        n, i = self.shape(name)[d], self.indices(name)[d]
        last = f"{self.size(n)} - 1"
        after = self.bent(self.at(name, {d: f"{i} + 1"}))
        self.add(name, f"{after} if {i} < {last} else {self.bent(self.at(name, {d: '0'}))}")
