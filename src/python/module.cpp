// The extension module depyf._core, in the limited API of CPython 3.7: one binary for every later
// version. Everything but the conversion of live objects is the core's; no C++ exception leaves
// this file. No function keeps state between two calls, and containers that the caller may change
// meanwhile are copied first, so the module needs no GIL.
#include "python/live_code.h"

#include <cerrno>
#include <iostream>
#include <string>
#include <vector>

#include "bytecode/text.h"
#include "cli/command.h"
#include "opcode/tables.h"
#include "pipeline/pipeline.h"
#include "pyc/pyc.h"
#include "python/quiet_text.h"
#include "simplify/simplify.h"
#include "support/error.h"
#include "support/system_writing.h"
#include "verify/verify.h"

namespace depyf::python {
namespace {

/// What one interpreter's module holds.
struct State {
  PyObject* decompilation_error = nullptr;
  PyObject* code_type = nullptr;
  PyObject* open_descriptor = nullptr;  // os.open
};

State& state_of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

/// Runs `body`, which returns an owned PyObject*, and turns what it throws into a Python exception.
template <class Body>
PyObject* guarded(PyObject* module, Body body) noexcept {
  PyObject* decompilation_error = state_of(module).decompilation_error;
  try {
    return body();
  } catch (const PythonError&) {
    // already set
  } catch (const Error& error) {
    PyErr_SetString(decompilation_error, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_Format(decompilation_error,
                 "internal error of depyf, please report it with the code object: %s",
                 error.what());
  }
  return nullptr;
}

Ref to_str(std::string_view text) {
  return Ref::checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

/// A name of the code as it is.
Ref to_name(std::string_view text) {
  return Ref::checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
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

std::string_view bytes_of(PyObject* bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0) throw PythonError();
  return {data, static_cast<std::size_t>(size)};
}

bool is_code(PyObject* module, PyObject* object) {
  return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(state_of(module).code_type);
}

/// A live code object, or the bytes of a .pyc file.
Module read(PyObject* module, PyObject* input, ObjectTable& objects, bool set_literals = true,
            NanConstants nan = NanConstants::Literals) {
  if (is_code(module, input))
    return from_live_code(input, state_of(module).code_type, objects, set_literals, nan);
  if (PyBytes_Check(input)) {
    const std::string_view data = bytes_of(input);
    return read_pyc({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
  }
  Ref type_name =
      Ref::checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(input)), "__name__"));
  PyErr_Format(PyExc_TypeError, "expected a code object or the bytes of a .pyc file, got %U",
               type_name.get());
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
    Ref line = to_int(origin.line), original = to_int(origin.original_line),
        name = to_str(code_path(module, origin.code));
    append(out, tuple({&line, &offsets, &original, &name}));
  }
  return out;
}

Ref diagnostics(const Module& module, const std::vector<Diagnostic>& found) {
  Ref out = Ref::checked(PyList_New(0));
  for (const Diagnostic& diagnostic : found) {
    Ref kind = to_str(diagnostic_kind(diagnostic)),
        name = to_str(code_path(module, diagnostic.code)), offset = to_int(diagnostic.offset),
        message = to_str(diagnostic.message);
    append(out, tuple({&kind, &name, &offset, &message}));
  }
  return out;
}

Ref builtin_iter() {
  const Ref builtins = Ref::checked(PyImport_ImportModule("builtins"));
  return Ref::checked(PyObject_GetAttrString(builtins.get(), "iter"));
}

/// The text as UTF-8, with halves of characters as the names of the code have them.
std::string text_of(PyObject* object) {
  Ref bytes = Ref::checked(PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass"));
  return std::string(bytes_of(bytes.get()));
}

/// The texts in a tuple; none where there is no tuple.
std::vector<std::string> texts(PyObject* tuple) {
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; tuple && i < PyTuple_Size(tuple); ++i)
    out.push_back(text_of(PyTuple_GetItem(tuple, i)));
  return out;
}

/// (annotation, default, …, annotation of the result).
Signature read_signature(PyObject* tuple) {
  const std::vector<std::string> parts = texts(tuple);
  Signature out;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
    out.parameters.push_back({parts[i], parts[i + 1]});
  if (parts.size() % 2 != 0) out.returns = parts.back();
  return out;
}

/// {name: (name, …)}; anything else in it is a TypeError.
void read_names(PyObject* dict,
                std::vector<std::pair<std::string, std::vector<std::string>>>& names) {
  const Ref items = Ref::checked(PyDict_Items(dict));
  for (Py_ssize_t i = 0; i < PyList_Size(items.get()); ++i) {
    PyObject* item = PyList_GetItem(items.get(), i);
    PyObject *key = PyTuple_GetItem(item, 0), *value = PyTuple_GetItem(item, 1);
    if (!PyUnicode_Check(key) || !PyTuple_Check(value)) {
      PyErr_SetString(PyExc_TypeError,
                      "callee_parameters and callee_results are dicts of a function's name to a "
                      "tuple of names");
      throw PythonError();
    }
    names.emplace_back(text_of(key), texts(value));
  }
}

const char decompile_doc[] =
    "decompile(code, indentation=4, temp_prefix='__temp_', name=None, keep_temporaries=False,\n"
    "          set_literals=True, callee_parameters={}, ladder=0, dynamo=False, "
    "line_map=True, signature=(), renamed=None, nan_literals=True, ordinary=False,\n"
    "          own_locals=(), callee_results={}, readable=None,\n          "
    "program_locals=None, own_globals=())\n--\n\n"
    "Decompile a code object, or the bytes of a .pyc file.\n\n"
    "Returns (source, line_map, constants, diagnostics): line_map is a list of (line, offsets, "
    "original_line,\n"
    "qualified_name), empty with line_map=False; constants maps each placeholder name such as "
    "__const_7__ in the source to the object that\n"
    "stands there, also a frozenset or a slice with set_literals=False, a NaN with "
    "nan_literals=False;\n"
    "callee_parameters maps the global names of functions\n"
    "to the tuple of their parameters' names, which temporaries passed to them take; ladder is the "
    "first rung of the\n"
    "fallbacks to try (5 a dispatch loop, 6 rebuilding from marshalled code); dynamo says that "
    "torch wrote the code, where no\n"
    "name in it does, ordinary that no code is, whatever its names say; own_locals are locals of "
    "the program\n"
    "itself, whatever they are named; signature has an annotation and a default for each "
    "parameter, as they are\n"
    "written, and the annotation of the result, as texts that may be empty; diagnostics is a list "
    "of (kind, qualified_name,\n"
    "offset, message) with kind "
    "'L1' ... 'L6',\n"
    "'broken' or 'note'. A dict `renamed` is filled with what names are called that no source can "
    "hold, and what they are;\n"
    "keywords of calls are among them then. callee_results maps the global names of graphs to the "
    "tuple of what they\n"
    "call their outputs. A list `readable` asks for names in place of those that torch made up, "
    "and "
    "is filled with\n"
    "(name, torch's, whether it is a global), and shortens the docstring to its first line; "
    "program_locals are those of own_locals that keep "
    "their names, by default all;\n"
    "own_globals are globals of the program itself, whatever they are named. "
    "Raises DecompilationError.";

PyObject* decompile_function(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {
      "code",           "indentation",       "temp_prefix",    "name",        "keep_temporaries",
      "set_literals",   "callee_parameters", "ladder",         "dynamo",      "line_map",
      "signature",      "renamed",           "nan_literals",   "ordinary",    "own_locals",
      "callee_results", "readable",          "program_locals", "own_globals", nullptr};
  PyObject* input = nullptr;
  int indentation = 4;
  const char* temp_prefix = "__temp_";
  const char* name = nullptr;
  int keep_temporaries = 0, set_literals = 1;
  PyObject *callee_parameters = nullptr, *signature = nullptr, *renamed = nullptr;
  PyObject *own_locals = nullptr, *callee_results = nullptr, *readable = nullptr,
           *program_locals = nullptr, *own_globals = nullptr;
  int ladder = 0, dynamo = 0, wants_line_map = 1, nan_literals = 1, ordinary = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O|iszppO!ippO!OppO!O!O!O!O!", const_cast<char**>(keywords), &input,
          &indentation, &temp_prefix, &name, &keep_temporaries, &set_literals, &PyDict_Type,
          &callee_parameters, &ladder, &dynamo, &wants_line_map, &PyTuple_Type, &signature,
          &renamed, &nan_literals, &ordinary, &PyTuple_Type, &own_locals, &PyDict_Type,
          &callee_results, &PyList_Type, &readable, &PyTuple_Type, &program_locals, &PyTuple_Type,
          &own_globals)) {
    return nullptr;
  }
  if (renamed == Py_None) renamed = nullptr;
  if (renamed && !PyDict_Check(renamed)) {
    PyErr_SetString(PyExc_TypeError, "renamed is a dict or None");
    return nullptr;
  }
  if (indentation < 1 || indentation > 16) {
    PyErr_Format(PyExc_ValueError, "indentation is %d, expected 1 to 16", indentation);
    return nullptr;
  }
  return guarded(self, [&]() -> PyObject* {
    ObjectTable objects;
    Module module = read(self, input, objects, set_literals != 0,
                         nan_literals ? NanConstants::Literals : NanConstants::Objects);
    module.own_globals = texts(own_globals);
    const std::uint32_t first = avoid_name_clashes(module, objects.objects().size());
    DecompileOptions options;
    options.line_map = wants_line_map != 0;
    options.indentation = static_cast<std::uint32_t>(indentation);
    options.temp_prefix = temp_prefix;
    options.keep_temporaries = keep_temporaries != 0;
    if (callee_parameters) read_names(callee_parameters, options.callee_parameters);
    if (callee_results) read_names(callee_results, options.callee_results);
    options.readable = readable != nullptr;
    if (signature) options.signature = read_signature(signature);
    if (name) options.name = name;
    options.ladder = static_cast<std::uint8_t>(ladder < 0 ? 0 : ladder > 6 ? 6 : ladder);
    options.dynamo = dynamo != 0;
    options.renames = renamed != nullptr;
    options.ordinary = ordinary != 0;
    options.own_locals = texts(own_locals);
    options.program_locals = program_locals ? texts(program_locals) : options.own_locals;
    options.function = is_code(self, input) && !is_module(module);
    options.strict = options.function;
    const Decompiled result = depyf::decompile(module, options);

    Ref constants = Ref::checked(PyDict_New());
    for (std::size_t i = 0; i < objects.objects().size(); ++i) {
      const std::string placeholder = "__const_" + std::to_string(first + i) + "__";
      if (PyDict_SetItemString(constants.get(), placeholder.c_str(), objects.objects()[i].get()) <
          0) {
        throw PythonError();
      }
    }
    if (result.source.text.find(kIterPlaceholder) != std::string::npos) {
      const Ref iter = builtin_iter();
      if (PyDict_SetItemString(constants.get(), kIterPlaceholder, iter.get()) < 0)
        throw PythonError();
    }
    if (renamed)
      for (const auto& [spelling, name] : result.source.renamed) {
        Ref key = to_str(spelling), value = to_name(name);
        if (PyDict_SetItem(renamed, key.get(), value.get()) < 0) throw PythonError();
      }
    if (readable)
      for (const Readable& name : result.readable) {
        Ref given = to_str(name.given), real = to_name(name.real);
        Ref global = Ref::checked(PyBool_FromLong(name.global));
        if (PyList_Append(readable, tuple({&given, &real, &global}).get()) < 0) throw PythonError();
      }
    Ref text = to_str(result.source.text);
    Ref lines = line_map(module, result.line_map);
    Ref found = diagnostics(module, result.diagnostics);
    return tuple({&text, &lines, &constants, &found}).release();
  });
}

