"""`python -m depyf` is the `depyf` command."""

import sys

from depyf.cli import main

sys.exit(main())
