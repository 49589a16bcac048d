"""`python -m tadc` is the command `tadc`."""

import sys

from tadc.commands.cli import main

sys.exit(main())
