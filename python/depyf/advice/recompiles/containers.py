"""Rows of dicts, sets and caches, and of attributes that are added."""

from depyf.advice import helps, row

_FILLED_TO_THE_END = """
@torch.compile(backend="eager", dynamic=True)
def attend(x, keys, position):
    keys[:, position : position + 1] = x
    seen = keys[:, : position + 1]
    return torch.softmax(x @ seen.transpose(1, 2), -1) @ seen

keys = torch.zeros(2, 6, 4)
result = [attend(torch.ones(2, 1, 4) + at, keys, at) for at in range(2, 6)]
"""
_CACHE = """
class Cache:
    def __init__(self):
        self.keys = torch.zeros(1, 2, 4)

    def update(self, key):
        self.keys = torch.cat([self.keys, key], dim=1)
        return self.keys

@torch.compile(backend="eager")
def step(cache, key):
    return cache.update(key).sum()

cache = Cache()
result = [step(cache, torch.ones(1, 1, 4)) for _ in range(4)]
"""
_FILLED = """
class Cache:
    def __init__(self):
        self.is_initialized = False

    def update(self, key, position):
        if not self.is_initialized:
            self.keys = torch.zeros(1, 8, 4)
            self.is_initialized = True
        self.keys.index_copy_(1, position, key)
        return self.keys

@torch.compile(backend="eager")
def step(cache, key, position):
    return cache.update(key, position).sum()

cache = Cache()
result = [step(cache, torch.ones(1, 1, 4), torch.tensor([index])) for index in range(4)]
"""
_KEYS = """
@torch.compile(backend="eager")
def f(batch):
    y = batch["x"] * 2
    return y + batch["bias"] if "bias" in batch else y

result = [f({"x": torch.ones(3), "bias": torch.ones(3)}), f({"x": torch.ones(3)})]
"""
_ADDED = """
class Settings:
    def __init__(self):
        self.scale = 2

@torch.compile(backend="eager", dynamic=True)
def f(x, settings):
    if hasattr(settings, "offset"):
        x = x + settings.offset - settings.offset
    return x * settings.scale

settings = Settings()
result = [f(torch.ones(3), settings)]
settings.offset = 2
result.append(f(torch.ones(3), settings))
"""
_MEANS = """
@torch.compile(backend="eager")
def f(stats, x):
    stats["sum"] = stats["sum"] + x
    stats["mean"] = stats["sum"] / 2
    return x * 2

stats = {"sum": torch.zeros(3)}
result = [f(stats, torch.ones(3)) for _ in range(2)] + [stats["mean"]]
"""
_FILLED_BY_KEY = """
@torch.compile(backend="eager")
def f(x, cache):
    for key in ("a", "b"):
        if key in cache:
            x = x + cache[key]
        cache[key] = x
    return x * 2

cache = {}
result = [f(torch.ones(3), cache) for _ in range(3)]
"""
_SKIPPED = """
@torch.compile(backend="eager")
def f(x, skipped):
    for index in range(3):
        if index not in skipped:
            x = x * 2 + index
    return x

result = [f(torch.ones(3), {number}) for number in range(3)]
"""
_ORDER = """
@torch.compile(backend="eager")
def f(batch):
    return sum(value * 2 for value in batch.values())

x, y = torch.ones(3), torch.zeros(3)
result = [f({"x": x, "y": y}), f({"y": y, "x": x})]
"""
_MEMBER = """
import enum

class Mode(enum.Enum):
    FAST = 2
    SLOW = 3

@torch.compile(backend="eager")
def f(x, mode):
    return x * mode.value

result = [f(torch.ones(3), mode) for mode in Mode]
"""
_MEMO = """
memo = {}

@torch.compile(backend="eager")
def f(x, place):
    memo[place] = x * 2
    return memo[place]

result = [f(torch.ones(3), "a"), f(torch.ones(3), "a")]
"""
ROWS = (
    row(
        "full cache",
        "",
        [
            helps(
                "An operator has a special case for a slice that is all of {name}, so the call "
                "in which {position} reaches the end of dimension {index} has a separate "
                "compile. Allocate {name} with at least one element more in dimension {index} "
                "than is ever filled: then no call reads all of it.",
                _FILLED_TO_THE_END,
                _FILLED_TO_THE_END.replace("torch.zeros(2, 6, 4)", "torch.zeros(2, 7, 4)"),
            )
        ],
    ),
    row(
        "growing cache",
        "",
        [
            helps(
                "The cache grows at each call. torch.compile(..., dynamic=True) makes a length "
                "of 2 or more symbolic from the first call on; 0 and 1 have separate compiles.",
                _CACHE,
                _CACHE.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
            helps(
                "The cache grows at each call: allocate it once for the longest sequence and "
                "write into it. With transformers, "
                'generate(..., cache_implementation="static") does that.',
                _CACHE,
                """
class Cache:
    def __init__(self, length):
        self.keys = torch.zeros(1, length, 4)

    def update(self, key, position):
        self.keys.index_copy_(1, position, key)
        return self.keys

@torch.compile(backend="eager")
def step(cache, key, position):
    return cache.update(key, position).sum()

cache = Cache(8)
result = [step(cache, torch.ones(1, 1, 4), torch.tensor([2 + index])) for index in range(4)]
""",
            ),
        ],
    ),
    row(
        "keys",
        "",
        [
            helps(
                "Pass the same keys each time: leave out one that the function does not use, and "
                "where one is missing that it uses, pass it with a value that changes no result, "
                "such as zeros for what is added. If there is no such value, one compile for each "
                "set of keys is normal.",
                _KEYS,
                """
@torch.compile(backend="eager")
def f(batch):
    y = batch["x"] * 2
    return y + batch["bias"] if "bias" in batch else y

result = [f({"x": torch.ones(3), "bias": bias}) for bias in (torch.ones(3), torch.zeros(3))]
""",
            )
        ],
    ),
    row(
        "attribute that is added",
        "",
        [
            helps(
                "Give each object all of its attributes before the first call, in __init__: an "
                "attribute that is added later causes another compile.",
                _ADDED,
                _ADDED.replace("        self.scale = 2", "        self.scale = self.offset = 2"),
            )
        ],
    ),
    row(
        "key at a place",
        "",
        [
            helps(
                "Keep the same keys in the same order at each call: dict(sorted({name}.items())) "
                "has one order, if no result depends on it.",
                _ORDER,
                _ORDER.replace('f({"y": y, "x": x})', 'f(dict(sorted({"y": y, "x": x}.items())))'),
            )
        ],
    ),
    row(
        "member of a set",
        "",
        [
            helps(
                "If {name} is one of a few values (a member of an enum, a class), one compile "
                "for each is normal. If the code uses only a result computed from it (its "
                "value), pass that as a tensor.",
                _MEMBER,
                _MEMBER.replace("x * mode.value", "x * mode").replace(
                    "(torch.ones(3), mode)", "(torch.ones(3), torch.tensor(mode.value))"
                ),
            )
        ],
    ),
    row(
        "dict that is given keys",
        "",
        [
            helps(
                "The function adds keys ({keys}) to {name}, and a dict without them has a "
                "separate compile. Add those keys before the first call, so that later calls "
                "need no other compile.",
                _MEANS,
                _MEANS.replace(
                    '{"sum": torch.zeros(3)}', '{"sum": torch.zeros(3), "mean": torch.zeros(3)}'
                ),
            )
        ],
    ),
    row(
        "dict that is filled",
        "",
        [
            helps(
                "The function tests whether {name} has a key, and fills it, so torch compiles "
                "for each content. Add all of its keys before the first call (an empty tensor, "
                "or one for the most that is written into it). If the keys are not known then, "
                "test and fill outside of the compiled function, and pass the result.",
                _FILLED_BY_KEY,
                _FILLED_BY_KEY.replace(
                    "cache = {}", 'cache = {key: torch.zeros(3) for key in ("a", "b")}'
                ),
            )
        ],
    ),
    row(
        "what a set holds",
        "",
        [
            helps(
                "The content of {name} decides what is computed, so one compile for each content "
                "is normal if there are few. If there are many, pass the content as a tensor of "
                "bools, and decide with that: torch.where(held[i], a, b).",
                _SKIPPED,
                """
@torch.compile(backend="eager")
def f(x, skipped):
    for index in range(3):
        x = torch.where(skipped[index], x, x * 2 + index)
    return x

result = [f(torch.ones(3), torch.arange(3) == number) for number in range(3)]
""",
            )
        ],
    ),
    row(
        "growing dict",
        "",
        [
            helps(
                "A dict that the function fills is guarded by its contents: return the values, "
                "and fill the dict outside of the compiled function.",
                _MEMO,
                """
memo = {}

@torch.compile(backend="eager")
def f(x):
    return x * 2

result = []
for _ in range(2):
    memo["a"] = f(torch.ones(3))
    result.append(memo["a"])
""",
            )
        ],
    ),
    row(
        "cache state",
        "",
        [
            helps(
                "The first call fills the cache, and later calls find it filled: one compile for "
                "each is normal and needs no action. Only a cache that is allocated before the "
                "first call, and is called with the same shapes, has one compile (with "
                "transformers, StaticCache and its early_initialization).",
                _FILLED,
                _FILLED.replace(
                    "self.is_initialized = False",
                    "self.is_initialized = True\n        self.keys = torch.zeros(1, 8, 4)",
                ),
            )
        ],
    ),
)
