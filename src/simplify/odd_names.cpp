// Rule "name that no source can hold": what rewrite/odd_names.cpp writes for an attribute or a
// variable whose name is a keyword, `0`, `a b` … is the operation on that name:
//   · getattr(o, "if")
//   · setattr(o, "if", v)
//   · delattr(o, "if")
//   · (lambda value, to: setattr(to, "if", value))(v, o)
//   · globals()["if"] = v
//   · locals()["if"] = v
//   · eval(compile("x", "", "eval").replace(co_names=("if",)), globals()), or without `globals()`
//   · exec(compile("import a.b as x", "", "exec").replace(co_names=("a.b", "b", "if"))), or with
//     `globals()`
//   · globals()["if"] in a function of a module that binds the name before it makes any function
// and what rewrite/imports.cpp writes for an import whose value goes elsewhere than into a name:
//   · __import__("a.b", None, None, names, 0)
// and rewrite/strings.cpp for a value that is converted but not formatted:
//   · repr(x)
//   · ascii(x)
// In the body of a class with bases or keywords each builtin is `(lambda: getattr)()`: such a body
// may find any name in the namespace that a metaclass gives it, a function looks past that.
//
// Premises: the name is one that no source can hold, the import no statement, or the conversion
// part of no f-string, so that the text has no other way to say it;
// the builtins are what the names say: no code of the module binds the name that is used (of
// `__import__('builtins').getattr`, that is `__import__`) or may bind names by other means
// (binds_dynamically(), which verify/ asks before), and nobody binds it from outside, which the
// printer trusts too; all that is called is made for this alone. Proof: getattr, setattr and
// delattr with an exact str are PyObject_GetAttr, PyObject_SetAttr and PyObject_DelAttr, as the
// operations are. `globals()` is the dict of the frame that STORE_GLOBAL stores into, `locals()`
// in a module or class the mapping of STORE_NAME. The code that eval() runs is the load itself, in
// the same namespaces. Both imports are PyImport_ImportModuleLevelObject, which asks for globals
// of a relative import alone; such a call is never lazy. repr and ascii are PyObject_Repr and
// PyObject_ASCII, as the conversions are. Of both, only the code of a function is looked at.
#include <algorithm>
#include <optional>

#include "bytecode/bound_names.h"
#include "bytecode/scan.h"
#include "flow/cfg.h"
#include "pyc/identifier.h"
#include "simplify/rules.h"
#include "support/error.h"

namespace depyf::simplifying {

namespace {

class Reader {
 public:
  Reader(Lifted& lifted, Module& module, const SimplifyOptions& options)
      : lifted_(lifted),
        module_(module),
        conversions_(options.conversions),
        builtins_(options.builtins),
        first_names_(options.first_names) {}

  void run() {
    if (!any()) return;
    uses_ = count_uses(lifted_);
    gone_.assign(lifted_.values.size(), false);
    for (LiftedBlock& block : lifted_.blocks) {
      std::vector<ValueId> body;
      for (ValueId id : block.body) {
        added_.clear();
        if (!gone_[id.index]) read(id);
        body.insert(body.end(), added_.begin(), added_.end());
        body.push_back(id);
      }
      block.body.assign(body.begin(), body.end());
    }
    for (LiftedBlock& block : lifted_.blocks)
      std::erase_if(block.body, [&](ValueId id) { return gone_[id.index]; });
    expand_held(lifted_, [&](ValueId id) { return gone_[id.index]; });
  }

 private:
  Lifted& lifted_;
  Module& module_;
  const bool conversions_;
  std::set<std::string>* const builtins_;
  const std::set<std::string, std::less<>>* const first_names_;
  BoundNames bound_;
  std::optional<PlainClasses> plain_;
  std::vector<std::string> called_;  // builtins that the operation at hand was found to call
  std::vector<std::uint32_t> uses_;
  std::vector<bool> gone_;
  std::vector<ValueId> added_;  // operations before the one that is read

  const Value* operation(const Lifted& lifted, ValueId id, Op op) const {
    const Value& value = lifted[id];
    return value.kind == ValueKind::Operation && value.op == op ? &value : nullptr;
  }

