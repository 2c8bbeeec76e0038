// Bytes of co_code to version-free instructions. Which operation an opcode becomes stands in
// opcode/semantics.def; this file holds the actions that the table names, then undoes what the
// compiler adds around some operations (SEND loops, END_FOR, LOAD_SPECIAL pairs, the StopIteration
// handler of generators).
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bytecode/compact.h"
#include "bytecode/effect.h"
#include "bytecode/instr.h"
#include "bytecode/lines.h"
#include "bytecode/scan.h"
#include "bytecode/virtual_slots.h"
#include "opcode/tables.h"
#include "support/append.h"
#include "support/error.h"
#include "support/flat_map.h"

namespace depyf {
namespace {

constexpr std::uint32_t kInside = 0x80000000;  // in Scratch::units: no instruction starts here
constexpr std::uint32_t kCache = UINT32_MAX;   // the same, in an inline cache

/// Buffers that outlive one call, so that decoding allocates nothing but its result.
struct Scratch {
  std::vector<std::uint32_t> jumps;  // the Instrs with a target
  std::vector<std::uint32_t> units;  // code unit -> index of the first Instr at or after it, kCache
  std::vector<std::uint8_t> refs;    // Instr -> how many jumps and handlers lead to it (saturating)
  std::vector<std::uint8_t> boundary;  // Instr -> a row of the exception table begins or ends here
  std::vector<std::uint8_t> removed;
  std::vector<std::uint32_t> moved;  // Instr -> index after removal
  std::vector<std::uint32_t> exits;  // jumps that lead out of a folded SEND loop
};

thread_local Scratch thread_scratch;

class Decoder {
 public:
  Decoder(Module& module, CodeId id)
      : module_(module), code_(module[id]), minor_(code_.version.minor), lines_(code_) {
    const VersionTable* table = version_table(code_.version);
    if (table == nullptr) {
      throw Error("cannot decode bytecode of Python " + std::to_string(code_.version.major) + "." +
                  std::to_string(code_.version.minor) + ": supported are " + supported_versions());
    }
    table_ = table;
  }

  InstrList run() {
    if (code_.code.size() % 2 != 0) {
      throw Error("corrupt bytecode: co_code of '" + std::string(module_[code_.name]) + "' has " +
                  std::to_string(code_.code.size()) +
                  " bytes, and instructions are pairs of bytes");
    }
    if (code_.code.size() >= kInside) throw Error("co_code is larger than 2 GiB");
    walk();
    if (minor_ >= 13) tell_hidden_locals();
    read_rows();
    resolve_targets();
    if (fold_needed_ || (minor_ >= 12 && !out_.rows.empty())) fold();
    join_rows();
    if (minor_ >= 15) erase_virtual_slots(module_, out_, code_);
    return std::move(out_);
  }

 private:
  // ------------------------------------------------------------------ one pass over the bytes
  [[noreturn]] void fail(const std::string& what) const {
    const std::uint8_t opcode = code_.code[2 * std::size_t{unit_}];
    const std::string_view name = table_->opcodes[opcode].name;
    throw Error("corrupt bytecode: " +
                (name.empty() ? "opcode " + std::to_string(opcode) : std::string(name)) +
                " at offset " + std::to_string(2 * std::uint64_t{start_}) + " of '" +
                std::string(module_[code_.name]) + "' (CPython 3." + std::to_string(minor_) +
                "): " + what);
  }

  void emit(Op op, std::uint32_t arg = 0, std::uint32_t aux = 0, std::uint32_t target = kNoTarget) {
    append(out_.instrs, Instr{op, arg, aux, target, 2 * start_, line_, columns_});
  }

  void walk() {
    const std::span<const std::uint8_t> bytes = code_.code;
    const auto count = static_cast<std::uint32_t>(bytes.size() / 2);
    scratch_.units.assign(std::size_t{count} + 1, kCache);
    std::uint32_t* const units = scratch_.units.data();
    const VersionTable& table = *table_;
    scratch_.jumps.clear();
    out_.instrs.reserve(minor_ >= 11 ? count / 2 + 8 : count + 8);
    for (std::uint32_t unit = 0; unit < count;) {
      start_ = unit;
      const auto here = static_cast<std::uint32_t>(out_.instrs.size());
      units[unit] = here;
      std::uint8_t opcode = bytes[2 * std::size_t{unit}];
      std::uint32_t operand = bytes[2 * std::size_t{unit} + 1];
      while (opcode == table.extended_arg) [[unlikely]] {
        if (++unit == count) {
          unit_ = start_;
          fail("the code ends behind it; an operation must follow");
        }
        units[unit] = operand == 0 ? here : here | kInside;
        opcode = bytes[2 * std::size_t{unit}];
        operand = operand << 8 | bytes[2 * std::size_t{unit} + 1];
      }
      unit_ = unit;
      line_ = lines_.at(start_);
      columns_ = lines_.columns();
      const OpcodeInfo& info = table.opcodes[opcode];
      ++unit;
      next_ = unit + info.caches;
      if (next_ > count) fail("its inline cache goes beyond the end of the code");
      if (keywords_ && info.action != Action::Drop && info.action != Action::Nop &&
          info.action != Action::Call)
        fail("KW_NAMES stands before it, and a CALL must follow that");
      translate(info, opcode, operand);
      unit = next_;
    }
    units[count] = static_cast<std::uint32_t>(out_.instrs.size());
  }

