#include "verify/rebuilt_code.h"

#include <algorithm>
#include <set>

#include "bytecode/bound_names.h"
#include "bytecode/instr.h"
#include "flow/gaps.h"
#include "support/error.h"
#include "verify/headers.h"
#include "verify/promises.h"
#include "verify/raw_code.h"

namespace depyf::verify_detail {
namespace {

/// What a class body leaves in its namespace as `__static_attributes__`.
class StaticAttributes {
 public:
  StaticAttributes(Module& module, CodeId code)
      : module_(module),
        cfg_(build_cfg_by_table(module, code, decode(module, code))),
        at_(cfg_.size(), kUnreached) {
    enter(cfg_.entry, kNothing);
    while (!work_.empty()) {
      const std::uint32_t block = work_.back();
      work_.pop_back();
      walk(cfg_.blocks[block], at_[block]);
    }
  }

  /// Is the end of the body never reached?
  bool never_ends() const { return found_ == kUnreached; }

  /// The names, in order, if it is one tuple of texts on all ways to the end.
  std::optional<std::vector<std::string_view>> names() const {
    if (found_ >= kNothing || module_[ConstId(found_)].kind != ConstKind::Tuple)
      return std::nullopt;
    std::vector<std::string_view> out;
    for (ConstId item : module_[ConstId(found_)].items) {
      if (module_[item].kind != ConstKind::Str) return std::nullopt;
      out.push_back(module_[item].text);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  /// A ConstId, or one of these: no value, one that is not known, no way leads there.
  using Value = std::uint32_t;
  static constexpr Value kNothing = UINT32_MAX - 2, kUnknown = UINT32_MAX - 1,
                         kUnreached = UINT32_MAX;

  Module& module_;
  const Cfg cfg_;
  std::vector<Value> at_;  // at the start of each block
  std::vector<std::uint32_t> work_;
  Value found_ = kUnreached;  // at the end of the body

  static bool join(Value& known, Value value) {
    const Value joined = known == kUnreached || known == value ? value : kUnknown;
    const bool changed = joined != known;
    known = joined;
    return changed;
  }

  void enter(BlockId to, Value value) {
    if (to.valid() && join(at_[to.index], value)) work_.push_back(to.index);
  }

  /// The value behind the instruction. What runs other code may do anything to the namespace.
  Value behind(const Block& block, std::uint32_t i, Value value) const {
    const Instr& instr = cfg_.instrs[i];
    const bool named = (instr.op == Op::STORE_NAME || instr.op == Op::DELETE_NAME) &&
                       module_[StrId(instr.arg)] == "__static_attributes__";
    if (named && instr.op == Op::DELETE_NAME) return kNothing;
    if (named)
      return i > block.first && cfg_.instrs[i - 1].op == Op::LOAD_CONST ? cfg_.instrs[i - 1].arg
                                                                        : kUnknown;
    return cannot_raise(instr.op) || instr.op == Op::STORE_NAME ? value : kUnknown;
  }

  void walk(const Block& block, Value value) {
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      if (block.region.valid()) enter(cfg_[block.region].handler, value);
      if (cfg_.instrs[i].op == Op::RETURN_VALUE) join(found_, value);
      value = behind(block, i, value);
    }
    if (block.region.valid()) enter(cfg_[block.region].handler, value);
    enter(block.next, value);
    enter(block.target, value);
  }
};

/// From 3.13 on the class statement around the bytes of a class body stores its own
/// `__static_attributes__` after them.
bool keeps_static_attributes(const Comparison& with, CodeId x, CodeId y) {
  if (!with.a[x].version.has_class_lines() || (with.a[x].flags & kOptimized) != 0 ||
      !with.a[x].parent)
    return true;
  try {
    const StaticAttributes one(with.a, x), other(with.b, y);
    return one.never_ends() || (one.names() && one.names() == other.names());
  } catch (const Error&) {
    return false;  // nothing is known of damaged code
  }
}

/// Is more called than __import__ to run the bytes?
bool calls_more(const Comparison& with, const CodeObject& code) {
  return !(code.flags & kOptimized) ||
         (!code.slots.empty() && with.a[code.slots[0].name].starts_with('.'));
}

bool holds_nan(const Comparison& with, CodeId id) {
  std::vector<ConstId> work(with.a[id].consts.begin(), with.a[id].consts.end());
  std::set<std::uint32_t> seen;
  while (!work.empty()) {
    const ConstId at = work.back();
    work.pop_back();
    if (!seen.insert(at.index).second) continue;
    const Const& value = with.a[at];
    if (is_nan(value)) return true;
    work.insert(work.end(), value.items.begin(), value.items.end());
    if (value.kind == ConstKind::Code)
      work.insert(work.end(), with.a[value.code].consts.begin(), with.a[value.code].consts.end());
  }
  return false;
}

/// What a caller may tell code that runs the bytes from the code itself by.
std::string rebuilding_ignores(Comparison& with, CodeId id,
                               std::optional<PlainClasses>& plain_classes) {
  const CodeObject& code = with.a[id];
  std::string said =
      "ignored: functions that are rebuilt from their bytes run one frame deeper, so that "
      "recursion meets its limit at half the depth, have another __code__ and constants "
      "of their own at each call, and keep their arguments alive until they return";
  if (code.flags & kAsyncGenerator)
    said +=
        "; that an async generator among them is made by a plain function "
        "(inspect.isasyncgenfunction)";
  else if (code.flags & (kGenerator | kCoroutine))
    said +=
        "; that a generator or coroutine among them runs inside another one, which is what its "
        "frame shows (gi_frame, gi_yieldfrom)";
  if (has_given_namespace(with.a, id, plain_classes))
    said += code.version.has_class_lines()
                ? "; that the namespace of a class with bases or keywords, if it is no dict, sees "
                  "__module__, __qualname__, __firstlineno__ and __static_attributes__ stored twice"
                : "; that the namespace of a class with bases or keywords, if it is no dict, sees "
                  "__module__ and __qualname__ stored twice";
  if (!with.builtins.binds_by().empty())
    said += "; that the module, which binds names with " + with.builtins.binds_by() +
            ", may so bind __import__, which they call";
  with.builtins.called.insert("__import__");
  const bool by_class =  // exec() takes no cells there
      !code.version.has_exception_table() && !free_variables(code).empty();
  if (code.flags & kOptimized) {
    if (calls_more(with, code)) with.builtins.called.insert("iter");
  } else {
    with.builtins.called.insert({by_class ? "__build_class__" : "exec", "locals"});
  }
  return said;
}

/// Why code that runs the bytes may do something else than the code itself: what it calls for
/// that (rewrite/rebuilt.cpp), and the NaNs, each of which equals nothing but itself.
std::string rebuilding_problem(Comparison& with, CodeId id) {
  if (with.builtins.replaces_import())
    return "code that is rebuilt from its bytes calls __import__, which the module may replace";
  if (calls_more(with, with.a[id]) && !with.builtins.binds_by().empty())
    return "code that is rebuilt from its bytes calls builtins, which the module may bind with " +
           with.builtins.binds_by();
  if (holds_nan(with, id))
    return "code that is rebuilt from its bytes has another NaN at each call";
  return {};
}

/// Can the instruction begin the handling of an exception, or belong to it?
bool handles(Op op) {
  return op == Op::SETUP_FINALLY || op == Op::SETUP_WITH || op == Op::WITH_ENTER ||
         op == Op::ASYNC_WITH_ENTER || op == Op::PUSH_EXC_INFO;
}

/// Why the text's `yield from` or `await` of a generator or coroutine may do something else than
/// the generator itself. GeneratorExit is not passed on: the inner one is closed, and whatever that
/// gives, the thrown exception is raised behind it. So nothing inside may see that exception: no
/// handler (also for what it has as __context__), and no iterator that it delegates to, whose
/// close() may raise. An async generator is handed out as it is.
std::string delegation_problem(const CodeObject& code, const InstrList& list) {
  if ((code.flags & (kGenerator | kCoroutine)) == 0) return {};
  if (code.flags & kIterableCoroutine)
    return "the rebuilt generator is a coroutine by its flags, which `yield from` refuses";
  if (lets_stop_iteration_out(code, list))
    return "a StopIteration that leaves the rebuilt generator would be taken for its end";
  bool stops = false, delegates = false, handled = !list.rows.empty();
  for (const Instr& instr : list.instrs) {
    stops |= instr.op == Op::YIELD_VALUE;
    delegates |= instr.op == Op::YIELD_FROM || instr.op == Op::SEND;
    handled |= handles(instr.op);
  }
  if (!delegates && !(stops && handled)) return {};
  const std::string kind = code.flags & kCoroutine ? "coroutine" : "generator";
  return "the rebuilt " + kind +
         " is delegated to: it would not see GeneratorExit as the original does" +
         (handled ? "" : ", nor would the iterator that it waits for");
}

std::string generator_problem(Comparison& with, CodeId id) {
  try {
    const InstrList list = decode(with.a, id);
    std::string problem = broken_generator(with.a[id], list);
    return problem.empty() ? delegation_problem(with.a[id], list) : problem;
  } catch (const Error&) {
    return {};  // damaged: it raises
  }
}

}  // namespace

Verdict compare_rebuilt(Comparison& with, CodeId x, CodeId y,
                        std::optional<PlainClasses>& plain_classes) {
  Verdict out;
  if (!keeps_static_attributes(with, x, y)) {
    out.kind = VerdictKind::Unproven;
    out.detail = "__static_attributes__ of the class is lost";
    return out;
  }
  std::optional<std::string> difference = arguments_difference(with, x, y, 0);
  if (!difference) difference = docstring_difference(with, x, y);
  if (difference) {
    out.detail = *difference;
    return out;
  }
  // The function around the bytes is the kind of generator that the flags say.
  if (std::string problem = generator_problem(with, x); !problem.empty()) {
    out.kind = VerdictKind::Unproven;
    out.detail = std::move(problem);
    return out;
  }
  if (std::string problem = rebuilding_problem(with, x); !problem.empty()) {
    out.kind = VerdictKind::Unproven;
    out.detail = std::move(problem);
    return out;
  }
  out.kind = VerdictKind::Equivalent;
  out.detail = rebuilding_ignores(with, x, plain_classes);
  // The statement around the bytes has a name of its own where no source can hold the code's.
  if (with.canon.str(kA, with.a[x].name) != with.canon.str(kB, with.b[y].name) ||
      with.canon.str(kA, with.a[x].qualname) != with.canon.str(kB, with.b[y].qualname))
    out.detail +=
        "; " +
        quoted_name(with.a, with.a[x].qualname.valid() ? with.a[x].qualname : with.a[x].name) +
        " is named " +
        quoted_name(with.b, with.b[y].qualname.valid() ? with.b[y].qualname : with.b[y].name);
  return out;
}

}  // namespace depyf::verify_detail
