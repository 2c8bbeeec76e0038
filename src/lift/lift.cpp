#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "bytecode/effect.h"
#include "flow/dominators.h"
#include "lift/lifted.h"
#include "lift/ways.h"
#include "opcode/op_set.h"
#include "support/append.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {
namespace {

// Bounds on memory against hostile input; compilers stay far below both.
constexpr std::size_t kResultsPerInstr = 16, kResultsFree = 4096,
                      kSlotBudget = std::size_t{1} << 25;
constexpr unsigned kOptimisticRounds = 3;
constexpr std::size_t kHighest = 0x3FFF;  // Value::height
constexpr std::size_t kHeldBudget = std::size_t{1} << 25;

/// What is nothing but an operation, with as many operands as it pops and no result or one: nearly
/// all there is.
// clang-format off: rows of macros
#define PLAIN_OPERATIONS(OP) \
  OP(LOAD_CONST) OP(LOAD_COMMON) OP(LOAD_BUILD_CLASS) OP(LOAD_FAST) OP(LOAD_FAST_AND_CLEAR) \
  OP(LOAD_DEREF) OP(LOAD_CLOSURE) OP(LOAD_GLOBAL) OP(LOAD_NAME) OP(LOAD_LOCALS) \
  OP(LOAD_FROM_DICT_OR_GLOBALS) OP(STORE_FAST) OP(STORE_DEREF) OP(STORE_GLOBAL) OP(STORE_NAME) \
  OP(DELETE_FAST) OP(DELETE_DEREF) OP(DELETE_GLOBAL) OP(DELETE_NAME) OP(LOAD_ATTR) \
  OP(STORE_ATTR) OP(DELETE_ATTR) OP(LOAD_SUBSCR) OP(STORE_SUBSCR) OP(DELETE_SUBSCR) \
  OP(LOAD_SLICE) OP(STORE_SLICE) OP(BINARY) OP(INPLACE) OP(IS) OP(CONTAINS) \
  OP(LIST_TO_TUPLE) OP(CONVERT) OP(BUILD_TEMPLATE) OP(GET_ITER) OP(GET_YIELD_FROM_ITER) \
  OP(GET_AITER) OP(GET_AWAITABLE) OP(YIELD_VALUE) OP(YIELD_FROM) OP(IMPORT_NAME) OP(IMPORT_STAR) \
  OP(PREP_RERAISE_STAR) OP(SETUP_ANNOTATIONS) OP(PRINT_EXPR)
// clang-format on
#define OP(name) Op::name,
constexpr OpSet kPlainOperations{PLAIN_OPERATIONS(OP)};
#undef OP
constexpr OpSet kBuildsCollection{
    Op::BUILD_LIST,        Op::BUILD_SET,        Op::BUILD_MAP,       Op::BUILD_CONST_KEY_MAP,
    Op::BUILD_LIST_UNPACK, Op::BUILD_SET_UNPACK, Op::BUILD_MAP_UNPACK};
constexpr OpSet kGrowsCollection{Op::LIST_APPEND, Op::SET_ADD,     Op::MAP_ADD,   Op::LIST_EXTEND,
                                 Op::SET_UPDATE,  Op::DICT_UPDATE, Op::DICT_MERGE};

constexpr OpSet kFreesNothing{Op::LOAD_CONST,
                              Op::LOAD_COMMON,
                              Op::LOAD_FAST,
                              Op::LOAD_FAST_AND_CLEAR,
                              Op::STORE_FAST,
                              Op::DELETE_FAST,
                              Op::LOAD_CLOSURE,
                              Op::BUILD_TUPLE,
                              Op::BUILD_LIST,
                              Op::BUILD_SLICE,
                              Op::LIST_APPEND,
                              Op::LIST_TO_TUPLE,
                              Op::IS,
                              Op::POP_TOP,
                              Op::POP_EXCEPT,
                              Op::MAKE_FUNCTION,
                              Op::PUSH_NULL,
                              Op::COPY,
                              Op::SWAP,
                              Op::ROT,
                              Op::SET_FUNCTION_ATTRIBUTE};

[[noreturn]] void fail(std::uint32_t offset, std::string_view op, const std::string& what) {
  throw Error("lift: at offset " + std::to_string(offset) + " (" + std::string(op) + "): " + what);
}
/// Lifts one code object after the other: what it allocates for one serves the next.
class Lifter {
 public:
  Lifted run(Module& module, CodeId code, const Cfg& cfg, bool held) {
    module_ = &module;
    code_ = code;
    cfg_ = &cfg;
    keeps_held_ = held;
    none_const_ = ConstId::none();
    forced_.clear();
    build_order();
    for (unsigned round = 0;; ++round) {
      pessimistic_ = round >= kOptimisticRounds;
      interpret();
      if (settle_back_edges()) break;
    }
    if (has_params_) remove_trivial_parameters(out_, ways_, order_);
    take_normal_forms(out_, ways_, to_normalise_, null_);
    if (has_conflicts_) drop_conflicts(out_, ways_, cfg);
    if (has_params_)
      compress_edges(out_);
    else
      for (LiftedBlock& lifted : out_.blocks)
        lifted.edges[0].args = lifted.edges[1].args = lifted.handler_args = {};
    return std::move(out_);
  }

 private:
  Module* module_ = nullptr;
  CodeId code_;
  const Cfg* cfg_ = nullptr;
  Lifted out_;

  Graph graph_;
  std::vector<std::uint32_t> order_;
  Ways ways_;
  std::vector<RegionId> handler_region_;  // by block: a region whose handler it is

