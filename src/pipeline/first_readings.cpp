#include "pipeline/first_readings.h"

#include <iterator>
#include <utility>

#include "bytecode/instr.h"
#include "flow/straighten.h"
#include "pipeline/front.h"
#include "pipeline/ladder.h"
#include "pipeline/reading.h"
#include "rewrite/rewrite.h"
#include "simplify/simplify.h"
#include "structure/structure.h"
#include "support/error.h"

namespace depyf {

namespace {

constexpr std::size_t kBytes = 1 << 14;  // of the bytecode of those that are read together

}  // namespace

std::uint32_t FirstReadings::read(std::uint32_t begin, std::uint32_t end) {
  Module& module = *ast_.module;
  std::size_t bytes = 0;
  count_ = 0;
  begin_ = begin;
  while (begin + count_ < end && count_ < kMost && bytes < kBytes) {
    const CodeId code(begin + count_);
    bytes += module[code].code.size();
    lift_one(readings_[count_++], code);
  }
  for (std::uint32_t i = 0; i < count_; ++i) structure_one(readings_[i], CodeId(begin + i));
  return begin + count_;
}

bool FirstReadings::finish(CodeId code) {
  One& one = readings_[code.index - begin_];
  const std::size_t noted = ast_.diagnostics.size();
  if (!one.structured) return false;
  std::move(one.notes.begin(), one.notes.end(), std::back_inserter(ast_.diagnostics));
  if (failure_of([&] { rewrite(ast_, code); }).empty()) return true;
  take_back(ast_, code, noted);
  return false;
}

void FirstReadings::lift_one(One& one, CodeId code) {
  Module& module = *ast_.module;
  one.structured = false;
  one.dynamo = dynamos_[code.index];
  const std::string failure = failure_of([&] {
    const InstrList list = decode(module, code);
    if (!one.dynamo && !list.instrs.empty() && has_junk(module, list)) throw Error("junk");
    bool sound = false;
    Reading reading;
    reading.keep(kUnreached, !one.dynamo);
    one.values.emplace(lift_body(module, code, list, sound, reading));
    if (one.dynamo) simplify(*one.values, module, simplify_options(one.dynamo, options_));
  });
  if (!failure.empty()) one.values.reset();
}

void FirstReadings::structure_one(One& one, CodeId code) {
  if (!one.values) return;
  const std::size_t noted = ast_.diagnostics.size();
  Body& body = ast_.bodies[code.index];
  one.structured = failure_of([&] {
                     structure(*one.values, ast_, structure_options(one.dynamo, options_));
                     check_nesting(ast_, code, kIndentation);
                   }).empty();
  one.notes.assign(
      std::make_move_iterator(ast_.diagnostics.begin() + static_cast<std::ptrdiff_t>(noted)),
      std::make_move_iterator(ast_.diagnostics.end()));
  ast_.diagnostics.resize(noted);
  one.values.reset();
  if (one.structured) {
    body.end_expr = static_cast<std::uint32_t>(ast_.exprs.size());
    body.end_stmt = static_cast<std::uint32_t>(ast_.stmts.size());
  } else {
    body = Body();
    body.code = code;
  }
}

}  // namespace depyf
