#include "verify/equivalent.h"

#include <algorithm>
#include <array>
#include <set>

#include "lift/lifted.h"
#include "pyc/identifier.h"
#include "simplify/simplify.h"
#include "support/error.h"
#include "verify/lifetimes.h"
#include "verify/locals.h"
#include "verify/lockstep.h"
#include "verify/variables.h"

namespace depyf::verify_detail {
namespace {

constexpr std::string_view kIterates =
    "ignored: a second call of `iter` in comprehensions, which some releases of 3.13 make";
constexpr std::string_view kDeaths = "ignored: when values that no variable holds are freed";

/// Does the code use a name of an attribute or a variable that no source can hold?
/// Does the text call __import__ where the bytecode imports?
bool imports_by_call(const Cfg& original, const Module& text, CodeId id) {
  const auto imports = [](const Instr& instr) { return instr.op == Op::IMPORT_NAME; };
  return std::ranges::any_of(original.instrs, imports) &&
         std::ranges::any_of(text[id].names,
                             [&](StrId name) { return text[name] == "__import__"; });
}

/// Does the text call repr or ascii, which the bytecode does not, where the bytecode converts?
bool converts_by_call(const Comparison& with, const GraphPair& pair) {
  const auto converts = [](const Instr& instr) { return instr.op == Op::CONVERT; };
  const auto calls = [&](const Module& module, CodeId id, std::string_view builtin) {
    return std::ranges::any_of(module[id].names,
                               [&](StrId name) { return module[name] == builtin; });
  };
  return std::ranges::any_of(pair.cfg_a.instrs, converts) &&
         std::ranges::any_of(
             std::array<std::string_view, 2>{"repr", "ascii"}, [&](std::string_view builtin) {
               return calls(with.b, pair.y, builtin) && !calls(with.a, pair.x, builtin);
             });
}

class Equivalence {
 public:
  Equivalence(Comparison& with, const GraphPair& pair) : with_(with), pair_(pair) {}

  std::optional<Verdict> run(bool rename, Pairs& nested, std::string& ignored) {
    const std::string what = ignored;
    const Pairs functions = nested;
    const Canon::NanPairs nan_pairs = with_.canon.nan_pairs;
    const std::optional<Verdict> found = by_form(rename, nested, ignored);
    const auto again = [&](std::string_view leaves_out) {
      ignored = what;
      nested = functions;
      with_.canon.nan_pairs = nan_pairs;
      if (by_form(rename, nested, ignored)) return false;
      if (ignored.find(leaves_out) == std::string::npos) add(ignored, leaves_out);
      return true;
    };
    if (!found) return found;
    if (iterates_twice_) {
      iterates_once_ = true;
      if (again(kIterates)) return std::nullopt;
      iterates_once_ = false;
    }
    if (overwrites_ && !pair_.lifetimes) {  // of torch's frames the ends of values count
      stores_once_ = true;
      if (again(kDeaths)) return std::nullopt;
    }
    return found;
  }

 private:
  Comparison& with_;
  const GraphPair& pair_;
  bool iterates_twice_ = false;  // there is a second `iter` of a comprehension
  bool iterates_once_ = false;   // it is left out
  bool overwrites_ = false;      // a store directly follows one to the same local
  bool stores_once_ = false;     // the first of the two is left out

  Lifted lifted(Module& module, CodeId code, const Cfg& cfg, bool held = false) {
    Lifted out = lift(module, code, cfg, held);
    if (iterates_once_)
      drop_second_iter(out, module);
    else
      iterates_twice_ = iterates_twice_ || has_second_iter(out, module);
    if (stores_once_)
      drop_overwritten_stores(out, module);
    else
      overwrites_ = overwrites_ || has_overwritten_store(out, module);
    order_first_stores(out, module);
    return out;
  }

