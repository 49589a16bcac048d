"""The commands of `tadc`, one module each; `tadc.cli` reads the command line."""
