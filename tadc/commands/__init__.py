"""The commands `tadc` and `tadc-opt`.

- `cli`: the command line of `tadc`, and its options; `help_texts` are what `--help` says
- `derive`: `tadc derive`, which prints derivatives, their stages and where they come from
- `run`: `tadc run`, which runs a program on arrays from files
- `check`: `tadc check`, which verifies every derivative numerically
- `explore`: `tadc explore`, which serves the page where formulas become derivatives
- `cache`: `tadc cache`, which shows and clears what is kept on disk
- `doctor`: `tadc doctor`, which shows what is installed here, and whether it works
- `opt`: `tadc-opt`, the xDSL driver for single passes
- `programs`: programs from files or standard input
- `endings`: exit codes, and one message for each error
- `streams`: standard streams that are closed, or whose reader has left
"""
