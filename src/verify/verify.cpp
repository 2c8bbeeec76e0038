#include "verify/verify.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include "bytecode/instr.h"
#include "bytecode/scan.h"
#include "flow/cfg.h"
#include "lift/lifted.h"
#include "simplify/simplify.h"
#include "support/error.h"
#include "verify/comparison.h"
#include "verify/equivalent.h"
#include "verify/exact.h"
#include "verify/headers.h"
#include "verify/lifetimes.h"
#include "verify/promises.h"
#include "verify/raw_code.h"
#include "verify/rebuilt_code.h"
#include "verify/soundness.h"
#include "verify/variables.h"

namespace depyf {
namespace {

using namespace verify_detail;

constexpr std::string_view kOrder =
    "ignored: the order in which `in` asks the items of a set of constants";
constexpr std::string_view kWrittenOrder =
    "ignored: the order of a set of constants in the file, which the compiler leaves to chance";
constexpr std::string_view kNans = "ignored: NaN constants of the two are not the same objects";
constexpr std::string_view kLines =
    "ignored: the line numbers that classes have in `__firstlineno__`";
constexpr std::string_view kLocals = "ignored: the order in which `locals()` has the variables";
constexpr std::string_view kUnusedLocals =
    "ignored: variables in `co_varnames` that only removed code names";

std::string reads_unset(const Module& module, CodeId id, const Cfg& cfg) {
  const std::string local = unchecked_local(module, id, cfg);
  if (local.empty()) return {};
  return "the code reads the local " + quoted(local) + " unset, without looking";
}

class Verifier {
 public:
  Verifier(Module& a, Module& b, const VerifyOptions& options) : with_(a, b, options) {}

  Verdict run(CodeId root_a, CodeId root_b) {
    pairs_.many(root_a, root_b);
    Verdict out;
    out.kind = VerdictKind::Identical;
    // Pairs of nested code objects are added while their parents are compared.
    std::size_t i = 0;
    for (; i < pairs_.list().size() && (i == 0 || with_.options.nested); ++i) {
      const auto [x, y] = pairs_.list()[i];
      const Verdict one =
          i && std::ranges::find(with_.options.rebuilt, x) != with_.options.rebuilt.end()
              ? compare_rebuilt(with_, x, y, plain_classes_)
              : compare(x, y, i == 0);
      out.kind = std::max(out.kind, one.kind);
      if (!is_proof(one.kind)) {
        out.details.push_back((i ? "in " + path(x) + ": " : "") + one.detail);
        if (out.codes.empty()) out.detail = out.details[0];
        out.codes.push_back(x);
        continue;
      }
      if (one.detail.empty() || !ignored_.insert(one.detail).second) continue;
      if (out.codes.empty()) out.detail += (out.detail.empty() ? "" : "; ") + one.detail;
    }
    if (is_proof(out.kind)) add(out.detail, with_.builtins.taken_for_granted());
    // Functions that only dead code makes decide no more than whether the two are identical.
    if (with_.options.nested && out.kind == VerdictKind::Identical) {
      adopt(dead_);
      for (; i < pairs_.list().size() && out.kind == VerdictKind::Identical; ++i) {
        const auto [x, y] = pairs_.list()[i];
        if (compare(x, y, false).kind != VerdictKind::Identical) out.kind = VerdictKind::Exact;
        adopt(dead_);
      }
    }
    return out;
  }

 private:
  Comparison with_;
  Pairs pairs_, dead_;
  bool tests_format_[2] = {false, false};  // Soundness::tests_format, of the last unsound()
  bool locals_order_differs_ = false;      // of the last pair, whose code asks for its locals
  bool unused_locals_differ_ = false;      // of the last pair
  std::set<std::string> ignored_;
  std::optional<PlainClasses> plain_classes_;

  std::string path(CodeId id) const {
    std::vector<std::string_view> names;
    for (; id.valid(); id = with_.a[id].parent) names.push_back(with_.a[with_.a[id].name]);
    std::string out;
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      if (!out.empty()) out += '/';
      out += *name;
    }
    return out;
  }

  static void read(Module& module, CodeId id, InstrList& list, Cfg& cfg) {
    list = decode(module, id);
    mark_own_cells(module[id], list);
    cfg = build_cfg(module, id, list);
    correct_signal_regions(module[id], cfg);
  }

