"""The settings of Sphinx, which makes a site of pages, docstrings and examples: `make docs`.

Everything that a page needs lies beside it: no font, script or style of another host. Decision 0031
says why it is Sphinx, and `docs/site` holds what Sphinx has to be told of our prose.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "site")]

project = "tadc"
version = release = version_of("tadc")
copyright = "the authors of tadc"
exclude_patterns = ["gallery/GALLERY_HEADER.rst"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
    *("blocks", "lexers", "links", "prose", "tour"),
]

# --- Markdown and docstrings ----------------------------------------------------------------------

default_role = "code"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
# reading docstrings takes no framework
autodoc_mock_imports = [name for name in ("torch", "jax") if not find_spec(name)]

# --- looks ----------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"tadc {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# --- the gallery ----------------------------------------------------------------------------------

GALLERY = DOCS.parent / "examples" / "gallery"


def runs_here(script: Path) -> bool:
    """True if the frameworks that a script imports are installed."""
    text = script.read_text(encoding="utf-8")
    return not any(f"import {name}" in text for name in autodoc_mock_imports)


RUN = [script.stem for script in sorted(GALLERY.glob("*.py")) if runs_here(script)]
SHOWN_ONLY = sorted({script.stem for script in GALLERY.glob("*.py")} - set(RUN))
if SHOWN_ONLY:
    print(
        f"shown but not run, without {' and '.join(autodoc_mock_imports)}: {', '.join(SHOWN_ONLY)}"
    )

sphinx_gallery_conf = {
    "examples_dirs": str(GALLERY),
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/({'|'.join(RUN)})\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "remove_config_comments": True,
}