  void check(std::uint32_t operand, std::size_t count, const char* what) const {
    if (operand >= count) fail_check(operand, count, what);
  }
  [[noreturn]] void fail_check(std::uint32_t operand, std::size_t count, const char* what) const {
    fail(std::string(what) + ' ' + std::to_string(operand) + " of " + std::to_string(count));
  }
  ConstId constant(std::uint32_t operand) const {
    check(operand, code_.consts.size(), "constant");
    return code_.consts[operand];
  }
  std::uint32_t name(std::uint32_t operand) const {
    check(operand, code_.names.size(), "name");
    return code_.names[operand].index;
  }
  std::uint32_t slot(std::uint32_t operand) const {
    check(operand, minor_ >= 11 ? code_.slots.size() : code_.nlocals, "local variable");
    return operand;
  }
  std::uint32_t deref(std::uint32_t operand) const {
    check(operand, code_.deref_slots.size(), "cell or free variable");
    return code_.deref_slots[operand];
  }
  /// What LOAD_FAST or another operation on a local variable is for this one. Up to 3.10 a cell
  /// lies apart from the argument that it is made of, whose own place is empty then.
  Op fast(Op op, std::uint32_t operand) const {
    const std::uint8_t kind = code_.slots[slot(operand)].kind;
    const bool is_cell = minor_ >= 11 && (kind & (kCell | kFree)) != 0;
    return op == Op::LOAD_FAST && is_cell ? Op::LOAD_CLOSURE : op;
  }

  /// 3.13+ loads cells by LOAD_FAST. An inlined comprehension keeps its variable bare in a slot
  /// which is a cell elsewhere in the function: there a load is one of a cell only where a
  /// closure's tuple is built.
  void tell_hidden_locals() {
    std::vector<std::uint8_t> hides(code_.slots.size(), 0);
    bool any = false;
    for (const Instr& instr : out_.instrs)
      if (instr.op == Op::LOAD_FAST_AND_CLEAR && instr.arg < hides.size() &&
          (code_.slots[instr.arg].kind & kCell) != 0)
        hides[instr.arg] = any = true;
    if (!any) return;
    bool in_closure = false;
    for (std::size_t i = out_.instrs.size(); i > 0; --i) {
      Instr& instr = out_.instrs[i - 1];
      if (instr.op == Op::LOAD_CLOSURE) {
        if (!in_closure && hides[instr.arg]) instr.op = Op::LOAD_FAST;
      } else {
        in_closure =
            instr.op == Op::BUILD_TUPLE && i + 2 < out_.instrs.size() &&
            out_.instrs[i].op == Op::LOAD_CONST && out_.instrs[i + 1].op == Op::MAKE_FUNCTION &&
            out_.instrs[i + 2].op == Op::SET_FUNCTION_ATTRIBUTE && out_.instrs[i + 2].arg == 8;
      }
    }
  }
  template <std::size_t N>
  const OperatorInfo& meaning(const std::array<OperatorInfo, N>& table,
                              std::uint32_t operand) const {
    if (operand >= N || table[operand].op == Op::UNKNOWN)
      fail("operand " + std::to_string(operand) + " has no meaning there");
    return table[operand];
  }

  ConstId literal(ConstKind kind, std::int64_t integer = 0) {
    Const value;
    value.kind = kind;
    value.integer = integer;
    if (kind == ConstKind::Int && (integer < 0 || integer >= 256)) return module_.add(value);
    ConstId& known = literals_[kind == ConstKind::Int ? static_cast<std::uint32_t>(integer)
                                                      : 256 + static_cast<std::uint32_t>(kind)];
    if (!known) known = module_.add(value);
    return known;
  }

