#pragma once
#include <stdexcept>

namespace depyf {

/// What every function of this library throws: what was found, what was expected, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace depyf
