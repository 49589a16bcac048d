"""The pages of a built site, and what is wrong with them: broken links, and requests to others.

A link is where a reader may go, `<a href>`: to other hosts too, but within the site its page and
its anchor must exist. A request is what a browser fetches by itself, such as styles and images; all
of that must lie in the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

REQUESTS = {
    "link": ("href",),
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "input": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
"""The attributes of each element that a browser follows by itself."""

IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


@dataclass
class Page(HTMLParser):
    """What a page links to, fetches, and offers as anchors."""

    path: Path
    links: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        text = self.path.read_text(encoding="utf-8")
        self.feed(text)
        for styles in re.findall(r"<style[^>]*>(.*?)</style>|style=\"([^\"]*)\"", text, re.DOTALL):
            self.requests += in_styles("".join(styles))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        for name in REQUESTS.get(tag, ()):
            parts = values.get(name, "").split(",") if name == "srcset" else [values.get(name, "")]
            self.requests += [part.split()[0] for part in parts if part.strip()]


def in_styles(text: str) -> list[str]:
    return [a or b for a, b in IN_STYLES.findall(text)]


def faults(site: Path) -> Iterator[str]:
    """What is wrong in a site, one line each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            if local(link) and not reaches(path, link, pages):
                yield f"{path.relative_to(site)}: {link}: there is no such place"
        yield from wrong_requests(site, path, page.requests)
    for path in sorted(site.rglob("*.css")):
        yield from wrong_requests(site, path, in_styles(path.read_text(encoding="utf-8")))


def wrong_requests(site: Path, path: Path, requests: list[str]) -> Iterator[str]:
    for request in requests:
        if request.startswith(("data:", "#")):
            continue
        if not local(request):
            yield f"{path.relative_to(site)}: {request}: asks another host"
        elif not target(path, request).is_file():
            yield f"{path.relative_to(site)}: {request}: there is no such file"


def local(address: str) -> bool:
    """True if an address has neither a scheme nor a host."""
    parts = urlsplit(address)
    return not parts.scheme and not parts.netloc


def target(path: Path, address: str) -> Path:
    inside = unquote(urlsplit(address).path)
    return (path.parent / inside).resolve() if inside else path


def reaches(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    """True if the file that a link names is there, with the anchor that it names."""
    file, anchor = target(path, link), unquote(urlsplit(link).fragment)
    if file in pages:
        return not anchor or anchor in pages[file].anchors
    return file.is_file()
