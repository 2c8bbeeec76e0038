# Annotations kept as strings, with formatted strings in them whose texts have escapes.
from __future__ import annotations


def formatted(a: f'{x}\n', b: f'\t{x!r:>{w}}{{}}', c: f'é\\{x[0]}'):
    return a


def quoted(a: f"{d['k']}\n", b: f'{ {1: x}[1]}\t', c: L[f"{x['y']:\n>{n['m']}}"]):
    return a