  std::uint32_t jump_target(const OpcodeInfo& info, std::uint32_t operand) const {
    std::int64_t distance = operand;
    if (const std::uint32_t step = jump_step(module_.version); step != 1) {
      if (operand % step != 0) fail("an odd jump of " + std::to_string(operand) + " bytes");
      distance /= step;
    }
    if (info.jump == JumpKind::None) fail("its table row says jump, the generated table does not");
    const std::int64_t target = depyf::jump_target(info.jump, next_, distance);
    if (target < 0 || target >= static_cast<std::int64_t>(code_.code.size() / 2)) {
      fail("a jump to offset " + std::to_string(2 * target) + " of " +
           std::to_string(code_.code.size()));
    }
    return static_cast<std::uint32_t>(target);
  }

  /// Makes the operations of one instruction; the last one after the switch.
  [[gnu::always_inline]] inline void translate(const OpcodeInfo& info, std::uint8_t opcode,
                                               std::uint32_t operand) {
    Op op = info.op;
    std::uint32_t arg = info.arg, aux = info.aux, target = kNoTarget;
    const auto become = [&](Op other, std::uint32_t its_arg, std::uint32_t its_aux = 0) {
      op = other;
      arg = its_arg;
      aux = its_aux;
    };
    switch (info.action) {
      case Action::Unknown:
        become(Op::UNKNOWN, opcode, operand);
        break;
      case Action::Drop:
        return;
      case Action::Nop:
        if (is_jump_width(columns_)) out_.behind_jumps.push_back(2 * next_);
        return;
      case Action::Fixed:
        fold_needed_ |= op == Op::END_FOR;
        break;
      case Action::Twice:
        emit(op, arg, aux);
        break;
      case Action::Operand:
        arg = operand;
        break;
      case Action::Range:
        if (operand < info.arg || operand > info.aux)
          fail("operand " + std::to_string(operand) + " is out of range");
        become(op, operand);
        break;
      case Action::Masked:
        arg &= operand;
        break;
      case Action::Const:
        arg = constant(operand).index;
        break;
      case Action::Name:
        arg = name(operand);
        break;
      case Action::Slot:
        arg = slot(operand);
        break;
      case Action::Deref:
        arg = deref(operand);
        break;
      case Action::SlotOrCell:
        become(fast(op, operand), operand);
        break;
      case Action::SlotPair:
        emit(fast(op, operand >> 4), operand >> 4);
        become(fast(static_cast<Op>(arg), operand & 15), operand & 15);
        break;
      case Action::Jump:
        target = jump_target(info, operand);
        fold_needed_ |= op == Op::SEND;
        break;
      case Action::ReturnGenerator:
        // The generator is resumed with None on the stack, which a POP_TOP after it discards.
        generator_at_ = static_cast<std::uint32_t>(out_.instrs.size());
        become(Op::LOAD_CONST, literal(ConstKind::None).index);
        fold_needed_ = true;
        break;
      case Action::SmallInt:
        become(Op::LOAD_CONST, literal(ConstKind::Int, operand).index);
        break;
      case Action::CommonConstant:
        common_constant(meaning(table_->common_constants, operand));
        return;
      case Action::LoadGlobal: {
        const bool null = (operand & 1) != 0;
        if (null && info.aux == kNullBelow) emit(Op::PUSH_NULL);
        become(Op::LOAD_GLOBAL, name(operand >> 1));
        if (!null || info.aux != kNullAbove) break;
        emit(op, arg);
        become(Op::PUSH_NULL, 0);
        break;
      }
      case Action::LoadAttr:
        become((operand & 1) != 0 ? Op::LOAD_METHOD : Op::LOAD_ATTR, name(operand >> 1),
               (operand & 1) != 0 ? aux : 0);
        break;
      case Action::LoadSuperAttr:
        become(op, name(operand >> 2), (operand & 3) | aux);
        break;
      case Action::BinaryOperator: {
        const OperatorInfo& found = meaning(table_->binary_operators, operand);
        become(found.op, found.arg);
        break;
      }
      case Action::Comparison: {
        const OperatorInfo& found = meaning(table_->comparisons, operand >> info.arg);
        become(found.op, found.arg, found.op == Op::COMPARE && (operand & info.aux) != 0 ? 1 : 0);
        break;
      }
      case Action::FormatValue:
        become(op, operand & 3, operand >> 2 & 1);
        break;
      case Action::Interpolation:
        become(op, operand >> 2, operand & 1);
        break;
      case Action::KwNames:
        become(op, constant(operand).index);
        keywords_ = true;
        break;
      case Action::Call:
        become(keywords_ ? Op::CALL_KW : Op::CALL, operand, aux);
        keywords_ = false;
        break;
      case Action::Intrinsic1: {
        const OperatorInfo& found = meaning(table_->intrinsics_1, operand);
        become(found.op, found.arg);
        if (op != Op::PRINT_EXPR && op != Op::IMPORT_STAR) break;
        emit(op, arg);
        become(Op::LOAD_CONST, literal(ConstKind::None).index);
        fold_needed_ = true;
        break;
      }
      case Action::Intrinsic2: {
        const OperatorInfo& found = meaning(table_->intrinsics_2, operand);
        become(found.op, found.arg);
        break;
      }
      case Action::GetIter:
        // Operand 0: for a loop; else how a generator or coroutine in `yield from` is treated. Both
        // push a second value (virtual iterators).
        if (operand > 3) fail("operand " + std::to_string(operand) + " is out of range");
        become(operand == 0 ? Op::GET_ITER : Op::GET_YIELD_FROM_ITER, 0, kVirtual);
        break;
      case Action::ForIter:
        target = jump_target(info, operand);
        fold_needed_ |= arg != 0;
        break;
      case Action::UnpackEx:
        become(op, operand & 255, operand >> 8);
        break;
      case Action::ImportName:
        if ((operand & 3) == 3) fail("both the lazy and the eager bit are set");
        become(op, name(operand >> 2), operand & 3);
        break;
      case Action::SpecialMethod: {
        const OperatorInfo& found = meaning(table_->special_methods, operand);
        become(found.op, found.arg);
        fold_needed_ = true;
        break;
      }
      case Action::Reraise:
        aux = operand;
        break;
      case Action::ExcMatchJump:
        emit(Op::EXC_MATCH);
        become(Op::BRANCH_FALSE, 0);
        target = jump_target(info, operand);
        break;
      case Action::ReturnConst:
        emit(Op::LOAD_CONST, constant(operand).index);
        become(Op::RETURN_VALUE, 0);
        break;
    }
    if (target != kNoTarget)
      scratch_.jumps.push_back(static_cast<std::uint32_t>(out_.instrs.size()));
    emit(op, arg, aux, target);
  }

