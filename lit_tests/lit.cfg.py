"""Configuration of `lit lit_tests`; `pytest lit_tests` runs the same files in one process."""

# ruff: noqa: F821
import os
import sys
from pathlib import Path

import lit.formats

config.name = "tadc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".tad"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "Output")
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
