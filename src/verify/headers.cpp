#include "verify/headers.h"

#include <algorithm>

#include "bytecode/scan.h"
#include "pyc/pyc.h"

namespace depyf::verify_detail {

std::string quoted_name(const Module& module, StrId id) {
  return id.valid() ? quoted(module[id]) : "nothing";
}

std::vector<StrId> free_variables(const CodeObject& code) {
  std::vector<StrId> out;
  for (const Slot& slot : code.slots)
    if (slot.kind & kFree) out.push_back(slot.name);
  return out;
}

std::optional<std::string> arguments_difference(Comparison& with, CodeId id_a, CodeId id_b,
                                                std::uint32_t flags) {
  const CodeObject &x = with.a[id_a], &y = with.b[id_b];
  const auto numbers = [](std::string_view what, std::uint64_t p, std::uint64_t q) {
    return std::string(what) + " " + std::to_string(p) + ", but the other has " + std::to_string(q);
  };
  if (x.version != y.version)
    return "the versions differ: " + x.version.number() + " and " + y.version.number();
  if (x.argcount != y.argcount) return numbers("argument count", x.argcount, y.argcount);
  if (x.posonlyargcount != y.posonlyargcount)
    return numbers("number of positional-only arguments", x.posonlyargcount, y.posonlyargcount);
  if (x.kwonlyargcount != y.kwonlyargcount)
    return numbers("number of keyword-only arguments", x.kwonlyargcount, y.kwonlyargcount);
  flags |= kVarArgs | kVarKeywords;
  if ((x.flags & flags) != (y.flags & flags)) return numbers("flags", x.flags, y.flags);
  const std::size_t arguments = x.parameter_count();
  for (std::size_t i = 0; i < arguments; ++i) {
    const StrId p = i < x.slots.size() ? x.slots[i].name : StrId(),
                q = i < y.slots.size() ? y.slots[i].name : StrId();
    if (with.canon.str(kA, p) != with.canon.str(kB, q))
      return "argument " + std::to_string(i) + " is named " + quoted_name(with.a, p) +
             ", but the other's is " + quoted_name(with.b, q);
  }
  return std::nullopt;
}

std::optional<std::string> docstring_difference(const Comparison& with, CodeId id_a, CodeId id_b) {
  const ConstId p = docstring(with.a, id_a), q = docstring(with.b, id_b);
  if (p.valid() == q.valid() && (!p.valid() || with.a[p].text == with.b[q].text))
    return std::nullopt;
  return "docstring " + (p.valid() ? describe_const(with.a, p) : "missing") +
         ", but the other's is " + (q.valid() ? describe_const(with.b, q) : "missing");
}

std::optional<std::string> header_difference(Comparison& with, CodeId id_a, CodeId id_b, bool root,
                                             VerdictKind& kind) {
  kind = VerdictKind::Different;
  const CodeObject &x = with.a[id_a], &y = with.b[id_b];
  // Where the function stands, and its docstring, are names of the root. Whether there are cells is
  // said by the slots. No interpreter reads CO_NESTED of a module, nor, before it counts by it, of
  // a class; that of a function stays one of its properties.
  const bool functions = ((x.flags | y.flags) & kOptimized) != 0;
  const bool nesting = functions || (!root && counts_by_nesting(x.version));
  const std::uint32_t futures = future_flags(x.version).all;
  const std::uint32_t ignored =
      (nesting ? 0u : kNested) | futures | (root && with.options.lifetimes ? 0u : kNoFree) |
      (with.options.compare_names || !root ? 0u : kNested | kNoFree | kHasDocstring | kMethod);
  if (auto difference = arguments_difference(with, id_a, id_b, ~ignored)) return difference;
  kind = VerdictKind::Unproven;
  // PyEval_MergeCompilerFlags() gives them to what the code compiles.
  if (((x.flags ^ y.flags) & future_flags(x.version).inherited) != 0)
    return "the `from __future__ import` of the two differ, which count where code compiles other "
           "code";
  // A function is made with one cell for each free variable, in this order.
  const std::vector<StrId> free_a = free_variables(x), free_b = free_variables(y);
  const auto names = [](const Module& module, const std::vector<StrId>& list) {
    std::string out = "(";
    for (StrId id : list) (out += out.size() > 1 ? ", " : "") += module[id];
    return out + ")";
  };
  if (!std::equal(free_a.begin(), free_a.end(), free_b.begin(), free_b.end(),
                  [&](StrId p, StrId q) { return with.a[p] == with.b[q]; }))
    return "free variables " + names(with.a, free_a) + ", but the other has " +
           names(with.b, free_b);
  kind = VerdictKind::Different;
  if (with.options.compare_names || !root) {
    if (with.canon.str(kA, x.name) != with.canon.str(kB, y.name))
      return "named " + quoted_name(with.a, x.name) + ", but the other is " +
             quoted_name(with.b, y.name);
    if (auto difference = docstring_difference(with, id_a, id_b)) return difference;
  }
  if (with.options.compare_names &&
      with.canon.str(kA, x.qualname) != with.canon.str(kB, y.qualname))
    return "qualified name " + quoted_name(with.a, x.qualname) + ", but the other's is " +
           quoted_name(with.b, y.qualname);
  return std::nullopt;
}

}  // namespace depyf::verify_detail
