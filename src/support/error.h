#pragma once
#include <stdexcept>
#include <string>

namespace depyf {

/// The one exception type of the core: what was found, what was expected, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytecode that CPython runs but no compiler writes, in a shape that a stage has no form for. The code is sound: what runs it may still rebuild it.
class UnusualCode : public Error {
 public:
  using Error::Error;
};

}  // namespace depyf
