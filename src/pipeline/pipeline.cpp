#include "pipeline/pipeline.h"

#include <exception>

#include "bytecode/instr.h"
#include "bytecode/text.h"
#include "flow/cfg.h"
#include "lift/lifted.h"
#include "print/tree.h"
#include "rewrite/rebuilt.h"
#include "rewrite/rewrite.h"
#include "simplify/simplify.h"
#include "structure/structure.h"
#include "support/error.h"

namespace depyf {

std::string diagnostic_kind(const Diagnostic& diagnostic) {
  switch (diagnostic.kind) {
    case Diagnostic::Ladder: return "L" + std::to_string(diagnostic.level);
    case Diagnostic::BrokenCode: return "broken";
    case Diagnostic::Note: break;
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
  return (options.dynamo && code == module.root) || made_by_dynamo(module, code);
}

SimplifyOptions simplify_options(bool dynamo) {
  SimplifyOptions simplifying;
  simplifying.dynamo = dynamo;
  return simplifying;
}

StructureOptions structure_options(bool dynamo, const DecompileOptions& options) {
  return {options.keep_temporaries, options.temp_prefix, dynamo, dynamo && !options.keep_temporaries, &options.callee_parameters};
}

PrintOptions print_options(const Module& module, const DecompileOptions& options) {
  PrintOptions print;
  print.indentation = options.indentation;
  print.grammar = module.version;
  print.sites = options.line_map;
  return print;
}

/// What tells how code was written, and may be wrong: what the bytecode has of code that control never takes, up to 3.9, and where code stands.
struct Heeded {
  bool unreached = true;  // statements (Cfg::unreached)
  bool elses = true;      // jumps over an `else` (Cfg::elses)
  bool layout = true;     // where code stands (StructureOptions::layout_tells), of all code
  bool copies = true;     // that ends are alike (StructureOptions::joins_ends)
};

/// Bytecode to raw statements to final statements, for one code object whose nested ones are done: by plain structure or, where `unstructured`
/// says why that failed, by a dispatch loop. `sound` tells, also when an exception is thrown, whether CPython can run the bytecode. `heeded`: what is
/// heeded; on return, what there was of it.
void decompile_body(Ast& ast, CodeId code, const DecompileOptions& options, bool dynamo, const std::string& unstructured, std::uint32_t indentation, bool& sound,
                    Heeded& heeded) {
  Module& module = *ast.module;
  sound = false;
  InstrList instrs = decode(module, code);
  Cfg cfg = build_cfg(module, code, instrs, heeded.unreached);
  heeded.unreached = cfg.unreached;
  Lifted lifted;
  try {
    lifted = lift(module, code, cfg);
  } catch (const UnusualCode&) {
    sound = true;
    throw;
  }
  sound = true;
  if (!heeded.elses) lifted.elses.clear();
  heeded.elses = !lifted.elses.empty();
  // A rebuilt module would hide everything in it.
  if (options.ladder > 5 && (options.function || code != module.root)) throw UnusualCode("the last rung of the ladder was asked for");
  if (dynamo) simplify(lifted, module, simplify_options(dynamo));
  StructureOptions structuring = structure_options(dynamo, options);
  structuring.layout_tells = heeded.layout;
  structuring.joins_ends = heeded.copies;
  if (unstructured.empty()) structure(lifted, ast, structuring);
  else structure_as_dispatch(lifted, ast, structuring, unstructured);
  check_nesting(ast, code, indentation);
  rewrite(ast, code);
}

/// The place of a code object that no stage could bring to statements: a body that raises, and says why.
void place_failure(Ast& ast, CodeId code, const std::string& reason) {
  Module& module = *ast.module;
  Stmt comment;
  comment.kind = StmtKind::Comment;
  comment.a = module.intern("depyf could not decompile " + code_path(module, code) + ":\n" + reason).index;
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

/// CPython's tokenizer refuses 100 levels.
constexpr std::uint32_t kIndentation = 96;

/// Where definitions nest too deep: so many levels of them, each with its share of the indentation (a dispatch loop needs 8).
constexpr std::uint32_t kFlatLevels = 10;

/// How many code objects a code object is in.
std::uint32_t level_of(const Module& module, CodeId code) {
  std::uint32_t level = 0;
  for (CodeId id = module[code].parent; id && level < 1000; id = module[id].parent) ++level;
  return level;
}

/// One code object; a failure stays inside it, and leads to the next rung of the ladder.
void decompile_guarded(Ast& ast, CodeId code, const DecompileOptions& options, std::uint32_t indentation = kIndentation) {
  const std::size_t noted = ast.diagnostics.size();
  const bool dynamo = is_dynamos(*ast.module, code, options);
  bool sound = false;
  std::string reason;
  auto attempt = [&](const std::string& unstructured) {
    std::string failure;
    Heeded heeded;
    heeded.unreached = unstructured.empty() && !dynamo;
    for (;;) {
      failure = failure_of([&] { decompile_body(ast, code, options, dynamo, unstructured, indentation, sound, heeded); });
      if (failure.empty()) return true;
      ast.diagnostics.resize(noted);
      Body fresh;
      fresh.code = code;
      ast.bodies[code.index] = fresh;
      // no statement may have it
      if (!unstructured.empty()) break;
      if (heeded.unreached) heeded = {.unreached = false};
      else if (sound && heeded.elses) heeded = {.unreached = false, .elses = false};
      else if (sound && heeded.layout) heeded = {.unreached = false, .elses = false, .layout = false};
      else if (sound && heeded.copies) heeded = {.unreached = false, .elses = false, .layout = false, .copies = false};
      else break;
    }
    reason += (reason.empty() ? "" : "; ") + failure;
    return false;
  };
  if (options.ladder < 5 && attempt({})) return;
  if (options.ladder >= 5 || sound)
    if (attempt(reason.empty() ? "the dispatch loop was asked for" : reason)) return;
  Diagnostic diagnostic;
  diagnostic.code = code;
  // Damaged bytecode must not run: a body that raises takes its place.
  const std::string broken = sound ? failure_of([&] { rebuild(ast, code, reason); }) : "the bytecode is damaged";
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
}

}  // namespace

Decompiled decompile(Module& module, const DecompileOptions& options) {
  Ast ast;
  const auto count = static_cast<std::uint32_t>(module.codes.size());
  std::size_t bytes = 0;
  for (std::uint32_t id = 0; id < count; ++id) bytes += module[CodeId(id)].code.size();
  DecompileOptions last = options;
  last.ladder = 6;
  const auto decompile_all = [&](const std::vector<std::uint8_t>& flat) {
    ast = Ast();
    ast.module = &module;
    ast.bodies.resize(module.codes.size());
    ast.exprs.reserve(bytes / 4);  // about as many as there will be: nodes that have to move cost time
    ast.stmts.reserve(bytes / 16);
    for (std::uint32_t id = 0; id < count; ++id) ast.bodies[id].code = CodeId(id);
    for (std::uint32_t id = 0; id < count; ++id) {
      const CodeId code(id);
      if (flat[id]) decompile_guarded(ast, code, level_of(module, code) > kFlatLevels ? last : options, kIndentation / kFlatLevels);
      else decompile_guarded(ast, code, options);
    }
  };
  const auto too_deep = [&](CodeId code, std::uint32_t indentation) { return !failure_of([&] { check_nesting(ast, code, indentation); }).empty(); };
  decompile_all(std::vector<std::uint8_t>(count, false));
  // Definitions in definitions: where they lie too deep each is kept flat, and the deepest are rebuilt from their bytes; first only inside the
  // definitions of the outermost body that are too deep by themselves, then everywhere.
  for (bool everywhere : {false, true}) {
    if (!too_deep(module.root, kIndentation)) break;
    std::vector<std::uint8_t> flat(count, everywhere);
    for (std::uint32_t id = count; id-- > 0;) {  // outer ones have the greater numbers
      const CodeId parent = module[CodeId(id)].parent;
      if (parent == module.root) flat[id] |= too_deep(CodeId(id), kIndentation - kFlatLevels);
      else if (parent) flat[id] |= flat[parent.index];
    }
    decompile_all(flat);
  }
  Decompiled result;
  PrintOptions print = print_options(module, options);
  result.source = options.function ? print_function(ast, module.root, options.name, print) : print_module(ast, print);
  if (options.line_map) result.line_map = map_lines(module, result.source);
  result.diagnostics = std::move(ast.diagnostics);
  result.diagnostics.insert(result.diagnostics.end(), std::make_move_iterator(result.source.notes.begin()),
                            std::make_move_iterator(result.source.notes.end()));
  result.source.notes.clear();
  return result;
}

std::string dump_stage(Module& module, CodeId code, Stage stage, const DecompileOptions& options) {
  InstrList instrs = decode(module, code);
  if (stage == Stage::Bytecode) return to_text(instrs, module, code);
  const bool dynamo = is_dynamos(module, code, options);
  Cfg cfg = build_cfg(module, code, instrs, !dynamo);
  if (stage == Stage::Flow) return to_text(cfg, module, code);
  Lifted lifted = lift(module, code, cfg);
  if (stage == Stage::Lift) return to_text(lifted, module);
  if (stage == Stage::Simplify || dynamo) simplify(lifted, module, simplify_options(dynamo));
  if (stage == Stage::Simplify) return to_text(lifted, module);
  Ast ast;
  ast.module = &module;
  ast.bodies.resize(module.codes.size());
  if (stage != Stage::Structure)
    for (std::uint32_t id = 0; id < code.index; ++id) decompile_guarded(ast, CodeId(id), options);
  structure(lifted, ast, structure_options(dynamo, options));
  if (stage != Stage::Structure) rewrite(ast, code);
  std::string out;
  for (const Diagnostic& diagnostic : ast.diagnostics) {
    if (diagnostic.code != code) continue;
    out += diagnostic.kind == Diagnostic::Ladder ? "ladder L" + std::to_string(diagnostic.level) : std::string("note");
    out += " at " + std::to_string(diagnostic.offset) + ": " + diagnostic.message + '\n';
  }
  if (stage != Stage::Print) return out + to_text(ast, code);
  PrintOptions print = print_options(module, options);
  bool body = code == module.root && !options.function;
  return out + (body ? print_module(ast, print) : print_function(ast, code, options.name, print)).text;
}

}  // namespace depyf
