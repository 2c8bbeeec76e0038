#include "flow/resumed.h"

#include <string_view>

namespace depyf {

bool drop_swallowing(const Module& module, CodeId code, InstrList& list) {
  // torch/_dynamo/resume_execution.py, TORCH_DYNAMO_RESUME_IN_PREFIX
  if (!std::string_view(module[module[code].name]).starts_with("torch_dynamo_resume_in"))
    return false;
  std::vector<Instr>& instrs = list.instrs;
  std::size_t end = 1;
  while (end < instrs.size() &&
         !(instrs[end].op == Op::RAISE && instrs[end - 1].op == Op::LOAD_CONST &&
           module[ConstId(instrs[end - 1].arg)].kind == ConstKind::None))
    ++end;
  if (end >= instrs.size()) return false;
  bool any = false;
  for (std::size_t i = 1; i < end; ++i) {
    const std::size_t asks = instrs[i - 1].op == Op::TO_BOOL && i > 1 ? i - 2 : i - 1;
    if (instrs[i].op != Op::BRANCH_TRUE || instrs[asks].op != Op::WITH_EXCEPT_START) continue;
    instrs[i].op = Op::POP_TOP;
    instrs[i].target = kNoTarget;
    any = true;
  }
  return any;
}

}  // namespace depyf
