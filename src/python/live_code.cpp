#include "python/live_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_set>

#include "opcode/tables.h"
#include "pyc/pyc.h"
#include "support/error.h"

namespace depyf::python {
namespace {

// A deeper or larger container is kept by identity: 3.7 and 3.8 parse fewer than 100 nested
// parentheses, and a tuple that shares its items prints to a text exponential in its depth.
constexpr std::uint32_t kMaxLiteralDepth = 60;
constexpr std::uint64_t kMaxLiteralNodes = 1'000'000;

Ref attribute(PyObject* object, const char* name) {
  return Ref::checked(PyObject_GetAttrString(object, name));
}

std::uint32_t count_attribute(PyObject* object, const char* name) {
  Ref value = attribute(object, name);
  const long long number = PyLong_AsLongLong(value.get());
  if (number == -1 && PyErr_Occurred()) throw PythonError();
  if (number < 0 || number > UINT32_MAX) {
    throw Error(std::string("corrupt code object: ") + name + " is " + std::to_string(number));
  }
  return static_cast<std::uint32_t>(number);
}

std::string_view bytes_view(PyObject* bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0) throw PythonError();
  return {data, static_cast<std::size_t>(size)};
}

/// How deep and how large a literal is when printed, shared items counted each time.
struct Extent {
  std::uint32_t depth = 0;
  std::uint64_t nodes = 1;
};

class Converter {
 public:
  Converter(PyObject* code_type, ObjectTable& objects, bool set_literals, NanConstants nan)
      : code_type_(code_type), objects_(objects), set_literals_(set_literals), nan_(nan) {
    module_.version = running_version();
  }

  Module convert(PyObject* root) {
    module_.root = convert_code(root);
    return std::move(module_);
  }

 private:
  struct CodeFrame {
    Ref code;
    Ref consts;
    Py_ssize_t next = 0;
    std::vector<ConstId> done;
    std::vector<bool> made;
  };
  struct LiteralFrame {
    PyObject* owner;
    ConstKind kind;
    std::vector<Ref> items;
    std::size_t next = 0;
    std::vector<ConstId> done;
  };
  std::string_view text(PyObject* unicode) {
    Ref encoded = Ref::checked(PyUnicode_AsEncodedString(unicode, "utf-8", "surrogatepass"));
    return module_.arena.copy_string(bytes_view(encoded.get()));
  }

  StrId name(PyObject* unicode) {
    Ref encoded = Ref::checked(PyUnicode_AsEncodedString(unicode, "utf-8", "surrogatepass"));
    return module_.intern(bytes_view(encoded.get()));
  }

  std::vector<StrId> names(PyObject* code, const char* attribute_name) {
    Ref tuple = attribute(code, attribute_name);
    const Py_ssize_t size = PyTuple_Size(tuple.get());
    if (size < 0) throw PythonError();
    std::vector<StrId> out;
    out.reserve(static_cast<std::size_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i) out.push_back(name(PyTuple_GetItem(tuple.get(), i)));
    return out;
  }

  std::span<const std::uint8_t> bytes_attribute(PyObject* code, const char* attribute_name) {
    Ref bytes = attribute(code, attribute_name);
    const std::string_view view = bytes_view(bytes.get());
    return module_.arena.copy(
        std::span(reinterpret_cast<const std::uint8_t*>(view.data()), view.size()));
  }

  /// From 3.11 on, reading co_code resets the inline caches in a copy, and CPython writes past its
  /// end where the bytecode stops inside the caches of its last instruction. Such code is refused
  /// before.
  void check_caches(PyObject* code) {
    Ref bytes(PyObject_GetAttrString(code, "_co_code_adaptive"));
    const VersionTable* table = version_table(module_.version);
    if (!bytes.get() || !table) {
      PyErr_Clear();
      return;
    }
    const std::string_view units = bytes_view(bytes.get());
    std::size_t at = 0;
    while (at < units.size()) {
      const OpcodeInfo& info = table->opcodes[static_cast<std::uint8_t>(units[at])];
      if (info.action == Action::Unknown)
        return;  // such as INSTRUMENTED_LINE, which hides its instruction
      at += 2 + 2 * std::size_t{info.caches};
    }
    if (at > units.size()) {
      throw Error("corrupt code object: its bytecode of " + std::to_string(units.size()) +
                  " bytes ends inside the inline cache of its last instruction");
    }
  }

