#pragma once
// The stages before statements, which `dump` shows and `decompile` goes through.
#include "bytecode/instr.h"
#include "flow/cfg.h"
#include "lift/lifted.h"
#include "pipeline/pipeline.h"
#include "simplify/simplify.h"
#include "structure/structure.h"

namespace depyf {

/// The result of each stage for one code object.
struct Front {
  bool dynamo = false;  // the code is Dynamo's
  InstrList instrs;
  Cfg cfg;
  Lifted lifted;
};

/// Runs the stages up to `until`; the results of later stages are empty. Code that Dynamo made is
/// simplified before Stage::Structure, other code only for Stage::Simplify. Throws Error if a stage
/// does.
Front run_front(Module& module, CodeId code, Stage until, const DecompileOptions& options);

/// Did Dynamo make this code object, according to its names or to `options`?
bool is_dynamos(const Module& module, CodeId code, const DecompileOptions& options);

/// The options of simplify() and structure() for such code.
SimplifyOptions simplify_options(bool dynamo, const DecompileOptions& options);
StructureOptions structure_options(bool dynamo, const DecompileOptions& options);

}  // namespace depyf