const char compare_doc[] =
    "compare(a, b, names=True, dynamo=False, lifetimes=False,\n        decompiled=True, "
    "own_locals=(), calls=None, own_globals=())\n--\n\n"
    "Prove that two code objects of one Python version do the same, without running them.\n\n"
    "Returns (verdict, detail): 'identical', 'exact' or 'equivalent' and what was ignored; or "
    "'unproven' or 'different' and\n"
    "the first place where they part. With names=False, names of functions and docstrings are not "
    "compared. dynamo says that\n"
    "torch wrote `a`, and installed the globals that have its names: the order of stores to "
    "different locals that follow\n"
    "each other does not matter then. decompiled says that `b` was decompiled from `a`, so that "
    "temporaries which only one\n"
    "has do not count; own_locals and own_globals are names of the program itself, whatever they "
    "are.\n"
    "With lifetimes=True no local of `b` that `a` lacks may keep a value that nothing reads any "
    "more, and none\n"
    "of `a` that `b` lacks: a value would die later than in `a`, or earlier. Where `calls` is a "
    "list, the offsets\n"
    "of calls of `a` and `b` that correspond are appended to it, in pairs.";

PyObject* compare_function(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"a",          "b",          "names", "dynamo",      "lifetimes",
                                   "decompiled", "own_locals", "calls", "own_globals", nullptr};
  PyObject *a = nullptr, *b = nullptr, *own_locals = nullptr, *calls = nullptr,
           *own_globals = nullptr;
  int names = 1, dynamo = 0, lifetimes = 0, decompiled = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|ppppO!O!O!", const_cast<char**>(keywords), &a,
                                   &b, &names, &dynamo, &lifetimes, &decompiled, &PyTuple_Type,
                                   &own_locals, &PyList_Type, &calls, &PyTuple_Type, &own_globals))
    return nullptr;
  return guarded(self, [&]() -> PyObject* {
    ObjectTable objects;  // one for both: objects are compared by identity
    Module left = read(self, a, objects, true, NanConstants::Known);
    Module right = read(self, b, objects, true, NanConstants::Known);
    left.own_globals = right.own_globals = texts(own_globals);
    VerifyOptions options;
    options.live = is_code(self, a) && is_code(self, b);
    options.compare_names = names != 0;
    options.dynamo = dynamo != 0;
    options.lifetimes = lifetimes != 0;
    options.decompiled = decompiled != 0;
    const std::vector<std::string> own = texts(own_locals);
    options.own_locals = own;
    const Ref iter = builtin_iter();
    options.iter_object = objects.index_of(iter.get());
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    if (calls) options.calls = &pairs;
    const Verdict verdict = verify(left, left.root, right, right.root, options);
    for (const auto& [first, second] : pairs) {
      Ref one = Ref::checked(PyLong_FromUnsignedLong(first)),
          other = Ref::checked(PyLong_FromUnsignedLong(second));
      append(Ref::borrowed(calls), tuple({&one, &other}));
    }
    Ref kind = to_str(verdict_word(verdict.kind)), detail = to_str(verdict.detail);
    return tuple({&kind, &detail}).release();
  });
}

