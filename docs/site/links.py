"""Links of Markdown that lead out of `docs`: to the page of the site that shows the file.

The same pages are read in the repository, where `../passes/rewriting` is a link to a folder: on the
site it leads to the page of the package. What no page shows is text.
"""

from __future__ import annotations

from pathlib import Path

from docutils.nodes import document, reference
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "docs/decisions": "decisions",
    "examples/gallery": "gallery/index",
}
"""Files and folders of the repository, and parts of them, with the pages that show them."""
SCRIPTS = "examples/gallery/"
INNER = ("dialects", "passes")
"""Folders that are packages inside of `tadc`, where the pages of the compiler have them."""


def in_repository(root: Path, page: str, target: str) -> str | None:
    """The file or folder that a link means, from the page on or, of README, from the root on."""
    for folder in ((root / "docs" / page).parent, root):
        path = (folder / target).resolve()
        if path.exists() and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def shown_at(root: Path, path: str, anchor: str) -> tuple[str, str] | None:
    """The page that shows a file or a folder, and the anchor there."""
    if page := PAGES.get(f"{path}#{anchor}") or PAGES.get(path):
        return page, ""
    if path.startswith(SCRIPTS):
        return path.removeprefix("examples/").removesuffix(".py"), ""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module.partition(".")[0] in INNER:
        module = f"tadc.{module}"
    package = module if (root / path).is_dir() else module.rpartition(".")[0]
    for name in (module, package):
        if (root / "docs" / "tour" / f"{name}.rst").exists():
            return f"tour/{name}", f"#std-part-{module}"
    return None


def resolve(app: Sphinx, tree: document) -> None:
    """Replaces links to files that are no pages."""
    root, page = Path(app.srcdir).parent, app.env.docname
    for node in list(tree.findall(lambda n: isinstance(n, pending_xref | download_reference))):
        target, _, anchor = str(node["reftarget"]).partition("#")
        path = in_repository(root, page, target) if node.get("reftype") in KINDS else None
        if path is None or f"{path}".removeprefix("docs/").removesuffix(".md") in app.env.all_docs:
            continue
        found = shown_at(root, path, anchor)
        if found is None:
            node.replace_self(node.children)
        else:
            uri = app.builder.get_relative_uri(page, found[0]) + found[1]
            node.replace_self(reference("", "", *node.children, refuri=uri, internal=True))


KINDS = ("myst", "download")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", resolve)
    return {"parallel_read_safe": True}
