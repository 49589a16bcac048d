"""Views of a derivative for those who look at it: as plain data, with links between its parts.

- `view`: a program, its derivative, why it is so, stages, code and pictures
- `sizes`: small sizes to look at a program with
- `links`: what stems from which read, in the formula, the derivative and every stage
- `source_lines`: IR with the lines of the program beside it
- `notebook`: the same as HTML for notebooks
- `pictures`: pictures of index sets, as SVG
"""

from tadc.view.view import view

__all__ = ["view"]
