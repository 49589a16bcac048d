"""`view` gives what the command line prints, as data that JSON can hold; errors are data, too."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import tadc
from tadc.explain.gradients import explain
from tadc.view.view import PARTS, STAGES, view
from tests.support.paths import ROOT

EXAMPLES = sorted(ROOT.glob("examples/*.tad"))
CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_texts_are_those_of_the_command_line(path):
    source = path.read_text(encoding="utf-8")
    function = tadc.compile(source)
    found = view(source, parts=("derivative", "explanation", "stages"))
    assert json.loads(json.dumps(found)) == found
    assert found["error"] is None
    assert found["formula"]["text"] == source
    assert found["derivative"]["text"] == str(function.derivative())
    assert found["explanation"]["text"] == explain(function)
    assert {s["name"]: s["text"] for s in found["stages"]} == {n: function.ir(n) for n in STAGES}


def test_code_is_that_of_the_derivative():
    derivative = tadc.compile(CONVOLUTION).derivative()
    found = view(CONVOLUTION, parts=("loops", "plan", "llvm", "cuda"))
    kinds = {"loops": "scheduled", "plan": "plan", "llvm": "llvm", "cuda": "cuda"}
    for part, kind in kinds.items():
        assert found[part] == {"text": derivative.emit(kind)}


def test_the_package_has_the_function():
    assert tadc.view.view is view


def test_parts_that_nobody_asked_for_are_not_there():
    assert set(view(CONVOLUTION, parts=("derivative",))) == {
        *("error", "formula", "sizes", "derivative"),
    }


def test_some_arguments():
    found = view(CONVOLUTION, wrt="w")
    assert found["derivative"]["text"] == str(tadc.compile(CONVOLUTION).derivative("w"))
    assert [r["of"] for r in found["explanation"]["records"]] == ["dw"]
    assert view(CONVOLUTION, wrt=["x", "w"])["derivative"] == view(CONVOLUTION)["derivative"]


def test_links_are_the_same_in_all_parts():
    found = view(CONVOLUTION, parts=("derivative", "explanation", "stages"))
    formula = {name: CONVOLUTION[a:b] for a, b, name in found["formula"]["links"]}
    assert formula == {"r0": "w[k]", "r1": "x[2*i + 3*k]"}
    assert {r["link"]: r["read"] for r in found["explanation"]["records"]} == formula
    for part in (found["derivative"], *found["stages"]):
        assert {name for *_, name in part["links"]} == set(formula)


def test_a_record_has_equations_solution_and_bounds():
    record = view(CONVOLUTION)["explanation"]["records"][0]
    assert (record["of"], record["line"]) == ("dx", 3)
    assert record["equations"] == ["2*i + 3*k = p"]
    assert record["solution"] == ["i = -p + 3*z", "k = p - 2*z"]
    (bounds,) = record["bounds"]
    assert bounds["index"] == "z"
    assert {"form": "(p + 2) // 3", "from": "i >= 0"} in bounds["lower"]
    assert {"form": "p // 2 + 1", "from": "k >= 0"} in bounds["upper"]
    (diagonal,) = view("x: f64[4, 4]\ny[i] = x[i, i]")["explanation"]["records"]
    assert diagonal["guards"] == ["i == p"]


def test_chosen_stages_in_their_order():
    names = ["bounded", "solved", "solved"]
    found = view(CONVOLUTION, parts=("stages",), stage_names=names)["stages"]
    assert [s["name"] for s in found] == names
    assert [s["same"] for s in found] == [False, False, True]
    assert all(s["says"] == STAGES[s["name"]] for s in found)


# --- sizes ----------------------------------------------------------------------------------------


def test_sizes_give_every_tensor_some_elements():
    for path in EXAMPLES:
        source = path.read_text(encoding="utf-8")
        sizes = {s["name"]: s["value"] for s in view(source, parts=())["sizes"]}
        function = tadc.compile(source)
        assert list(sizes) == function.program.summary.size_names()
        shapes = [
            [sizes.get(str(n), n) for n in t.shape] for t in function.args
        ]  # no example has others
        assert all(n > 1 for shape in function.result_shapes(shapes) for n in shape)


def test_chosen_sizes_stay():
    sizes = {s["name"]: s for s in view(CONVOLUTION, parts=(), sizes={"N": 11, "M": 3})["sizes"]}
    assert sizes["N"] == {"name": "N", "value": 11, "least": 1, "most": 64}
    assert list(sizes) == ["N", "K"]


def test_sizes_at_which_the_program_can_be_called():
    source = "x: f64[N]\ny[i in range(12)] = x[i]"
    assert view(source, parts=())["sizes"][0]["value"] == 16


INVOLUTION = "sum[u in range(7), v in range(7)](k[b, u, v, i, j] * {}(x[b, c, i + u{}, j + v{}]))"


@pytest.mark.parametrize("source", [
    "x: f64[B, C, H, W]\n"
    "y[b, c, i in range(H), j in range(W)] = " + INVOLUTION.format("pad", -3, -3),
    "y[b, c, i, j] = " + INVOLUTION.format("", "", ""),
])  # fmt: skip
def test_several_sizes_grow_until_the_program_can_be_called(source: str):
    """No size alone makes a call of it: both dimensions of the kernel have 7 elements or more."""
    function = tadc.compile(source)
    sizes = {s["name"]: s["value"] for s in view(source, parts=())["sizes"]}
    shapes = [tuple(sizes.get(str(n), n) for n in t.shape) for t in function.args]
    assert function(*map(np.ones, shapes)).size


# --- errors ---------------------------------------------------------------------------------------


def test_an_error_has_its_place():
    source = "x: f64[4]\ny[i in range(9)] = x[i]"
    with pytest.raises(tadc.TadcError) as raised:
        tadc.compile(source)
    assert view(source) == {
        "error": {
            "kind": "RangeError",
            "message": str(raised.value),
            "says": raised.value.message,
            "line": 2,
            "column": 20,
            "end_line": 2,
            "end_column": 24,
        },
        "formula": {"text": source, "links": []},
    }


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ("y[i] = ", {}, "invalid syntax"),
        ("", {}, "the program defines nothing"),
        ("y[i in range(3)] = i", {}, "the program has no argument to derive with respect to"),
        ("y[i] = x[i]", {"wrt": "z"}, "there is no argument 'z'"),
        ("x: f64[N]\ny[i] = x[i]", {"sizes": {"N": -1}}, "the size N is -1"),
        ("y[i] = x[i]", {"parts": ("html",)}, "there is no part 'html'"),
        (
            "y[i] = x[i]",
            {"parts": ("stages",), "stage_names": ("solve",)},
            "there is no stage 'solve'",
        ),
        (3, {}, "a program is text, not int"),
    ],
)
def test_bad_input_is_an_error_and_not_raised(source, options, says):
    assert view(source, **options)["error"]["says"].startswith(says)


def test_what_is_there_before_an_error_stays():
    found = view("y[i in range(3)] = i", parts=("derivative",))
    assert found["error"] and "derivative" not in found
    assert found["formula"]["links"] == []


def test_what_is_not_about_the_input_is_raised(monkeypatch):
    monkeypatch.setattr(sys.modules["tadc.view.view"], "_seen", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        view("y[i] = x[i]")


def test_functions_that_are_defined_again_are_seen():
    source = "y[i] = seen_twice(x[i])"
    for number in (2, 3):
        tadc.define_function("seen_twice", "x", value=f"{number} * x", derivative=f"{number}")
        assert f"dx[i] = {number} * dy[i]" in view(source)["derivative"]["text"]


# --- pictures -------------------------------------------------------------------------------------


def test_pictures_have_links_and_titles():
    found = view(CONVOLUTION, parts=("pictures",), sizes={"N": 30, "K": 5}, element={"p": 12})
    assert {p["link"] for p in found["pictures"]} == {"r0", "r1"}
    first = found["pictures"][0]
    assert (first["link"], first["of"], first["kind"]) == ("r1", "dx", "points")
    assert first["elements"] == [{"name": "p", "value": 12, "least": 0, "most": 29}]
    assert "x[12]" in first["title"] and first["svg"].startswith("<svg")


def test_what_index_tensors_select_has_no_picture():
    source = (
        "idx: range(V)[N]\nx: f64[V]\nv: f64[N]\ny[i] = x[idx[i]]\nz[i in range(N - 1)] = v[i + 1]"
    )
    found = view(source, parts=("pictures",))
    assert {p["of"] for p in found["pictures"]} == {"dv"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_all_parts_of_examples_are_data(path):
    found = view(path.read_text(encoding="utf-8"), parts=PARTS)
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {"error", "formula", "sizes", *PARTS}
    assert found["error"] is None
    links = [one["link"] for one in (*found["pictures"], *found["explanation"]["records"])]
    names = {name for *_, name in found["formula"]["links"]}
    assert {link for link in links if link[0] == "r"} <= names
    assert all(link[0] in "rs" for link in links)
