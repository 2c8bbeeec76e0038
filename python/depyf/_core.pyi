# What the extension has; src/python/module.cpp says what it does.
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

__version__: str

class DecompilationError(Exception):
    def __init__(self, message: str = "", *more: object) -> None: ...
    @property
    def message(self) -> str: ...

def compare(
    a: Union[CodeType, bytes],
    b: Union[CodeType, bytes],
    names: bool = True,
    dynamo: bool = False,
    lifetimes: bool = False,
    decompiled: bool = True,
    own_locals: Tuple[str, ...] = (),
    calls: Optional[List[Tuple[int, int]]] = None,
    own_globals: Tuple[str, ...] = (),
) -> Tuple[str, str]: ...
def decompile(
    code: Union[CodeType, bytes],
    indentation: int = 4,
    temp_prefix: str = "__temp_",
    name: Optional[str] = None,
    keep_temporaries: bool = False,
    set_literals: bool = True,
    callee_parameters: Dict[str, Tuple[str, ...]] = {},
    ladder: int = 0,
    dynamo: bool = False,
    line_map: bool = True,
    signature: Tuple[str, ...] = (),
    renamed: Optional[Dict[str, str]] = None,
    nan_literals: bool = True,
    ordinary: bool = False,
    own_locals: Tuple[str, ...] = (),
    callee_results: Dict[str, Tuple[str, ...]] = {},
    readable: Optional[List[Tuple[str, str, bool]]] = None,
    program_locals: Optional[Tuple[str, ...]] = None,
    own_globals: Tuple[str, ...] = (),
) -> Tuple[str, List[Any], Dict[str, Any], List[Any]]: ...
def disassemble(code: Union[CodeType, bytes]) -> str: ...
def is_quiet(text: str) -> bool: ...
def kept_temporaries(code: CodeType, own_globals: Tuple[str, ...] = ()) -> List[str]: ...
def listing(code: CodeType) -> str: ...
def main(
    arguments: List[str], compile: Optional[Callable[[bytes, str, int], bytes]] = None
) -> int: ...
def excepthook(
    prepare: Callable[[BaseException], object], previous: Any
) -> Callable[..., object]: ...
def opener(how: int) -> Callable[[Any, int], int]: ...
def supported_opnames() -> List[str]: ...
def write_all(descriptor: int, data: bytes) -> None: ...