  std::vector<std::uint64_t> forced_;  // sorted (block << 32 | slot): slots that need a parameter
  bool pessimistic_ = false;
  bool keeps_held_ = false;
  bool has_params_ = false;
  std::size_t results_ = 0, slots_ = 0;
  std::vector<ValueId> to_normalise_;
  std::vector<std::uint32_t>
      headers_;  // blocks that were interpreted before one that leads to them
  bool has_conflicts_ = false;

  std::uint32_t made_ = 0;  // so many values
  std::size_t room_ = 0;    // for so many, here and in aliased_
  SmallVector<ValueId, 64> stack_;
  std::vector<std::uint8_t> aliased_;  // by value: copied on the stack, or an operand of something
                                       // other than its next version
  ValueId null_;
  bool with_has_null_ = false;  // a `with` keeps a NULL above the exit function
  ConstId none_const_;

  // The block being interpreted.
  BlockId block_;
  LiftedBlock* current_ = nullptr;
  SmallVector<ValueId, 64> body_;
  const Instr* instr_ = nullptr;
  bool rotated_ = false;  // since the last operation
  std::uint32_t protected_depth_ = 0;
  bool below_touched_ = false;
  std::vector<ValueId> handler_view_;
  bool handler_view_set_ = false;

  LiftedBlock& block() { return *current_; }
  [[noreturn]] void fail_here(const std::string& what) const {
    fail(instr_->offset, op_name(instr_->op), what);
  }

  // ---------------------------------------------------------------- order and edges

  void build_order() {
    const std::uint32_t n = cfg_->size();
    if (!cfg_->entry.valid() || cfg_->entry.index >= n)
      throw Error("lift: the graph has no entry block");
    graph_.edges.clear();
    graph_.offsets.assign(1, 0);
    handler_region_.assign(n, RegionId::none());
    if (const Block& first = cfg_->blocks[0];
        n == 1 && !first.next.valid() && !first.target.valid() && !first.region.valid()) {
      ways_.first.assign(2, 0);
      order_.assign(1, 0);
      return;
    }
    for (std::uint32_t i = 0; i < cfg_->regions.size(); ++i) {
      const Region& region = cfg_->regions[i];
      RegionId& at = handler_region_.at(region.handler.index);
      if (at.valid()) {
        const Region& other = (*cfg_)[at];
        if (other.depth != region.depth || other.lasti != region.lasti ||
            other.entry != region.entry)
          throw UnusualCode("lift: block " + std::to_string(region.handler.index) +
                            " handles two regions that disagree on the stack depth");
      } else {
        at = RegionId(i);
      }
    }
    auto each_edge = [&](std::uint32_t b, auto&& visit) {
      const Block& block = cfg_->blocks[b];
      auto [first, second] = edges_of(block);
      if (first.valid()) visit(first.index, std::uint8_t{0});
      if (second.valid()) visit(second.index, std::uint8_t{1});
      if (block.region.valid()) visit((*cfg_)[block.region].handler.index, kExceptional);
    };
    ways_.first.assign(n + 1, 0);
    for (std::uint32_t b = 0; b < n; ++b) {
      each_edge(b, [&](std::uint32_t to, std::uint8_t) {
        graph_.edges.push_back(to);
        ++ways_.first[to + 1];
      });
      graph_.offsets.push_back(static_cast<std::uint32_t>(graph_.edges.size()));
    }
    for (std::uint32_t b = 0; b < n; ++b) ways_.first[b + 1] += ways_.first[b];
    ways_.list.resize(graph_.edges.size());
    std::vector<std::uint32_t> fill(ways_.first.begin(), ways_.first.end() - 1);
    for (std::uint32_t b = 0; b < n; ++b)
      each_edge(b,
                [&](std::uint32_t to, std::uint8_t edge) { ways_.list[fill[to]++] = {b, edge}; });
    if (n == 1)
      order_.assign(1, 0);
    else
      order_ = reverse_postorder(graph_, cfg_->entry.index);
  }

  /// The two successors in the order of LiftedBlock::edges, which for a conditional is {true,
  /// false}, not {fall-through, target}.
  std::pair<BlockId, BlockId> edges_of(const Block& block) const {
    if (block.end > block.first) {
      const Op op = cfg_->instrs[block.end - 1].op;
      if (op == Op::BRANCH_TRUE || op == Op::BRANCH_NONE || op == Op::BRANCH_TRUE_OR_POP)
        return {block.target, block.next};
      if (op == Op::RERAISE) return {};
    }
    return {block.next, block.target};
  }

  // ---------------------------------------------------------------- values

  /// The NULL of a call belongs to what is called; that of a `with` (3.14+) is a slot of its own.
  bool ends_with_null_of_call() const {
    if (stack_.empty() || stack_.back() != null_) return false;
    if (!with_has_null_ || stack_.size() < 2 || !stack_[stack_.size() - 2]) return true;
    const Value& below = out_.values[stack_[stack_.size() - 2].index];
    if (below.kind != ValueKind::Result) return true;
    const Op op = out_.values[below.operands[0].index].op;
    return op != Op::WITH_ENTER && op != Op::ASYNC_WITH_ENTER;
  }

  ValueId add_value(ValueKind kind, Op op, std::uint32_t arg = 0, std::uint32_t aux = 0,
                    std::span<ValueId> operands = {}) {
    if (made_ == room_) [[unlikely]]
      make_room(made_ + made_ / 2);
    const std::size_t height = stack_.size() - (ends_with_null_of_call() ? 1 : 0);
    Value& value = append(out_.values);
    value.kind = kind;
    value.op = op;
    value.height = static_cast<std::uint16_t>(std::min(height, kHighest));
    value.arg = arg;
    value.aux = aux;
    value.block = block_;
    if (instr_) {
      value.offset = instr_->offset;
      value.line = instr_->line;
      value.columns = instr_->columns;
    }
    value.rotated = rotated_;
    value.operands = operands;
    return ValueId(made_++);
  }
  /// Out of line, so that what adds a value stays small.
  [[gnu::noinline]] void make_room(std::size_t values) {
    out_.values.reserve(values);
    aliased_.resize(values);
    room_ = values;
  }

