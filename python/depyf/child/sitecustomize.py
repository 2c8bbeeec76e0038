"""Runs when a Python starts that a program followed by `depyf run` made by subprocess.

The folder of this file is the first of PYTHONPATH there. Both are as the program wanted them before
any of its code runs, and so is the sitecustomize of that Python: where it has none, this one is not
in `sys.modules`.
"""


def _begin() -> bool:
    """Follows this process; returns whether its Python has a sitecustomize of its own."""
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    wanted = os.environ.pop("DEPYF_FOLLOW", "")
    first, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if first == here:
        if rest:
            os.environ["PYTHONPATH"] = rest
        else:
            del os.environ["PYTHONPATH"]
    sys.path[:] = [path for path in sys.path if path != here]
    spec = importlib.machinery.PathFinder.find_spec(__name__, sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[__name__] = module
        spec.loader.exec_module(module)
    if wanted:
        try:
            from depyf.follow import begin_in_child
        except ImportError:  # another Python, which has no depyf
            return spec is not None
        begin_in_child(wanted)
    return spec is not None


if not _begin():
    # site.py passes over this one, as where no such module is found
    raise ImportError("No module named %r" % __name__, name=__name__)
