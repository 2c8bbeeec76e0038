# python: >=3.14
# Annotations that only some ways through a module or a class body reach: they are evaluated when they are asked for.
import sys

if sys.platform == 'win32':
    handle: int
else:
    descriptor: int
for number in range(2):
    last: str = 'x'


class Record:
    name: str
    if sys.maxsize > 0x80000000:
        wide: int
    else:
        narrow: 'Record' = None