const char kept_temporaries_doc[] =
    "kept_temporaries(code, own_globals=())\n--\n\n"
    "Names of the locals of torch's own naming that keep a value after their last read, while code "
    "of the program may run; own_globals are globals of the program itself, whatever they are "
    "named.";

PyObject* kept_temporaries_function(PyObject* self, PyObject* args) {
  PyObject *code = nullptr, *own_globals = nullptr;
  if (!PyArg_ParseTuple(args, "O|O!", &code, &PyTuple_Type, &own_globals)) return nullptr;
  return guarded(self, [&]() -> PyObject* {
    ObjectTable objects;
    Module module = read(self, code, objects, true, NanConstants::Known);
    module.own_globals = texts(own_globals);
    Ref out = Ref::checked(PyList_New(0));
    for (const std::string& name : kept_temporaries(module, module.root)) append(out, to_str(name));
    return out.release();
  });
}

const char supported_opnames_doc[] =
    "supported_opnames()\n--\n\n"
    "Names of the running Python's opcodes that can be decompiled, sorted.";

PyObject* supported_opnames_function(PyObject* self, PyObject*) {
  return guarded(self, []() -> PyObject* {
    Ref out = Ref::checked(PyList_New(0));
    if (const VersionTable* table = version_table(running_version())) {
      for (const OpcodeInfo& info : table->opcodes) {
        // Specialised and instrumented forms never reach co_code.
        if (!info.name.empty() && info.name == info.base && info.action != Action::Unknown)
          append(out, to_str(info.name));
      }
    }
    if (PyList_Sort(out.get()) < 0) throw PythonError();
    return out.release();
  });
}