  void common_constant(const OperatorInfo& found) {
    if (found.op != Op::LOAD_CONST) {
      emit(found.op, found.arg);
      return;
    }
    ConstId id;
    switch (static_cast<CommonConstant>(found.arg)) {
      case CommonConstant::None_:
        id = literal(ConstKind::None);
        break;
      case CommonConstant::EmptyString:
        id = literal(ConstKind::Str);
        break;
      case CommonConstant::True_:
        id = literal(ConstKind::True);
        break;
      case CommonConstant::False_:
        id = literal(ConstKind::False);
        break;
      case CommonConstant::MinusOne:
        id = literal(ConstKind::Int, -1);
        break;
      case CommonConstant::AssertionError:
      case CommonConstant::NotImplementedError:
      case CommonConstant::BuiltinTuple:
      case CommonConstant::BuiltinAll:
      case CommonConstant::BuiltinAny:
      case CommonConstant::BuiltinList:
      case CommonConstant::BuiltinSet:
      case CommonConstant::BuiltinFrozenset:
        fail("no literal");
    }
    emit(Op::LOAD_CONST, id.index);
  }

  // ------------------------------------------------------------------ exception table and targets
  [[noreturn]] void fail_table(const std::string& what) const {
    throw Error("corrupt exception table of '" + std::string(module_[code_.name]) +
                "' (CPython 3." + std::to_string(minor_) + "): " + what);
  }

  /// Rows of varints, most significant bits first (Objects/exception_handling_notes.txt).
  void read_rows() {
    const std::span<const std::uint8_t> table = code_.exceptiontable;
    const auto count = static_cast<std::uint32_t>(code_.code.size() / 2);
    const auto size = static_cast<std::uint32_t>(out_.instrs.size());
    std::size_t at = 0;
    const auto varint = [&]() -> std::uint32_t {
      std::uint64_t value = 0;
      for (;;) {
        if (at == table.size()) fail_table("it ends in the middle of a row");
        const std::uint8_t byte = table[at++];
        value = value << 6 | (byte & 63);
        if (value > UINT32_MAX) fail_table("a number of more than 32 bits");
        if ((byte & 64) == 0) return static_cast<std::uint32_t>(value);
      }
    };
    std::uint32_t last = 0;
    while (at < table.size()) {
      const std::uint32_t begin = varint(), length = varint(), target = varint(), depth = varint();
      if (begin < last || begin > count || length > count - begin)
        fail_table("rows are not in order, or go beyond the code");
      if (target >= count || (scratch_.units[target] & kInside) != 0 ||
          scratch_.units[target] >= size) {
        fail_table("a handler at offset " + std::to_string(2 * std::uint64_t{target}) +
                   ", where no instruction starts");
      }
      last = begin + length;
      // Whether such a row covers the instruction is for each version's interpreter to say.
      if (scratch_.units[begin] == kCache || scratch_.units[last] == kCache)
        fail_table("a row begins or ends inside of the caches of an instruction");
      const ExceptionRow row{instr_at(begin), instr_at(last), scratch_.units[target], depth >> 1,
                             (depth & 1) != 0};
      if (row.begin < row.end) out_.rows.push_back(row);
    }
  }