  ValueId emit(Op op, std::uint32_t arg, std::uint32_t aux, std::span<ValueId> operands) {
    ValueId id = add_value(ValueKind::Operation, op, arg, aux, operands);
    body_.push_back(id);
    rotated_ = false;
    if (keeps_held_) [[unlikely]]
      note_held_at(id);
    return id;
  }

  /// Out of line, so that what emits an operation stays small.
  [[gnu::noinline]] void note_held_at(ValueId id) {
    if (!may_free(out_[id].op)) return;
    if (out_.held.size() <= id.index) out_.held.resize(id.index + 1);
    note_held(out_.held[id.index]);
  }

  void note_held(std::vector<ValueId>& list) {
    if (out_.held_room < stack_.size())
      throw Error("lift: the stack is too deep to say what it holds at each operation");
    out_.held_room -= stack_.size();
    list.assign(stack_.begin(), stack_.end());
  }

  ValueId result(ValueId of, std::uint32_t index) {
    if (++results_ > kResultsFree + kResultsPerInstr * cfg_->instrs.size())
      fail_here("more results than the code could ever use; the code object is damaged");
    return add_value(ValueKind::Result, out_[of].op, index, 0,
                     out_.arena.copy(std::span<const ValueId>(&of, 1)));
  }

  void need(std::size_t n) const {
    if (stack_.size() < n) [[unlikely]]
      fail_underflow(n);
  }
  [[noreturn]] void fail_underflow(std::size_t n) const {
    fail_here("needs " + std::to_string(n) + " values on the stack, which holds " +
              std::to_string(stack_.size()) +
              "; the code object is damaged or its stack effects are unknown");
  }

  void note_depth(std::size_t index) {
    if (index < protected_depth_) below_touched_ = true;
  }

  void push(ValueId id) { stack_.push_back(id); }

  ValueId pop() {
    need(1);
    ValueId id = stack_.back();
    stack_.pop_back();
    note_depth(stack_.size());
    return id;
  }

  void drop(std::size_t n) {
    need(n);
    stack_.pop_back(n);
    note_depth(stack_.size());
  }

  ValueId peek(std::size_t n) const {
    if (n == 0) fail_here("an operand of 0 counts no stack slot");
    need(n);
    return stack_[stack_.size() - n];
  }

  [[gnu::always_inline]] inline std::span<ValueId> take(std::size_t n) {
    if (n == 0) return {};
    need(n);
    const std::size_t first = stack_.size() - n;
    const std::span<ValueId> operands = out_.arena.array<ValueId>(n);
    const ValueId* const from = stack_.data() + first;
    std::uint8_t* const aliased = aliased_.data();
    for (std::size_t i = 0; i < n; ++i) {
      operands[i] = from[i];
      aliased[from[i].index] = true;
    }
    stack_.pop_back(n);
    note_depth(first);
    return operands;
  }

  std::span<ValueId> operands(std::initializer_list<ValueId> list) {
    for (ValueId id : list) aliased_[id.index] = true;
    return out_.arena.copy(std::span<const ValueId>(list.begin(), list.size()));
  }

  // ---------------------------------------------------------------- interpretation

  void interpret() {
    out_ = Lifted();
    out_.code = code_;
    out_.regions = cfg_->regions;
    out_.entry = cfg_->entry;
    out_.traits = cfg_->traits;
    out_.loops = cfg_->loops;
    out_.elses = cfg_->elses;
    out_.behind_jumps = cfg_->behind_jumps;
    out_.ends_in_compound = cfg_->ends_in_compound;
    out_.hides_signals = cfg_->hides_signals;
    out_.blocks.resize(cfg_->size());
    if (keeps_held_) {
      out_.held_at_end.resize(cfg_->size());
      out_.held_room = kHeldBudget;
    }
    aliased_.clear();
    made_ = 0;
    make_room(cfg_->instrs.size() + 8);
    has_params_ = false;
    to_normalise_.clear();
    headers_.clear();
    has_conflicts_ = false;
    results_ = slots_ = 0;
    ways_.done.assign(cfg_->size(), false);
    ways_.can_raise.assign(cfg_->size(), false);
    block_ = cfg_->entry;
    instr_ = nullptr;
    stack_.clear();  // its ids are of the round before, whose values are gone
    rotated_ = false;
    with_has_null_ = false;
    null_ = add_value(ValueKind::Null, Op::PUSH_NULL);
    aliased_[null_.index] = true;
    for (std::uint32_t b : order_) {
      block_ = BlockId(b);
      current_ = &out_.blocks[b];
      interpret_block();
      ways_.done[b] = true;
    }
  }

  bool is_forced(std::uint32_t b, std::uint32_t slot) const {
    return std::binary_search(forced_.begin(), forced_.end(), (std::uint64_t{b} << 32) | slot);
  }

