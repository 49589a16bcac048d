"""The static page where formulas become derivatives: the compiler itself runs in the browser.

    python -m tadc.view.site [FOLDER]      builds it, by default in site/; `make site` does that

The site is a folder of files for any web server, and asks no other host for anything:

- the page itself, which is `tadc/view/page`
- Python for browsers: Pyodide, of a version that is written here, from npm's registry
- `modules.zip`: the modules of tadc, xDSL and small packages that `view` takes
- `examples.json` and `answers/`: programs to start from, and what `view` says of them, shown
  until Python has started
- `offline.js`: what keeps all of this in the browser, under a version that is a hash of all files
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tadc.errors import FileError, TadcError, TargetError
from tadc.view import bundle

ROOT = Path(__file__).parents[2]
PAGE = Path(__file__).parent / "page"
GALLERY = Path(__file__).parent / "gallery"
FETCHED = ROOT / "build"
"""The folder that keeps the package of Pyodide from one build to the next."""

PYODIDE = "314.0.7"
INTEGRITY = (
    "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyM"
    "cWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
"""The hash of this version in npm's registry, in the form of its lock files."""
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")

FIRST = "convolution"
"""The example that the page opens with."""
STORED = ("derivative", "explanation", "stages", "pictures")
"""The parts that are there before Python is."""
PARTS = ("derivative", "explanation", "stages", "loops", "plan", "llvm", "cuda", "pictures")


class Example(NamedTuple):
    """A program to start from."""

    name: str
    title: str
    source: str


def build(folder: Path) -> None:
    """Build the site in `folder`, which is made anew.

    Raises `TargetError` where Pyodide cannot be fetched or is not the one expected, `FileError`
    where the documentation is missing: it comes with the sources of tadc, not with its package.
    """
    shown = examples()
    requests = [(e.source, STORED) for e in shown]
    look = bundle.looked_at([*requests, *((text, PARTS) for text in programs_of_language())])
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PAGE, folder, ignore=shutil.ignore_patterns("__*"))
    unpack_pyodide(folder)
    bundle.write(look.modules, folder / "modules.zip")
    (folder / "answers").mkdir()
    for example, answer in zip(shown, look.answers, strict=False):
        (folder / "answers" / f"{example.name}.json").write_text(json.dumps(answer))
    listed = [{**e._asdict(), "answer": f"answers/{e.name}.json"} for e in shown]
    (folder / "examples.json").write_text(json.dumps(listed))
    compile_modules(folder)
    name_files(folder)


# --- programs -------------------------------------------------------------------------------------


def examples() -> list[Example]:
    """The programs of `tadc/view/gallery`, and in a checkout those of `examples`, `FIRST` first."""
    files = [*(ROOT / "examples").glob("*.tad"), *GALLERY.glob("*.tad")]
    return [_example(file) for file in sorted(files, key=lambda p: (p.stem != FIRST, p.stem))]


def _example(file: Path) -> Example:
    source = file.read_text(encoding="utf-8")
    says = " ".join(re.findall(r"^# *(.*)$", source, re.MULTILINE))
    sentence = re.split(r"[.:](?:\s|$)", says)[0]
    return Example(file.stem, f"{file.stem}: {sentence}", source)


def programs_of_language() -> list[str]:
    """The programs of docs/language.md, wrong ones too: together they take every module.

    Raises `FileError` where tadc is no checkout.
    """
    page = ROOT / "docs" / "language.md"
    if not page.exists():
        raise FileError("docs/language.md is not beside tadc", hint="build the site in a checkout")
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```tad\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# --- Python for browsers --------------------------------------------------------------------------


def unpack_pyodide(folder: Path) -> None:
    """Write the files of Pyodide that a page needs; its list of packages is left empty."""
    with tarfile.open(fetched_pyodide()) as package:
        for name in (*PYODIDE_FILES, "pyodide-lock.json"):
            member = package.extractfile(f"package/{name}")
            assert member
            content = member.read()
            if name == "pyodide-lock.json":
                content = json.dumps({**json.loads(content), "packages": {}}).encode()
            (folder / name).write_bytes(content)


def fetched_pyodide() -> Path:
    """The package of Pyodide as npm's registry has it, fetched if it is not there yet."""
    archive = FETCHED / f"pyodide-{PYODIDE}.tgz"
    if not archive.exists():
        FETCHED.mkdir(exist_ok=True)
        _fetch(f"pyodide@{PYODIDE}", FETCHED)
    found = "sha512-" + b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != INTEGRITY:
        archive.unlink()
        raise TargetError(
            f"{archive.name} is not the package that this version of tadc was made for",
            hint="it has been removed; the next build fetches it again",
        )
    return archive


def _fetch(package: str, folder: Path) -> None:
    command = ["npm", "pack", package, "--silent", "--pack-destination", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise TargetError(f"fetching {package} takes npm", hint="install Node.js") from None
    except subprocess.CalledProcessError as error:
        said: list[str] = error.stderr.strip().splitlines() or ["npm does not say why"]
        raise TargetError(
            f"npm cannot fetch {package}: {said[0]}", hint="building takes a network once"
        ) from None


def compile_modules(folder: Path) -> None:
    """Let the Python of a site compile its modules: it starts in two thirds of the time then."""
    script = Path(__file__).with_name("bytecode.mjs")
    try:
        subprocess.run(["node", str(script), str(folder)], check=True)
    except FileNotFoundError:
        raise TargetError("compiling modules takes node", hint="install Node.js") from None


# --- the whole ------------------------------------------------------------------------------------


def name_files(folder: Path) -> None:
    """Write the names of all files, and a version that changes with each, to `offline.js`."""
    names = [name for name in file_names(folder) if name != "offline.js"]
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0" + (folder / name).read_bytes())
    script = folder / "offline.js"
    text = script.read_text(encoding="utf-8")
    text = text.replace('VERSION = ""', f'VERSION = "{digest.hexdigest()[:16]}"')
    script.write_text(text.replace("FILES = []", f"FILES = {json.dumps(['./', *names])}"))


def file_names(folder: Path) -> list[str]:
    """The files of a site, by their paths in it."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def sizes(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Each file with its bytes, and those that a server sends of it, compressed by gzip."""
    for name in file_names(folder):
        content = (folder / name).read_bytes()
        yield name, len(content), min(len(content), len(gzip.compress(content, 6)))


def main(arguments: Sequence[str]) -> int:
    """Build the site and print the sizes of its files; the exit code."""
    folder = Path(arguments[0]) if arguments else ROOT / "site"
    try:
        build(folder)
    except TadcError as error:
        print(f"tadc: {error}", file=sys.stderr)
        return 1
    table = list(sizes(folder))
    _, whole, packed = zip(*table, strict=True)
    table.append(("all of them", sum(whole), sum(packed)))
    print(f"{'file':<28}{'bytes':>12}{'by gzip':>12}")
    for name, whole, packed in table:
        print(f"{name:<28}{whole:>12,}{packed:>12,}")
    print(f"open {folder}/index.html through a web server: python -m http.server -d {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
