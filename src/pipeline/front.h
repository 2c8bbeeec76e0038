#pragma once
// The stages before statements, which `dump` shows and `decompile` goes through.
#include "bytecode/instr.h"
#include "flow/cfg.h"
#include "lift/lifted.h"
#include "pipeline/pipeline.h"
#include "simplify/simplify.h"
#include "structure/structure.h"

namespace depyf {

/// What a code object is in each of them.
struct Front {
  bool dynamo = false;  // the code is Dynamo's
  InstrList instrs;
  Cfg cfg;
  Lifted lifted;
};

/// Runs them up to `until`; what comes later is empty. Code that Dynamo made is simplified before
/// Stage::Structure, other code only for Stage::Simplify. Throws Error where a stage does.
Front run_front(Module& module, CodeId code, Stage until, const DecompileOptions& options);

/// Is this code object Dynamo's, by its names or by what `options` say?
bool is_dynamos(const Module& module, CodeId code, const DecompileOptions& options);

/// What simplify() and structure() get for such code.
SimplifyOptions simplify_options(bool dynamo, const DecompileOptions& options);
StructureOptions structure_options(bool dynamo, const DecompileOptions& options);

}  // namespace depyf