  void enter_block() {
    const std::uint32_t b = block_.index;
    std::span<const Predecessor> incoming(ways_.list.data() + ways_.first[b],
                                          ways_.list.data() + ways_.first[b + 1]);
    instr_ = cfg_->blocks[b].first < cfg_->blocks[b].end ? &cfg_->instrs[cfg_->blocks[b].first]
                                                         : nullptr;
    RegionId handles = handler_region_[b];
    stack_.clear();
    rotated_ = false;
    bool exceptional = false, normal = b == cfg_->entry.index, back = false, raising = false;
    std::size_t depth = 0;
    bool depth_known = normal;
    for (const Predecessor& in : incoming) {
      (in.edge == kExceptional ? exceptional : normal) = true;
      if (!ways_.done[in.from]) {
        back = true;
        continue;
      }
      if (in.edge == kExceptional && ways_.can_raise[in.from]) raising = true;
      std::size_t size = arguments(out_, in).size();
      if (depth_known && size != depth)
        throw Error("lift: at offset " + std::to_string(first_offset(*cfg_, b)) +
                    ": the stack is " + std::to_string(depth) + " deep on one way here and " +
                    std::to_string(size) + " on another; the code object is damaged");
      depth = size;
      depth_known = true;
    }
    if (exceptional && normal)
      throw UnusualCode("lift: at offset " + std::to_string(first_offset(*cfg_, b)) +
                        ": an exception handler is also entered by a jump; no compiler makes that");
    if (back) headers_.push_back(b);
    slots_ += depth;
    if (slots_ > kSlotBudget)
      throw Error("lift: the stack is too deep over too many blocks; the code object is damaged");
    stack_.resize(depth);
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      ValueId common;
      bool differ = (back && pessimistic_) || (!forced_.empty() && is_forced(b, slot));
      for (const Predecessor& in : incoming) {
        if (differ) break;
        if (!ways_.done[in.from] ||
            (in.edge == kExceptional && raising && !ways_.can_raise[in.from]))
          continue;
        ValueId value = arguments(out_, in)[slot];
        if (value == kConflict || (common.valid() && value != common)) differ = true;
        common = value;
      }
      if (differ) {
        common = add_value(ValueKind::Param, Op::UNKNOWN, slot);
        block().params.push_back(common);
        has_params_ = true;
      }
      stack_[slot] = common;
    }
    if (exceptional) {
      const Region& region = (*cfg_)[handles];
      if (region.entry == HandlerEntry::Exception) {
        if (region.lasti) push(add_value(ValueKind::Lasti, Op::UNKNOWN));
        push(add_value(ValueKind::Exception, Op::UNKNOWN));
      } else {
        for (std::uint32_t i = 0; i < 3; ++i) push(add_value(ValueKind::Previous, Op::UNKNOWN, i));
        push(add_value(ValueKind::Traceback, Op::UNKNOWN));
        push(add_value(ValueKind::Exception, Op::UNKNOWN));
        push(add_value(ValueKind::ExceptionType, Op::UNKNOWN));
      }
    }
    block().stack_in.assign(stack_.begin(), stack_.end());
  }

  /// What the handler would find below its depth if the next instruction raised.
  void record_handler_view() {
    ways_.can_raise[block_.index] = true;
    if (handler_view_set_ && !below_touched_) return;
    // A call takes what it calls and the arguments off the stack, also where it raises. Torch's
    // block around a call begins above them.
    const std::size_t taken = instr_->op == Op::CALL ? std::size_t{instr_->arg} + 1 : 0;
    const std::size_t left = taken < stack_.size() ? stack_.size() - taken : 0;
    for (std::uint32_t slot = 0; slot < protected_depth_; ++slot) {
      ValueId now = slot < left ? stack_[slot] : slot < stack_.size() ? null_ : kConflict;
      if (!handler_view_set_)
        handler_view_[slot] = now;
      else if (handler_view_[slot] != now)
        handler_view_[slot] = kConflict;
    }
    handler_view_set_ = true;
    below_touched_ = false;
  }

  void interpret_block() {
    enter_block();
    const Block& source = (*cfg_)[block_];
    LiftedBlock& lifted = block();
    lifted.region = source.region;
    lifted.takes_signals = !cfg_->traits.signals_at_jumps || jumps_back(*cfg_, source);
    lifted.signal_region = source.region_at_end;
    protected_depth_ = source.region.valid() ? (*cfg_)[source.region].depth : 0;
    if (source.region.valid() && protected_depth_ > stack_.size() + (source.end - source.first))
      throw Error("lift: at offset " + std::to_string(first_offset(*cfg_, block_.index)) +
                  ": the handler wants a stack of " + std::to_string(protected_depth_) +
                  ", but the protected code has " + std::to_string(stack_.size()));
    handler_view_.assign(protected_depth_, kConflict);
    handler_view_set_ = false;
    below_touched_ = false;
    if (source.region.valid()) {
      slots_ += protected_depth_;
      // A block that cannot raise still tells its entry state, for a handler which nothing else
      // reaches.
      for (std::uint32_t slot = 0; slot < protected_depth_; ++slot)
        handler_view_[slot] = slot < stack_.size() ? stack_[slot] : kConflict;
    }
    body_.clear();
    bool ended = false;
    const bool is_protected = source.region.valid();
    const Instr* const instrs = cfg_->instrs.data();
    for (std::uint32_t i = source.first, end = source.end; i < end; ++i) {
      instr_ = instrs + i;
      if (is_protected && !cannot_raise(instr_->op)) record_handler_view();
      if (!kPlainOperations[instr_->op]) {
        ended = step(i + 1 == end);
        continue;
      }
      const FixedEffect& effect = kFixedEffects[static_cast<std::uint8_t>(instr_->op)];
      const ValueId id = emit(instr_->op, instr_->arg, instr_->aux, take(effect.pops));
      if (effect.pushes != 0) push(id);
    }
    lifted.body.resize(body_.size());  // and not assign(), which goes one by one
    std::copy(body_.begin(), body_.end(), lifted.body.begin());
    if (source.region.valid()) {
      block().handler_args = out_.arena.copy(handler_view_);
      has_conflicts_ |=
          std::find(handler_view_.begin(), handler_view_.end(), kConflict) != handler_view_.end();
    }
    if (!ended) {
      if (!source.next.valid()) {
        if (instr_) fail_here("control falls off the end of the code");
        throw Error("lift: an empty block without a successor");
      }
      leave(TermKind::Jump);
      set_edge(0, source.next);
    }
  }

