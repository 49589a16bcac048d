"""Views of a derivative for those who look at it: as plain data, with links between its parts.

- `view`: a program, its derivative, why it is so, stages, code and pictures
- `sizes`: small sizes to look at a program with
- `links`: what stems from which read, in the formula, the derivative and every stage
- `source_lines`: IR with the lines of the program beside it
- `notebook`: the same as HTML for notebooks
- `pictures`: pictures of index sets, as SVG
- `site`: a page on which a browser derives programs, of files alone: `tadc/view/page`
- `bundle`: the modules that this takes, found by looking
- `bytecode`: these modules as Pyodide starts them, compiled by itself
- `server`: the same page from this machine, for `tadc explore`
- `machine`: what only this machine can say of a program: assembly, times and bytes
"""

from tadc.view.view import view

__all__ = ["view"]
