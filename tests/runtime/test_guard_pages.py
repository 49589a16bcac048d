"""Calls touch their arrays alone: each lies at the edge of a page that must not be touched."""

from __future__ import annotations

import signal

import pytest

from tests.support.campaign import seeds
from tests.support.own_process import output_of, run_python

AT_ONCE = 8
SEEDS = seeds(5, of=1000)


@pytest.mark.parametrize("first", SEEDS[::AT_ONCE])
def test_random_programs_touch_their_arrays_alone(first: int):
    batch = [str(seed) for seed in SEEDS if first <= seed < first + AT_ONCE]
    done = run_python("-m", "tests.support.guarded_calls", *batch)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"exit {done.returncode} at {last}\n{done.stderr[-3000:]}"
    assert all(f"seed {seed}," in done.stdout for seed in batch)


def test_lanes_that_a_mask_leaves_out_are_not_read():
    """The last block of a stream has such lanes; its argument of shape [I, 1] has rows apart."""
    output_of("-m", "tests.support.guarded_calls", "524")


def test_numbers_that_a_condition_asks_for_are_not_read_under_masks():
    """Several choices need an element that only some rows of the argument have; in 805, in a phase
    of a stream."""
    output_of("-m", "tests.support.guarded_calls", "958", "805")


NARROW = """
import numpy as np, tadc
from tests.support.guarded_calls import check
source = "y[i, j] = sum[k](x[i, k] * w[k, j])"
plan = "for f32\\ny[i, j]: rows i by 3, columns j by 48, rest by 16"
f = tadc.compile(source, plan=plan)
for n in (48, 49, 64, 65, 97):
    check(f"{n} columns", f.runner, [np.ones((37, 80), "f"), np.ones((80, n), "f")])
"""


SHORT_ROWS = """
import numpy as np, tadc
from tests.support.guarded_calls import check
from tests.support.row_programs import SOFTMAX
f = tadc.compile(SOFTMAX)
for n in (17, 24, 31, 50):
    for kind in "fd":
        check(f"{n} columns of {kind}", f.runner, [np.ones((1003, n), kind)])
"""


def test_short_rows_end_with_their_last_element():
    output = output_of("-c", SHORT_ROWS)
    assert "50 columns of d, behind a page" in output


GROUPS = """
import numpy as np, tadc
from tests.support.guarded_calls import check
source = (
    "y[n, o, a, b] = sum[k in range(4), p in range(3), q in range(3)]"
    "(x[n, o // 8 * 4 + k, a + p, b + q] * w[o, k, p, q])"
)
f = tadc.compile(source)
for channels in (40, 23):
    x, w = np.ones((2, 20, 21, 21), "f"), np.ones((channels, 4, 3, 3), "f")
    arrays = {"x": x, "w": w, "dy": np.ones((2, channels, 19, 19), "f")}
    for g in (f, f.derivative("x"), f.derivative("w")):
        check(f"{channels} channels", g.runner, [arrays[t.name] for t in g.args])
"""


def test_groups_of_channels_end_with_the_last_weight():
    output = output_of("-c", GROUPS)
    assert output.count("23 channels, behind a page") == 3


SHORT = """
import numpy as np, tadc
from tests.support.guarded_calls import check
source = "y[n, o, i, j] = sum[c, u, v](x[n, c, 3*i + u, 3*j + v] * w[o, c, u, v])"
f = tadc.compile(source)
for rows in (19, 25):
    x, w = np.ones((2, 2, rows, 13), "f"), np.ones((26, 2, 7, 7), "f")
    arrays = {"x": x, "w": w, "dy": np.ones((2, 26, rows // 3 - 1, 3), "f")}
    for g in (f, f.derivative("x"), f.derivative("w")):
        check(f"{rows} rows", g.runner, [arrays[t.name] for t in g.args])
"""


def test_short_rows_with_strides_end_with_the_last_weight():
    output = output_of("-c", SHORT)
    assert output.count("25 rows, behind a page") == 3


BACKWARDS = """
import numpy as np, tadc
from tests.support.guarded_calls import check
for step in (-4, -3, -2, -1):
    read = f"pad(x[n, {24 * -step} + {step}*p + k])"
    source = f"y[n in range(90), p in range(48)] = sum[k]({read} * w[k])"
    for columns in (49, 99):
        x, w = np.ones((90, columns), "f"), np.ones(5, "f")
        check(f"{columns} columns", tadc.compile(source).runner, [x, w])
"""


def test_rows_that_are_read_backwards_begin_with_the_first_element():
    output = output_of("-c", BACKWARDS)
    assert output.count("49 columns, behind a page") == 4


