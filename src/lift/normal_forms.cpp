// One form for what versions of CPython write in several ways.
#include <string>

#include "lift/ways.h"
#include "support/error.h"

namespace depyf {
namespace {

/// Takes the NULL beside what is called out of the operands of calls.
class Nulls {
 public:
  Nulls(Lifted& lifted, const Ways& ways, ValueId null)
      : lifted_(lifted), ways_(ways), null_(null) {}

  void strip(Value& call) {
    if (call.op == Op::CALL_EX && (call.arg & 1) && call.operands.back() == null_) {
      call.operands = call.operands.first(call.operands.size() - 1);
      call.arg &= ~1u;
    }
    if (call.aux != kPlain) strip_null(call, call.aux == kNullBelow ? 0 : 1);
    if (call.op == Op::CALL)
      call.arg = static_cast<std::uint32_t>(call.operands.size() - 1);
    else if (call.op == Op::CALL_KW)
      call.arg = static_cast<std::uint32_t>(call.operands.size() - 2);
  }

 private:
  Lifted& lifted_;
  const Ways& ways_;
  ValueId null_;

  bool may_be_null(ValueId id) {
    const Value& value = lifted_[id];
    if (value.kind != ValueKind::Param) return false;
    bool found = false;
    ways_.each_arg(lifted_, id, [&](ValueId arg) { found |= arg == null_; });
    return found;
  }

  /// Takes the NULL at `at` out of the operands.
  void strip_null(Value& call, std::size_t at) {
    for (ValueId id : {call.operands[0], call.operands[1]})
      if (may_be_null(id))
        throw_unusual(
            call.offset, op_name(call.op),
            "the NULL below the arguments is a value on some ways here; no compiler makes that");
    if (call.op == Op::CALL_EX && call.operands[at] != null_)  // CPython does not look at it
      throw_unusual(call.offset, op_name(call.op),
                    "a value is where the callable's NULL belongs; no compiler makes that");
    if (call.operands[at] == null_) {
      if (at == 1) call.operands[1] = call.operands[0];
      call.operands = call.operands.subspan(1);
    }
    call.aux = 0;
  }
};

/// ≤ 3.10 tests the type of the exception, which enter_block() makes right after its value.
void compare_exception(const Lifted& lifted, Value& match) {
  const Value& tested = lifted[match.operands[0]];
  if (tested.kind != ValueKind::ExceptionType) return;
  match.operands[0] = ValueId(match.operands[0].index - 1);
}

}  // namespace

void take_normal_forms(Lifted& lifted, const Ways& ways, std::span<const ValueId> operations,
                       ValueId null) {
  Nulls nulls(lifted, ways, null);
  for (ValueId id : operations) {
    Value& value = lifted[id];
    if (value.op == Op::EXC_MATCH)
      compare_exception(lifted, value);
    else
      nulls.strip(value);
  }
}

void throw_unusual(std::uint32_t offset, std::string_view op, const std::string& what) {
  throw UnusualCode("lift: at offset " + std::to_string(offset) + " (" + std::string(op) +
                    "): " + what);
}

}  // namespace depyf
