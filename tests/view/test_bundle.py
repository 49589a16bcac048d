"""The archive of modules: they are all that is needed, and none that a browser cannot run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tadc
from tadc.errors import TadcError, TargetError
from tadc.view import bundle
from tadc.view.site import examples, programs_of_language

EXAMPLES = [e.source for e in examples()]
PARTS = ("derivative", "explanation")
SOURCES = [*EXAMPLES, *programs_of_language()]

ALONE = """
import json, sys
sys.path[:] = [sys.argv[1], *(p for p in sys.path if not p.endswith("site-packages"))]
from tadc.view import view

answers = [view(source, parts=json.loads(sys.argv[2])) for source in json.load(sys.stdin)]
print(json.dumps({"answers": answers, "loaded": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def look() -> bundle.Look:
    return bundle.looked_at([(source, PARTS) for source in SOURCES])


def test_the_archive_alone_answers_examples(look: bundle.Look, tmp_path: Path):
    bundle.write(look.modules, tmp_path / "modules.zip")
    shutil.unpack_archive(tmp_path / "modules.zip", tmp_path / "modules")
    command = [sys.executable, "-I", "-S", "-c", ALONE, tmp_path / "modules", json.dumps(PARTS)]
    done = subprocess.run(
        command, input=json.dumps(EXAMPLES), stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["answers"] == look.answers[: len(EXAMPLES)]
    assert not {"numpy", "scipy", "llvmlite"} & set(found["loaded"])


def test_answers_are_those_of_the_interface(look: bundle.Look):
    for source, answer in zip(SOURCES, look.answers, strict=True):
        try:
            derivative = str(tadc.compile(source).derivative())
        except TadcError as error:
            assert answer["error"]["message"] == str(error)
        else:
            assert answer["derivative"]["text"] == derivative


def test_the_same_modules_give_the_same_bytes(look: bundle.Look, tmp_path: Path):
    for name in ("a.zip", "b.zip"):
        bundle.write(look.modules, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_packages_and_modules_lie_where_python_looks(tmp_path: Path):
    package, module = tmp_path / "__init__.py", tmp_path / "inner.py"
    package.touch()
    module.touch()
    bundle.write({"outer": package, "outer.inner": module}, tmp_path / "found.zip")
    with zipfile.ZipFile(tmp_path / "found.zip") as archive:
        assert archive.namelist() == ["outer/__init__.py", "outer/inner.py"]


def test_machine_code_is_refused(tmp_path: Path):
    with pytest.raises(TargetError, match=r"a browser cannot run fast\.so"):
        bundle.write({"fast": tmp_path / "fast.so"}, tmp_path / "found.zip")
