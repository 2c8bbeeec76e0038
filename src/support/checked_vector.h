#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/error.h"

namespace depyf {

[[noreturn, gnu::cold, gnu::noinline]] inline void absent_id() {
  throw Error("internal error of depyf, please report it with the file: an absent id is looked up");
}

/// A store that Ids index: to look up the absent one, `Id::none()`, is an Error and no read of
/// memory that is not there.
template <class T>
class CheckedVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  using Base::operator=;

  T& operator[](std::size_t i) {
    check(i);
    return Base::operator[](i);
  }
  const T& operator[](std::size_t i) const {
    check(i);
    return Base::operator[](i);
  }

 private:
  static void check(std::size_t i) {
    if (i == UINT32_MAX) [[unlikely]]
      absent_id();
  }
};

}  // namespace depyf
