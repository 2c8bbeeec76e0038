#pragma once
// From a live types.CodeType to the core's Module.
#include <Python.h>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pyc/code_object.h"

namespace depyf::python {

/// A Python exception is set; unwinds C++ frames up to the binding's edge.
struct PythonError {};

/// Owns one strong reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object_); }

  /// Takes what a C API function returned; throws PythonError on nullptr.
  static Ref checked(PyObject* owned) {
    if (!owned) throw PythonError();
    return Ref(owned);
  }
  static Ref borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

/// Constants that are no literals, numbered by identity. Two modules that are compared share one
/// table.
class ObjectTable {
 public:
  std::uint32_t index_of(PyObject* object);
  /// Names as printed: `__const_<first + index>__`.
  const std::vector<Ref>& objects() const { return objects_; }

 private:
  std::vector<Ref> objects_;
  std::unordered_map<PyObject*, std::uint32_t> indices_;
};

/// The version of the interpreter that runs.
PyVersion running_version();

/// What a NaN among the constants is: a literal like any other; a literal that knows its object; or
/// an object with a name, so that all who use it use that one.
enum class NanConstants : std::uint8_t { Literals, Known, Objects };

/// Converts `code` (exactly a types.CodeType) with everything below it. Literals become literals;
/// any other constant, also a subclass of a literal's type, a container that holds such a thing, or
/// one too deep or too large to print, becomes ConstKind::Object; so does a frozenset unless
/// `set_literals`: it has a literal only after `in` and as what a loop runs over. A slice keeps
/// its object then, for where it is no subscript. Iterative: nesting in the input costs no C++
/// stack.
Module from_live_code(PyObject* code, PyObject* code_type, ObjectTable& objects,
                      bool set_literals = true, NanConstants nan = NanConstants::Literals);

/// Adds `offset` to every object number, so that no `__const_<n>__` equals a name that `module`
/// uses. Returns the offset.
std::uint32_t avoid_name_clashes(Module& module, std::size_t object_count);

}  // namespace depyf::python