def test_narrower_blocks_end_with_the_last_column():
    output = output_of("-c", NARROW)
    assert "97 columns, behind a page" in output


RUNS = """
import numpy as np, tadc
from tests.support.guarded_calls import check
source = "w: f32[J, C, 3]\\ny[i in range(35), j] = sum[c, k](x[c, i + k] * w[j, c, k])"
plan = "for f32\\ny[i, j]: rows i by 4, columns j by 32, 2 blocks a group"
f = tadc.compile(source, plan=plan + "\\n  sum 1 over c, k in chunks of 8 of c: panel w[j, c, k]")
for n in (3, 5, 16, 19, 43):
    check(f"{n} channels", f.runner, [np.ones((45, n, 3), "f"), np.ones((n, 37), "f")])
"""


def test_squares_end_with_the_last_term():
    output = output_of("-c", RUNS)
    assert "43 channels, behind a page" in output


TOO_LONG = """
import numpy as np, tadc
from tadc.runtime.workspace import Lifetime
from tests.support.guarded_calls import GuardedWorkspace, check
pack = GuardedWorkspace.pack
def short(self, buffers):
    return pack(self, [Lifetime(b.nbytes - 8, b.first, b.last) for b in buffers])
f = tadc.compile("u[i] = sum[j](x[j] * a[i])\\ny[i] = u[i] * u[0]\\nz[i] = u[i] - y[0]")
values = [np.ones(512) for _ in f.args]
check("as long as it is", f.runner, values)
GuardedWorkspace.pack = short
check("too long", f.runner, values)
"""


def test_a_tensor_too_long_for_its_place_is_noticed():
    done = run_python("-c", TOO_LONG)
    assert done.returncode == -signal.SIGSEGV, done.stderr
    *lines, last = done.stdout.splitlines()
    assert "as long as it is, behind a page" in lines
    assert last == "too long, before a page"


TOUCH = """
import numpy as np
from tests.support.guarded_memory import Guarded
guarded = Guarded((5,), np.dtype(np.float32), at_end={at_end})
at = guarded.array.ctypes.data
guarded.array[...] = 0
assert guarded.is_intact
import ctypes
ctypes.c_float.from_address(at + 4 * {index}).value {touch}
"""


@pytest.mark.parametrize(("at_end", "index"), [(True, 5), (False, -1)])
@pytest.mark.parametrize("touch", ["", "= 0"])
def test_one_element_beside_an_array_is_noticed(at_end: bool, index: int, touch: str):
    done = run_python("-c", TOUCH.format(at_end=at_end, index=index, touch=touch))
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert "Segmentation fault" in done.stderr


ROOTS = """
import numpy as np, tadc
from tests.support.guarded_calls import check
f = tadc.compile("y[i, j, k] = sum[s, t, u](a[s] * b[t] * c[u] * x[i + s, j + t, k + u])")
for sides in ((71, 69, 133), (40, 136, 150)):
    taps, x = [np.ones(5, "f")] * 3, np.ones(sides, "f")
    i, j, k = sides
    gradients = f.pullback_of([*taps, x], {}).gradients
    saved = [np.ones((i, j, k - 4), "f"), np.ones((i - 4, j - 4, k - 4), "f")]
    sizes = {"X_0": i, "X_1": j, "X_2": k}
    assert any(len(step.written) == 4 for step in gradients.code(sizes, "f32").steps)
    for gap in (0, 3):
        check(f"{i} planes, {gap} apart", gradients, [*taps, x, *saved], gap)
"""


def test_bands_with_several_results_end_with_their_last_elements():
    output = output_of("-c", ROOTS)
    assert "40 planes, 3 apart, behind a page" in output


SLIDES = """
import numpy as np, tadc
from tests.support.guarded_calls import check
f = tadc.compile("y[i, j, k] = sum[s, t, u](a[s] * b[t] * c[u] * x[i + s, j + t, k + u])")
for sides in ((71, 69, 133), (140, 136, 150)):
    taps, x = [np.ones(5, "f")] * 3, np.ones(sides, "f")
    sizes = {"S": 5, "T": 5, "U": 5} | dict(zip(("X_0", "X_1", "X_2"), sides))
    assert "slides along i" in f.emit("plan", sizes, "f32")
    for gap in (0, 3):
        check(f"{sides[0]} planes, {gap} apart", f.runner, [*taps, x], gap)
"""


def test_bands_that_slide_end_with_their_last_elements():
    output = output_of("-c", SLIDES)
    assert "140 planes, 3 apart, behind a page" in output