  const Const* constant(const Lifted& lifted, ValueId id, ConstKind kind) const {
    const Value* value = operation(lifted, id, Op::LOAD_CONST);
    if (!value || value->arg >= module_.consts.size()) return nullptr;
    const Const& found = module_[ConstId(value->arg)];
    return found.kind == kind ? &found : nullptr;
  }

  bool is_text(const Lifted& lifted, ValueId id, std::string_view text) const {
    const Const* found = constant(lifted, id, ConstKind::Str);
    return found && found->text == text;
  }

  /// The text, when it is a name that no source can hold.
  std::optional<std::string_view> odd(const Const* text) const {
    if (!text || text->kind != ConstKind::Str) return std::nullopt;
    const std::string_view name = text->text;
    if (is_writable_name(name, module_.version)) return std::nullopt;
    return name;
  }

  /// Is there a constant that may be such a name?
  bool any() const {
    return std::any_of(lifted_.values.begin(), lifted_.values.end(), [&](const Value& value) {
      if (value.kind != ValueKind::Operation) return false;
      if (value.op == Op::LOAD_GLOBAL) {
        const std::string_view name = module_[StrId(value.arg)];
        if (name == "__import__" || (conversions_ && conversion_of(name) != 0)) return true;
      }
      if (value.op != Op::LOAD_CONST || value.arg >= module_.consts.size()) return false;
      const Const& found = module_[ConstId(value.arg)];
      if (found.kind == ConstKind::Code) return true;
      if (found.kind == ConstKind::Tuple)
        return !found.items.empty() && odd(&module_[found.items[found.items.size() - 1]]);
      return odd(&found).has_value();
    });
  }

  /// Loads the builtin `name`?
  bool is_builtin(const Lifted& lifted, ValueId id, std::string_view name) {
    const Value& value = lifted[id];
    if (value.kind != ValueKind::Operation) return false;
    if (value.op == Op::LOAD_GLOBAL || value.op == Op::LOAD_NAME) {
      if (module_[StrId(value.arg)] != name || may_be_bound(module_, bound_, name)) return false;
      if (value.op == Op::LOAD_NAME && has_given_namespace(module_, lifted.code, plain_))
        return false;
      called_.emplace_back(name);
      return true;
    }
    if (value.op == Op::CALL && value.operands.size() == 1)
      return gives_builtin(lifted, value.operands[0], name);
    if ((value.op != Op::LOAD_ATTR && value.op != Op::LOAD_METHOD) ||
        module_[StrId(value.arg)] != name)
      return false;
    const Value* import = operation(lifted, value.operands[0], Op::CALL);
    return import && import->operands.size() == 2 &&
           lifted[import->operands[0]].op != Op::LOAD_ATTR &&
           is_builtin(lifted, import->operands[0], "__import__") &&
           is_text(lifted, import->operands[1], "builtins");
  }

  /// `lambda: name`
  bool gives_builtin(const Lifted& lifted, ValueId function, std::string_view name) {
    const CodeObject* object = made_code(lifted, function);
    if (!object || object->parameter_count() != 0 || !object->slots.empty()) return false;
    return with_only_block(function, lifted, [&](const Lifted& inner, const LiftedBlock& block) {
      const std::size_t size = operation(inner, block.value, Op::LOAD_GLOBAL) ? 1 : 4;
      return block.body.size() == size && block.body.back() == block.value &&
             !operation(inner, block.value, Op::CALL) && is_builtin(inner, block.value, name);
    });
  }

  /// The code of a function that is made without anything but its code.
  const CodeObject* made_code(const Lifted& lifted, ValueId function) const {
    const Value* made = operation(lifted, function, Op::MAKE_FUNCTION);
    if (!made || made->arg != 0 || made->operands.empty()) return nullptr;
    const Const* code = constant(lifted, made->operands[0], ConstKind::Code);
    if (!code) return nullptr;
    const CodeObject& object = module_[code->code];
    const std::uint32_t others =
        kVarArgs | kVarKeywords | kGenerator | kCoroutine | kAsyncGenerator;
    return (object.flags & kOptimized) && !(object.flags & others) ? &object : nullptr;
  }

