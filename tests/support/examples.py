"""The programs in the folder of examples."""

import tadc
from tests.support.paths import EXAMPLES

PROGRAMS_OF_NUMBERS = [
    path
    for path in sorted(EXAMPLES.glob("*.tad"))
    if all(t.is_real for t in tadc.compile_file(path).args)
]
"""The programs without index tensors: of others the interpreter would count terms that no code
visits, and operations of JAX take none."""