  ConstId add(const Const& value, Extent extent = {}) {
    const ConstId id = module_.add(value);
    extents_.resize(id.index + 1);
    extents_[id.index] = extent;
    return id;
  }

  ConstId object(PyObject* value) {
    Const constant;
    constant.kind = ConstKind::Object;
    constant.object = objects_.index_of(value);
    constant.text = returned_arguments(value);
    // What verify/ and simplify/ ask of an object: the number of a code object's free variables and
    // 1, or -1 for a function that shows the locals of the frame that calls it.
    if (Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(code_type_)) {
      const Ref free = attribute(value, "co_freevars");
      constant.integer = PyTuple_Size(free.get()) + 1;
    } else if (shows_locals(value)) {
      constant.integer = -1;
    }
    return add(constant);
  }

  bool shows_locals(PyObject* value) {
    if (observers_.empty()) {
      const Ref builtins = Ref::checked(PyImport_ImportModule("builtins"));
      for (const char* name : {"locals", "vars", "dir", "eval", "exec"})
        observers_.push_back(attribute(builtins.get(), name));
      const Ref sys = Ref::checked(PyImport_ImportModule("sys"));
      observers_.emplace_back(PyObject_GetAttrString(sys.get(), "_getframe"));
      PyErr_Clear();
    }
    return std::any_of(observers_.begin(), observers_.end(),
                       [&](const Ref& one) { return one.get() == value; });
  }

