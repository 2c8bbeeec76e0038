// The extension module depyf._core, in the limited API of CPython 3.7: one binary for every later version.
// Everything but the conversion of live objects is the core's; no C++ exception leaves this file.
#include "python/live_code.h"

#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "opcode/tables.h"
#include "simplify/simplify.h"
#include "pipeline/pipeline.h"
#include "pyc/pyc.h"
#include "support/error.h"
#include "verify/verify.h"

namespace depyf::python {
namespace {

PyObject* decompilation_error = nullptr;
PyObject* code_type = nullptr;

/// Runs `body`, which returns an owned PyObject*, and turns what it throws into a Python exception.
template <class Body>
PyObject* guarded(Body body) noexcept {
  try {
    return body();
  } catch (const PythonError&) {
    // already set
  } catch (const Error& error) {
    PyErr_SetString(decompilation_error, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_Format(decompilation_error, "internal error of depyf, please report it with the code object: %s", error.what());
  }
  return nullptr;
}

Ref to_str(std::string_view text) {
  return Ref::checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

Ref to_int(long long number) { return Ref::checked(PyLong_FromLongLong(number)); }

Ref tuple(std::initializer_list<Ref*> items) {
  Ref out = Ref::checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t i = 0;
  for (Ref* item : items) PyTuple_SetItem(out.get(), i++, item->release());
  return out;
}

void append(const Ref& list, const Ref& item) {
  if (PyList_Append(list.get(), item.get()) < 0) throw PythonError();
}

bool is_code(PyObject* object) { return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(code_type); }

/// A live code object, or the bytes of a .pyc file.
Module read(PyObject* input, ObjectTable& objects, bool set_literals = true) {
  if (is_code(input)) return from_live_code(input, code_type, objects, set_literals);
  if (PyBytes_Check(input)) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(input, &data, &size) < 0) throw PythonError();
    return read_pyc({reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size)});
  }
  Ref type_name = Ref::checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(input)), "__name__"));
  PyErr_Format(PyExc_TypeError, "expected a code object or the bytes of a .pyc file, got %U", type_name.get());
  throw PythonError();
}

/// Code that is no function's, as compile(…, "exec") makes it, is printed as a module.
bool is_module(const Module& module) {
  const CodeObject& root = module[module.root];
  return (root.flags & (kOptimized | kNewLocals)) == 0 && module[root.name] == "<module>";
}

Ref line_map(const Module& module, const LineMap& map) {
  Ref out = Ref::checked(PyList_New(0));
  for (const LineOrigin& origin : map.lines) {
    const std::span<const std::uint32_t> found = map.offsets_of(origin);
    Ref offsets = Ref::checked(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
    for (std::size_t i = 0; i < found.size(); ++i) {
      PyTuple_SetItem(offsets.get(), static_cast<Py_ssize_t>(i), to_int(found[i]).release());
    }
    Ref line = to_int(origin.line), original = to_int(origin.original_line), name = to_str(code_path(module, origin.code));
    append(out, tuple({&line, &offsets, &original, &name}));
  }
  return out;
}

Ref diagnostics(const Module& module, const std::vector<Diagnostic>& found) {
  Ref out = Ref::checked(PyList_New(0));
  for (const Diagnostic& diagnostic : found) {
    Ref kind = to_str(diagnostic_kind(diagnostic)), name = to_str(code_path(module, diagnostic.code)), offset = to_int(diagnostic.offset),
        message = to_str(diagnostic.message);
    append(out, tuple({&kind, &name, &offset, &message}));
  }
  return out;
}

Ref builtin_iter() {
  const Ref builtins = Ref::checked(PyImport_ImportModule("builtins"));
  return Ref::checked(PyObject_GetAttrString(builtins.get(), "iter"));
}

/// {name: (parameter, …)}; anything else in it is a TypeError.
void read_callee_parameters(PyObject* dict, DecompileOptions& options) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  auto text = [](PyObject* object) {
    Ref bytes = Ref::checked(PyUnicode_AsUTF8String(object));
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(bytes.get(), &data, &size) < 0) throw PythonError();
    return std::string(data, static_cast<std::size_t>(size));
  };
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (!PyUnicode_Check(key) || !PyTuple_Check(value)) {
      PyErr_SetString(PyExc_TypeError, "callee_parameters is a dict of a function's name to a tuple of its parameters' names");
      throw PythonError();
    }
    std::vector<std::string> names;
    for (Py_ssize_t i = 0; i < PyTuple_Size(value); ++i) names.push_back(text(PyTuple_GetItem(value, i)));
    options.callee_parameters.emplace_back(text(key), std::move(names));
  }
}