  std::optional<Verdict> by_form(bool rename, Pairs& nested, std::string& ignored) {
    try {
      Lifted lifted_a = lifted(with_.a, pair_.x, pair_.cfg_a),
             lifted_b = lifted(with_.b, pair_.y, pair_.cfg_b);
      const std::vector<Exposure> exposed_a = exposure_of(lifted_a, with_.a),
                                  exposed_b = exposure_of(lifted_b, with_.b);
      if (rename && !rename_locals(with_, pair_.x, pair_.cfg_a, exposed_a, pair_.y, pair_.cfg_b,
                                   exposed_b, ignored))
        return different(pair_.first);
      SimplifyOptions simplify_a, simplify_b;
      simplify_a.promotable = temporaries(with_, kA, pair_.x, pair_.cfg_a, pair_.y, pair_.cfg_b,
                                          exposed_a, pair_.dynamo, ignored);
      simplify_b.promotable = temporaries(with_, kB, pair_.y, pair_.cfg_b, pair_.x, pair_.cfg_a,
                                          exposed_b, pair_.dynamo, ignored);
      const bool lifetimes = pair_.lifetimes;
      std::string outlives;
      const bool frees = !lifetimes && (makes_values(lifted_a) || makes_values(lifted_b));
      if (!lifetimes) {
        for (std::string_view name : outliving(lifted_b, with_.b, simplify_b.promotable))
          outlives += (outlives.empty() ? "" : ", ") + quoted(name);
        if (!outlives.empty())
          outlives = "ignored: values stay in " + outlives + " when nothing reads them any more";
      }
      if (rename) add(outlives, renamed_unset(with_, kA, lifted_a, kB, lifted_b));
      if (lifetimes) {
        if (const auto held = held_too_long(
                lifted_b, with_.b, without_copies(lifted_b, with_.b, simplify_b.promotable), kB))
          return different(*held);
        if (const auto held = held_too_long(
                lifted_a, with_.a, without_copies(lifted_a, with_.a, simplify_a.promotable), kA))
          return different(*held);
      }
      simplify_a.iter_object = simplify_b.iter_object = with_.options.iter_object;
      simplify_a.order_stores = simplify_b.order_stores = pair_.dynamo;
      simplify_a.dynamo = simplify_b.dynamo = pair_.dynamo;
      simplify_a.own_locals = simplify_b.own_locals = with_.options.own_locals;
      // Which locals go is for temporaries() to say, so that their lifetimes are looked at.
      simplify_a.unread_temporaries = simplify_b.unread_temporaries = false;
      simplify_a.slices = simplify_b.slices = true;
      // What stands for such a name calls builtins, which must be the builtins.
      const bool conversions = converts_by_call(with_, pair_);
      simplify_a.conversions = simplify_b.conversions = conversions;
      const bool odd_names = with_.options.decompiled &&
                             (has_odd_name(with_.a, pair_.x) ||
                              imports_by_call(pair_.cfg_a, with_.b, pair_.y) || conversions);
      const bool bound = odd_names && !with_.options.live && !with_.builtins.binds_by().empty();
      simplify_a.odd_names = simplify_b.odd_names = odd_names && !with_.options.live && !bound;
      std::set<std::string> builtins;
      simplify_a.builtins = simplify_b.builtins = &builtins;
      if (simplify_b.odd_names) simplify_b.first_names = &with_.builtins.first_names();
      simplify_a.displays = simplify_b.displays = true;
      simplify(lifted_a, with_.a, simplify_a);
      simplify(lifted_b, with_.b, simplify_b);
      std::optional<Difference> difference =
          lockstep_difference(with_.canon, lifted_a, lifted_b, with_.options.compare_names,
                              pair_.dynamo, nested, lifetimes ? with_.options.calls : nullptr);
      // Once more, with what the stack holds at each effect.
      const auto held_difference = [&](Pairs& functions) {
        lifted_a = lifted(with_.a, pair_.x, pair_.cfg_a, true);
        lifted_b = lifted(with_.b, pair_.y, pair_.cfg_b, true);
        simplify(lifted_a, with_.a, simplify_a);
        simplify(lifted_b, with_.b, simplify_b);
        return lockstep_difference(with_.canon, lifted_a, lifted_b, with_.options.compare_names,
                                   pair_.dynamo, functions);
      };
      if (!difference && lifetimes) difference = held_difference(nested);
      if (!difference && frees) {
        bool same = false;
        try {
          Pairs functions;
          same = !held_difference(functions);
        } catch (const Error&) {
          same = false;  // too large to compare
        }
        if (!same) add(outlives, kDeaths);
      }
      if (!difference) {
        add(ignored, outlives);
        with_.builtins.called.merge(builtins);
        return std::nullopt;
      }
      Verdict out = different(*difference);
      // Perhaps by the name alone, which the builtins may well reach.
      if (odd_names && !simplify_a.odd_names) out.kind = VerdictKind::Unproven;
      if (bound)
        out.detail +=
            " (what no source can hold is reached by builtins, which the module may bind with " +
            with_.builtins.binds_by() + ")";
      return out;
    } catch (const Error& error) {
      Verdict out = different(pair_.first);
      out.kind = VerdictKind::Unproven;
      out.detail += std::string(" (and no more can be proven: ") + error.what() + ")";
      return out;
    }
  }
};

}  // namespace

std::optional<Verdict> equivalent(Comparison& with, const GraphPair& pair, bool rename,
                                  Pairs& nested, std::string& ignored) {
  return Equivalence(with, pair).run(rename, nested, ignored);
}

}  // namespace depyf::verify_detail
