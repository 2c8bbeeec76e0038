# Comprehensions in handlers and in code that begins with a try statement; a conditional expression as their condition.
def os1(module):
    try:
        return list(module.__all__)
    except AttributeError:
        return [n for n in dir(module) if n[0] != '_']


def da(cls, fields, globals):
    flds = [f for f in fields if (f.compare if f.hash is None else f.hash)]
    return _set_qualname(cls, _hash_fn(flds, globals))


def py(path, forceload):
    try:
        if forceload and path in sys.modules and path not in sys.builtin_module_names:
            subs = [m for m in sys.modules if m.startswith(path + '.')]
            for key in [path] + subs:
                cache[key] = sys.modules[key]
        module = importlib.import_module(path)
    except BaseException as err:
        if path in sys.modules:
            raise ErrorDuringImport(sys.modules[path].__file__, err)
    return path