const char disassemble_doc[] =
    "disassemble(code)\n--\n\n"
    "The decoded instructions of a code object, or of the bytes of a .pyc file, and of the code "
    "objects in it, as text.";

PyObject* disassemble_function(PyObject* self, PyObject* input) {
  return guarded(self, [&]() -> PyObject* {
    ObjectTable objects;
    Module module = read(self, input, objects);
    std::string text;
    for (std::size_t i = module.codes.size(); i-- > 0;) {  // outermost first
      const CodeId code(static_cast<std::uint32_t>(i));
      if (!text.empty()) text += '\n';
      text += dump_stage(module, code, Stage::Bytecode);
    }
    return to_str(text).release();
  });
}

/// The name of an object's class, which no attribute of its metaclass gives.
Ref plain_type_name(PyObject* object) {
  Ref members =
      Ref::checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyType_Type), "__dict__"));
  Ref name = Ref::checked(PyMapping_GetItemString(members.get(), "__name__"));
  return Ref::checked(PyObject_CallMethod(name.get(), "__get__", "O", Py_TYPE(object)));
}

const char listing_doc[] =
    "listing(code)\n--\n\n"
    "The instructions of a code object, and of the code objects in it, as CPython names them; a "
    "constant that is no literal stands by its type and id.";

PyObject* listing_function(PyObject* self, PyObject* code) {
  return guarded(self, [&]() -> PyObject* {
    ObjectTable objects;
    Module module = read(self, code, objects);
    std::vector<std::string> shown;
    for (const Ref& object : objects.objects()) {
      Ref type_name = plain_type_name(object.get());
      Ref text = Ref::checked(
          PyUnicode_FromFormat("<%U at %p>", type_name.get(), static_cast<void*>(object.get())));
      shown.push_back(text_of(text.get()));
    }
    std::string text;
    for (std::size_t i = module.codes.size(); i-- > 0;) {  // outermost first
      const CodeId each(static_cast<std::uint32_t>(i));
      if (each != module.root) {
        const CodeObject& inner = module[each];
        text += "\nDisassembly of <code ";
        text += module[inner.qualname ? inner.qualname : inner.name];
        text += " #" + std::to_string(i) + ">, line " + std::to_string(inner.firstlineno) + ":\n";
      }
      text += listing(module, each, shown);
    }
    return to_str(text).release();
  });
}

