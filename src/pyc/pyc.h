#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "pyc/code_object.h"

namespace depyf {

/// Reads a `.pyc` file of CPython 3.7 … 3.15 (magic number, PEP 552 header, marshal data).
/// Throws Error on a wrong or unknown magic number, or truncated or corrupt data; sizes in the
/// input are not trusted. Facts: Lib/importlib/_bootstrap_external.py (magic), Python/marshal.c
/// (format). The bytes are copied, unless `lasting` says that they outlive the Module.
Module read_pyc(std::span<const std::uint8_t> bytes, bool lasting = false);

/// Reads marshalled code of a known version. The bytes are treated likewise.
/// Throws Error as read_pyc does, and when the version is not one of 3.7 … 3.15.
Module read_marshal(std::span<const std::uint8_t> bytes, PyVersion version, bool lasting = false);

/// The version whose release writes `magic` (the first two bytes of a .pyc file, little-endian).
std::optional<PyVersion> version_of_magic(std::uint16_t magic);

/// Fills slots, deref_slots and nlocals of `code` (whose version, flags and argument counts are
/// set) from the three tuples of names that a live code object has in every version: all locals,
/// then cells that are no locals (up to 3.10: no arguments), then free variables.
void lay_out_slots(Module& module, CodeObject& code, std::span<const StrId> varnames,
                   std::span<const StrId> cellvars, std::span<const StrId> freevars);

/// The docstring of a function's code object; none where there is no docstring, or where `code` is
/// no function's. Fact: it is the first constant (up to 3.13 always, from 3.14 when the code object
/// says so).
ConstId docstring(const Module& module, CodeId code);

}  // namespace depyf
