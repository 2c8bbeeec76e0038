#pragma once
#include <stdexcept>
#include <string>

namespace depyf {

/// The one exception type of the core: what was found, what was expected, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace depyf
