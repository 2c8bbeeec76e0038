#include "pipeline/pipeline.h"

#include <exception>

#include "bytecode/instr.h"
#include "flow/cfg.h"
#include "lift/lifted.h"
#include "print/literals.h"
#include "print/tree.h"
#include "rewrite/rewrite.h"
#include "simplify/simplify.h"
#include "structure/structure.h"
#include "support/error.h"

namespace depyf {

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

StructureOptions structure_options(const DecompileOptions& options) { return {options.keep_temporaries, options.temp_prefix}; }

PrintOptions print_options(const Module& module, const DecompileOptions& options) {
  PrintOptions print;
  print.indentation = options.indentation;
  print.grammar = module.version;
  return print;
}

/// Bytecode to raw statements to final statements, for one code object whose nested ones are done.
void decompile_body(Ast& ast, CodeId code, const DecompileOptions& options) {
  Module& module = *ast.module;
  InstrList instrs = decode(module, code);
  Cfg cfg = build_cfg(module, code, instrs);
  Lifted lifted = lift(module, code, cfg);
  if (made_by_dynamo(module, code)) simplify(lifted, module);
  structure(lifted, ast, structure_options(options));
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
  ast.bodies[code.index] = {code, ast.arena.copy(stmts), true, {}, {}};
}

/// One code object; a failure stays inside it.
void decompile_guarded(Ast& ast, CodeId code, const DecompileOptions& options) {
  std::string reason;
  try {
    decompile_body(ast, code, options);
    return;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error& error) {
    reason = error.what();
  } catch (const std::exception& error) {
    reason = std::string("internal error of depyf, please report it with the file: ") + error.what();
  }
  if (options.strict) throw Error(code_path(*ast.module, code) + ": " + reason);
  Diagnostic diagnostic;
  diagnostic.kind = Diagnostic::BrokenCode;
  diagnostic.code = code;
  diagnostic.message = reason;
  ast.diagnostics.push_back(std::move(diagnostic));
  place_failure(ast, code, reason);
}

}  // namespace

Decompiled decompile(Module& module, const DecompileOptions& options) {
  Ast ast;
  ast.module = &module;
  auto count = static_cast<std::uint32_t>(module.codes.size());
  ast.bodies.resize(count);
  for (std::uint32_t id = 0; id < count; ++id) ast.bodies[id].code = CodeId(id);
  for (std::uint32_t id = 0; id < count; ++id) decompile_guarded(ast, CodeId(id), options);
  Decompiled result;
  PrintOptions print = print_options(module, options);
  result.source = options.function ? print_function(ast, module.root, options.name, print) : print_module(ast, print);
  result.diagnostics = std::move(ast.diagnostics);
  result.diagnostics.insert(result.diagnostics.end(), std::make_move_iterator(result.source.notes.begin()),
                            std::make_move_iterator(result.source.notes.end()));
  result.source.notes.clear();
  return result;
}

namespace {

/// `InstrList` in the notation of op.def: one column per fact.
std::string to_text(const InstrList& list, const Module& module, CodeId code) {
  std::string out;
  auto pad = [&](std::size_t start, std::size_t width) {
    while (out.size() - start < width) out += ' ';
  };
  for (std::size_t i = 0; i < list.instrs.size(); ++i) {
    const Instr& instr = list.instrs[i];
    std::size_t start = out.size();
    out += std::to_string(i);
    pad(start, 6);
    out += '@' + std::to_string(instr.offset);
    pad(start, 14);
    if (instr.line) out += "line " + std::to_string(instr.line);
    pad(start, 26);
    out += op_name(instr.op);
    pad(start, 48);
    switch (instr.op) {
      case Op::LOAD_CONST: {
        const Const& value = module[ConstId(instr.arg)];
        if (value.kind == ConstKind::Str)
          append_string(out, value.text);
        else if (value.kind == ConstKind::Int && !value.big)
          out += std::to_string(value.integer);
        else if (value.kind == ConstKind::None)
          out += "None";
        else if (value.kind == ConstKind::Code)
          out += "code " + code_path(module, value.code);
        else
          out += "const " + std::to_string(instr.arg);
        break;
      }
      case Op::LOAD_FAST: case Op::STORE_FAST: case Op::DELETE_FAST: case Op::LOAD_FAST_AND_CLEAR: case Op::LOAD_DEREF: case Op::STORE_DEREF:
      case Op::DELETE_DEREF: case Op::LOAD_CLASSDEREF: case Op::LOAD_CLOSURE:
        out += instr.arg < module[code].slots.size() ? module[module[code].slots[instr.arg].name] : std::string_view("slot?");
        break;
      case Op::LOAD_GLOBAL: case Op::STORE_GLOBAL: case Op::DELETE_GLOBAL: case Op::LOAD_NAME: case Op::STORE_NAME: case Op::DELETE_NAME:
      case Op::LOAD_FROM_DICT_OR_GLOBALS: case Op::LOAD_ATTR: case Op::LOAD_METHOD: case Op::LOAD_SUPER_ATTR: case Op::STORE_ATTR:
      case Op::DELETE_ATTR: case Op::IMPORT_NAME: case Op::IMPORT_FROM:
        out += instr.arg < module.strings.size() ? module[StrId(instr.arg)] : std::string_view("name?");
        break;
      default:  // every other operand is a number
        if (instr.arg) out += std::to_string(instr.arg);
    }
    if (instr.aux) out += " /" + std::to_string(instr.aux);
    if (instr.target != kNoTarget) out += " -> " + std::to_string(instr.target);
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  for (const ExceptionRow& row : list.rows)
    out += "  " + std::to_string(row.begin) + " … " + std::to_string(row.end) + " -> " + std::to_string(row.target) + " depth " +
           std::to_string(row.depth) + (row.lasti ? " lasti\n" : "\n");
  return out;
}

}  // namespace

std::string dump_stage(Module& module, CodeId code, Stage stage, const DecompileOptions& options) {
  InstrList instrs = decode(module, code);
  if (stage == Stage::Bytecode) return to_text(instrs, module, code);
  Cfg cfg = build_cfg(module, code, instrs);
  if (stage == Stage::Flow) return to_text(cfg, module, code);
  Lifted lifted = lift(module, code, cfg);
  if (stage == Stage::Lift) return to_text(lifted, module);
  if (stage == Stage::Simplify || made_by_dynamo(module, code)) simplify(lifted, module);
  if (stage == Stage::Simplify) return to_text(lifted, module);
  Ast ast;
  ast.module = &module;
  ast.bodies.resize(module.codes.size());
  if (stage != Stage::Structure)
    for (std::uint32_t id = 0; id < code.index; ++id) decompile_guarded(ast, CodeId(id), options);
  structure(lifted, ast, structure_options(options));
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
