"""Places of buffers in one block: apart while they live, aligned, and little more than needed."""

import random

import pytest

from tadc.runtime.workspace import ALIGNMENT, Lifetime, pack


def random_buffers(seed: int) -> list[Lifetime]:
    r = random.Random(seed)
    starts = [r.randrange(40) for _ in range(r.randrange(1, 60))]
    return [Lifetime(r.choice([1, 8, 64, 800, 8192]), s, s + r.randrange(12)) for s in starts]


def needed(buffers: list[Lifetime]) -> int:
    """The bytes that live at the worst moment, each buffer rounded up."""
    rounded = [-(-b.nbytes // ALIGNMENT) * ALIGNMENT for b in buffers]
    moments = range(max(b.last for b in buffers) + 1)
    alive = ([n for n, b in enumerate(buffers) if b.first <= t <= b.last] for t in moments)
    return max(sum(rounded[n] for n in each) for each in alive)


@pytest.mark.parametrize("seed", range(200))
def test_what_lives_at_the_same_time_lies_apart(seed: int) -> None:
    buffers = random_buffers(seed)
    offsets, total = pack(buffers)
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert max(o + b.nbytes for o, b in zip(offsets, buffers, strict=True)) <= total
    for n, a in enumerate(buffers):
        for m, b in enumerate(buffers[:n]):
            if a.first <= b.last and b.first <= a.last:
                begins = sorted([(offsets[n], a.nbytes), (offsets[m], b.nbytes)])
                assert begins[0][0] + begins[0][1] <= begins[1][0]


def test_little_more_than_the_worst_moment_is_needed() -> None:
    ratios = [pack(b)[1] / needed(b) for b in map(random_buffers, range(200))]
    assert min(ratios) >= 1
    assert sum(ratios) / len(ratios) < 1.1


def test_no_buffers_take_nothing() -> None:
    assert pack([]) == ([], 0)