const char main_doc[] =
    "main(arguments, compile=None)\n--\n\n"
    "Run the depyf command with a list of arguments (without the program's name); returns the exit "
    "code.\n"
    "compile(source, filename, optimize) gives the marshal data of the source's code, for checking "
    "the output\n"
    "in this process.";

/// `compile(source, filename, optimize)` of Python; only for the thread that holds the GIL.
cli::Reply compile_here(PyObject* compile, std::string_view source, std::string_view filename,
                        int optimize) {
  const auto call = [&]() -> Ref {
    Ref text = Ref::checked(
        PyBytes_FromStringAndSize(source.data(), static_cast<Py_ssize_t>(source.size())));
    Ref name = Ref::checked(PyUnicode_DecodeFSDefaultAndSize(
        filename.data(), static_cast<Py_ssize_t>(filename.size())));
    Ref level = to_int(optimize);
    return Ref::checked(
        PyObject_CallFunctionObjArgs(compile, text.get(), name.get(), level.get(), nullptr));
  };
  cli::Reply reply;
  try {
    const Ref data = call();
    const std::string_view bytes = bytes_of(data.get());
    reply.done = true;
    reply.bytes.assign(bytes.begin(), bytes.end());
    return reply;
  } catch (const PythonError&) {
    PyObject *kind = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    const Ref owned_kind(kind), owned_value(value), owned_trace(trace);
    const auto text_of = [](PyObject* object) -> std::string {
      const Ref text(object ? PyObject_Str(object) : nullptr);
      const Ref utf8(text.get() ? PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace")
                                : nullptr);
      return utf8.get() ? std::string(bytes_of(utf8.get())) : std::string();
    };
    const Ref name(kind ? PyObject_GetAttrString(kind, "__name__") : nullptr);
    reply = cli::Reply::failure(text_of(name.get()) + ": " + text_of(value));
    if (kind && PyErr_GivenExceptionMatches(kind, PyExc_SyntaxError)) {
      const Ref line(PyObject_GetAttrString(value, "lineno"));
      const long long number =
          line.get() && PyLong_Check(line.get()) ? PyLong_AsLongLong(line.get()) : 0;
      reply.line = number > 0 ? static_cast<std::uint32_t>(number) : 0;
    }
    PyErr_Clear();
    return reply;
  }
}

PyObject* main_function(PyObject* self, PyObject* args) {
  PyObject *list = nullptr, *compile = nullptr;
  if (!PyArg_ParseTuple(args, "O|O", &list, &compile)) return nullptr;
  return guarded(self, [&]() -> PyObject* {
    std::vector<std::string> arguments;
    const Ref given = Ref::checked(PySequence_Tuple(list));
    for (Py_ssize_t i = 0; i < PyTuple_Size(given.get()); ++i) {
      Ref encoded = Ref::checked(PyUnicode_EncodeFSDefault(PyTuple_GetItem(given.get(), i)));
      arguments.emplace_back(bytes_of(encoded.get()));
    }
    cli::HostPython host;
    Ref executable = Ref::checked(PyUnicode_EncodeFSDefault(PySys_GetObject("executable")));
    const std::string_view program = bytes_of(executable.get());
    if (!program.empty()) host.program = program;
    if (compile && compile != Py_None) {
      host.version = running_version();
      host.compile = [compile](std::string_view source, std::string_view filename, int optimize) {
        return compile_here(compile, source, filename, optimize);
      };
    }
    const int code = run_command(arguments, host);
    std::cout.flush();
    return to_int(code).release();
  });
}

