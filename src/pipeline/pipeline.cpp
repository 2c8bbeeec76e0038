#include "pipeline/pipeline.h"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <set>
#include <unordered_map>

#include "ast/walk.h"
#include "bytecode/instr.h"
#include "bytecode/text.h"
#include "flow/cfg.h"
#include "flow/straighten.h"
#include "lift/lifted.h"
#include "pipeline/front.h"
#include "print/tree.h"
#include "rewrite/dynamo_names.h"
#include "rewrite/rebuilt.h"
#include "rewrite/rewrite.h"
#include "scopes/scopes.h"
#include "simplify/simplify.h"
#include "structure/parts.h"
#include "structure/structure.h"
#include "support/error.h"

namespace depyf {

std::string diagnostic_kind(const Diagnostic& diagnostic) {
  switch (diagnostic.kind) {
    case Diagnostic::Ladder:
      return "L" + std::to_string(diagnostic.level);
    case Diagnostic::BrokenCode:
      return "broken";
    case Diagnostic::Note:
      break;
  }
  return "note";
}

std::string code_path(const Module& module, CodeId code) {
  if (!code) return "";
  if (StrId qualname = module[code].qualname) return std::string(module[qualname]);
  std::vector<std::string_view> names;
  for (CodeId id = code; id; id = module[id].parent) names.push_back(module[module[id].name]);
  if (names.size() > 1) names.pop_back();  // "<module>"
  std::string path;
  for (std::size_t i = names.size(); i-- > 0;) {
    path += names[i];
    if (i) path += '.';
  }
  return path;
}

namespace {

bool is_dynamos(const Module& module, CodeId code, const DecompileOptions& options) {
  if (options.ordinary) return false;
  return (options.dynamo && code == module.root) || made_by_dynamo(module, code);
}

SimplifyOptions simplify_options(bool dynamo, const DecompileOptions& options) {
  SimplifyOptions simplifying;
  simplifying.dynamo = dynamo;
  simplifying.own_locals = options.own_locals;
  return simplifying;
}

PrintOptions print_options(const Module& module, const Ast& ast, const DecompileOptions& options) {
  PrintOptions print;
  print.indentation = options.indentation;
  print.grammar = module.version;
  print.sites = options.line_map;
  print.signature = &options.signature;
  print.renames_keywords = options.renames;
  print.breaks_paths = options.readable;
  // The file has a function around it, so that what it declares has a scope.
  if (options.readable && declares_nonlocals(ast, module.root)) print.width -= options.indentation;
  return print;
}

/// What tells how code was written, and may mislead.
enum Hint : std::uint8_t {
  kUnreached = 1,  // statements that control never takes, up to 3.9 (Cfg::unreached)
  kElses = 2,      // jumps over an `else` (Cfg::elses)
  kLayout = 4,     // where code stands (StructureOptions::layout_tells)
  kCopies = 8,     // ends that are alike (StructureOptions::joins_ends)
};

/// The hints in the order in which they are dropped where a body has no plain structure with them,
/// and what a reading without them is called.
constexpr struct {
  Hint hint;
  const char* without;
} kHints[] = {
    {kUnreached, "without unreached code"},
    {kElses, "without jumps over else"},
    {kLayout, "by control flow alone"},
    {kCopies, "with equal ends apart"},
};

constexpr std::size_t kNoHint = std::size(kHints);

/// One way to read a body.
struct Reading {
  std::uint8_t hints = kUnreached | kElses | kLayout | kCopies;
  std::size_t dropped = kNoHint;  // index in kHints of the last hint that drop_hint() dropped
  bool decided = false;           // branches on constants are taken as decided
  bool straightened = false;      // what straighten() makes of the instructions

  bool has(Hint hint) const { return (hints & hint) != 0; }
  void keep(Hint hint, bool there) {
    if (!there) hints &= static_cast<std::uint8_t>(~hint);
  }

  /// Drops the next hint. Only unreached code may be why the bytecode seems not `sound`. False
  /// where no hint is left.
  bool drop_hint(bool sound) {
    for (std::size_t i = 0; i < std::size(kHints); ++i) {
      const Hint hint = kHints[i].hint;
      if (!has(hint)) continue;
      if (hint != kUnreached && !sound) return false;
      keep(hint, false);
      dropped = i;
      return true;
    }
    return false;
  }

