# python: >=3.15
# Lazy imports (PEP 810).
lazy import json
lazy import os.path
lazy import a.b as c
lazy from typing import Any
lazy from a import b, c as d