const char is_quiet_doc[] =
    "is_quiet(text)\n--\n\n"
    "Whether CPython certainly compiles the text of a module without a warning.";

PyObject* is_quiet_function(PyObject* self, PyObject* input) {
  return guarded(self, [&]() -> PyObject* {
    Ref bytes(PyUnicode_AsUTF8String(input));
    if (!bytes.get()) {  // a lone surrogate
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw PythonError();
      PyErr_Clear();
      return PyBool_FromLong(0);
    }
    return PyBool_FromLong(is_quiet(bytes_of(bytes.get())) ? 1 : 0);
  });
}

const char opener_doc[] =
    "opener(how)\n--\n\n"
    "An opener for io.open that opens each file as the flags `how` say.\n\n"
    "No Python code runs between the system's answer and the file object that owns the\n"
    "descriptor, so no signal handler can raise there and let the descriptor stay open.";

/// `told` is (os.open, how).
PyObject* open_as_told(PyObject* told, PyObject* arguments) {
  PyObject* path = PyTuple_GetItem(arguments, 0);
  if (!path) return nullptr;
  return PyObject_CallFunction(PyTuple_GetItem(told, 0), "OOi", path, PyTuple_GetItem(told, 1),
                               0666);
}

PyMethodDef open_as_told_method = {"open", open_as_told, METH_VARARGS, nullptr};

PyObject* opener_function(PyObject* self, PyObject* how) {
  const Ref told(PyTuple_Pack(2, state_of(self).open_descriptor, how));
  return told.get() ? PyCFunction_NewEx(&open_as_told_method, told.get(), nullptr) : nullptr;
}

const char write_all_doc[] =
    "write_all(descriptor, data)\n--\n\n"
    "Writes all of `data`, bytes, to a file; raises OSError where that fails.\n\n"
    "A file that grows over the limit of the process (RLIMIT_FSIZE) is such a failure (EFBIG), "
    "and\n"
    "the process gets no signal SIGXFSZ for it.";

PyObject* write_all_function(PyObject*, PyObject* arguments) {
  int descriptor = -1;
  PyObject* data = nullptr;
  if (!PyArg_ParseTuple(arguments, "iO!:write_all", &descriptor, &PyBytes_Type, &data)) {
    return nullptr;
  }
  std::string_view left = bytes_of(data);
  while (!left.empty()) {
    WriteResult written;
    Py_BEGIN_ALLOW_THREADS  //
        written = write_some(descriptor, left);
    Py_END_ALLOW_THREADS  //
        left.remove_prefix(written.bytes);
    if (written.error == EINTR) {
      if (PyErr_CheckSignals() != 0) return nullptr;
    } else if (written.error != 0) {
      errno = written.error;
      return PyErr_SetFromErrno(PyExc_OSError);
    }
  }
  Py_RETURN_NONE;
}

const char excepthook_doc[] =
    "excepthook(prepare, previous)\n--\n\n"
    "A hook for sys.excepthook that calls `prepare` with the exception, then the hook `previous`\n"
    "with its type, itself and its traceback. It adds no frame to what these raise.";

/// `hooks` is (prepare, previous).
PyObject* call_hooks(PyObject* hooks, PyObject* arguments) {
  PyObject* error = PyTuple_GetItem(arguments, 1);
  if (!error) return nullptr;
  const Ref done(PyObject_CallFunctionObjArgs(PyTuple_GetItem(hooks, 0), error, nullptr));
  if (!done.get()) return nullptr;
  const Ref trace(PyException_GetTraceback(error));
  return PyObject_CallFunctionObjArgs(PyTuple_GetItem(hooks, 1), PyTuple_GetItem(arguments, 0),
                                      error, trace.get() ? trace.get() : Py_None, nullptr);
}

PyMethodDef call_hooks_method = {"excepthook", call_hooks, METH_VARARGS, nullptr};