  bool is_first() const { return !decided && !straightened && dropped == kNoHint; }

  std::string text() const {
    std::string out = dropped == kNoHint ? "with all hints" : kHints[dropped].without;
    if (decided) out += ", branches on constants decided";
    if (straightened) out += ", straightened";
    return out;
  }
};

/// The rung of a module whose names no text keeps.
constexpr std::uint8_t kRebuildsModule = 7;

constexpr const char* kLastRung = "the last rung of the ladder was asked for";

/// Where code stands tells nothing of how it was written.
void forget_layout(Cfg& cfg) {
  cfg.traits.source_order = cfg.unreached = cfg.ends_in_compound = false;
  cfg.loops.clear();
  cfg.elses.clear();
  for (Region& region : cfg.regions) region.setup = region.after = region.end = kNoOffset;
  for (Instr& instr : cfg.instrs)
    if (instr.op == Op::JUMP) instr.aux = static_cast<std::uint32_t>(JumpRole::Plain);
}

/// What straighten() makes of `list`, with the offsets that follow from its order.
InstrList straightened_list(Module& module, InstrList list) {
  if (!straighten(module, list)) throw Error("there is nothing to straighten");
  for (std::uint32_t i = 0; i < list.instrs.size(); ++i) list.instrs[i].offset = 2 * i;
  return list;
}

/// Bytecode to values. On return, `reading` has only the hints that there were. `sound` tells, also
/// when an exception is thrown, whether CPython can run the bytecode.
Lifted lift_body(Module& module, CodeId code, const InstrList& list, bool& sound,
                 Reading& reading) {
  sound = false;
  Cfg cfg = build_cfg(module, code, reading.straightened ? straightened_list(module, list) : list,
                      reading.has(kUnreached));
  if (reading.straightened) forget_layout(cfg);
  reading.keep(kUnreached, cfg.unreached);
  Lifted lifted;
  try {
    lifted = lift(module, code, cfg);
  } catch (const UnusualCode&) {
    sound = true;
    throw;
  }
  sound = true;
  if (!reading.has(kElses)) lifted.elses.clear();
  reading.keep(kElses, !lifted.elses.empty());
  return lifted;
}

/// Bytecode to raw statements to final statements, for one code object whose nested ones are done:
/// by plain structure or, where `unstructured` says why that failed, by a dispatch loop. `sound`
/// and `reading` as for lift_body().
void decompile_body(Ast& ast, CodeId code, const InstrList& list, const DecompileOptions& options,
                    bool dynamo, const std::string& unstructured, std::uint32_t indentation,
                    bool& sound, Reading& reading) {
  Module& module = *ast.module;
  Lifted lifted = lift_body(module, code, list, sound, reading);
  // A rebuilt module would hide everything in it.
  if (options.ladder == kRebuildsModule ||
      (options.ladder > 5 && (options.function || code != module.root)))
    throw UnusualCode(kLastRung);
  if (dynamo) simplify(lifted, module, simplify_options(dynamo, options));
  // No compiler makes them, and where they are in the way nobody wrote them.
  if (reading.decided && !take_decided_branches(lifted, module))
    throw Error("no branch on constants is in the way");
  StructureOptions structuring = structure_options(dynamo, options);
  structuring.layout_tells = reading.has(kLayout);
  structuring.joins_ends = reading.has(kCopies);
  if (unstructured.empty())
    structure(lifted, ast, structuring);
  else
    structure_as_dispatch(lifted, ast, structuring, unstructured);
  check_nesting(ast, code, indentation);
  rewrite(ast, code);
}

/// Runs `step`; what went wrong, empty when nothing did.
template <class Step>
std::string failure_of(Step step) {
  try {
    step();
    return {};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("internal error of depyf, please report it with the file: ") + error.what();
  }
}

/// Plain structure around dispatch loops for those parts of a body that have none; what went wrong
/// with the whole is `unstructured`. False where there are no such parts.
bool decompile_around_parts(Ast& ast, CodeId code, const InstrList& list,
                            const DecompileOptions& options, bool dynamo,
                            const std::string& unstructured, std::uint32_t indentation,
                            bool stands) {
  Module& module = *ast.module;
  const std::size_t noted = ast.diagnostics.size();
  InstrList instrs = list;
  if (!stands && !failure_of([&] { instrs = straightened_list(module, list); }).empty())
    return false;
  const auto lift_again = [&] {
    Cfg cfg = build_cfg(module, code, instrs, false);
    if (!stands) forget_layout(cfg);
    Lifted lifted = lift(module, code, cfg);
    lifted.elses.clear();
    return lifted;
  };
  StructureOptions structuring = structure_options(dynamo, options);
  const auto with = [&](std::span<const Part> parts) {
    for (const bool layout : {true, false}) {
      ast.diagnostics.resize(noted);
      Body fresh;
      fresh.code = code;
      ast.bodies[code.index] = fresh;
      structuring.layout_tells = structuring.joins_ends = layout;
      const std::string failure = failure_of([&] {
        structure_around(parts, lift_again, ast, structuring, unstructured);
        check_nesting(ast, code, indentation);
        rewrite(ast, code);
      });
      if (failure.empty()) return true;
    }
    return false;
  };
  std::vector<Part> parts;
  const std::string failure = failure_of([&] {
    Lifted lifted = lift_again();
    parts = find_parts(lifted, module, with);
  });
  if (failure.empty() && !parts.empty() && with(parts)) return true;
  ast.diagnostics.resize(noted);
  Body fresh;
  fresh.code = code;
  ast.bodies[code.index] = fresh;
  return false;
}

/// The place of a code object that no stage could bring to statements: a body that raises, and says
/// why.
void place_failure(Ast& ast, CodeId code, const std::string& reason) {
  Module& module = *ast.module;
  Stmt comment;
  comment.kind = StmtKind::Comment;
  comment.a =
      module.intern("depyf could not decompile " + code_path(module, code) + ":\n" + reason).index;
  Const text;
  text.kind = ConstKind::Str;
  text.text = module.arena.copy_string("depyf could not decompile this code: " + reason);
  ExprId message = ast.constant(module.add(text));
  ExprId call = ast.expr(ExprKind::Call, {ast.name(module.intern("NotImplementedError")), message});
  Stmt raise;
  raise.kind = StmtKind::Raise;
  raise.e[0] = call;
  StmtId stmts[] = {ast.add(comment), ast.add(raise)};
  Body body;
  body.code = code;
  body.stmts = ast.arena.copy(stmts);
  body.done = true;
  ast.bodies[code.index] = body;
}

/// CPython's tokenizer refuses 100 levels.
constexpr std::uint32_t kIndentation = 96;

/// Where definitions nest too deep: so many levels of them, each with its share of the indentation
/// (a dispatch loop needs 8).
constexpr std::uint32_t kFlatLevels = 10;

/// How many code objects a code object is in.
std::uint32_t level_of(const Module& module, CodeId code) {
  std::uint32_t level = 0;
  for (CodeId id = module[code].parent; id && level < 1000; id = module[id].parent) ++level;
  return level;
}

/// Says at the top of a body why it does not look as it was written.
void place_comment(Ast& ast, CodeId code, std::span<StmtId>& body, const std::string& text) {
  Module& module = *ast.module;
  const std::string_view name = module[module[code].name];
  if (name == "__annotate__" || (name.starts_with('<') && name != "<module>")) return;
  Stmt comment;
  comment.kind = StmtKind::Comment;
  comment.a = module.intern(text).index;
  std::vector<StmtId> stmts(body.begin(), body.end());
  const bool docstring = !stmts.empty() && ast[stmts[0]].kind == StmtKind::Expr &&
                         ast[ast[stmts[0]].e[0]].kind == ExprKind::Constant &&
                         module[ConstId(ast[ast[stmts[0]].e[0]].a)].kind == ConstKind::Str;
  stmts.insert(stmts.begin() + docstring, ast.add(comment));
  body = ast.arena.copy(stmts);
}
void place_comment(Ast& ast, CodeId code, const std::string& text) {
  std::span<StmtId> body = ast.bodies[code.index].stmts;
  place_comment(ast, code, body, text);
  ast.bodies[code.index].stmts = body;
}

/// Says at the top of each body that is printed which of its names the source had not. Only the
/// finished tree knows: most that were made are gone when the body becomes an expression. None of
/// the module's first `given` strings is such a name.
void tell_own_names(Ast& ast, std::string_view temporaries, const DecompileOptions& options,
                    std::size_t given) {
  const Module& module = *ast.module;
  const auto is_own_name = [&](std::string_view name) {
    const auto begins = [&](std::string_view prefix) {
      return !prefix.empty() && name[0] == prefix[0] && name.starts_with(prefix);
    };
    return !name.empty() && (begins(temporaries) || begins(ast.function_prefix));
  };
  const auto is_own = [&](const Expr& e) {
    return e.kind == ExprKind::Name && is_own_name(module[StrId(e.a)]);
  };
  // Most modules have no such name at all.
  if (std::none_of(module.strings.begin() + static_cast<std::ptrdiff_t>(given),
                   module.strings.end(), is_own_name))
    return;
  // What was made for a code object is printed there or in what is around it.
  std::vector<std::uint8_t> may_have(module.codes.size(), false);
  bool any = false;
  for (const Expr& e : ast.exprs) {
    if (!is_own(e)) continue;
    any = true;
    if (!e.origin.code) may_have.assign(may_have.size(), true);
    for (CodeId at = e.origin.code; at && !may_have[at.index]; at = module[at].parent)
      may_have[at.index] = true;
  }
  if (!any) return;
  std::vector<std::uint8_t> told(module.codes.size(), false);
  for (const Diagnostic& diagnostic : ast.diagnostics)
    if (diagnostic.kind != Diagnostic::Note && diagnostic.code) told[diagnostic.code.index] = true;
  struct Printed {
    CodeId code;
    StmtId definition;  // the statement that holds the body; none: the root
  };
  std::vector<Printed> work{{module.root, StmtId::none()}};
  StmtIds statements;
  while (!work.empty()) {
    const auto [code, definition] = work.back();
    work.pop_back();
    if (code.index >= ast.bodies.size()) continue;
    std::span<StmtId> body = definition ? ast[definition].body : ast.bodies[code.index].stmts;
    statements.clear();
    collect_statements(ast, body, statements);
    for (StmtId id : statements) {
      const Stmt& s = ast[id];
      if ((s.kind == StmtKind::FunctionDef || s.kind == StmtKind::ClassDef) &&
          s.function < ast.functions.size())
        work.push_back({ast.functions[s.function].code, id});
    }
    if (told[code.index] || !may_have[code.index] || is_dynamos(module, code, options)) continue;
    told[code.index] = true;
    std::set<std::string> names;
    for (ExprId id : collect_expressions(ast, body))
      if (is_own(ast[id])) names.emplace(module[StrId(ast[id].a)]);
    if (names.empty()) continue;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    const std::string what = "names that the source had not: " + all;
    place_comment(ast, code, body, "depyf found no expression for a value: " + what);
    (definition ? ast[definition].body : ast.bodies[code.index].stmts) = body;
    ast.diagnostics.push_back({Diagnostic::Note, kOwnNames, code, 0, what});
  }
}

/// One code object; a failure stays inside it, and leads to the next rung of the ladder. Was it
/// straightened?
bool decompile_guarded(Ast& ast, CodeId code, const DecompileOptions& given,
                       std::uint32_t indentation = kIndentation) {
  std::string reason;
  DecompileOptions changed;
  const bool falls =
      code.index < given.fallbacks.size() && given.fallbacks[code.index].rung > given.ladder;
  if (falls) {
    changed = given;
    changed.ladder = given.fallbacks[code.index].rung;
    reason = given.fallbacks[code.index].reason;
  }
  const DecompileOptions& options = falls ? changed : given;
  const std::size_t noted = ast.diagnostics.size();
  const bool dynamo = is_dynamos(*ast.module, code, options);
  bool sound = false;
  // Code with junk tells nothing by where it stands, and may be wrong of it.
  bool junk = false;
  InstrList list;
  failure_of([&] { list = decode(*ast.module, code); });
  if (!dynamo && !list.instrs.empty()) junk = has_junk(*ast.module, list);
  const auto attempt = [&](const std::string& unstructured, bool stands) {
    std::string failure, first_failure;
    // What is straightened may be sound where junk hides what a stage looks for.
    const bool was_sound = !stands && sound;
    Reading reading;
    reading.straightened = !stands;
    reading.keep(kLayout, stands);
    reading.keep(kUnreached, unstructured.empty() && !dynamo && stands);
    for (;;) {
      failure = failure_of([&] {
        if (list.instrs.empty()) list = decode(*ast.module, code);
        decompile_body(ast, code, list, options, dynamo, unstructured, indentation, sound, reading);
      });
      if (failure.empty()) {
        if (unstructured.empty() && !reading.is_first())
          ast.diagnostics.push_back(
              {Diagnostic::Note, kOtherReading, code, 0, "read " + reading.text()});
        return true;
      }
      ast.diagnostics.resize(noted);
      Body fresh;
      fresh.code = code;
      ast.bodies[code.index] = fresh;
      // no statement may have it
      if (!unstructured.empty()) break;
      if (reading.decided) failure = first_failure;
      if (sound && !reading.decided && !reading.has(kUnreached) && !dynamo) {
        first_failure = failure;
        reading.decided = true;
        continue;
      }
      reading.decided = false;
      if (!reading.drop_hint(sound)) break;
    }
    sound |= was_sound;
    // Where the plain form was given up for a reason, nobody asked.
    if (stands && (reason.empty() || failure != kLastRung))
      reason += (reason.empty() ? "" : "; ") + failure;
    return false;
  };
  if (options.ladder < 5) {
    if (junk && attempt({}, false)) return true;
    if (attempt({}, true)) return false;
    if (!dynamo && !junk && attempt({}, false)) return true;
  }
  const auto around_parts = [&](bool stands) {
    return decompile_around_parts(ast, code, list, options, dynamo, reason, indentation, stands);
  };
  bool straightened = false;
  if (options.ladder < 5 && sound && !dynamo &&
      ((straightened = around_parts(false)) || around_parts(true))) {
    place_comment(ast, code,
                  "depyf found no statements for parts of this code, which are loops "
                  "over their blocks:\n" +
                      reason);
    return straightened;
  }
  if (options.ladder >= 5 || sound) {
    const std::string why = reason.empty() ? "the dispatch loop was asked for" : reason;
    straightened = !dynamo && junk && attempt(why, false);
    if (straightened || attempt(why, true) ||
        (straightened = !dynamo && !junk && attempt(why, false))) {
      if (!dynamo)
        place_comment(ast, code,
                      "depyf found no statements for this code and writes it as a loop over its "
                      "blocks:\n" +
                          why);
      return straightened;
    }
  }
  Diagnostic diagnostic;
  diagnostic.code = code;
  // Damaged bytecode must not run: a body that raises takes its place.
  const std::string broken =
      sound ? failure_of([&] { rebuild(ast, code, reason); }) : "the bytecode is damaged";
  if (broken.empty()) {
    diagnostic.kind = Diagnostic::Ladder;
    diagnostic.level = 6;
    diagnostic.message = reason;
  } else {
    const std::string both = sound ? reason + "; " + broken : reason;
    if (options.strict) throw Error(code_path(*ast.module, code) + ": " + both);
    diagnostic.kind = Diagnostic::BrokenCode;
    diagnostic.message = both;
    place_failure(ast, code, both);
  }
  ast.diagnostics.push_back(std::move(diagnostic));
  return false;
}

/// First readings of neighbouring code objects, stage by stage: the machine code of one stage fits
/// the processor's first cache, that of all does not. What has no plain reading at once is left to
/// decompile_guarded(), and each is finished in its order, so that the text is the same.
class FirstReadings {
 public:
  FirstReadings(Ast& ast, const DecompileOptions& options) : ast_(ast), options_(options) {}