  /// `see(inner, block)` of such a function whose body is one block that returns a value.
  template <class See>
  bool with_only_block(ValueId function, const Lifted& lifted, See see) {
    const CodeId code = constant(lifted, lifted[function].operands[0], ConstKind::Code)->code;
    try {
      const Lifted inner = lift(module_, code, build_cfg(module_, code, decode(module_, code)));
      const LiftedBlock& block = inner[inner.entry];
      return block.term == TermKind::Return && !block.region.valid() && see(inner, block);
    } catch (const Error&) {
      return false;
    }
  }

  /// A call of the builtin with so many arguments.
  bool is_call(const Lifted& lifted, ValueId id, std::string_view name, std::size_t arguments) {
    const Value* call = operation(lifted, id, Op::CALL);
    return call && call->operands.size() == arguments + 1 &&
           is_builtin(lifted, call->operands[0], name);
  }

  /// Is `id`, and all that it is made of, read by nobody else? Then it is noted in `out`.
  bool collect(ValueId id, std::vector<ValueId>& out) const {
    std::vector<ValueId> work{id};
    while (!work.empty()) {
      const ValueId at = work.back();
      work.pop_back();
      const Value& value = lifted_[at];
      if (value.kind == ValueKind::Null) continue;
      if (value.kind != ValueKind::Operation || uses_[at.index] != 1) return false;
      out.push_back(at);
      work.insert(work.end(), value.operands.begin(), value.operands.end());
    }
    return true;
  }

  /// `id` becomes `op` on the name; `parts` were only there for it.
  void become(ValueId id, Op op, std::string_view name, std::span<const ValueId> operands,
              std::span<const ValueId> parts) {
    std::vector<ValueId> gone;
    for (ValueId part : parts)
      if (!collect(part, gone)) return;
    for (ValueId part : gone) gone_[part.index] = true;
    if (builtins_) builtins_->insert(called_.begin(), called_.end());
    Value& value = lifted_[id];
    value.op = op;
    value.arg = module_.intern(name).index;
    value.aux = 0;
    value.operands = lifted_.arena.copy(operands);
  }

  void read(ValueId id) {
    const Value value = lifted_[id];
    if (value.kind != ValueKind::Operation) return;
    called_.clear();
    if (value.op == Op::STORE_SUBSCR) return store_variable(id, value);
    if (value.op == Op::LOAD_SUBSCR) return load_first_name(id, value);
    if (value.op != Op::CALL) return;
    const std::span<const ValueId> all = value.operands;
    if (all.size() == 3) {
      const auto name = odd(constant(lifted_, all[2], ConstKind::Str));
      const ValueId object[] = {all[1]}, parts[] = {all[0], all[2]};
      if (name && is_call(lifted_, id, "getattr", 2))
        return become(id, Op::LOAD_ATTR, *name, object, parts);
      if (name && uses_[id.index] == 0 && is_call(lifted_, id, "delattr", 2))
        return become(id, Op::DELETE_ATTR, *name, object, parts);
      if (uses_[id.index] == 0)
        if (const auto stored = stores_argument(all[0])) {
          const ValueId operands[] = {all[1], all[2]}, function[] = {all[0]};
          return become(id, Op::STORE_ATTR, *stored, operands, function);
        }
    }
    if (all.size() == 4 && uses_[id.index] == 0 && is_call(lifted_, id, "setattr", 3)) {
      const auto name = odd(constant(lifted_, all[2], ConstKind::Str));
      const ValueId operands[] = {all[3], all[1]}, parts[] = {all[0], all[2]};
      if (name) return become(id, Op::STORE_ATTR, *name, operands, parts);
    }
    if (all.size() == 6 && !has_own_namespace()) return import_module(id, value);
    if (all.size() == 2 && conversions_ && !has_own_namespace() && convert(id, value)) return;
    load_variable(id, value);
  }

  void import_module(ValueId id, const Value& value) {
    const std::span<const ValueId> all = value.operands;
    const Const* name = constant(lifted_, all[1], ConstKind::Str);
    const Const* level = constant(lifted_, all[5], ConstKind::Int);
    if (!name || !level || level->big || level->integer != 0) return;
    if (!constant(lifted_, all[2], ConstKind::None) ||
        !constant(lifted_, all[3], ConstKind::None) || !is_call(lifted_, id, "__import__", 5))
      return;
    const ValueId operands[] = {all[5], all[4]};
    become(id, Op::IMPORT_NAME, name->text, operands, all.first(4));
    if (lifted_[id].op == Op::IMPORT_NAME) lifted_[id].aux = eager_import(module_.version);
  }