const char decompile_doc[] =
    "decompile(code, indentation=4, temp_prefix='__temp_', name=None, keep_temporaries=False,\n"
    "          set_literals=True, callee_parameters={}, ladder=0, dynamo=False, line_map=True)\n--\n\n"
    "Decompile a code object, or the bytes of a .pyc file.\n\n"
    "Returns (source, line_map, constants, diagnostics): line_map is a list of (line, offsets, original_line,\n"
    "qualified_name), empty with line_map=False; constants maps each placeholder name such as __const_7__ in the source to the object that\n"
    "stands there, also a frozenset or a slice with set_literals=False; callee_parameters maps the global names of functions\n"
    "to the tuple of their parameters' names, which temporaries passed to them take; ladder is the first rung of the\n"
    "fallbacks to try (5 a dispatch loop, 6 rebuilding from marshalled code); dynamo says that torch wrote the code, where no\n"
    "name in it does; diagnostics is a list of (kind, qualified_name, offset, message) with kind 'L1' ... 'L6',\n"
    "'broken' or 'note'. Raises DecompilationError.";

PyObject* decompile_function(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"code", "indentation", "temp_prefix", "name", "keep_temporaries", "set_literals", "callee_parameters", "ladder", "dynamo", "line_map", nullptr};
  PyObject* input = nullptr;
  int indentation = 4;
  const char* temp_prefix = "__temp_";
  const char* name = nullptr;
  int keep_temporaries = 0, set_literals = 1;
  PyObject* callee_parameters = nullptr;
  int ladder = 0, dynamo = 0, wants_line_map = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|iszppO!ipp", const_cast<char**>(keywords), &input, &indentation,
                                   &temp_prefix, &name, &keep_temporaries, &set_literals, &PyDict_Type, &callee_parameters, &ladder, &dynamo, &wants_line_map)) {
    return nullptr;
  }
  if (indentation < 1 || indentation > 16) {
    PyErr_Format(PyExc_ValueError, "indentation is %d, expected 1 to 16", indentation);
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    ObjectTable objects;
    Module module = read(input, objects, set_literals != 0);
    const std::uint32_t first = avoid_name_clashes(module, objects.objects().size());
    DecompileOptions options;
    options.line_map = wants_line_map != 0;
    options.indentation = static_cast<std::uint32_t>(indentation);
    options.temp_prefix = temp_prefix;
    options.keep_temporaries = keep_temporaries != 0;
    if (callee_parameters) read_callee_parameters(callee_parameters, options);
    if (name) options.name = name;
    options.ladder = static_cast<std::uint8_t>(ladder < 0 ? 0 : ladder > 6 ? 6 : ladder);
    options.dynamo = dynamo != 0;
    options.function = is_code(input) && !is_module(module);
    options.strict = options.function;
    const Decompiled result = depyf::decompile(module, options);

    Ref constants = Ref::checked(PyDict_New());
    for (std::size_t i = 0; i < objects.objects().size(); ++i) {
      const std::string placeholder = "__const_" + std::to_string(first + i) + "__";
      if (PyDict_SetItemString(constants.get(), placeholder.c_str(), objects.objects()[i].get()) < 0) {
        throw PythonError();
      }
    }
    if (result.source.text.find(kIterPlaceholder) != std::string::npos) {
      const Ref iter = builtin_iter();
      if (PyDict_SetItemString(constants.get(), kIterPlaceholder, iter.get()) < 0) throw PythonError();
    }
    Ref text = to_str(result.source.text);
    Ref lines = line_map(module, result.line_map);
    Ref found = diagnostics(module, result.diagnostics);
    return tuple({&text, &lines, &constants, &found}).release();
  });
}

const char compare_doc[] =
    "compare(a, b, names=True, dynamo=False)\n--\n\n"
    "Prove that two code objects of one Python version do the same, without running them.\n\n"
    "Returns (verdict, detail): 'identical', 'exact', 'equivalent' or 'different', and the first place where they\n"
    "part. With names=False, names of functions and docstrings are not compared. dynamo says that torch wrote `a`,\n"
    "where no name in it does: the order of stores to different locals that follow each other does not matter then.";