  Verdict compare(CodeId x, CodeId y, bool root) {
    Verdict out;
    if (std::optional<std::string> header = header_difference(with_, x, y, root, out.kind)) {
      out.detail = *header;
      return out;
    }
    const auto refuse = [&](std::string why) {
      out.kind = VerdictKind::Unproven;
      out.detail = std::move(why);
      return out;
    };
    InstrList list_a, list_b;
    Cfg cfg_a, cfg_b;
    try {
      read(with_.a, x, list_a, cfg_a);
      read(with_.b, y, list_b, cfg_b);
    } catch (const Error& error) {
      // What cannot be read does something else for all that is known; CPython may read on.
      return refuse(error.what());
    }
    // What is said about the instructions holds for code of which decode() understands all. Two
    // copies of one code do the same whatever that is.
    std::string problem = broken_promise(with_.a[x]);
    if (problem.empty()) problem = broken_promise(with_.b[y]);
    if (problem.empty()) problem = broken_generator(with_.a[x], list_a);
    if (problem.empty()) problem = broken_generator(with_.b[y], list_b);
    if (problem.empty()) problem = reads_unset(with_.a, x, cfg_a);
    if (problem.empty()) problem = reads_unset(with_.b, y, cfg_b);
    if (!problem.empty() && !same_bytes(with_.a[x], with_.b[y])) return refuse(problem);
    if (dropped_handlers(with_.a[x], list_a) != dropped_handlers(with_.b[y], list_b))
      return refuse(
          "a StopIteration that leaves the generator becomes a RuntimeError on one side only");
    const Canon::NanPairs nan_pairs = with_.canon.nan_pairs;
    Pairs nested, dead;
    with_.canon.renamed.clear();
    look_at_variables(x, cfg_a, y, cfg_b, root);
    const bool sequence =
        same_sequence(with_.canon, x, list_a, y, list_b, with_.options.compare_names, dead) &&
        same_instructions(with_.a[x], with_.b[y]);
    const bool copies =
        sequence || (cfg_a.hides_signals && cfg_b.hides_signals &&
                     same_reached(with_.canon, x, list_a, y, list_b, with_.options.compare_names));
    with_.canon.nan_pairs = nan_pairs;
    with_.canon.orders_differ = with_.canon.nan_objects_differ = with_.canon.lines_differ = false;
    const std::optional<Difference> first = exact_difference(
        with_.canon, x, cfg_a, y, cfg_b, with_.options.compare_names, copies, nested);
    if (!first) {
      for (const auto& [p, q] : dead.list()) dead_.many(p, q);
      if (sequence) problem.clear();  // the same, whatever that is
      if (!sequence || with_.a[x].stacksize != with_.b[y].stacksize) {
        if (problem.empty()) problem = unsound(kA, x, list_a, cfg_a);
        if (problem.empty()) problem = unsound(kB, y, list_b, cfg_b);
        if (!problem.empty()) return refuse(problem);
      }
      out.kind = sequence ? VerdictKind::Identical : VerdictKind::Exact;
      if (leaves_out()) out.kind = VerdictKind::Equivalent;
      add_left_out(out.detail);
      adopt(nested);
      return out;
    }
    if (!problem.empty()) return refuse(problem);
    const auto part = [&](const char* why) {
      Verdict unproven = different(*first);
      unproven.kind = VerdictKind::Unproven;
      unproven.detail += why;
      return unproven;
    };
    // On either side, or on both: nothing can be said about code that does so.
    problem = unsound(kA, x, list_a, cfg_a, true);
    if (problem.empty()) problem = unsound(kB, y, list_b, cfg_b, true);
    if (problem.empty() && tests_format_[kA] != tests_format_[kB]) problem = kTestsOther;
    if (!problem.empty()) return part((" (and " + problem + ")").c_str());

    const bool dynamo = root && with_.options.dynamo;
    const bool live = root && with_.options.lifetimes;
    with_.canon.bare = {};
    const Cfg locals_a = live ? std::move(cfg_a) : cells_as_locals(with_, kA, x, std::move(cfg_a));
    const Cfg locals_b = live ? std::move(cfg_b) : cells_as_locals(with_, kB, y, std::move(cfg_b));
    const GraphPair graphs{x, y, locals_a, locals_b, dynamo, live, *first};
    for (const bool rename : {false, true}) {
      with_.canon.nan_pairs = nan_pairs;
      with_.canon.orders_differ = with_.canon.nan_objects_differ = with_.canon.lines_differ = false;
      Pairs lifted_nested;
      std::string what;
      std::optional<Verdict> refused = equivalent(with_, graphs, rename, lifted_nested, what);
      if (!refused) {
        with_.canon.renamed.clear();
        adopt(lifted_nested);
        out.kind = VerdictKind::Equivalent;
        out.detail = what;
        add_left_out(out.detail);
        return out;
      }
      if (!rename) out = dynamo ? with_what_lists(std::move(*refused), locals_a) : *refused;
      if (with_.options.decompiled && (live || !has_odd_local(with_.a, x))) break;
    }
    with_.canon.renamed.clear();
    return out;
  }

