"""The commands of `tadc`, one module each; `tadc.commands.cli` reads the command line."""
