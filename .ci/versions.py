"""Runs tests with the oldest versions that `pyproject.toml` allows, and with the newest there are.

    python .ci/versions.py tests/language lit_tests

Oldest is the lower bound of Python, of each dependency and of each framework; newest is the newest
Python on this machine with whatever pip takes. Each runs in a fresh environment; a Python that is
not installed is skipped. Dependencies of the tests alone are the newest in both.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEAST = re.compile(r"([\w-]+)>=(\d+(?:\.\d+)*)(?:,<[\d.]+)?$")


def oldest() -> tuple[int, list[str]]:
    """The minor version of Python, and requirements for exactly the lower bounds."""
    python = int(PROJECT["requires-python"].removeprefix(">=3."))
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["solvers"], *extras["torch"], *extras["jax"]]
    bounds = [LEAST.match(each) for each in wanted]
    return python, [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


def interpreters() -> dict[int, str]:
    """Minor versions of Python from the oldest on, with programs that run."""
    found: dict[int, str] = {}
    pyenv = Path.home() / ".pyenv" / "versions"
    for minor in range(oldest()[0], 30):
        for path in (f"python3.{minor}", *map(str, pyenv.glob(f"3.{minor}.*/bin/python"))):
            if runs(path):
                found.setdefault(minor, path)
    return found


def runs(python: str) -> bool:
    try:
        return not subprocess.run([python, "-c", "import venv"], capture_output=True).returncode
    except OSError:
        return False


def passes(python: str, requirements: list[str], tests: list[str]) -> bool:
    """True if the tests pass in a fresh environment of this Python with these requirements."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", place], check=True)
        inside = f"{place}/bin/python"
        install = [inside, "-m", "pip", "install", "--quiet", "-e", f"{ROOT}[test]"]
        subprocess.run([*install, *requirements], check=True)
        print(f"{python} with {', '.join(requirements) or 'the newest of all'}", flush=True)
        parallel = ["-n", "auto", "--dist", "worksteal", "-p", "no:cacheprovider"]
        return not subprocess.run([inside, "-m", "pytest", *parallel, *tests], cwd=ROOT).returncode


def main(tests: list[str]) -> int:
    found = interpreters()
    python, bounds = oldest()
    passed = True
    for minor, requirements in ((python, bounds), (max(found, default=python), [])):
        if minor in found:
            passed &= passes(found[minor], requirements, tests)
        else:
            print(f"there is no Python 3.{minor} on this machine: skipped")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
