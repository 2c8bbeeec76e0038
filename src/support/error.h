#pragma once
#include <string>

#include "depyf/error.h"

namespace depyf {

/// Bytecode that CPython runs but no compiler writes, in a shape that a stage has no form for. The
/// code is sound: what runs it may still rebuild it.
class UnusualCode : public Error {
 public:
  using Error::Error;
};

}  // namespace depyf