  static std::uint32_t conversion_of(std::string_view builtin) {
    return builtin == "repr" ? 2 : builtin == "ascii" ? 3 : 0;
  }

  bool convert(ValueId id, const Value& value) {
    const ValueId operands[] = {value.operands[1]}, parts[] = {value.operands[0]};
    for (const std::string_view name : {"repr", "ascii"}) {
      if (!is_call(lifted_, id, name, 1)) continue;
      become(id, Op::CONVERT, name, operands, parts);
      if (lifted_[id].op == Op::CONVERT) lifted_[id].arg = conversion_of(name);
      return true;
    }
    return false;
  }

  bool has_own_namespace() const { return !(module_[lifted_.code].flags & kOptimized); }

  void store_variable(ValueId id, const Value& value) {
    const auto name = odd(constant(lifted_, value.operands[2], ConstKind::Str));
    if (!name) return;
    const bool global = is_call(lifted_, value.operands[1], "globals", 0);
    if (!global && !(has_own_namespace() && is_call(lifted_, value.operands[1], "locals", 0)))
      return;
    const ValueId stored[] = {value.operands[0]}, parts[] = {value.operands[1], value.operands[2]};
    become(id, global ? Op::STORE_GLOBAL : Op::STORE_NAME, *name, stored, parts);
  }

  void load_variable(ValueId id, const Value& value) {
    const bool global = value.operands.size() == 3;
    const auto run = run_with_names(id, value, "eval");
    if (!run) return import_as(id, value);
    const auto name = run->names.size() == 1 ? odd(&module_[run->names[0]]) : std::nullopt;
    if (!name || run->source != "x") return;
    become(id, global ? Op::LOAD_GLOBAL : Op::LOAD_NAME, *name, {}, value.operands);
  }

  /// `globals()["if"]` in a function, where the module binds the name before all else.
  void load_first_name(ValueId id, const Value& value) {
    const auto name = odd(constant(lifted_, value.operands[1], ConstKind::Str));
    if (!name || has_own_namespace() || !is_call(lifted_, value.operands[0], "globals", 0)) return;
    if (first_names_ && first_names_->contains(*name))
      become(id, Op::LOAD_GLOBAL, *name, {}, value.operands);
  }

  /// `eval(compile(source, '', 'eval').replace(co_names=names))`, or exec, perhaps with
  /// `globals()`.
  struct Run {
    std::string_view source;
    std::span<const ConstId> names;
  };
  std::optional<Run> run_with_names(ValueId id, const Value& value, std::string_view how) {
    const bool global = value.operands.size() == 3;
    if (!is_call(lifted_, id, how, global ? 2 : 1)) return std::nullopt;
    if (global ? !is_call(lifted_, value.operands[2], "globals", 0) : !has_own_namespace())
      return std::nullopt;
    const Value* replaced = operation(lifted_, value.operands[1], Op::CALL_KW);
    if (!replaced || replaced->operands.size() != 3) return std::nullopt;
    const Const* keywords = constant(lifted_, replaced->operands[2], ConstKind::Tuple);
    const Const* names = constant(lifted_, replaced->operands[1], ConstKind::Tuple);
    if (!keywords || keywords->items.size() != 1 || !names) return std::nullopt;
    const Const& keyword = module_[keywords->items[0]];
    if (keyword.kind != ConstKind::Str || keyword.text != "co_names") return std::nullopt;
    const Value& method = lifted_[replaced->operands[0]];
    if (method.kind != ValueKind::Operation ||
        (method.op != Op::LOAD_ATTR && method.op != Op::LOAD_METHOD) ||
        module_[StrId(method.arg)] != "replace" ||
        !is_call(lifted_, method.operands[0], "compile", 3))
      return std::nullopt;
    const std::span<const ValueId> compiled = lifted_[method.operands[0]].operands;
    const Const* source = constant(lifted_, compiled[1], ConstKind::Str);
    if (!source || !is_text(lifted_, compiled[2], "") || !is_text(lifted_, compiled[3], how))
      return std::nullopt;
    return Run{source->text, names->items};
  }

