# from … import.
from os import path
from os import path as p
from os.path import join, split as s
from a.b.c import d
from typing import Any, Dict, List


def f():
    from json import dumps, loads as l
    return dumps, l
