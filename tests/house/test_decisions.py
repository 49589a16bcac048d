"""The records of docs/decisions say whether they hold; docs/decisions.md lists them by subject.

    python -m tests.house.test_decisions        brings the page up to date

Below its title a record has two lines:

    Status: holds
    Subject: [Planning loops](../design/planning.md)

A status is one of these. What changed in part begins with the records that changed it; several
changes have `;` between them:

    holds
    holds in part; [147](0147-loops-are-a-tree.md) emits rows from a tree
    superseded by [36](0036-blocks-as-vectors-in-registers.md)
    reversed by [36](0036-blocks-as-vectors-in-registers.md)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PAGE = DOCS / "decisions.md"
CHAPTERS = (
    *("language", "index-sets", "derivatives", "inverse", "sums"),
    *("layout", "planning", "code", "calls", "frameworks"),
)
"""The chapters of docs/design, in the order in which to read them."""
NEVER_GIVEN = {140}
"""Numbers that no record has; the page names them."""

LINK = r"\[(\d+)\]\((\d{4})-[\w-]+\.md\)"
LINKS = rf"{LINK}(?:(?:,| and) {LINK})*"
STATUS = re.compile(
    rf"holds|(?:superseded|reversed) by {LINKS}|holds in part(?:; {LINKS} [^;\[\]]*[^;\[\]\s])+"
)
HEAD = re.compile(
    r"# (?P<number>\d+)\. (?P<title>.+)\n\n"
    r"Status: (?P<status>(?:.+\n)+)\n"
    r"Subject: \[(?P<name>.+)\]\(\.\./design/(?P<subject>[\w-]+)\.md\)\n\n"
)
FIRST_LIST = "\n## "


@dataclass(frozen=True)
class Record:
    """The head of a record."""

    file: str
    number: int
    title: str
    status: str
    subject: str
    name: str
    """The title of the chapter, as the link to it has it."""

    @property
    def changed_by(self) -> Sequence[int]:
        """The numbers of the records that its status names."""
        return [int(number) for number, _ in re.findall(LINK, self.status)]

    @property
    def entry(self) -> str:
        """Its line in the list of its subject."""
        by = " and ".join(map(str, self.changed_by))
        note = f": {self.status.partition(' by ')[0]} by {by}"
        if self.status.startswith("holds"):
            note = f" (in part: {', '.join(map(str, self.changed_by))})" if by else ""
        return f"- [{self.number}. {self.title}](decisions/{self.file}){note}\n"


def record_of(text: str, file: str) -> Record:
    """The record with this text; raises AssertionError where it has no head."""
    found = HEAD.match(text)
    assert found, f"{file} does not begin with a title, a status and a subject"
    head = {key: " ".join(value.split()) for key, value in found.groupdict().items()}
    return Record(file, int(head.pop("number")), **head)


def faults(record: Record, numbers: set[int]) -> Iterator[str]:
    """The mistakes in the head of a record, where records have these numbers."""
    if record.number != int(record.file[:4]):
        yield f"{record.number} is not the number of the file"
    if not STATUS.fullmatch(record.status):
        yield f"no status: {record.status}"
    for number, file in re.findall(LINK, record.status):
        if int(number) != int(file) or int(number) not in numbers - {record.number}:
            yield f"no other record: {number} in {file}"
    if record.subject not in CHAPTERS:
        yield f"no subject: {record.subject}"
    elif record.name != title_of(record.subject):
        yield f"no title of a chapter: {record.name}"


@cache
def records() -> Sequence[Record]:
    """All records, in the order of their numbers."""
    paths = sorted((DOCS / "decisions").glob("*.md"))
    return [record_of(path.read_text(encoding="utf-8"), path.name) for path in paths]


@cache
def title_of(chapter: str) -> str:
    text = (DOCS / "design" / f"{chapter}.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def lists() -> Iterator[str]:
    """The part of the page that is made from the records."""
    for chapter in CHAPTERS:
        title = title_of(chapter)
        yield f"\n## {title}\n\nWhat holds today: [{title}](design/{chapter}.md).\n\n"
        yield from (record.entry for record in records() if record.subject == chapter)
    yield "\n:::{toctree}\n:hidden:\n:glob:\n\ndecisions/*\n:::\n"


def page() -> str:
    """The page as it should be; what stands before its first list is written by hand."""
    head, found, _ = PAGE.read_text(encoding="utf-8").partition(FIRST_LIST)
    assert found, "docs/decisions.md has no list"
    return head + "".join(lists())


def test_the_page_lists_the_records():
    """`python -m tests.house.test_decisions` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_heads_are_right():
    numbers = {record.number for record in records()}
    assert [f"{r.file}: {fault}" for r in records() for fault in faults(r, numbers)] == []


def test_numbers_that_are_missing_are_named():
    numbers = {record.number for record in records()}
    assert {*range(1, max(numbers) + 1)} - numbers == NEVER_GIVEN
    head = PAGE.read_text(encoding="utf-8").partition(FIRST_LIST)[0]
    assert all(str(number) in head for number in NEVER_GIVEN)


def test_every_chapter_has_a_title_and_records():
    assert {path.stem for path in (DOCS / "design").glob("*.md")} == {*CHAPTERS}
    assert {record.subject for record in records()} == {*CHAPTERS}


LATER = "[2](0002-b.md)"
RIGHT = {
    "holds": "",
    f"holds in part; {LATER} takes rows from 16 elements on": " (in part: 2)",
    f"holds in part; {LATER} and [3](0003-c.md) do; {LATER} does": " (in part: 2, 3, 2)",
    f"superseded by {LATER}": ": superseded by 2",
    f"reversed by {LATER}\nand [3](0003-c.md)": ": reversed by 2 and 3",
}
WRONG = {
    "does not hold": "no status",
    "holds in part": "no status",
    f"holds in part; {LATER}": "no status",
    f"holds in part; since {LATER} it is longer": "no status",
    "superseded": "no status",
    "superseded by [4](0004-d.md)": "no other record",
    "superseded by [1](0001-a.md)": "no other record",
    "superseded by [2](0003-c.md)": "no other record",
}


def head(status: str, subject: str = "planning", name: str = "") -> Record:
    name = name or title_of(subject)
    subject = f"Subject: [{name}](../design/{subject}.md)"
    return record_of(f"# 1. A title\n\nStatus: {status}\n\n{subject}\n\ntext\n", "0001-a.md")


@pytest.mark.parametrize("status", RIGHT)
def test_a_right_status_is_listed(status: str):
    assert not list(faults(head(status), {1, 2, 3}))
    assert head(status).entry == f"- [1. A title](decisions/0001-a.md){RIGHT[status]}\n"


@pytest.mark.parametrize("status", WRONG)
def test_a_wrong_status_is_found(status: str):
    assert [found.partition(":")[0] for found in faults(head(status), {1, 2, 3})] == [WRONG[status]]


def test_a_wrong_subject_is_found():
    assert list(faults(head("holds", "mice", "Mice"), {1})) == ["no subject: mice"]
    assert list(faults(head("holds", name="Mice"), {1})) == ["no title of a chapter: Mice"]


def test_a_record_without_a_status_is_found():
    with pytest.raises(AssertionError, match="does not begin with a title, a status"):
        record_of("# 1. A title\n\n**Context.** Text.\n", "0001-a.md")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
