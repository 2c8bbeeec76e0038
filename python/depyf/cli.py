"""The `depyf` command: the core's own subcommands, reached through the extension."""

import sys


def main(argv=None):
    """Run the command with `argv` (without the program's name); returns the exit code."""
    from depyf import _core

    return _core.main(list(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
