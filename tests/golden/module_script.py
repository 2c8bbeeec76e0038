"""A small script."""

import os
import sys

__all__ = ['main']
VERSION = (1, 2)


def main(argv=None):
    """Run it."""
    if argv is None:
        argv = sys.argv
    for path in argv[1:]:
        with open(path) as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip('\n')
                if not line:
                    continue
                print(f'{number}: {line}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
