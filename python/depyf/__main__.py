"""`python -m depyf` is the `depyf` command."""

import sys

try:
    from _depyf_command import main
except ImportError:  # the package was copied without what lies beside it
    from depyf.cli import main

if __name__ == "__main__":
    sys.exit(main())
