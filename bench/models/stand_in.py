"""A stand-in for torchvision, so that timm's networks can be imported without it.

timm names torchvision in a few imports (its frozen batch norm, its image transforms) which no
network needs to run. The stand-in gives an empty class for every name. It is put up only where
torchvision is missing.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types


class _Class(type):
    """An empty class, each attribute of which is its own name: enough for enumerations."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Class(name, (), {"__init__": lambda self, *arguments, **keywords: None})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def put_up():
    """From now on `import torchvision` gives the stand-in, where there is no torchvision."""
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(_Finder())
