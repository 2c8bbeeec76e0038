#include "verify/rebuilt_code.h"

#include <algorithm>
#include <set>

#include "bytecode/bound_names.h"
#include "bytecode/class_end.h"
#include "bytecode/instr.h"
#include "support/error.h"
#include "verify/headers.h"
#include "verify/promises.h"

namespace depyf::verify_detail {
namespace {

/// The names that the compiler of 3.13 and later stores as `__static_attributes__` at the end of a
/// class body.
std::vector<std::string_view> static_attributes(Module& module, CodeId code) {
  std::vector<std::string_view> names;
  if (!module[code].version.has_class_lines()) return names;
  const InstrList list = decode(module, code);
  for (std::uint32_t at : closing_stores(module, code, list, "__static_attributes__")) {
    if (at == 0 || list.instrs[at - 1].op != Op::LOAD_CONST) continue;
    for (ConstId item : module[ConstId(list.instrs[at - 1].arg)].items)
      names.push_back(module[item].text);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
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
    said +=
        "; that the namespace of a class with bases or keywords, if it is no dict, sees "
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

std::string generator_problem(Comparison& with, CodeId id) {
  try {
    return broken_generator(with.a[id], decode(with.a, id));
  } catch (const Error&) {
    return {};  // damaged: it raises
  }
}

}  // namespace

Verdict compare_rebuilt(Comparison& with, CodeId x, CodeId y,
                        std::optional<PlainClasses>& plain_classes) {
  Verdict out;
  try {
    // The class statement around the bytes stores its own after them.
    if (static_attributes(with.a, x) != static_attributes(with.b, y)) {
      out.kind = VerdictKind::Unproven;
      out.detail = "__static_attributes__ of the class is lost";
      return out;
    }
  } catch (const Error&) {
    // damaged code has none
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
