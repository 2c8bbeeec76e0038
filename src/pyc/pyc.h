#pragma once
#include <cstdint>
#include <span>

#include "pyc/code_object.h"

namespace depyf {

/// Reads a `.pyc` file of CPython 3.7 … 3.15 (magic number, PEP 552 header, marshal data).
/// Throws Error on a wrong or unknown magic number, or truncated or corrupt data; sizes in the input are not trusted.
/// Facts: Lib/importlib/_bootstrap_external.py (magic), Python/marshal.c (format).
Module read_pyc(std::span<const std::uint8_t> bytes);

/// Reads marshalled code of a known version.
Module read_marshal(std::span<const std::uint8_t> bytes, PyVersion version);

}  // namespace depyf