  /// Reads code objects from `begin` on, and at most up to `end`; the first that it leaves.
  std::uint32_t read(std::uint32_t begin, std::uint32_t end) {
    Module& module = *ast_.module;
    std::size_t bytes = 0;
    count_ = 0;
    begin_ = begin;
    while (begin + count_ < end && count_ < kMost && bytes < kBytes) {
      const CodeId code(begin + count_);
      bytes += module[code].code.size();
      front(readings_[count_++], code);
    }
    for (std::uint32_t i = 0; i < count_; ++i) structure_one(readings_[i], CodeId(begin + i));
    return begin + count_;
  }

  /// Ends the reading of one of them; false where it has to begin again.
  bool finish(CodeId code) {
    One& one = readings_[code.index - begin_];
    const std::size_t noted = ast_.diagnostics.size();
    if (!one.structured) return false;
    std::move(one.notes.begin(), one.notes.end(), std::back_inserter(ast_.diagnostics));
    if (failure_of([&] { rewrite(ast_, code); }).empty()) return true;
    ast_.diagnostics.resize(noted);
    ast_.bodies[code.index] = Body();
    ast_.bodies[code.index].code = code;
    return false;
  }

 private:
  struct One {
    bool lifted = false, structured = false, dynamo = false;
    Lifted values;
    std::vector<Diagnostic> notes;
  };