PyObject* compare_function(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"a", "b", "names", "dynamo", nullptr};
  PyObject *a = nullptr, *b = nullptr;
  int names = 1, dynamo = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|pp", const_cast<char**>(keywords), &a, &b, &names, &dynamo)) return nullptr;
  return guarded([&]() -> PyObject* {
    ObjectTable objects;  // one for both: objects are compared by identity
    Module left = read(a, objects);
    Module right = read(b, objects);
    VerifyOptions options;
    options.compare_names = names != 0;
    options.dynamo = dynamo != 0;
    const Ref iter = builtin_iter();
    options.iter_object = objects.index_of(iter.get());
    const Verdict verdict = verify(left, left.root, right, right.root, options);
    Ref kind = to_str(verdict_word(verdict.kind)), detail = to_str(verdict.detail);
    return tuple({&kind, &detail}).release();
  });
}

const char supported_opnames_doc[] =
    "supported_opnames()\n--\n\n"
    "Names of the running Python's opcodes that can be decompiled, sorted.";

PyObject* supported_opnames_function(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    Ref out = Ref::checked(PyList_New(0));
    if (const VersionTable* table = version_table(running_version())) {
      for (const OpcodeInfo& info : table->opcodes) {
        // Specialised and instrumented forms never reach co_code.
        if (!info.name.empty() && info.name == info.base && info.action != Action::Unknown) append(out, to_str(info.name));
      }
    }
    if (PyList_Sort(out.get()) < 0) throw PythonError();
    return out.release();
  });
}

const char disassemble_doc[] =
    "disassemble(code)\n--\n\n"
    "The decoded instructions of a code object, or of the bytes of a .pyc file, and of the code objects in it, as text.";

PyObject* disassemble_function(PyObject*, PyObject* input) {
  return guarded([&]() -> PyObject* {
    ObjectTable objects;
    Module module = read(input, objects);
    std::string text;
    for (std::size_t i = module.codes.size(); i-- > 0;) {  // outermost first
      const CodeId code(static_cast<std::uint32_t>(i));
      if (!text.empty()) text += '\n';
      text += dump_stage(module, code, Stage::Bytecode);
    }
    return to_str(text).release();
  });
}

const char main_doc[] =
    "main(arguments)\n--\n\n"
    "Run the depyf command with a list of arguments (without the program's name); returns the exit code.";

PyObject* main_function(PyObject*, PyObject* list) {
  return guarded([&]() -> PyObject* {
    std::vector<std::string> arguments;
    const Py_ssize_t size = PyList_Size(list);
    if (size < 0) throw PythonError();
    for (Py_ssize_t i = 0; i < size; ++i) {
      Ref encoded = Ref::checked(PyUnicode_EncodeFSDefault(PyList_GetItem(list, i)));
      char* data = nullptr;
      Py_ssize_t length = 0;
      if (PyBytes_AsStringAndSize(encoded.get(), &data, &length) < 0) throw PythonError();
      arguments.emplace_back(data, static_cast<std::size_t>(length));
    }
    Ref executable = Ref::checked(PyUnicode_EncodeFSDefault(PySys_GetObject("executable")));
    const char* python = PyBytes_AsString(executable.get());
    const int code = run_command(arguments, python && *python ? python : "python3");
    std::cout.flush();
    return to_int(code).release();
  });
}

PyMethodDef methods[] = {
    {"disassemble", disassemble_function, METH_O, disassemble_doc},
    {"main", main_function, METH_O, main_doc},
    {"supported_opnames", supported_opnames_function, METH_NOARGS, supported_opnames_doc},
    {"decompile", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(decompile_function)),
     METH_VARARGS | METH_KEYWORDS, decompile_doc},
    {"compare", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(compare_function)),
     METH_VARARGS | METH_KEYWORDS, compare_doc},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "depyf._core", "The compiled core of depyf.", -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

bool add_object(PyObject* module, const char* name, PyObject* object) {
  if (!object) return false;
  Py_INCREF(object);
  if (PyModule_AddObject(module, name, object) == 0) return true;
  Py_DECREF(object);
  return false;
}

}  // namespace

PyObject* create_module() {
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  if (!decompilation_error) {
    decompilation_error = PyErr_NewExceptionWithDoc(
        "depyf.DecompilationError",
        "Bytecode that cannot be decompiled: what was found, what was expected and what to do.", nullptr, nullptr);
  }
  if (!code_type) {
    if (PyObject* types = PyImport_ImportModule("types")) {
      code_type = PyObject_GetAttrString(types, "CodeType");
      Py_DECREF(types);
    }
  }
  if (!code_type || !add_object(module, "DecompilationError", decompilation_error) ||
      PyModule_AddStringConstant(module, "__version__", DEPYF_VERSION) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}

}  // namespace depyf::python

PyMODINIT_FUNC PyInit__core() { return depyf::python::create_module(); }
