"""Scripts without the ending .py as modules, for other scripts and for tests."""

import importlib.machinery
import importlib.util
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name):
    """scripts/NAME, run as a module of that name; nothing is written beside it."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, name))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    exec(loader.source_to_code(loader.get_data(loader.path), loader.path), vars(module))
    return module
