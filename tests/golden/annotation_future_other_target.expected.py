from __future__ import annotations

if False:
    _: None
# if >=3.14
if False:
    (_): ...
# end
if q:
    q = 1
# if <3.10
    int
# end
