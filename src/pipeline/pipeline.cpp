#include "pipeline/pipeline.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "bytecode/instr.h"
#include "bytecode/text.h"
#include "flow/cfg.h"
#include "flow/straighten.h"
#include "lift/lifted.h"
#include "pipeline/comments.h"
#include "pipeline/first_readings.h"
#include "pipeline/front.h"
#include "pipeline/ladder.h"
#include "pipeline/reading.h"
#include "pipeline/written_size.h"
#include "print/tree.h"
#include "rewrite/dynamo_names.h"
#include "rewrite/rebuilt.h"
#include "rewrite/rewrite.h"
#include "scopes/scopes.h"
#include "simplify/simplify.h"
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

StructureOptions structure_options(bool dynamo, const DecompileOptions& options) {
  return {options.temp_prefix, dynamo, dynamo && !options.keep_temporaries, options.program_locals};
}

namespace {

PrintOptions print_options(const Module& module, const Ast& ast, const DecompileOptions& options) {
  PrintOptions print;
  print.indentation = options.indentation;
  print.grammar = module.version;
  print.sites = options.line_map;
  print.signature = &options.signature;
  print.renames_keywords = options.renames;
  print.breaks_paths = options.readable;
  print.short_docstring = options.readable;
  // The file has a function around it, so that what it declares has a scope.
  if (options.readable && declares_nonlocals(ast, module.root)) print.width -= options.indentation;
  return print;
}

/// Where definitions nest too deep: so many levels of them, each with its share of the indentation
/// (a dispatch loop needs 8).
constexpr std::uint32_t kFlatLevels = 10;

/// How many code objects a code object is in.
std::uint32_t level_of(const Module& module, CodeId code) {
  std::uint32_t level = 0;
  for (CodeId id = module[code].parent; id && level < 1000; id = module[id].parent) ++level;
  return level;
}

void name_values_of(Ast& ast, CodeId code, const DecompileOptions& options) {
  if (options.keep_temporaries) return;
  DynamoNaming naming;
  naming.parameters = &options.callee_parameters;
  naming.results = &options.callee_results;
  naming.own_locals = options.program_locals;
  naming.kept_locals = options.own_locals;
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

/// All code objects of a module, and what only the whole of it tells.
class ModuleDecompiler {
 public:
  ModuleDecompiler(Module& module, const DecompileOptions& given)
      : module_(module),
        options_(given),
        functions_(unused_prefix(module, Ast().function_prefix)),
        count_(static_cast<std::uint32_t>(module.codes.size())),
        straightened_(count_, false),
        flat_(count_, false) {
    options_.temp_prefix = unused_prefix(module, given.temp_prefix);
    bounds_ = bounds_of_text(module);
    for (std::uint32_t id = 0; id < bounds_.own.size(); ++id)
      if (const std::string reason = bounds_.exceeded_by(bounds_.own_of(module, CodeId(id)));
          !reason.empty())
        keep_shared(CodeId(id), reason);
    plain_ = rebuilding_ = options_;
    plain_.ladder = 0;
    rebuilding_.ladder = 6;
    const bool plain_prefixes =
        options_.temp_prefix == given.temp_prefix && functions_ == Ast().function_prefix;
    given_names_ = plain_prefixes ? module.strings.size() : 0;
    for (std::uint32_t id = 0; id < count_; ++id) {
      bytes_ += module[CodeId(id)].code.size();
      dynamos_.push_back(is_dynamos(module, CodeId(id), options_));
    }
  }

  Decompiled run() {
    make_bodies();
    flatten_definitions();
    settle_scopes();
    return print();
  }

 private:
  /// What is too large as text is rebuilt from bytes, in which objects are shared.
  void keep_shared(CodeId code, const std::string& reason) {
    if (code == module_.root && options_.function)
      throw Error(code_path(module_, code) + ": " + reason);
    options_.fallbacks.resize(count_);
    options_.fallbacks[code.index] = {rebuilding_rung(code), reason};
  }

  /// All bodies. Where one can only be rebuilt from bytes together with what is around it, that one
  /// is, and all are made again.
  void make_bodies() {
    constexpr int kRounds = 8;
    const auto needs_outer = [](const Diagnostic& diagnostic) {
      return diagnostic.kind == Diagnostic::BrokenCode && diagnostic.level == 6;
    };
    for (int round = 0;; ++round) {
      make_each_body();
      if (!options_.fallbacks.empty())
        std::erase_if(ast_.diagnostics, [&](const Diagnostic& diagnostic) {
          return needs_outer(diagnostic) && is_in_rebuilt(diagnostic.code);
        });
      bool again = false;
      for (const Diagnostic& diagnostic : ast_.diagnostics)
        if (needs_outer(diagnostic)) again |= rebuild_around(diagnostic);
      if (again && round < kRounds) continue;
      if (options_.strict)
        for (const Diagnostic& diagnostic : ast_.diagnostics)
          if (diagnostic.kind == Diagnostic::BrokenCode)
            throw Error(code_path(module_, diagnostic.code) + ": " + diagnostic.message);
      return;
    }
  }

  std::uint8_t rebuilding_rung(CodeId code) const {
    return code == module_.root && !options_.function ? kRebuildsModule : 6;
  }

  /// False where nothing around it can be rebuilt.
  bool rebuild_around(const Diagnostic& broken) {
    const CodeId outer = outer_to_rebuild(module_, broken.code);
    if (!outer) return false;
    options_.fallbacks.resize(count_);
    Fallback& fallback = options_.fallbacks[outer.index];
    const std::uint8_t rung = rebuilding_rung(outer);
    if (fallback.rung >= rung) return false;
    fallback = {rung, code_path(module_, broken.code) + ": " + broken.message};
    return true;
  }

  /// Is the code object part of one that is rebuilt, so that its own body is not in the text?
  bool is_in_rebuilt(CodeId code) const {
    for (code = module_[code].parent; code; code = module_[code].parent)
      if (code.index < options_.fallbacks.size() &&
          options_.fallbacks[code.index].rung >= rebuilding_rung(code))
        return true;
    return false;
  }

  void make_each_body() {
    clear();
    // A rung that was asked for, for all or for one, has no first reading.
    const bool together = options_.ladder < 5 && options_.fallbacks.empty() &&
                          std::none_of(flat_.begin(), flat_.end(), [](bool f) { return f; });
    FirstReadings first(ast_, options_, dynamos_);
    for (std::uint32_t id = 0, next = 0; id < count_; ++id) {
      if (together && id == next) next = first.read(id, count_);
      const bool finished = together && first.finish(CodeId(id));
      straightened_[id] = !finished && ast_.too_large.empty() && make_body(CodeId(id));
      if (finished) continue;
      if (!ast_.too_large.empty()) {
        keep_shared(CodeId(id), ast_.too_large);
        straightened_[id] = make_body(CodeId(id));
        ast_.too_large.clear();
      }
      if (ast_.bodies[id].rebuilt) ast_.bodies[id].written = written_as_bytes(ast_, CodeId(id));
    }
  }

  void clear() {
    ast_ = Ast();
    ast_.function_prefix = functions_;
    ast_.module = &module_;
    ast_.bounds = bounds_;
    ast_.renames = options_.renames;
    ast_.bodies.resize(count_);
    // About as many as there will be: nodes that have to move cost time.
    ast_.exprs.reserve(bytes_ / 4);
    ast_.stmts.reserve(bytes_ / 16);
    for (std::uint32_t id = 0; id < count_; ++id) ast_.bodies[id].code = CodeId(id);
  }

  /// One body by itself; was it straightened?
  bool make_body(CodeId code) {
    constexpr std::uint32_t kShare = kIndentation / kFlatLevels;
    if (module_[module_[code].name] == "__annotate__")  // no body of its own in the source
      return decompile_code(ast_, code, plain_);
    if (!flat_[code.index]) return decompile_code(ast_, code, options_);
    const bool deepest = level_of(module_, code) > kFlatLevels;
    return decompile_code(ast_, code, deepest ? rebuilding_ : options_, kShare);
  }

  /// Definitions in definitions: where they lie too deep each is kept flat, and the deepest are
  /// rebuilt from their bytes; first only inside the definitions of the outermost body that are too
  /// deep by themselves, then everywhere.
  void flatten_definitions() {
    for (const bool everywhere : {false, true}) {
      if (!is_too_deep(module_.root, kIndentation)) return;
      flat_.assign(count_, everywhere);
      for (std::uint32_t id = count_; id-- > 0;) {  // outer ones have the greater numbers
        const CodeId parent = module_[CodeId(id)].parent;
        if (parent == module_.root)
          flat_[id] |= is_too_deep(CodeId(id), kIndentation - kFlatLevels);
        else if (parent)
          flat_[id] |= flat_[parent.index];
      }
      make_bodies();
    }
  }

  bool is_too_deep(CodeId code, std::uint32_t indentation) const {
    return !failure_of([&] { check_nesting(ast_, code, indentation); }).empty();
  }

  /// Names that the text would take from elsewhere than the bytecode does: such a body, and if
  /// nothing else helps those around it, goes down the ladder.
  void settle_scopes() {
    constexpr int kRounds = 16, kLastRounds = 4;
    if (dynamos_[module_.root.index]) return;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<ScopeMismatch> found = compare_scopes(ast_, scopes());
      if (found.empty()) return;
      const bool ends = round + kLastRounds >= kRounds;
      options_.fallbacks.resize(count_);
      for (const ScopeMismatch& mismatch : found) take_lower_rung(mismatch, ends);
      make_bodies();
    }
  }

  /// Where the rounds come to their end, it is the module that is rebuilt.
  void take_lower_rung(const ScopeMismatch& mismatch, bool ends) {
    CodeId code = mismatch.code;
    while (module_[code].parent && (options_.fallbacks[code.index].rung >= 6 || ends))
      code = module_[code].parent;
    Fallback& fallback = options_.fallbacks[code.index];
    if (fallback.rung < 5 && !ends)
      fallback.rung = 5;
    else
      fallback.rung = module_[code].parent ? 6 : kRebuildsModule;
    if (fallback.reason.find(mismatch.what) == std::string::npos)
      fallback.reason += (fallback.reason.empty() ? "" : "; ") + mismatch.what;
  }

  /// The body of a function may be asked for alone, without its `def`.
  ScopeTree scopes() const {
    return find_scopes(ast_, module_.root,
                       options_.function || (module_[module_.root].flags & kOptimized));
  }

  Decompiled print() {
    Decompiled result;
    for (std::uint32_t id = 0; id < count_; ++id)
      if (dynamos_[id]) name_values_of(ast_, CodeId(id), options_);
    for (const ReadableName& name : ast_.readable)
      result.readable.push_back(
          {std::string(module_[name.given]), std::string(module_[name.real]), name.global});
    if (options_.scopes) result.scopes = to_text(scopes(), module_, options_.scopes_of);
    tell_own_names(ast_, options_.temp_prefix, options_, given_names_);
    const PrintOptions print = print_options(module_, ast_, options_);
    result.source = options_.function ? print_function(ast_, module_.root, options_.name, print)
                                      : print_module(ast_, print);
    restore_separated(result.source);
    if (options_.line_map) {
      restore_offsets(result.source);
      result.line_map = map_lines(module_, result.source);
    }
    result.diagnostics = std::move(ast_.diagnostics);
    std::move(result.source.notes.begin(), result.source.notes.end(),
              std::back_inserter(result.diagnostics));
    result.source.notes.clear();
    return result;
  }

  /// A name that was made to keep two apart stands for the name that both have.
  void restore_separated(Source& source) const {
    if (ast_.separated.empty()) return;
    std::unordered_map<std::string_view, StrId> real;
    for (const auto& [made, name] : ast_.separated) real.emplace(module_[made], name);
    for (auto& [spelling, name] : source.renamed)
      if (const auto found = real.find(name); found != real.end()) name = module_[found->second];
  }

  /// Sites in straightened code have the offsets of straightened_list(): gives them those of the
  /// code object.
  void restore_offsets(Source& source) {
    for (std::uint32_t id = 0; id < count_; ++id) {
      if (!straightened_[id]) continue;
      InstrList list = decode(module_, CodeId(id));
      straighten(module_, list);
      for (Site& site : source.sites)
        if (site.origin.code.index == id && site.origin.offset / 2 < list.instrs.size())
          site.origin.offset = list.instrs[site.origin.offset / 2].offset;
    }
  }

  Module& module_;
  DecompileOptions options_;  // with what settle_scopes() finds
  DecompileOptions plain_, rebuilding_;
  WrittenBounds bounds_;
  const std::string functions_;  // the prefix of functions that are made
  const std::uint32_t count_;
  std::size_t given_names_ = 0;        // so many of the module's strings are no names that are made
  std::size_t bytes_ = 0;              // of bytecode
  std::vector<std::uint8_t> dynamos_;  // by code object, is_dynamos()
  std::vector<std::uint8_t> straightened_;
  std::vector<std::uint8_t> flat_;  // definitions that nest too deep
  Ast ast_;
};

}  // namespace

Decompiled decompile(Module& module, const DecompileOptions& options) {
  return ModuleDecompiler(module, options).run();
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
    for (std::uint32_t id = 0; id < code.index; ++id) decompile_code(ast, CodeId(id), options);
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