  /// The Instr of a code unit that is no cache.
  std::uint32_t instr_at(std::uint32_t unit) const { return scratch_.units[unit] & ~kInside; }

  void resolve_targets() {
    const auto size = static_cast<std::uint32_t>(out_.instrs.size());
    for (const std::uint32_t jump : scratch_.jumps) {
      Instr& instr = out_.instrs[jump];
      const std::uint32_t index = scratch_.units[instr.target];
      if ((index & kInside) != 0 || index >= size) {
        throw Error("corrupt bytecode: " + std::string(op_name(instr.op)) + " at offset " +
                    std::to_string(instr.offset) + " of '" + std::string(module_[code_.name]) +
                    "' (CPython 3." + std::to_string(minor_) + ") jumps to offset " +
                    std::to_string(2 * std::uint64_t{instr.target}) +
                    ", where no instruction starts");
      }
      instr.target = index;
    }
  }

  // ------------------------------------------------------------------ undoing what the compiler
  // adds
  bool is_none(const Instr& instr) const {
    return instr.op == Op::LOAD_CONST && module_[ConstId(instr.arg)].kind == ConstKind::None;
  }
  /// Nothing falls into instruction `i`. (Folding never makes a jump fall through, except to the
  /// very instruction it jumps to.)
  bool entered_only_by_jumps(std::uint32_t i) const {
    return i > 0 && ends_flow(out_.instrs[i - 1].op);
  }
  /// From 3.13 on a branch gets a bool from TO_BOOL or COMPARE_OP, and the compiler leaves it out
  /// of the exception table.
  bool never_raises(std::uint32_t i) const {
    const Op op = out_.instrs[i].op;
    return scratch_.removed[i] || cannot_raise(out_.instrs[i].op) ||
           (minor_ >= 13 && (op == Op::BRANCH_FALSE || op == Op::BRANCH_TRUE));
  }

  /// COPY 1; TO_BOOL; BRANCH, the first test of `(a and b) and c`: 3.14 makes a threaded jump
  /// without a handler (flowgraph.c), and then the whole test of it. bool() may raise there, so the
  /// TO_BOOL is marked.
  bool is_threaded_test(std::uint32_t i) const {
    const std::vector<Instr>& instrs = out_.instrs;
    return minor_ == 14 && i + 2 < instrs.size() && instrs[i].op == Op::COPY &&
           instrs[i].arg == 1 && instrs[i + 1].op == Op::TO_BOOL &&
           (instrs[i + 2].op == Op::BRANCH_FALSE || instrs[i + 2].op == Op::BRANCH_TRUE);
  }

  void fold() {
    std::vector<Instr>& instrs = out_.instrs;
    const auto size = static_cast<std::uint32_t>(instrs.size());
    std::vector<std::uint8_t>& refs = scratch_.refs;
    std::vector<std::uint8_t>& removed = scratch_.removed;
    refs.assign(std::size_t{size} + 1, 0);
    scratch_.boundary.assign(std::size_t{size} + 1, 0);
    removed.assign(std::size_t{size} + 1, 0);
    scratch_.exits.clear();
    for (const Instr& instr : instrs) {
      if (instr.target != kNoTarget) count_ref(instr.target);
    }
    for (const ExceptionRow& row : out_.rows) {
      count_ref(row.target);
      scratch_.boundary[row.begin] = scratch_.boundary[row.end] = 1;
    }

    if (generator_at_ != kNoTarget && generator_at_ + 1 < size &&
        instrs[generator_at_ + 1].op == Op::POP_TOP && refs[generator_at_] == 0 &&
        refs[generator_at_ + 1] == 0) {
      removed[generator_at_] = removed[generator_at_ + 1] = 1;
    }
    std::size_t row = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const Op op = instrs[i].op;
      if (op == Op::SEND) {
        while (row < out_.rows.size() && out_.rows[row].end <= i + 1) ++row;
        fold_send(i, row < out_.rows.size() ? &out_.rows[row] : nullptr);
      } else if (op == Op::FOR_ITER) {
        leave_loop(instrs[i]);
      } else if (op == Op::LOAD_SPECIAL) {
        fold_special(i);
      } else if ((op == Op::PRINT_EXPR || op == Op::IMPORT_STAR) && minor_ >= 12) {
        if (i + 2 < size && is_none(instrs[i + 1]) && instrs[i + 2].op == Op::POP_TOP &&
            refs[i + 1] == 0 && refs[i + 2] == 0) {
          removed[i + 1] = removed[i + 2] = 1;
        }
      }
    }
    drop_loop_ends();
    drop_stop_iteration_handler();
    for (const std::uint32_t jump : scratch_.exits) {
      std::uint32_t next = jump + 1;
      while (next < size && removed[next]) ++next;
      std::uint32_t target = instrs[jump].target;
      while (target < size && removed[target]) ++target;
      if (next == target) removed[jump] = 1;
    }
    remove_marked(out_, removed, scratch_.moved);
  }