  void front(One& one, CodeId code) {
    Module& module = *ast_.module;
    one.structured = false;
    one.dynamo = is_dynamos(module, code, options_);
    one.lifted = failure_of([&] {
                   const InstrList list = decode(module, code);
                   if (!one.dynamo && !list.instrs.empty() && has_junk(module, list))
                     throw Error("junk");
                   bool sound = false;
                   Reading reading;
                   reading.keep(kUnreached, !one.dynamo);
                   one.values = lift_body(module, code, list, sound, reading);
                   if (one.dynamo)
                     simplify(one.values, module, simplify_options(one.dynamo, options_));
                 }).empty();
  }

  void structure_one(One& one, CodeId code) {
    if (!one.lifted) return;
    const std::size_t noted = ast_.diagnostics.size();
    Body& body = ast_.bodies[code.index];
    one.structured = failure_of([&] {
                       structure(one.values, ast_, structure_options(one.dynamo, options_));
                       check_nesting(ast_, code, kIndentation);
                     }).empty();
    one.notes.assign(
        std::make_move_iterator(ast_.diagnostics.begin() + static_cast<std::ptrdiff_t>(noted)),
        std::make_move_iterator(ast_.diagnostics.end()));
    ast_.diagnostics.resize(noted);
    one.values = Lifted();
    if (one.structured) {
      body.end_expr = static_cast<std::uint32_t>(ast_.exprs.size());
      body.end_stmt = static_cast<std::uint32_t>(ast_.stmts.size());
    } else {
      body = Body();
      body.code = code;
    }
  }

