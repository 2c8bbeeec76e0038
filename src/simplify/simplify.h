#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "lift/lifted.h"

namespace depyf {

/// The name that stands for the function `iter` itself in decompiled source.
constexpr const char* kIterPlaceholder = "__builtin_iter__";

struct SimplifyOptions {
  /// Locals (by slot) whose loads and stores nobody else can see: promoted to SSA values. verify/
  /// passes the temporaries that the other side lacks. A slot that is an argument or a cell, or
  /// that is read where it may be unbound, is left alone.
  std::vector<bool> promotable;
  bool fresh_sequences = true;  // lists and tuples built here are known until they escape
  bool drop_dead = true;        // pure values and parameters that nobody reads
  std::uint32_t iter_object =
      UINT32_MAX;  // Const::object of the function `iter`: a call of it is GET_ITER
  bool order_stores =
      false;  // stores to different locals, one after the other, by name: for comparing only
  /// Whether torch wrote the code, so that the globals which it installs are there and stay; as
  /// made_by_dynamo() finds when not said.
  std::optional<bool> dynamo;
  /// Names of locals that are the program's own, not Dynamo's, whatever they look like.
  std::span<const std::string> own_locals;
  bool slices = false;    // subscripts with slices as the slice and a subscript: for comparing only
  bool displays = false;  // sets of constants in one order, large dicts at once: for comparing only
  bool odd_names =
      false;  // what the printer writes for names that no source can hold: for comparing only
  bool conversions = false;                   // with odd_names: calls of repr and ascii, too
  std::set<std::string>* builtins = nullptr;  // with odd_names: those that the text calls for them
  /// With odd_names: find_first_names() of what the text was decompiled from.
  const std::set<std::string, std::less<>>* first_names = nullptr;
  bool unread_temporaries = true;  // locals of Dynamo's naming that nothing reads are promoted, so
                                   // that their values die earlier
  bool late_loads = true;  // loads without effect stand right before the expression that reads them
};

/// Semantics-preserving clean-up: fresh-list algebra, dead pure values. Every rule has its proof in
/// a comment. Order of effects never changes. `del` of a local stays. How long a temporary on the
/// stack lives is NOT part of the semantics: an object that only a vanished list held may die
/// earlier or later. Lifted::held, where lift() was asked for it, says after all rules what was
/// alive at each operation before.
///
/// Meant for Dynamo's code and for verify/: on code that a compiler made from source it removes
/// what the source said
/// (`f(*[a, b])`, a lone `x` as a statement), so decompiling calls it only where made_by_dynamo()
/// says so.
void simplify(Lifted& lifted, Module& module, const SimplifyOptions& options = {});

/// The one rule for code that nobody wrote as it stands: branches on constants (opaque predicates)
/// go one way, and what nothing leads to is dropped; see branches.cpp. True where there was one.
bool take_decided_branches(Lifted& lifted, const Module& module);

/// A second `iter` on the iterator of a comprehension or generator expression, as patch releases of
/// CPython 3.13 have it, is left out; see second_iter.cpp. For code as lift() made it. True where
/// there was one.
bool drop_second_iter(Lifted& lifted, const Module& module);
bool has_second_iter(const Lifted& lifted, const Module& module);

/// Does the code object name what only Dynamo installs or passes: `__compiled_fn_…`,
/// `__resume_at_…`, `__nested_resume_fns`, `___stack0`, `graph_out_0` …?
bool made_by_dynamo(const Module& module, CodeId code);

/// May the code ask for its frame's locals by name? An operation names what shows them (`locals`,
/// `eval`, `f_locals` …) as a global, an attribute, an import or a text, or takes such a function
/// from the constants. That the tables of names and constants hold it says nothing: torch leaves
/// those of the original as they are. What the code calls may be such a function too, under any
/// name; that is for the caller to judge.
bool asks_for_locals(const Module& module, const Cfg& cfg);
/// By what it may: the name in quotes, or "such a function"; "" if it may not.
std::string_view what_asks_for_locals(const Module& module, const Cfg& cfg);
/// The instruction there loads `locals` for `"name" in builtins.locals()`: the name, which is all
/// that is asked for.
std::optional<std::string_view> local_asked_for(const Module& module, const Cfg& cfg,
                                                std::size_t at);

/// Is a local named as Dynamo names its own: `tmp_3`, `graph_out_0`, `random_values_1`? The program
/// may have such a name, too.
bool named_like_dynamos(std::string_view local);

/// Is a global one that torch installs beside the code that it writes: `__compiled_fn_0…`,
/// `__resume_at_8_1…`, `__import_torch_dot_…`? `__import__` is none, and neither are
/// Module::own_globals.
bool installed_by_dynamo(const Module& module, StrId global);

}  // namespace depyf
