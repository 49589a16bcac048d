"""The static site, built once for all tests, also where several processes run them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tadc.errors import TargetError
from tadc.view.site import build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder of the site; skips where Pyodide is neither there nor to be fetched."""
    parallel = hasattr(request.config, "workerinput")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if parallel else base) / "site"
    done = folder.with_suffix(".done")
    try:
        folder.with_suffix(".begun").mkdir()
    except FileExistsError:
        while not done.exists():
            time.sleep(0.1)
    else:
        try:
            done.write_text(_built(folder))
        except BaseException:
            done.write_text("the site cannot be built: another process has the error")
            raise
    if reason := done.read_text():
        pytest.skip(reason)
    return folder


def _built(folder: Path) -> str:
    """Build the site; why that is not possible here."""
    try:
        build(folder)
    except TargetError as error:
        return str(error)
    return ""