  void leave(TermKind kind) {
    LiftedBlock& lifted = block();
    lifted.term = kind;
    lifted.term_offset = instr_ ? instr_->offset : 0;
    lifted.term_line = instr_ ? instr_->line : 0;
    lifted.term_columns = instr_ ? instr_->columns : 0;
    if (keeps_held_ && kind != TermKind::Jump && kind != TermKind::Return)
      note_held(out_.held_at_end[block_.index]);
  }

  void set_edge(unsigned index, BlockId to) {
    if (!to.valid()) fail_here("a successor is missing");
    slots_ += stack_.size();
    if (slots_ > kSlotBudget)
      fail_here("the stack is too deep over too many blocks; the code object is damaged");
    block().edges[index] = {to, out_.arena.copy(stack_)};
  }

  ConstId none_const() {
    if (!none_const_.valid()) {
      for (ConstId id : (*module_)[code_].consts)
        if ((*module_)[id].kind == ConstKind::None) return none_const_ = id;
      none_const_ = module_->add(Const{});
    }
    return none_const_;
  }

  /// POP_TOP of a value; the operation before it may have stored it.
  void mark_dropped(ValueId top) {
    // One after the region is made by unwinding, or is in a copy of `finally`.
    Value& value = out_[top];
    value.dropped |= value.block.valid() && (*cfg_)[value.block].region == (*cfg_)[block_].region;
    if (body_.empty()) return;
    Value& store = out_[body_.back()];
    if (is_name_store(store.op) && store.operands[0] == top) store.aux = kThenDropped;
  }

  void results_op(std::span<ValueId> list, std::uint64_t n) {
    ValueId id = emit(instr_->op, instr_->arg, instr_->aux, list);
    for (std::uint64_t i = 0; i < n; ++i) push(result(id, static_cast<std::uint32_t>(i)));
  }

  void push_pair(ValueId value, bool null_below) {
    if (null_below) push(null_);
    push(value);
    if (!null_below) push(null_);
  }

  /// BUILD_* or a next version: an object that only its stack slot refers to, as far as aliased_
  /// says.
  bool is_fresh_collection(ValueId id) const {
    const Value& value = out_[id];
    if (value.kind != ValueKind::Operation || aliased_[id.index]) return false;
    return kBuildsCollection[value.op] ||
           (kGrowsCollection[value.op] && (value.aux & kInPlace) == 0);
  }

  void grow_collection(std::size_t items) {
    need(items);
    std::span<ValueId> list = out_.arena.array<ValueId>(items + 1);
    for (std::size_t i = items; i > 0; --i) {
      list[i] = pop();
      aliased_[list[i].index] = true;
    }
    std::uint32_t aux = instr_->aux;
    list[0] = peek(instr_->arg);
    if (is_fresh_collection(list[0])) {
      if (instr_->op == Op::MAP_ADD && aux == 1) {  // 3.7 has the value below the key
        std::swap(list[1], list[2]);
        aux = 0;
      }
      std::size_t slot = stack_.size() - instr_->arg;
      ValueId version = emit(instr_->op, 0, aux, list);
      stack_[slot] = version;
      note_depth(slot);
    } else {
      aliased_[list[0].index] = true;
      emit(instr_->op, 0, aux | kInPlace, list);
    }
  }