  /// What the comparison of constants passed over.
  void add_left_out(std::string& detail) const {
    if (with_.canon.orders_differ) add(detail, kOrder);
    if (with_.canon.written_orders_differ) add(detail, kWrittenOrder);
    if (with_.canon.nan_objects_differ) add(detail, kNans);
    if (with_.canon.lines_differ) add(detail, kLines);
    if (locals_order_differs_) add(detail, kLocals);
    if (unused_locals_differ_) add(detail, kUnusedLocals);
  }

  /// A refusal that also says by what torch's code may list its locals, so that these count.
  Verdict with_what_lists(Verdict refused, const Cfg& cfg) const {
    const std::string_view by = what_asks_for_locals(with_.a, cfg);
    if (!by.empty())
      refused.detail += "; the code names " + std::string(by) +
                        ", which may list its locals, so these must be the same";
    return refused;
  }

  void look_at_variables(CodeId x, const Cfg& cfg_a, CodeId y, const Cfg& cfg_b, bool root) {
    locals_order_differs_ =
        asks_for_locals(with_.a, cfg_a) && !same_order_of_locals(with_, with_.a[x], with_.b[y]);
    unused_locals_differ_ =
        !(root && with_.options.dynamo) &&
        (has_unused_local(with_, kA, x, cfg_a, y) || has_unused_local(with_, kB, y, cfg_b, x));
  }

  bool leaves_out() const {
    return with_.canon.orders_differ || with_.canon.written_orders_differ ||
           locals_order_differs_ || unused_locals_differ_;
  }

  /// Why nothing can be said about the code; see soundness().
  std::string unsound(Which side, CodeId id, const InstrList& list, const Cfg& cfg,
                      bool tests = false) {
    Soundness found = soundness(with_.module(side), id, list, cfg, tests);
    tests_format_[side] = found.tests_format;
    return std::move(found.problem);
  }

  /// The same code, byte by byte, and the same variables.
  bool same_bytes(const CodeObject& x, const CodeObject& y) {
    return std::ranges::equal(x.code, y.code) &&
           std::ranges::equal(x.exceptiontable, y.exceptiontable) &&
           std::equal(x.slots.begin(), x.slots.end(), y.slots.begin(), y.slots.end(),
                      [&](const Slot& p, const Slot& q) {
                        return p.kind == q.kind &&
                               with_.canon.str(kA, p.name) == with_.canon.str(kB, q.name);
                      });
  }

  void adopt(const Pairs& nested) {
    for (const auto& [x, y] : nested.list()) pairs_.many(x, y);
  }
};

}  // namespace

std::string_view verdict_word(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::Identical:
      return "identical";
    case VerdictKind::Exact:
      return "exact";
    case VerdictKind::Equivalent:
      return "equivalent";
    case VerdictKind::Unproven:
      return "unproven";
    case VerdictKind::Different:
      break;
  }
  return "different";
}

std::vector<std::string> kept_temporaries(Module& module, CodeId id) {
  std::vector<std::string> out;
  try {
    const CodeObject& code = module[id];
    std::vector<bool> slots(code.slots.size(), false);
    for (std::size_t i = code.parameter_count(); i < slots.size(); ++i)
      slots[i] = code.slots[i].kind == kLocal && is_made_up(module[code.slots[i].name]);
    if (std::find(slots.begin(), slots.end(), true) == slots.end()) return out;
    Lifted lifted = lift(module, id, build_cfg(module, id, decode(module, id)));
    order_first_stores(lifted, module);  // as the proof does: which one is the copy
    for (std::string_view name : outliving(lifted, module, slots)) out.emplace_back(name);
    std::unordered_set<std::string> copies;
    for (const auto& [to, from] : copies_of_slots(lifted, module)) {
      const std::string from_name(module[code.slots[from].name]);
      if (std::find(out.begin(), out.end(), from_name) != out.end())
        copies.emplace(module[code.slots[to].name]);
    }
    std::erase_if(out, [&](const std::string& name) { return copies.count(name) != 0; });
  } catch (const Error&) {
    out.clear();  // what cannot be lifted is not decompiled either
  }
  return out;
}

Verdict verify(Module& a, CodeId code_a, Module& b, CodeId code_b, const VerifyOptions& options) {
  return Verifier(a, b, options).run(code_a, code_b);
}

}  // namespace depyf