PyObject* excepthook_function(PyObject*, PyObject* hooks) {
  return PyTuple_Size(hooks) == 2
             ? PyCFunction_NewEx(&call_hooks_method, hooks, nullptr)
             : PyErr_Format(PyExc_TypeError, "excepthook() takes two arguments");
}

PyMethodDef methods[] = {
    {"disassemble", disassemble_function, METH_O, disassemble_doc},
    {"listing", listing_function, METH_O, listing_doc},
    {"main", main_function, METH_VARARGS, main_doc},
    {"supported_opnames", supported_opnames_function, METH_NOARGS, supported_opnames_doc},
    {"decompile", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(decompile_function)),
     METH_VARARGS | METH_KEYWORDS, decompile_doc},
    {"compare", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(compare_function)),
     METH_VARARGS | METH_KEYWORDS, compare_doc},
    {"is_quiet", is_quiet_function, METH_O, is_quiet_doc},
    {"opener", opener_function, METH_O, opener_doc},
    {"write_all", write_all_function, METH_VARARGS, write_all_doc},
    {"excepthook", excepthook_function, METH_VARARGS, excepthook_doc},
    {"kept_temporaries", kept_temporaries_function, METH_VARARGS, kept_temporaries_doc},
    {nullptr, nullptr, 0, nullptr},
};

bool add_object(PyObject* module, const char* name, PyObject* object) {
  if (!object) return false;
  Py_INCREF(object);
  if (PyModule_AddObject(module, name, object) == 0) return true;
  Py_DECREF(object);
  return false;
}

int fill_module(PyObject* module) {
  State& state = state_of(module);
  state.decompilation_error = PyErr_NewExceptionWithDoc(
      "depyf.DecompilationError",
      "Bytecode that cannot be decompiled: what was found, what was expected and what to do.",
      nullptr, nullptr);
  const Ref types(PyImport_ImportModule("types")), os(PyImport_ImportModule("os"));
  if (!types.get() || !os.get()) return -1;
  state.code_type = PyObject_GetAttrString(types.get(), "CodeType");
  state.open_descriptor = PyObject_GetAttrString(os.get(), "open");
  const bool filled = state.code_type && state.open_descriptor &&
                      add_object(module, "DecompilationError", state.decompilation_error) &&
                      PyModule_AddStringConstant(module, "__version__", DEPYF_VERSION) == 0;
  return filled ? 0 : -1;
}

// Up to 3.8, a module without its state yet is visited, too.
int visit_state(PyObject* module, visitproc visit, void* arg) {
  const State* state = static_cast<State*>(PyModule_GetState(module));
  if (!state) return 0;
  Py_VISIT(state->decompilation_error);
  Py_VISIT(state->code_type);
  Py_VISIT(state->open_descriptor);
  return 0;
}

int clear_state(PyObject* module) {
  State* state = static_cast<State*>(PyModule_GetState(module));
  if (!state) return 0;
  Py_CLEAR(state->decompilation_error);
  Py_CLEAR(state->code_type);
  Py_CLEAR(state->open_descriptor);
  return 0;
}

// Slots that the headers of 3.7 do not name: an interpreter of any kind may load the module.
constexpr int kMultipleInterpreters = 3, kGil = 4;
void* const kOwnGilSupported = reinterpret_cast<void*>(2);
void* const kGilNotUsed = reinterpret_cast<void*>(1);

/// The module's slots that the running version knows.
std::vector<PyModuleDef_Slot> slots() {
  std::vector<PyModuleDef_Slot> out{{Py_mod_exec, reinterpret_cast<void*>(fill_module)}};
  if (running_version().has_free_interpreters()) {
    out.push_back({kMultipleInterpreters, kOwnGilSupported});
    out.push_back({kGil, kGilNotUsed});
  }
  out.push_back({0, nullptr});
  return out;
}

}  // namespace

PyObject* module_definition() {
  static std::vector<PyModuleDef_Slot> of_this_version = slots();
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "depyf._core", "The compiled core of depyf.",
      sizeof(State),         methods,       of_this_version.data(),
      visit_state,           clear_state,   nullptr};
  return PyModuleDef_Init(&definition);
}

}  // namespace depyf::python

#if __has_cpp_attribute(gnu::visibility)
// Headers of 3.7 and 3.8 do not say that it is exported, and this project hides what does not.
extern "C" [[gnu::visibility("default")]] PyObject* PyInit__core();
#endif

PyMODINIT_FUNC PyInit__core() { return depyf::python::module_definition(); }