  void set_function_attribute() {
    ValueId function = pop(), attribute = pop();
    Value& made = out_[function];
    const std::uint32_t flag = instr_->arg;
    aliased_[attribute.index] = true;
    // Damaged code may have any number as a flag, and one for each attribute that it does not have.
    const auto at = static_cast<std::size_t>(std::popcount(made.arg & (flag - 1)));
    if (made.kind == ValueKind::Operation && made.op == Op::MAKE_FUNCTION &&
        !aliased_[function.index] && !body_.empty() && body_.back() == function &&
        (made.arg & flag) == 0 && std::has_single_bit(flag) && at < made.operands.size()) {
      // Nothing happened since the function was made and nobody else has it: the same function made
      // with the attribute.
      std::span<ValueId> list = out_.arena.array<ValueId>(made.operands.size() + 1);
      std::copy_n(made.operands.begin(), at, list.begin());
      list[at] = attribute;
      std::copy(made.operands.begin() + static_cast<std::ptrdiff_t>(at), made.operands.end(),
                list.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      made.operands = list;
      made.arg |= flag;
      push(function);
    } else {
      push(emit(instr_->op, instr_->arg, instr_->aux, operands({attribute, function})));
    }
  }

  /// A branch or `not` calls bool() by itself (3.13+): the TO_BOOL or COMPARE right before it,
  /// whose value nothing else has, need not.
  void leave_bool_to_test() {
    if (body_.empty() || stack_.size() <= protected_depth_) return;
    const ValueId tested = stack_.back();
    if (body_.back() != tested || aliased_[tested.index]) return;
    Value& value = out_[tested];
    if (value.op == Op::TO_BOOL && value.aux == 0) {
      stack_.back() = value.operands[0];
      value.operands = {};
      body_.pop_back();
    } else if (value.op == Op::COMPARE) {
      value.aux = 0;
    }
  }

  /// ≤ 3.10 has the type on top of the exception.
  ValueId exception_on_top() const {
    ValueId top = peek(1);
    return out_[top].kind == ValueKind::ExceptionType && stack_.size() >= 2 ? peek(2) : top;
  }

  void control_must_be_last(bool last) const {
    if (!last) fail_here("a control instruction inside a block");
  }

  /// Interprets *instr_, which is none of kPlainOperations. True when it ended the block.
  [[gnu::noinline]] bool step(bool last) {
    const Instr& in = *instr_;
    const Block& source = (*cfg_)[block_];
    const std::uint64_t n = in.arg;
    // Of what is nothing but an operation: its operands, and whether it has one result or none.
    std::size_t takes = 0;
    bool has_result = true;
    switch (in.op) {
      case Op::POP_TOP:
        // Throwing the exception away tells an `except` without a name from a `finally`.
        // Dropping an iterator tells code after a loop, reached by `break`, from code inside that
        // leaves the function.
        if (!stack_.empty()) {
          const Value& top = out_[stack_.back()];
          const bool iterator = top.kind == ValueKind::Operation &&
                                (top.op == Op::GET_ITER || top.op == Op::GET_AITER);
          if (iterator || top.kind == ValueKind::Exception)
            emit(in.op, 0, 0, operands({stack_.back()}));
          else
            mark_dropped(stack_.back());
        }
        drop(1);
        return false;
      case Op::COPY: {
        ValueId id = peek(n);
        aliased_[id.index] = true;
        push(id);
        return false;
      }
      case Op::SWAP: {
        peek(n);
        note_depth(stack_.size() - n);
        std::swap(stack_.back(), stack_[stack_.size() - n]);
        rotated_ = true;
        return false;
      }
      case Op::ROT: {
        peek(n);
        note_depth(stack_.size() - n);
        std::rotate(stack_.end() - n, stack_.end() - 1, stack_.end());
        rotated_ = true;
        return false;
      }
      case Op::PUSH_NULL:
        push(null_);
        return false;
      case Op::END_FOR:
        drop(n);
        return false;

#define OP(name) case Op::name:
        PLAIN_OPERATIONS(OP)
#undef OP
        break;  // they do not come here

      case Op::LOAD_CLASSDEREF:
        takes = in.aux == 1 ? 1 : 0;
        break;
      case Op::LOAD_METHOD: {
        std::span<ValueId> list = take(1);
        push_pair(emit(in.op, in.arg, 0, list), in.aux != kNullAbove);
        return false;
      }
      case Op::LOAD_SUPER_ATTR: {
        std::span<ValueId> list = take(3);
        ValueId id = emit(in.op, in.arg, in.aux & 2, list);
        if (in.aux & 1)
          push_pair(id, (in.aux & 4) == 0);
        else
          push(id);
        return false;
      }
      case Op::LOAD_SPECIAL: {
        std::span<ValueId> list = take(1);
        push_pair(emit(in.op, in.arg, in.aux, list), false);
        return false;
      }
      case Op::UNARY:
        if (in.arg == static_cast<std::uint32_t>(UnaryOp::Not)) leave_bool_to_test();
        takes = 1;
        break;
      case Op::TO_BOOL:
        takes = 1;
        break;
      case Op::COMPARE:
        takes = 2;
        break;
      case Op::BUILD_TUPLE:
      case Op::BUILD_LIST:
      case Op::BUILD_SET:
      case Op::BUILD_STRING:
      case Op::BUILD_SLICE:
      case Op::BUILD_TUPLE_UNPACK:
      case Op::BUILD_LIST_UNPACK:
      case Op::BUILD_SET_UNPACK:
      case Op::BUILD_MAP_UNPACK:
        takes = n;
        break;
      case Op::BUILD_MAP:
        takes = 2 * n;
        break;
      case Op::BUILD_CONST_KEY_MAP:
        takes = n + 1;
        break;
      case Op::LIST_APPEND:
      case Op::SET_ADD:
      case Op::LIST_EXTEND:
      case Op::SET_UPDATE:
      case Op::DICT_UPDATE:
      case Op::DICT_MERGE:
        grow_collection(1);
        return false;
      case Op::MAP_ADD:
        grow_collection(2);
        return false;
      case Op::FORMAT:
        takes = in.aux == 1 ? 2 : 1;
        break;
      case Op::BUILD_INTERPOLATION:
        takes = in.aux == 1 ? 3 : 2;
        break;

      // NULLs are stripped in normalise(), when parameters that always are NULL are known.
      case Op::CALL:
        takes = n + (in.aux == kPlain ? 1 : 2);
        normalise_later();
        break;
      case Op::CALL_KW:
        takes = n + (in.aux == kPlain ? 2 : 3);
        normalise_later();
        break;
      case Op::CALL_EX:
        takes = (in.aux == kPlain ? 2 : 3) + (n & 1);
        normalise_later();
        break;
      case Op::MAKE_FUNCTION:
        takes = 1 + (in.aux == 1);
        for (std::uint32_t bit = 1; bit <= 16; bit <<= 1) takes += (in.arg & bit) != 0;
        break;
      case Op::SET_FUNCTION_ATTRIBUTE:
        need(2);
        set_function_attribute();
        return false;
      case Op::INTRINSIC_1: {
        std::span<ValueId> list = take(1);
        switch (static_cast<Intrinsic1>(in.arg)) {
          case Intrinsic1::ListToTuple:
            push(emit(Op::LIST_TO_TUPLE, 0, 0, list));
            return false;
          case Intrinsic1::UnaryPositive:
            push(emit(Op::UNARY, static_cast<std::uint32_t>(UnaryOp::Plus), 0, list));
            return false;
          case Intrinsic1::Print:
          case Intrinsic1::ImportStar:
          case Intrinsic1::StopIterationError:
          case Intrinsic1::AsyncGenWrap:
          case Intrinsic1::TypeVar:
          case Intrinsic1::ParamSpec:
          case Intrinsic1::TypeVarTuple:
          case Intrinsic1::SubscriptGeneric:
          case Intrinsic1::TypeAlias:
            break;
        }
        push(emit(in.op, in.arg, in.aux, list));
        return false;
      }
      case Op::INTRINSIC_2: {
        std::span<ValueId> list = take(2);
        if (static_cast<Intrinsic2>(in.arg) == Intrinsic2::PrepReraiseStar)
          push(emit(Op::PREP_RERAISE_STAR, 0, 0, list));
        else
          push(emit(in.op, in.arg, in.aux, list));
        return false;
      }

      case Op::GET_ANEXT:
      case Op::GET_LEN:
      case Op::MATCH_MAPPING:
      case Op::MATCH_SEQUENCE:
      case Op::IMPORT_FROM:
        push(emit(in.op, in.arg, in.aux, operands({peek(1)})));
        return false;
      case Op::END_SEND: {
        ValueId top = pop();
        drop(1);
        push(top);
        return false;
      }
      case Op::CLEANUP_THROW:
        results_op(take(3), 2);
        return false;
      case Op::END_ASYNC_FOR: {
        need(n);
        if (n < 2) fail_here("it pops the iterator and the exception, at least two values");
        emit(in.op, 0, 0, operands({peek(n), exception_on_top()}));
        drop(n);
        return false;
      }
      case Op::UNPACK_SEQUENCE:
        results_op(take(1), n);
        return false;
      case Op::UNPACK_EX:
        results_op(take(1), n + in.aux + 1);
        return false;

      case Op::WITH_ENTER:
      case Op::ASYNC_WITH_ENTER: {
        std::span<ValueId> list = take(1);
        ValueId id = emit(in.op, in.arg, 0, list);
        push(result(id, 0));
        with_has_null_ = in.aux == 2;
        if (with_has_null_) push(null_);
        push(result(id, 1));
        return false;
      }
      case Op::WITH_EXCEPT_START:
        push(emit(in.op, 0, 0, operands({peek(n), exception_on_top()})));
        return false;

      case Op::PUSH_EXC_INFO: {
        ValueId exception = pop();
        push(add_value(ValueKind::Previous, Op::UNKNOWN));
        push(exception);
        return false;
      }
      case Op::POP_EXCEPT:
        drop(n);
        emit(in.op, 0, 0, {});
        return false;
      case Op::EXC_MATCH:
        takes = 2;
        normalise_later();
        break;
      case Op::CHECK_EXC_MATCH: {
        ValueId type = pop();
        normalise_later();
        push(emit(Op::EXC_MATCH, 0, 0, operands({peek(1), type})));
        return false;
      }
      case Op::CHECK_EG_MATCH:
        results_op(take(2), 2);
        return false;

      case Op::MATCH_KEYS: {
        std::span<ValueId> list = operands({peek(2), peek(1)});
        if (in.aux == 1)
          results_op(list, 2);
        else
          push(emit(in.op, in.arg, in.aux, list));
        return false;
      }
      case Op::MATCH_CLASS:
        if (in.aux != 1) {
          takes = 3;
          break;
        }
        results_op(take(3), 2);
        return false;
      case Op::COPY_DICT_WITHOUT_KEYS: {
        std::span<ValueId> list = operands({peek(2), peek(1)});
        ValueId rest = emit(in.op, in.arg, in.aux, list);
        drop(1);
        push(rest);
        return false;
      }

      case Op::JUMP:
        control_must_be_last(last);
        leave(TermKind::Jump);
        if (cfg_->traits.source_order) block().jump = static_cast<JumpRole>(in.aux);
        set_edge(0, source.next.valid() ? source.next : source.target);
        return true;
      case Op::BRANCH_FALSE:
      case Op::BRANCH_TRUE: {
        control_must_be_last(last);
        leave_bool_to_test();
        branch(pop(), in.op == Op::BRANCH_TRUE);
        return true;
      }
      case Op::BRANCH_NONE:
      case Op::BRANCH_NOT_NONE: {
        control_must_be_last(last);
        ValueId none = emit(Op::LOAD_CONST, none_const().index, 0, {});
        ValueId tested = pop();
        ValueId test = emit(Op::IS, 0, kNoneBranch, operands({tested, none}));
        branch(test, in.op == Op::BRANCH_NONE);
        return true;
      }
      case Op::BRANCH_FALSE_OR_POP:
      case Op::BRANCH_TRUE_OR_POP: {
        control_must_be_last(last);
        const bool when = in.op == Op::BRANCH_TRUE_OR_POP;
        ValueId tested = peek(1);
        leave(TermKind::Branch);
        block().value = tested;
        aliased_[tested.index] = true;
        set_edge(when ? 0 : 1, source.target);
        drop(1);
        set_edge(when ? 1 : 0, source.next);
        block().falls = when ? 1 : 0;
        return true;
      }
      case Op::FOR_ITER: {
        control_must_be_last(last);
        ValueId iterator = peek(1);
        aliased_[iterator.index] = true;
        leave(TermKind::ForIter);
        ValueId item = add_value(ValueKind::Result, Op::FOR_ITER, 0, 0, operands({iterator}));
        block().value = iterator;
        block().item = item;
        push(item);
        set_edge(0, source.next);
        drop(2);
        set_edge(1, source.target);
        return true;
      }
      case Op::SEND: {
        control_must_be_last(last);
        ValueId sent = pop();
        ValueId id = emit(in.op, 0, 0, operands({peek(1), sent}));
        leave(TermKind::Send);
        block().value = id;
        block().item = id;
        push(id);
        set_edge(0, source.next);
        if (in.aux == 1) {  // the finished iterator is popped from below the result
          drop(2);
          push(id);
        }
        set_edge(1, source.target);
        return true;
      }
      case Op::RETURN_VALUE:
        control_must_be_last(last);
        if ((*cfg_)[block_].next.valid()) {
          takes = 1;
          has_result = false;
          break;
        }
        leave(TermKind::Return);
        block().value = pop();
        return true;
      case Op::RAISE:
        control_must_be_last(last);
        if (n > 2) fail_here("RAISE takes at most two operands");
        if ((*cfg_)[block_].next.valid()) {
          takes = n;
          has_result = false;
          break;
        }
        leave(TermKind::Raise);
        block().raise_args = take(n);
        return true;
      case Op::RERAISE:
        control_must_be_last(last);
        if (n == 0) fail_here("RERAISE without an exception");
        need(n);
        leave(TermKind::Reraise);
        block().value = exception_on_top();
        drop(n);
        return true;

      case Op::SETUP_FINALLY:
      case Op::SETUP_WITH:
      case Op::SETUP_LOOP:
      case Op::POP_BLOCK:
      case Op::BREAK_LOOP:
      case Op::CONTINUE_LOOP:
      case Op::BEGIN_FINALLY:
      case Op::CALL_FINALLY:
      case Op::POP_FINALLY:
      case Op::END_FINALLY:
      case Op::WITH_CLEANUP_START:
      case Op::WITH_CLEANUP_FINISH:
        fail_here("a block-stack operation that the control-flow graph should have resolved");
      case Op::UNKNOWN:
        fail_here("no operation of this Python version has the opcode " + std::to_string(in.arg));
    }
    const ValueId id = emit(in.op, in.arg, in.aux, take(takes));
    if (has_result) push(id);
    return false;
  }

  void branch(ValueId tested, bool when) {
    const Block& source = (*cfg_)[block_];
    leave(TermKind::Branch);
    block().value = tested;
    aliased_[tested.index] = true;
    set_edge(when ? 0 : 1, source.target);
    set_edge(when ? 1 : 0, source.next);
    block().falls = when != turned(source) ? 1 : 0;
  }

  /// Is the test of this block the other one in the source, where it jumps back?
  bool turned(const Block& source) const {
    if (!cfg_->traits.turns_tests) return false;
    const Block& next = (*cfg_)[source.next];
    const Instr &test = cfg_->instrs[source.end - 1], &jump = cfg_->instrs[next.first];
    return next.end == next.first + 1 && jump.op == Op::JUMP && jump.line == test.line &&
           jump.columns == test.columns &&
           cfg_->instrs[(*cfg_)[next.next.valid() ? next.next : next.target].first].offset <=
               test.offset;
  }

  /// The operation that is made next has a normal form.
  void normalise_later() { to_normalise_.push_back(ValueId(made_)); }

  // ---------------------------------------------------------------- parameters

  /// Loop headers were entered with the values of the first way in. Where a later edge brings
  /// another one, the slot needs a parameter: false, and the code is interpreted again.
  bool settle_back_edges() {
    if (pessimistic_) return true;
    std::size_t before = forced_.size();
    for (std::uint32_t b : headers_) {
      const std::vector<ValueId>& stack = out_.blocks[b].stack_in;
      bool raising = false;
      for (std::uint32_t k = ways_.first[b]; k < ways_.first[b + 1]; ++k)
        raising |= ways_.list[k].edge == kExceptional && ways_.can_raise[ways_.list[k].from];
      for (std::uint32_t k = ways_.first[b]; k < ways_.first[b + 1]; ++k) {
        const Predecessor& in = ways_.list[k];
        if (!ways_.done[in.from]) continue;
        if (in.edge == kExceptional && raising && !ways_.can_raise[in.from]) continue;
        std::span<ValueId> args = arguments(out_, in);
        std::size_t depth = in.edge == kExceptional ? args.size() : stack.size();
        if (args.size() != depth)
          throw Error("lift: at offset " + std::to_string(first_offset(*cfg_, b)) +
                      ": the stack is " + std::to_string(depth) + " deep on one way here and " +
                      std::to_string(args.size()) + " on another; the code object is damaged");
        for (std::uint32_t slot = 0; slot < depth; ++slot) {
          ValueId here = stack[slot];
          bool own_param = out_[here].kind == ValueKind::Param && out_[here].block.index == b;
          if (!own_param && args[slot] != here) forced_.push_back((std::uint64_t{b} << 32) | slot);
        }
      }
    }
    if (forced_.size() == before) return true;
    std::sort(forced_.begin(), forced_.end());
    forced_.erase(std::unique(forced_.begin(), forced_.end()), forced_.end());
    return false;
  }
};

}  // namespace

std::uint32_t first_offset(const Cfg& cfg, std::uint32_t b) {
  const Block& block = cfg.blocks[b];
  return block.first < cfg.instrs.size() ? cfg.instrs[block.first].offset : 0;
}

bool may_free(Op op) { return !kFreesNothing[op]; }

Lifted lift(Module& module, CodeId code, const Cfg& cfg, bool held) {
  thread_local const std::unique_ptr<Lifter> lifter = std::make_unique<Lifter>();
  Lifted lifted = lifter->run(module, code, cfg, held);
#ifndef NDEBUG
  check(lifted);
#endif
  return lifted;
}

}  // namespace depyf