  /// `import a.b.c as x`, whose names are "a.b.c", "b", "c" and the odd one for `x`.
  void import_as(ValueId id, const Value& value) {
    if (uses_[id.index] != 0) return;
    called_.clear();
    const auto run = run_with_names(id, value, "exec");
    if (!run || run->names.size() < 2) return;
    std::vector<std::string> names;
    for (ConstId item : run->names) {
      if (module_[item].kind != ConstKind::Str) return;
      names.emplace_back(module_[item].text);
    }
    const auto name = odd(&module_[run->names.back()]);
    const std::string stored = names.back(), begin = "import " + names[0] + " as ";
    names.pop_back();
    if (!name || !run->source.starts_with(begin) || !are_parts(names)) return;
    const std::string_view as = run->source.substr(begin.size());
    if (!is_writable_name(as, module_.version) || std::ranges::find(names, as) != names.end())
      return;
    const bool global = value.operands.size() == 3;
    become(id, global ? Op::STORE_GLOBAL : Op::STORE_NAME, stored, {}, value.operands);
    if (lifted_[id].op == Op::CALL) return;
    Const level, none;
    level.kind = ConstKind::Int;
    none.kind = ConstKind::None;
    const ValueId operands[] = {add(id, Op::LOAD_CONST, module_.add(level).index, {}),
                                add(id, Op::LOAD_CONST, module_.add(none).index, {})};
    ValueId module = add(id, Op::IMPORT_NAME, module_.intern(names[0]).index, operands);
    for (std::size_t i = 1; i < names.size(); ++i)
      module = add(id, Op::IMPORT_FROM, module_.intern(names[i]).index, {&module, 1});
    lifted_[id].operands = lifted_.arena.copy(std::vector<ValueId>{module});
  }

  /// "a.b.c", "b", "c", each another one?
  bool are_parts(const std::vector<std::string>& names) const {
    if (!is_writable_dotted_name(names[0], module_.version)) return false;
    std::string dotted = names[0].substr(0, names[0].find('.'));
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i))
        return false;
      dotted += "." + names[i];
    }
    return dotted == names[0];
  }

  /// A new operation before the one at `at`.
  ValueId add(ValueId at, Op op, std::uint32_t arg, std::span<const ValueId> operands) {
    Value value = lifted_[at];
    value.op = op;
    value.arg = arg;
    value.aux = 0;
    value.operands = lifted_.arena.copy(std::vector<ValueId>(operands.begin(), operands.end()));
    const ValueId id = lifted_.add(value);
    uses_.push_back(1);
    gone_.push_back(false);
    added_.push_back(id);
    return id;
  }

  /// `lambda value, to: setattr(to, 'if', value)`: the name.
  std::optional<std::string_view> stores_argument(ValueId function) {
    const CodeObject* object = made_code(lifted_, function);
    if (!object || object->argcount != 2 || object->kwonlyargcount != 0 ||
        object->slots.size() != 2)
      return std::nullopt;
    std::optional<std::string_view> name;
    with_only_block(function, lifted_, [&](const Lifted& inner, const LiftedBlock& block) {
      if (!is_call(inner, block.value, "setattr", 3) || block.body.back() != block.value)
        return false;
      const std::span<const ValueId> all = inner[block.value].operands;
      const auto loads = [&](ValueId id, std::uint32_t slot) {
        const Value* load = operation(inner, id, Op::LOAD_FAST);
        return load && load->arg == slot;
      };
      const std::size_t callee = inner[all[0]].op == Op::LOAD_GLOBAL ? 1 : 4;
      if (loads(all[1], 1) && loads(all[3], 0) && block.body.size() == callee + 4)
        name = odd(constant(inner, all[2], ConstKind::Str));
      return true;
    });
    return name;
  }
};

}  // namespace

void read_odd_names(Lifted& lifted, Module& module, const SimplifyOptions& options) {
  Reader(lifted, module, options).run();
}

}  // namespace depyf::simplifying
