"""The text language: programs as text to `tix.program`, and back.

- `source`: the text of a program, its syntax tree, and the spans that errors underline
- `nesting`: the place where a program is nested most deeply
- `names`: the words of the language, and names that are free
- `hints`: how to say here what other libraries have functions for
- `notations`: what to write for notations that Python's parser refuses
- `scope`: what names mean while a program is read, and where operations go
- `parse`: a whole program, from its names to its results
- `declarations`: `a: f32[N, 5]`
- `index_tensors`: `idx: range(V)[N]`, and index tensors that nothing declares
- `definitions`: `f[i, j] = E` and `p[i] += E`
- `precisions`: the precision of definitions that the text does not declare
- `values`: scalar expressions to operations
- `other_expressions`: expressions of Python that are none of this language
- `affine`: index expressions to affine forms
- `folding`: which parts of an expression are one affine form, for reading and printing
- `written_ranges`: ranges that the text gives, `k in range(low, high)`
- `conditions`: conditions on indices to unions of convex sets
- `boundaries`: indices beyond borders, by `clamp`, `reflect`, `wrap` and `%`, to choices of reads
- `choices`: `E1 if C else E2`, with conditions on indices, values or both
- `sizes`: sizes that are still open, and derived ones
- `reads`: the reads of a definition, and the systems of constraints at whose points they happen
- `ranges`: inference of the ranges that the text does not give
- `statement`: a statement while its ranges are inferred
- `dimensions`: ranges of indices that stand alone in a dimension
- `intervals`: ranges of all others, the largest in which reads stay inside
- `finalize`: puts what is known of sizes at the end into operations
- `check`: the proof that no read leaves its tensor, for sizes that are known
- `empty_ranges`: inferred ranges that come out empty at a call, for a warning
- `describe`: reads and indices in the words of the program, for errors
- `formulas`: formulas of functions to bodies of scalar operations
- `custom_functions`: the functions that users define
- `printing`: programs as text
"""

from tadc.language.check import check_ranges
from tadc.language.parse import parse
from tadc.language.printing.program import print_program

__all__ = ["check_ranges", "parse", "print_program"]