  /// Where `value` is a function that does nothing but return a tuple of its arguments: which ones,
  /// a byte each. Dynamo rotates many values of the stack with such functions where there is no
  /// instruction for it, up to 3.9.
  std::string_view returned_arguments(PyObject* value) {
    const VersionTable* table = version_table(module_.version);
    if (!function_type_.get()) {
      const Ref types = Ref::checked(PyImport_ImportModule("types"));
      function_type_ = attribute(types.get(), "FunctionType");
    }
    if (!table || Py_TYPE(value) != reinterpret_cast<PyTypeObject*>(function_type_.get()))
      return {};
    const Ref code = attribute(value, "__code__");
    const Ref bytes = attribute(code.get(), "co_code");
    const std::string_view units = bytes_view(bytes.get());
    const std::uint32_t count = count_attribute(code.get(), "co_argcount");
    constexpr std::uint32_t kOther =
        kVarArgs | kVarKeywords | kGenerator | kCoroutine | kAsyncGenerator;
    if (count == 0 || count > 255 || units.size() != 2 * std::size_t{count} + 4 ||
        count_attribute(code.get(), "co_kwonlyargcount") != 0 ||
        (count_attribute(code.get(), "co_flags") & kOther) != 0)
      return {};
    const auto is = [&](std::size_t at, std::string_view name) {
      return table->opcodes[static_cast<std::uint8_t>(units[2 * at])].name == name;
    };
    std::string order;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is(i, "LOAD_FAST") || static_cast<std::uint8_t>(units[2 * i + 1]) >= count) return {};
      order += units[2 * i + 1];
    }
    if (!is(count, "BUILD_TUPLE") ||
        static_cast<std::uint8_t>(units[2 * std::size_t{count} + 1]) != count ||
        !is(count + 1, "RETURN_VALUE"))
      return {};
    return module_.arena.copy_string(order);
  }

  /// Which constants of `code` are code objects that the instruction after the load makes a
  /// function of: positions in co_consts. Any other code object is a value like any other, and so
  /// is the one of a function with which Dynamo resumes: torch knows it by its identity.
  std::vector<bool> made_into_functions(PyObject* code, Py_ssize_t count) {
    std::vector<bool> out(static_cast<std::size_t>(count), false), loose(out);
    const VersionTable* table = version_table(module_.version);
    if (!table) return out;
    Ref bytes = attribute(code, "co_code");
    const std::string_view units = bytes_view(bytes.get());
    std::uint32_t argument = 0,
                  loaded[2] = {
                      UINT32_MAX,
                      UINT32_MAX};  // the two constants loaded last, when nothing came between
    const auto position = [&](std::uint32_t i) { return i < out.size(); };
    for (std::size_t at = 0; at + 1 < units.size();) {
      const std::uint8_t op = static_cast<std::uint8_t>(units[at]);
      argument = argument << 8 | static_cast<std::uint8_t>(units[at + 1]);
      const OpcodeInfo& info = table->opcodes[op];
      at += 2 + 2 * std::size_t{info.caches};
      if (op == table->extended_arg) continue;
      if (info.action == Action::Const) {
        if (position(loaded[1])) loose[loaded[1]] = true;
        loaded[1] = loaded[0];
        loaded[0] = argument;
      } else {
        const bool makes = info.base == "MAKE_FUNCTION";
        const bool named =
            makes &&
            !module_.version.has_exception_table();  // a qualified name is loaded above the code
        if (makes && position(loaded[named]))
          out[loaded[named]] = true;
        else if (position(loaded[named]))
          loose[loaded[named]] = true;
        if (position(loaded[!named])) loose[loaded[!named]] = true;
        loaded[0] = loaded[1] = UINT32_MAX;
      }
      argument = 0;
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = out[i] || !loose[i];  // one that nothing loads stays a code object
    return out;
  }

  bool resumes(PyObject* code) {
    const std::string_view found = module_[name(attribute(code, "co_name").get())];
    return found.starts_with("torch_dynamo_resume_in_") || found.starts_with("resume_in_") ||
           found.starts_with("<resume in ");
  }

  /// A literal without items; none for a container and for what is no literal.
  std::optional<ConstId> scalar(PyObject* value) {
    Const constant;
    PyTypeObject* type = Py_TYPE(value);
    if (value == Py_None) {
      constant.kind = ConstKind::None;
    } else if (value == Py_True) {
      constant.kind = ConstKind::True;
    } else if (value == Py_False) {
      constant.kind = ConstKind::False;
    } else if (value == Py_Ellipsis) {
      constant.kind = ConstKind::Ellipsis;
    } else if (type == &PyLong_Type) {
      integer(value, constant);
    } else if (type == &PyFloat_Type) {
      constant.kind = ConstKind::Float;
      constant.re = PyFloat_AsDouble(value);
    } else if (type == &PyComplex_Type) {
      constant.kind = ConstKind::Complex;
      constant.re = PyComplex_RealAsDouble(value);
      constant.im = PyComplex_ImagAsDouble(value);
    } else if (type == &PyUnicode_Type) {
      constant.kind = ConstKind::Str;
      constant.text = text(value);
    } else if (type == &PyBytes_Type) {
      constant.kind = ConstKind::Bytes;
      constant.text = module_.arena.copy_string(bytes_view(value));
    } else {
      return std::nullopt;
    }
    if (nan_ != NanConstants::Literals &&
        (constant.re != constant.re || constant.im != constant.im)) {
      if (nan_ == NanConstants::Objects) return std::nullopt;
      constant.live = true;
      constant.object = objects_.index_of(value);
    }
    return add(constant);
  }

  void integer(PyObject* value, Const& constant) {
    constant.kind = ConstKind::Int;
    int overflow = 0;
    constant.integer = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) return;
    constant.integer = 0;
    constant.big = true;
    Ref digits = Ref::checked(PyNumber_ToBase(value, 16));  // "-0x1f…", linear in the size
    std::string spelt(text(digits.get()));
    spelt.erase(spelt.find("0x"), 2);
    constant.text = module_.arena.copy_string(spelt);
  }

  std::optional<LiteralFrame> container(PyObject* value) {
    LiteralFrame frame{value, ConstKind::Tuple, {}, 0, {}};
    PyTypeObject* type = Py_TYPE(value);
    if (type == &PyTuple_Type) {
      const Py_ssize_t size = PyTuple_Size(value);
      for (Py_ssize_t i = 0; i < size; ++i)
        frame.items.push_back(Ref::borrowed(PyTuple_GetItem(value, i)));
    } else if (type == &PyFrozenSet_Type && set_literals_) {
      frame.kind = ConstKind::FrozenSet;
      Ref iterator = Ref::checked(PyObject_GetIter(value));
      while (PyObject* item = PyIter_Next(iterator.get())) frame.items.push_back(Ref(item));
      if (PyErr_Occurred()) throw PythonError();
    } else if (type == &PySlice_Type) {
      frame.kind = ConstKind::Slice;
      for (const char* part : {"start", "stop", "step"})
        frame.items.push_back(attribute(value, part));
    } else {
      return std::nullopt;
    }
    return frame;
  }

  ConstId finish(LiteralFrame& frame) {
    Extent extent;
    for (ConstId item : frame.done) {
      extent.depth = std::max(extent.depth, extents_[item.index].depth + 1);
      extent.nodes += extents_[item.index].nodes;
    }
    if (extent.depth > kMaxLiteralDepth || extent.nodes > kMaxLiteralNodes) return ConstId::none();
    Const constant;
    constant.kind = frame.kind;
    constant.items = module_.arena.copy(frame.done);
    if (frame.kind == ConstKind::Slice && !set_literals_) {
      constant.live = true;
      constant.object = objects_.index_of(frame.owner);
    }
    return add(constant, extent);
  }

  /// Any constant but a code object.
  ConstId constant(PyObject* root) {
    if (auto known = known_.find(root); known != known_.end()) return known->second;
    if (auto id = scalar(root)) return *id;
    std::vector<LiteralFrame> stack;
    auto enter = [&](PyObject* value) {
      auto frame = container(value);
      if (frame) stack.push_back(std::move(*frame));
      return frame.has_value();
    };
    // What holds a thing that is no literal is none either: everything on the stack.
    auto give_up = [&] {
      for (const LiteralFrame& frame : stack) not_literal_.insert(frame.owner);
      return known_[root] = object(root);
    };
    if (not_literal_.contains(root) || !enter(root)) return give_up();
    for (;;) {
      LiteralFrame& frame = stack.back();
      if (frame.next == frame.items.size()) {
        const ConstId id = finish(frame);
        if (!id) return give_up();
        known_[frame.owner] = id;
        stack.pop_back();
        if (stack.empty()) return id;
        stack.back().done.push_back(id);
        continue;
      }
      PyObject* item = frame.items[frame.next++].get();
      if (auto known = known_.find(item); known != known_.end()) {
        if (module_[known->second].kind == ConstKind::Object) return give_up();
        frame.done.push_back(known->second);
      } else if (auto id = scalar(item)) {
        frame.done.push_back(*id);
      } else if (not_literal_.contains(item) || !enter(item)) {
        return give_up();
      }
    }
  }

  CodeFrame open(PyObject* code) {
    if (!open_.insert(code).second)
      throw Error("corrupt code object: it holds itself among its constants");
    Ref consts = attribute(code, "co_consts");
    std::vector<bool> made = made_into_functions(code, PyTuple_Size(consts.get()));
    return {Ref::borrowed(code), std::move(consts), 0, {}, std::move(made)};
  }

  CodeId convert_code(PyObject* root) {
    std::vector<CodeFrame> stack;
    stack.push_back(open(root));
    for (;;) {
      CodeFrame& frame = stack.back();
      const Py_ssize_t size = PyTuple_Size(frame.consts.get());
      if (size < 0) throw PythonError();
      if (frame.next == size) {
        const CodeId id = finish(frame);
        open_.erase(frame.code.get());
        code_ids_[frame.code.get()] = id;
        kept_.push_back(std::move(frame.code));
        stack.pop_back();
        if (stack.empty()) return id;
        continue;
      }
      PyObject* item = PyTuple_GetItem(frame.consts.get(), frame.next);
      if (Py_TYPE(item) != reinterpret_cast<PyTypeObject*>(code_type_)) {
        ++frame.next;
        frame.done.push_back(constant(item));
      } else if (!frame.made[static_cast<std::size_t>(frame.next)] || resumes(item)) {
        ++frame.next;
        frame.done.push_back(object(item));
      } else if (auto known = code_ids_.find(item); known != code_ids_.end()) {
        ++frame.next;
        Const nested;
        nested.kind = ConstKind::Code;
        nested.code = known->second;
        frame.done.push_back(add(nested));
      } else {
        stack.push_back(open(item));
      }
    }
  }

  CodeId finish(CodeFrame& frame) {
    PyObject* live = frame.code.get();
    const PyVersion version = module_.version;
    CodeObject code;
    code.version = version;
    code.argcount = count_attribute(live, "co_argcount");
    if (version.has_positional_only())
      code.posonlyargcount = count_attribute(live, "co_posonlyargcount");
    code.kwonlyargcount = count_attribute(live, "co_kwonlyargcount");
    code.stacksize = count_attribute(live, "co_stacksize");
    code.flags = count_attribute(live, "co_flags");
    // co_firstlineno may be negative or absent in code that no compiler wrote; it is a hint only.
    Ref first_line = attribute(live, "co_firstlineno");
    const long line = PyLong_AsLong(first_line.get());
    PyErr_Clear();
    code.firstlineno = line > 0 ? static_cast<std::uint32_t>(line) : 0;
    code.name = name(attribute(live, "co_name").get());
    code.filename = name(attribute(live, "co_filename").get());
    if (version.has_exception_table()) check_caches(live);
    code.code = bytes_attribute(live, "co_code");
    code.consts = module_.arena.copy(frame.done);
    code.names = module_.arena.copy(names(live, "co_names"));
    code.linetable = bytes_attribute(live, version.has_line_table() ? "co_linetable" : "co_lnotab");
    if (version.has_exception_table()) {
      code.qualname = name(attribute(live, "co_qualname").get());
      code.exceptiontable = bytes_attribute(live, "co_exceptiontable");
    }
    lay_out_slots(module_, code, names(live, "co_varnames"), names(live, "co_cellvars"),
                  names(live, "co_freevars"));
    // Up to 3.10 `code.replace` takes any number, and a frame has so many slots.
    const std::uint32_t nlocals = count_attribute(live, "co_nlocals");
    if (nlocals != code.nlocals) {
      throw Error("corrupt code object: co_nlocals is " + std::to_string(nlocals) +
                  " and co_varnames has " + std::to_string(code.nlocals) + " names");
    }

    const CodeId id(static_cast<std::uint32_t>(module_.codes.size()));
    for (ConstId constant : frame.done) {
      const Const& value = module_[constant];
      if (value.kind == ConstKind::Code && !module_[value.code].parent)
        module_[value.code].parent = id;
    }
    module_.codes.push_back(code);
    return id;
  }

  PyObject* code_type_;
  ObjectTable& objects_;
  Ref function_type_;
  bool set_literals_;
  NanConstants nan_;
  std::vector<Ref> observers_;  // see shows_locals()
  Module module_;
  std::vector<Extent> extents_;                   // by ConstId
  std::unordered_map<PyObject*, ConstId> known_;  // containers and objects, by identity
  std::unordered_set<PyObject*> not_literal_;
  std::unordered_map<PyObject*, CodeId> code_ids_;
  std::unordered_set<PyObject*> open_;
  std::vector<Ref> kept_;  // identities above stay those of live objects
};

}  // namespace

