// Implements include/depyf/depyf.h with the stages.
#include <algorithm>

#include "depyf/depyf.h"
#include "pipeline/pipeline.h"
#include "pyc/pyc.h"
#include "verify/verify.h"

namespace depyf {

namespace {

Module read(const Bytecode& bytecode) {
  if (bytecode.marshal_minor == 0) return read_pyc(bytecode.bytes);
  const bool known = bytecode.marshal_minor > 0 && bytecode.marshal_minor < 256;
  return read_marshal(bytecode.bytes,
                      {3, static_cast<std::uint8_t>(known ? bytecode.marshal_minor : 0)});
}

Finding finding_of(const Module& module, const Diagnostic& diagnostic) {
  Finding finding;
  switch (diagnostic.kind) {
    case Diagnostic::Ladder:
      finding.kind = Finding::Kind::Ladder;
      break;
    case Diagnostic::BrokenCode:
      finding.kind = Finding::Kind::Broken;
      break;
    case Diagnostic::Note:
      finding.kind = Finding::Kind::Note;
      break;
  }
  finding.rung = diagnostic.kind == Diagnostic::Note ? 0 : diagnostic.level;
  finding.code = code_path(module, diagnostic.code);
  finding.offset = diagnostic.offset;
  finding.message = diagnostic.message;
  return finding;
}

}  // namespace

SourceText decompile_source(const Bytecode& bytecode, const SourceOptions& options) {
  Module module = read(bytecode);
  DecompileOptions how;
  how.indentation = std::clamp(options.indentation, 1u, 16u);
  how.keep_temporaries = options.keep_temporaries;
  how.line_map = true;
  Decompiled made = decompile(module, how);
  SourceText result;
  result.text = std::move(made.source.text);
  for (const LineOrigin& line : made.line_map.lines) {
    const std::span<const std::uint32_t> offsets = made.line_map.offsets_of(line);
    result.lines.push_back({line.line,
                            code_path(module, line.code),
                            line.original_line,
                            {offsets.begin(), offsets.end()}});
  }
  for (const Diagnostic& diagnostic : made.diagnostics)
    result.findings.push_back(finding_of(module, diagnostic));
  return result;
}

std::string disassemble(const Bytecode& bytecode) {
  Module module = read(bytecode);
  std::string text;
  for (std::uint32_t id = 0; id < module.codes.size(); ++id)
    text += dump_stage(module, CodeId(id), Stage::Bytecode) + "\n";
  return text;
}

Comparison compare_bytecode(const Bytecode& a, const Bytecode& b) {
  Module first = read(a), second = read(b);
  VerifyOptions options;
  options.decompiled = false;
  Verdict verdict = verify(first, first.root, second, second.root, options);
  Comparison result;
  switch (verdict.kind) {
    case VerdictKind::Identical:
      result.likeness = Likeness::Identical;
      break;
    case VerdictKind::Exact:
      result.likeness = Likeness::Exact;
      break;
    case VerdictKind::Equivalent:
      result.likeness = Likeness::Equivalent;
      break;
    case VerdictKind::Unproven:
      result.likeness = Likeness::Unproven;
      break;
    case VerdictKind::Different:
      result.likeness = Likeness::Different;
      break;
  }
  result.detail = std::move(verdict.detail);
  return result;
}

std::string supported_python_versions() { return supported_versions(); }

}  // namespace depyf
