#include "bytecode/bound_names.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "bytecode/instr.h"
#include "bytecode/scan.h"
#include "opcode/op_set.h"
#include "support/error.h"

namespace depyf {

namespace {

template <std::size_t count>
bool is_among(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Words that give a namespace wherever they stand: as a name, and in a text too, since `getattr`,
/// `attrgetter` and `patch("builtins.getattr", f)` take texts.
constexpr std::string_view kNamespaces[] = {
    "builtins",    "__dict__",    "__globals__", "__import__", "import_module",
    "_getframe",   "f_globals",   "f_locals",    "f_builtins", "currentframe",
    "__setattr__", "__delattr__", "__self__"};

/// Words that count only as names: the one text that gives any of them, without a word of those
/// above, is that of `getattr(sys, "modules")`.
constexpr std::string_view kFunctions[] = {
    "globals", "vars",     "locals",       "exec",       "eval", "compile", "modules", "setattr",
    "delattr", "__main__", "FunctionType", "LambdaType", "gc",   "ctypes",  "pickle",  "_pickle"};

/// What runs code with other globals; a frame or a warning has code, too, so it counts only where
/// an object is asked for it.
constexpr std::string_view kCode = "__code__";

/// Builtins that the printer calls (rewrite/odd_names.cpp, rewrite/strings.cpp).
constexpr std::string_view kCalled[] = {"getattr",    "setattr", "delattr", "globals",
                                        "locals",     "eval",    "exec",    "compile",
                                        "__import__", "repr",    "ascii"};

/// Functions find their builtins by this global.
constexpr std::string_view kBuiltins = "__builtins__";

bool gives_namespace(std::string_view text) {
  return std::any_of(std::begin(kNamespaces), std::end(kNamespaces),
                     [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// Does an operation on this name give what binds names, or bind one itself?
bool binds_with(Op op, std::string_view name) {
  if (op == Op::STORE_ATTR || op == Op::DELETE_ATTR) return is_among(kCalled, name);
  if (binds_or_deletes(op)) return name == kBuiltins;  // BoundNames tells the others
  if (gives_namespace(name)) return true;
  if (op == Op::LOAD_ATTR || op == Op::LOAD_METHOD)
    return name == kCode || (name != "compile" && is_among(kFunctions, name));  // re.compile
  return is_among(kFunctions, name);
}

/// The instruction `by` places on, NULLs for calls not counted; none outside of the code.
const Instr* neighbour(std::span<const Instr> instrs, std::size_t at, int by) {
  do {
    if (by < 0 ? at == 0 : at + 1 >= instrs.size()) return nullptr;
    by < 0 ? --at : ++at;
  } while (instrs[at].op == Op::PUSH_NULL);
  return &instrs[at];
}

/// Names that `import builtins as …` binds, and of which code does nothing but read attributes, as
/// pytest's assertions do: `@py_builtins.locals()`.
class NamesOfBuiltins {
 public:
  explicit NamesOfBuiltins(Module& module) : module_(module) {
    std::unordered_set<std::uint32_t> others;
    for (std::uint32_t id = 0; id < module.codes.size(); ++id) {
      try {
        const std::vector<Instr> instrs = decode(module, CodeId(id)).instrs;
        for (std::size_t i = 0; i < instrs.size(); ++i) {
          if (arg_kind(instrs[i].op) != ArgKind::Str) continue;
          if (is_import_as(instrs, i))
            names_.insert(instrs[i].arg);
          else if (!reads_attribute(instrs, i))
            others.insert(instrs[i].arg);
        }
      } catch (const Error&) {
        names_.clear();
        return;
      }
    }
    std::erase_if(names_, [&](std::uint32_t name) { return others.contains(name); });
  }

  /// Is the operation the import, its store, a load, or a call of `locals` that only shows the
  /// variables of a function?
  bool is_harmless(std::span<const Instr> instrs, std::size_t i, bool function) const {
    const Instr& instr = instrs[i];
    if (is_import_as(instrs, i) || reads_attribute(instrs, i)) return names_.contains(instr.arg);
    if (instr.op == Op::IMPORT_NAME)
      return i + 1 < instrs.size() && is_import_as(instrs, i + 1) &&
             names_.contains(instrs[i + 1].arg);
    if (!function || !loads_attribute(instr) || module_[StrId(instr.arg)] != "locals") return false;
    const Instr *from = neighbour(instrs, i, -1), *call = neighbour(instrs, i, 1);
    return from && loads(*from) && names_.contains(from->arg) && call && call->op == Op::CALL &&
           call->arg == 0;
  }

 private:
  static bool loads(const Instr& instr) {
    return instr.op == Op::LOAD_NAME || instr.op == Op::LOAD_GLOBAL;
  }
  static bool loads_attribute(const Instr& instr) {
    return instr.op == Op::LOAD_ATTR || instr.op == Op::LOAD_METHOD;
  }
  /// The store of `import builtins as …`.
  bool is_import_as(std::span<const Instr> instrs, std::size_t i) const {
    return (instrs[i].op == Op::STORE_NAME || instrs[i].op == Op::STORE_GLOBAL) && i > 0 &&
           instrs[i - 1].op == Op::IMPORT_NAME && module_[StrId(instrs[i - 1].arg)] == "builtins";
  }
  static bool reads_attribute(std::span<const Instr> instrs, std::size_t i) {
    const Instr* next = loads(instrs[i]) ? neighbour(instrs, i, 1) : nullptr;
    return next && loads_attribute(*next);
  }

  const Module& module_;
  std::unordered_set<std::uint32_t> names_;
};

/// Calls `see(op, name)` for each operation on a name, until it gives true. Of code that cannot be
/// read, each name counts as a global.
template <class See>
bool any_operation_on_name(Module& module, See see) {
  const NamesOfBuiltins builtins(module);
  for (std::uint32_t id = 0; id < module.codes.size(); ++id) {
    try {
      const std::vector<Instr> instrs = decode(module, CodeId(id)).instrs;
      const bool function = (module[CodeId(id)].flags & kOptimized) != 0;
      for (std::size_t i = 0; i < instrs.size(); ++i)
        if (arg_kind(instrs[i].op) == ArgKind::Str && !builtins.is_harmless(instrs, i, function) &&
            see(instrs[i].op, module[StrId(instrs[i].arg)]))
          return true;
    } catch (const Error&) {
      for (StrId name : module[CodeId(id)].names)
        if (see(Op::STORE_GLOBAL, module[name]) || see(Op::LOAD_GLOBAL, module[name])) return true;
    }
  }
  return false;
}

/// The same for the texts among the constants; the printer adds others to the module.
template <class See>
bool any_text(const Module& module, See see) {
  std::vector<ConstId> work;
  std::unordered_set<std::uint32_t> seen;
  for (std::size_t i = 0; i < module.codes.size(); ++i) {
    work.assign(module.codes[i].consts.begin(), module.codes[i].consts.end());
    while (!work.empty()) {
      const ConstId id = work.back();
      work.pop_back();
      if (id.index >= module.consts.size() || !seen.insert(id.index).second) continue;
      const Const& value = module[id];
      if (value.kind == ConstKind::Str && see(value.text)) return true;
      work.insert(work.end(), value.items.begin(), value.items.end());
    }
  }
  return false;
}

/// What stands between LOAD_BUILD_CLASS and the call, beside constants, where a class has neither
/// bases nor keywords.
bool makes_class_function(Op op) {
  static constexpr OpSet kMaking{Op::PUSH_NULL, Op::LOAD_CLOSURE, Op::BUILD_TUPLE,
                                 Op::MAKE_FUNCTION, Op::SET_FUNCTION_ATTRIBUTE};
  return kMaking[op];
}

}  // namespace

BoundNames find_bound_names(const Module& module) {
  BoundNames names{kNamesWereFound};
  for (std::size_t i = 0; i < module.codes.size(); ++i) {
    const CodeObject& code = module.codes[i];
    for (const Slot& slot : code.slots) names.insert(slot.name.index);
    const VersionTable* table = version_table(code.version);
    if (!table) continue;
    scan_instructions(code, *table, [&](const RawInstr& instr) {
      const Op op = instr.info.op;
      const bool binds = op == Op::STORE_NAME || op == Op::STORE_GLOBAL;
      if (binds && instr.name() < code.names.size()) names.insert(code.names[instr.name()].index);
      if (op == Op::IMPORT_STAR ||
          (instr.info.action == Action::Intrinsic1 && instr.operand < table->intrinsics_1.size() &&
           table->intrinsics_1[instr.operand].op == Op::IMPORT_STAR))
        names.insert(kAnyName);
    });
  }
  return names;
}

BoundNames find_first_names(Module& module) {
  BoundNames names{kNamesWereFound};
  if (!module.root.valid() || (module[module.root].flags & kOptimized)) return names;
  InstrList list;
  try {
    list = decode(module, module.root);
  } catch (const Error&) {
    return names;
  }
  static constexpr OpSet kStraight{Op::LOAD_CONST, Op::IMPORT_NAME, Op::IMPORT_FROM,
                                   Op::STORE_NAME, Op::POP_TOP,     Op::SWAP};
  std::size_t end = list.instrs.size();
  for (const ExceptionRow& row : list.rows) end = std::min<std::size_t>(end, row.begin);
  for (std::size_t i = 0; i < end && kStraight[list.instrs[i].op]; ++i)
    if (list.instrs[i].op == Op::STORE_NAME) names.insert(list.instrs[i].arg);
  for (std::size_t i = 0; i < module.codes.size(); ++i) {
    const CodeObject& code = module.codes[i];
    const VersionTable* table = version_table(code.version);
    if (!table) return {kNamesWereFound};
    scan_instructions(code, *table, [&](const RawInstr& instr) {
      const Op op = instr.info.op;
      const bool deletes = op == Op::DELETE_NAME || op == Op::DELETE_GLOBAL;
      if (deletes && instr.name() < code.names.size()) names.erase(code.names[instr.name()].index);
    });
  }
  return names;
}

bool may_be_bound(Module& module, BoundNames& names, std::string_view name) {
  if (names.empty()) names = find_bound_names(module);
  return names.contains(kAnyName) || names.contains(module.intern(name).index);
}

std::string binds_dynamically(Module& module) {
  if (find_bound_names(module).contains(kAnyName)) return "import *";
  std::string found;
  if (any_operation_on_name(module, [&](Op op, std::string_view name) {
        if (!binds_with(op, name)) return false;
        found = name;
        return true;
      }))
    return found;
  any_text(module, [&](std::string_view text) {
    if (text == "modules" || text.starts_with("modules.")) found = text;
    for (std::string_view word : kNamespaces)
      if (text.find(word) != text.npos) found = word;
    return !found.empty();
  });
  return found;
}

PlainClasses find_plain_classes(Module& module) {
  PlainClasses plain;
  std::unordered_set<std::uint32_t> others;
  for (std::uint32_t id = 0; id < module.codes.size(); ++id) {
    std::vector<Instr> instrs;
    try {
      instrs = decode(module, CodeId(id)).instrs;
    } catch (const Error&) {
      return {};
    }
    // LOAD_BUILD_CLASS, the cells, the body's code, its function, the name, CALL 2
    bool begun = false;
    std::vector<std::uint32_t> bodies;
    for (const Instr& instr : instrs) {
      const bool constant = instr.op == Op::LOAD_CONST && instr.arg < module.consts.size();
      const Const* value = constant ? &module[ConstId(instr.arg)] : nullptr;
      if (instr.op == Op::LOAD_BUILD_CLASS) {
        others.insert(bodies.begin(), bodies.end());
        bodies.clear();
        begun = true;
      } else if (value && value->kind == ConstKind::Code) {
        bodies.push_back(value->code.index);
      } else if (!constant && !makes_class_function(instr.op)) {
        const bool called = begun && instr.op == Op::CALL && instr.arg == 2 && bodies.size() == 1;
        (called ? plain : others).insert(bodies.begin(), bodies.end());
        bodies.clear();
        begun = false;
      }
    }
    others.insert(bodies.begin(), bodies.end());
  }
  std::erase_if(plain, [&](std::uint32_t id) { return others.contains(id); });
  return plain;
}

bool has_given_namespace(Module& module, CodeId code, std::optional<PlainClasses>& plain) {
  if (!code.valid() || (module[code].flags & kOptimized) || !module[code].parent.valid())
    return false;
  if (!plain) plain = find_plain_classes(module);
  return !plain->contains(code.index);
}

bool may_replace(Module& module, std::string_view name) {
  BoundNames bound = find_bound_names(module);
  if (bound.contains(module.intern(name).index)) return true;
  if (any_operation_on_name(module, [&](Op op, std::string_view found) {
        return binds_or_deletes(op) && (found == name || found == kBuiltins);
      }))
    return true;
  return any_text(module, [&](std::string_view text) { return text.find(name) != text.npos; });
}

}  // namespace depyf
