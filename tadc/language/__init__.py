"""The text language: parser, inference of ranges, and printer."""

from tadc.language.check import check_ranges
from tadc.language.parse import parse
from tadc.language.printing.program import print_program

__all__ = ["check_ranges", "parse", "print_program"]