  void count_ref(std::uint32_t index) {
    if (scratch_.refs[index] < 255) ++scratch_.refs[index];
  }

  /// Do exceptions of the two instructions go to one handler, with one stack?
  bool handled_alike(std::uint32_t a, std::uint32_t b) const {
    const auto row_of = [&](std::uint32_t i) -> const ExceptionRow* {
      const auto row = std::ranges::partition_point(
          out_.rows, [i](const ExceptionRow& one) { return one.end <= i; });
      return row != out_.rows.end() && row->begin <= i ? &*row : nullptr;
    };
    const ExceptionRow *x = row_of(a), *y = row_of(b);
    if (!x || !y) return x == y;
    return x->target == y->target && x->depth == y->depth && x->lasti == y->lasti;
  }

  /// SEND, YIELD_VALUE, jump back is `await` or `yield from` as the compiler writes it, from 3.12
  /// on with a handler (CLEANUP_THROW) for the YIELD_VALUE and an END_SEND where the loop ends.
  /// `row` is the exception table's row at YIELD_VALUE, if there is one.
  void fold_send(std::uint32_t i, const ExceptionRow* row) {
    std::vector<Instr>& instrs = out_.instrs;
    const auto size = static_cast<std::uint32_t>(instrs.size());
    std::vector<std::uint8_t>& refs = scratch_.refs;
    std::vector<std::uint8_t>& removed = scratch_.removed;
    if (i == 0 || i + 2 >= size || !is_none(instrs[i - 1]) || instrs[i + 1].op != Op::YIELD_VALUE ||
        instrs[i + 2].op != Op::JUMP || instrs[i + 2].target != i || refs[i] != 1 ||
        refs[i + 1] != 0 || refs[i + 2] != 0) {
      return;
    }
    const std::uint32_t end = instrs[i].target;
    std::uint32_t null = kNoTarget;
    if (minor_ >= 15) {
      if (i < 2) return;
      if (instrs[i - 2].op == Op::PUSH_NULL) {
        if (refs[i - 2] != 0 || refs[i - 1] != 0) return;
        null = i - 2;
      } else if (instrs[i - 2].op != Op::GET_YIELD_FROM_ITER || refs[i - 1] != 0) {
        return;
      }
    }
    std::uint32_t out = end;
    if (minor_ >= 12) {
      if (instrs[end].op != Op::END_SEND || end + 1 >= size) return;
      if (row == nullptr || row->begin != i + 1 || row->end != i + 2 || row->lasti) return;
      const std::uint32_t handler = row->target;
      if (!handled_alike(i, handler)) return;
      if (instrs[handler].op != Op::CLEANUP_THROW || refs[handler] != 1 || handler + 1 >= size ||
          !entered_only_by_jumps(handler))
        return;
      const bool falls = handler + 1 == end;
      if (!falls && (instrs[handler + 1].op != Op::JUMP || instrs[handler + 1].target != end ||
                     refs[handler + 1] != 0))
        return;
      if (refs[end] != (falls ? 1 : 2) || (!falls && !entered_only_by_jumps(end))) return;
      removed[handler] = removed[end] = 1;
      if (!falls) removed[handler + 1] = 1;
      out = end + 1;
      count_ref(out);
    }
    if (null != kNoTarget) removed[null] = 1;
    if (minor_ >= 15 && null == kNoTarget) instrs[i - 2].aux = 0;
    instrs[i].op = Op::YIELD_FROM;
    instrs[i].aux = 0;
    instrs[i].target = kNoTarget;
    removed[i + 1] = 1;
    instrs[i + 2].target = out;
    scratch_.exits.push_back(i + 2);
  }