std::uint32_t ObjectTable::index_of(PyObject* object) {
  auto [found, fresh] = indices_.try_emplace(object, static_cast<std::uint32_t>(objects_.size()));
  if (fresh) objects_.push_back(Ref::borrowed(object));
  return found->second;
}

PyVersion running_version() {
  const char* text = Py_GetVersion();  // "3.11.7 (main, …"
  const char* end = text + std::strlen(text);
  unsigned major = 0, minor = 0;
  const auto dot = std::from_chars(text, end, major).ptr;
  if (dot != end) std::from_chars(dot + 1, end, minor);
  return {static_cast<std::uint8_t>(major), static_cast<std::uint8_t>(minor)};
}

Module from_live_code(PyObject* code, PyObject* code_type, ObjectTable& objects, bool set_literals,
                      NanConstants nan) {
  return Converter(code_type, objects, set_literals, nan).convert(code);
}

std::uint32_t avoid_name_clashes(Module& module, std::size_t object_count) {
  if (object_count == 0) return 0;
  constexpr std::string_view prefix = "__const_";
  std::uint32_t first = 0;
  for (std::string_view used : module.strings) {
    if (!used.starts_with(prefix)) continue;
    std::uint32_t number = 0;
    const auto [end, error] =
        std::from_chars(used.data() + prefix.size(), used.data() + used.size(), number);
    if (error == std::errc() && number >= first && number < UINT32_MAX / 2) first = number + 1;
  }
  if (first == 0) return 0;
  for (std::size_t i = 0; i < module.consts.size(); ++i) {
    Const& constant = module.consts[i];
    if (constant.kind == ConstKind::Object || constant.live) constant.object += first;
  }
  return first;
}

}  // namespace depyf::python