  static constexpr std::uint32_t kMost = 16;      // values of so many fit the second cache
  static constexpr std::size_t kBytes = 1 << 14;  // with bytecode as long as this

  Ast& ast_;
  const DecompileOptions& options_;
  std::uint32_t begin_ = 0, count_ = 0;
  std::array<One, kMost> readings_;
};

void name_values_of(Ast& ast, CodeId code, const DecompileOptions& options) {
  if (options.keep_temporaries) return;
  DynamoNaming naming;
  naming.parameters = &options.callee_parameters;
  naming.results = &options.callee_results;
  naming.own_locals = options.program_locals;
  naming.indentation = options.indentation;
  naming.renames = options.readable && code == ast.module->root;
  name_values(ast, code, naming);
}

/// `prefix`, with underscores after it where a variable or attribute of the module has such a
/// name, also after the name of a class that mangles it.
std::string unused_prefix(const Module& module, const std::string& prefix) {
  const auto has_prefix = [&](std::string_view name) {
    return name.size() >= prefix.size() && name.find(prefix) != std::string_view::npos;
  };
  // Code objects share strings.
  if (prefix.empty() || std::none_of(module.strings.begin(), module.strings.end(), has_prefix))
    return prefix;
  std::set<std::size_t> taken;  // so many underscores follow it in names
  const auto look = [&](StrId id) {
    if (!id) return;
    const std::string_view name = module[id];
    for (std::size_t at = name.find(prefix); at != std::string_view::npos;
         at = name.find(prefix, at + 1)) {
      const std::size_t begin = at + prefix.size();
      taken.insert(std::min(name.find_first_not_of('_', begin), name.size()) - begin);
    }
  };
  for (std::uint32_t id = 0; id < module.codes.size(); ++id) {
    const CodeObject& code = module[CodeId(id)];
    for (StrId name : code.names) look(name);
    for (const Slot& slot : code.slots) look(slot.name);
    look(code.name);
  }
  std::size_t count = 0;
  while (taken.contains(count)) ++count;
  return prefix + std::string(count, '_');
}

}  // namespace

Decompiled decompile(Module& module, const DecompileOptions& given) {
  DecompileOptions options = given;
  options.temp_prefix = unused_prefix(module, given.temp_prefix);
  const std::string functions = unused_prefix(module, Ast().function_prefix);
  const bool plain_prefixes =
      options.temp_prefix == given.temp_prefix && functions == Ast().function_prefix;
  const std::size_t given_names = plain_prefixes ? module.strings.size() : 0;
  Ast ast;
  const auto count = static_cast<std::uint32_t>(module.codes.size());
  std::size_t bytes = 0;
  for (std::uint32_t id = 0; id < count; ++id) bytes += module[CodeId(id)].code.size();
  DecompileOptions last = options;
  last.ladder = 6;
  DecompileOptions plain = options;
  plain.ladder = 0;
  std::vector<std::uint8_t> straightened(count, false);
  const auto decompile_all = [&](const std::vector<std::uint8_t>& flat) {
    ast = Ast();
    ast.function_prefix = functions;
    ast.module = &module;
    ast.renames = options.renames;
    ast.bodies.resize(module.codes.size());
    ast.exprs.reserve(bytes /
                      4);  // about as many as there will be: nodes that have to move cost time
    ast.stmts.reserve(bytes / 16);
    for (std::uint32_t id = 0; id < count; ++id) ast.bodies[id].code = CodeId(id);
    // A rung that was asked for, for all or for one, has no first reading.
    const bool together = options.ladder < 5 && options.fallbacks.empty() &&
                          std::none_of(flat.begin(), flat.end(), [](bool f) { return f; });
    FirstReadings first(ast, options);
    for (std::uint32_t id = 0, next = 0; id < count; ++id) {
      const CodeId code(id);
      if (together && id == next) next = first.read(id, count);
      if (together && first.finish(code))
        straightened[id] = false;
      else if (module[module[code].name] == "__annotate__")  // no body of its own in the source
        straightened[id] = decompile_guarded(ast, code, plain);
      else if (flat[id])
        straightened[id] =
            decompile_guarded(ast, code, level_of(module, code) > kFlatLevels ? last : options,
                              kIndentation / kFlatLevels);
      else
        straightened[id] = decompile_guarded(ast, code, options);
    }
  };
  const auto too_deep = [&](CodeId code, std::uint32_t indentation) {
    return !failure_of([&] { check_nesting(ast, code, indentation); }).empty();
  };
  std::vector<std::uint8_t> flat(count, false);
  decompile_all(flat);
  // Definitions in definitions: where they lie too deep each is kept flat, and the deepest are
  // rebuilt from their bytes; first only inside the definitions of the outermost body that are too
  // deep by themselves, then everywhere.
  for (bool everywhere : {false, true}) {
    if (!too_deep(module.root, kIndentation)) break;
    flat.assign(count, everywhere);
    for (std::uint32_t id = count; id-- > 0;) {  // outer ones have the greater numbers
      const CodeId parent = module[CodeId(id)].parent;
      if (parent == module.root)
        flat[id] |= too_deep(CodeId(id), kIndentation - kFlatLevels);
      else if (parent)
        flat[id] |= flat[parent.index];
    }
    decompile_all(flat);
  }
  // Names that the text would take from elsewhere than the bytecode does: such a body, and if
  // nothing else helps those around it, goes down the ladder.
  constexpr int kRounds = 16, kLastRounds = 4;
  // The body of a function may be asked for alone, without its `def`.
  const bool is_function = options.function || (module[module.root].flags & kOptimized);
  for (int round = 0; !is_dynamos(module, module.root, options) && round < kRounds; ++round) {
    const std::vector<ScopeMismatch> found =
        compare_scopes(ast, find_scopes(ast, module.root, is_function));
    if (found.empty()) break;
    const bool ends = round + kLastRounds >= kRounds;
    options.fallbacks.resize(count);
    for (const ScopeMismatch& mismatch : found) {
      CodeId code = mismatch.code;
      while (module[code].parent && (options.fallbacks[code.index].rung >= 6 || ends))
        code = module[code].parent;
      Fallback& fallback = options.fallbacks[code.index];
      if (fallback.rung < 5 && !ends)
        fallback.rung = 5;
      else
        fallback.rung = module[code].parent ? 6 : kRebuildsModule;
      if (fallback.reason.find(mismatch.what) == std::string::npos)
        fallback.reason += (fallback.reason.empty() ? "" : "; ") + mismatch.what;
    }
    decompile_all(flat);
  }
  Decompiled result;
  for (std::uint32_t id = 0; id < count; ++id)
    if (is_dynamos(module, CodeId(id), options)) name_values_of(ast, CodeId(id), options);
  for (const ReadableName& name : ast.readable)
    result.readable.push_back(
        {std::string(module[name.given]), std::string(module[name.real]), name.global});
  if (options.scopes)
    result.scopes = to_text(find_scopes(ast, module.root, is_function), module, options.scopes_of);
  tell_own_names(ast, options.temp_prefix, options, given_names);
  PrintOptions print = print_options(module, ast, options);
  result.source = options.function ? print_function(ast, module.root, options.name, print)
                                   : print_module(ast, print);
  if (!ast.separated.empty()) {
    std::unordered_map<std::string_view, StrId> real;
    for (const auto& [made, name] : ast.separated) real.emplace(module[made], name);
    for (auto& [spelling, name] : result.source.renamed)
      if (const auto found = real.find(name); found != real.end()) name = module[found->second];
  }
  for (std::uint32_t id = 0; options.line_map && id < count; ++id) {
    if (!straightened[id]) continue;
    InstrList list = decode(module, CodeId(id));
    straighten(module, list);
    for (Site& site : result.source.sites)
      if (site.origin.code.index == id && site.origin.offset / 2 < list.instrs.size())
        site.origin.offset = list.instrs[site.origin.offset / 2].offset;
  }
  if (options.line_map) result.line_map = map_lines(module, result.source);
  result.diagnostics = std::move(ast.diagnostics);
  result.diagnostics.insert(result.diagnostics.end(),
                            std::make_move_iterator(result.source.notes.begin()),
                            std::make_move_iterator(result.source.notes.end()));
  result.source.notes.clear();
  return result;
}

Front run_front(Module& module, CodeId code, Stage until, const DecompileOptions& options) {
  Front front;
  front.instrs = decode(module, code);
  if (until == Stage::Bytecode) return front;
  front.dynamo = is_dynamos(module, code, options);
  front.cfg = build_cfg(module, code, front.instrs, !front.dynamo);
  if (until == Stage::Flow) return front;
  front.lifted = lift(module, code, front.cfg);
  if (until == Stage::Simplify || (until != Stage::Lift && front.dynamo))
    simplify(front.lifted, module, simplify_options(front.dynamo, options));
  return front;
}

StructureOptions structure_options(bool dynamo, const DecompileOptions& options) {
  return {options.temp_prefix, dynamo, dynamo && !options.keep_temporaries, options.program_locals};
}

std::string dump_stage(Module& module, CodeId code, Stage stage, const DecompileOptions& options) {
  Front front = run_front(module, code, stage, options);
  if (stage == Stage::Bytecode) return to_text(front.instrs, module, code);
  if (stage == Stage::Flow) return to_text(front.cfg, module, code);
  if (stage == Stage::Lift || stage == Stage::Simplify) return to_text(front.lifted, module);
  const bool dynamo = front.dynamo;
  if (stage == Stage::Scopes) {
    DecompileOptions shown = options;
    shown.scopes = true;
    shown.scopes_of = code;
    return decompile(module, shown).scopes;
  }
  Ast ast;
  ast.module = &module;
  ast.bodies.resize(module.codes.size());
  if (stage != Stage::Structure)
    for (std::uint32_t id = 0; id < code.index; ++id) decompile_guarded(ast, CodeId(id), options);
  structure(front.lifted, ast, structure_options(dynamo, options));
  if (stage != Stage::Structure) rewrite(ast, code);
  if (stage == Stage::Print && dynamo) name_values_of(ast, code, options);
  std::string out;
  for (const Diagnostic& diagnostic : ast.diagnostics) {
    if (diagnostic.code != code) continue;
    out += diagnostic.kind == Diagnostic::Ladder ? "ladder L" + std::to_string(diagnostic.level)
                                                 : std::string("note");
    out += " at " + std::to_string(diagnostic.offset) + ": " + diagnostic.message + '\n';
  }
  if (stage != Stage::Print) return out + to_text(ast, code);
  PrintOptions print = print_options(module, ast, options);
  bool body = code == module.root && !options.function;
  return out +
         (body ? print_module(ast, print) : print_function(ast, code, options.name, print)).text;
}

}  // namespace depyf