  /// An exhausted loop goes on after END_FOR and what pops the iterator: FOR_ITER's own form does
  /// both.
  void leave_loop(Instr& loop) {
    const std::uint32_t skipped = loop.arg;
    if (skipped == 0) return;
    const std::vector<Instr>& instrs = out_.instrs;
    const std::uint32_t end = loop.target;
    bool regular = std::uint64_t{end} + skipped < instrs.size() && instrs[end].op == Op::END_FOR;
    for (std::uint32_t i = 1; regular && i < skipped; ++i)
      regular = instrs[end + i].op == Op::POP_TOP;
    if (!regular) {
      throw Error("FOR_ITER at offset " + std::to_string(loop.offset) + " of '" +
                  std::string(module_[code_.name]) + "' (CPython 3." + std::to_string(minor_) +
                  ") leaves to offset " + std::to_string(instrs[end].offset) +
                  ", where no END_FOR with what pops the iterator stands");
    }
    loop.arg = 0;
    if (scratch_.refs[end] < 255) --scratch_.refs[end];
    loop.target = end + skipped;
    count_ref(loop.target);
  }

  void drop_loop_ends() {
    const std::vector<Instr>& instrs = out_.instrs;
    const auto size = static_cast<std::uint32_t>(instrs.size());
    for (std::uint32_t i = 1; i < size; ++i) {
      if (instrs[i].op != Op::END_FOR || scratch_.refs[i] != 0 || !entered_only_by_jumps(i))
        continue;
      const std::uint32_t pops = minor_ >= 15 ? 2 : minor_ >= 13 ? 1 : 0;
      bool alone = std::uint64_t{i} + pops < size;
      for (std::uint32_t k = 1; alone && k <= pops; ++k)
        alone = instrs[i + k].op == Op::POP_TOP && scratch_.refs[i + k] == 0;
      if (!alone) continue;
      for (std::uint32_t k = 0; k <= pops; ++k) scratch_.removed[i + k] = 1;
    }
  }

  /// 3.14+: `with` loads its two methods by COPY 1, LOAD_SPECIAL exit, SWAP 2, SWAP 3, LOAD_SPECIAL
  /// enter, CALL 0. `i`: the first LOAD_SPECIAL.
  void fold_special(std::uint32_t i) {
    std::vector<Instr>& instrs = out_.instrs;
    if (i == 0 || std::uint64_t{i} + 4 >= instrs.size()) return;
    const Instr* at = &instrs[i - 1];
    const auto method = [](const Instr& instr, SpecialMethod which) {
      return instr.op == Op::LOAD_SPECIAL && instr.arg == static_cast<std::uint32_t>(which);
    };
    const bool plain = method(at[1], SpecialMethod::Exit) && method(at[4], SpecialMethod::Enter);
    const bool async = method(at[1], SpecialMethod::AExit) && method(at[4], SpecialMethod::AEnter);
    if (!(plain || async) || at[0].op != Op::COPY || at[0].arg != 1 || at[2].op != Op::SWAP ||
        at[2].arg != 2 || at[3].op != Op::SWAP || at[3].arg != 3 || at[5].op != Op::CALL ||
        at[5].arg != 0) {
      return;
    }
    for (std::uint32_t k = i; k < i + 5; ++k) {
      if (scratch_.refs[k] != 0 || scratch_.boundary[k] != 0) return;
    }
    instrs[i - 1].op = plain ? Op::WITH_ENTER : Op::ASYNC_WITH_ENTER;
    instrs[i - 1].arg = 0;
    instrs[i - 1].aux = 2;
    for (std::uint32_t k = i; k < i + 5; ++k) scratch_.removed[k] = 1;
  }

