"""The text language: parser, inference of ranges, and printer."""

from tadc.language.check import check_ranges
from tadc.language.parse import parse

__all__ = ["check_ranges", "parse"]