  /// 3.12+: the body of a generator or coroutine lies in one handler that turns StopIteration into
  /// RuntimeError. The function's kind says as much, so its rows go. Only as the compiler writes
  /// it: over everything that can raise, outermost, at the end.
  void drop_stop_iteration_handler() {
    if (minor_ < 12 || out_.rows.empty() ||
        (code_.flags & (kGenerator | kCoroutine | kAsyncGenerator)) == 0)
      return;
    const std::vector<Instr>& instrs = out_.instrs;
    const auto size = static_cast<std::uint32_t>(instrs.size());
    if (size < 3) return;
    const std::uint32_t handler = size - 2;
    if (instrs[handler].op != Op::INTRINSIC_1 ||
        instrs[handler].arg != static_cast<std::uint32_t>(Intrinsic1::StopIterationError) ||
        instrs[handler + 1].op != Op::RERAISE || instrs[handler + 1].aux != 1 ||
        !ends_flow(instrs[handler - 1].op) || scratch_.refs[handler + 1] != 0) {
      return;
    }
    // 3.15's generator expressions make their iterator (two stack values; one of `async for`)
    // before they become a generator.
    const bool started = minor_ >= 15 && generator_at_ != kNoTarget && generator_at_ > 0;
    const Op maker = started ? instrs[generator_at_ - 1].op : Op::UNKNOWN;
    const std::uint32_t depth = maker == Op::GET_ITER ? 2 : maker == Op::GET_AITER ? 1 : 0;
    std::uint32_t rows = 0, covered = generator_at_ == kNoTarget ? 0 : generator_at_ + 2;
    std::vector<std::uint32_t> threaded;
    for (const ExceptionRow& row : out_.rows) {
      if (row.begin > covered) {
        for (std::uint32_t i = covered; i < row.begin; ++i) {
          if (i + 2 < row.begin && is_threaded_test(i))
            threaded.push_back(++i);
          else if (!never_raises(i))
            return;
        }
      }
      covered = row.end;
      if (row.target != handler) continue;
      if (row.depth != depth || !row.lasti) return;
      ++rows;
    }
    if (covered > handler || rows == 0 ||
        (scratch_.refs[handler] != 255 && scratch_.refs[handler] != rows))
      return;
    for (std::uint32_t i = covered; i < handler; ++i) {
      if (!never_raises(i)) return;
    }
    for (const std::uint32_t i : threaded) out_.instrs[i].aux = 1;
    std::erase_if(out_.rows, [&](const ExceptionRow& row) { return row.target == handler; });
    scratch_.removed[handler] = scratch_.removed[handler + 1] = 1;
  }

  /// Drops empty rows and joins neighbours with the same handler, also over a branch that never
  /// raises and is in no row (3.13+), and over a test that was threaded (3.14).
  void join_rows() {
    std::vector<ExceptionRow>& rows = out_.rows;
    const auto branches_only = [&](std::uint32_t from, std::uint32_t to) {
      for (; from < to; ++from) {
        if (from + 2 < to && is_threaded_test(from)) from += 2;
        const Op op = out_.instrs[from].op;
        if (op != Op::BRANCH_FALSE && op != Op::BRANCH_TRUE && op != Op::JUMP) return false;
      }
      return true;
    };
    const auto mark_tests = [&](std::uint32_t from, std::uint32_t to) {
      for (; from < to; ++from)
        if (out_.instrs[from].op == Op::TO_BOOL) out_.instrs[from].aux = 1;
    };
    std::size_t used = 0;
    for (const ExceptionRow row : rows) {
      if (row.begin == row.end) continue;
      if (used > 0) {
        ExceptionRow& before = rows[used - 1];
        if (before.target == row.target && before.depth == row.depth && before.lasti == row.lasti &&
            (before.end == row.begin || (minor_ >= 13 && branches_only(before.end, row.begin)))) {
          mark_tests(before.end, row.begin);
          before.end = row.end;
          continue;
        }
      }
      rows[used++] = row;
    }
    rows.resize(used);
  }

  Module& module_;
  const CodeObject& code_;
  const std::uint8_t minor_;
  const VersionTable* table_;
  Scratch& scratch_ = thread_scratch;
  LineCursor lines_;
  InstrList out_;
  std::uint32_t start_ = 0, unit_ = 0,
                next_ =
                    0;  // of the current instruction: first prefix, opcode, what follows its caches
  std::int32_t line_ = 0;
  std::uint32_t columns_ = 0;
  bool keywords_ = false;  // KW_NAMES waits for its CALL
  bool fold_needed_ = false;
  std::uint32_t generator_at_ = kNoTarget;
  FlatMap<ConstId> literals_;  // by the integer, or 256 + kind
};

}  // namespace

void remove_marked(InstrList& list, const std::vector<std::uint8_t>& removed,
                   std::vector<std::uint32_t>& moved) {
  std::vector<Instr>& instrs = list.instrs;
  const auto size = static_cast<std::uint32_t>(instrs.size());
  moved.resize(std::size_t{size} + 1);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    moved[i] = kept;
    if (!removed[i]) {
      if (kept != i) instrs[kept] = instrs[i];
      ++kept;
    }
  }
  moved[size] = kept;
  if (kept == size) return;
  instrs.resize(kept);
  for (Instr& instr : instrs) {
    if (instr.target != kNoTarget) instr.target = moved[instr.target];
  }
  for (ExceptionRow& row : list.rows)
    row = {moved[row.begin], moved[row.end], moved[row.target], row.depth, row.lasti};
}

InstrList decode(Module& module, CodeId code) { return Decoder(module, code).run(); }

}  // namespace depyf
