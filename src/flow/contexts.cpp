// The block stack of CPython ≤ 3.10, resolved. Facts: Python/ceval.c (fast_block_end, POP_BLOCK,
// END_FINALLY, WITH_CLEANUP_*, CALL_FINALLY, POP_FINALLY, UNWIND_BLOCK, UNWIND_EXCEPT_HANDLER) and
// Python/compile.c (compiler_unwind_fblock) of 3.7 to 3.10.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "bytecode/effect.h"
#include "flow/block_survey.h"
#include "flow/steps.h"
#include "support/error.h"

namespace depyf {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
/// A successor that is a state (see below) and not yet a step.
constexpr std::uint32_t kStateBit = 0x80000000u;
/// CO_MAXBLOCKS of Include/cpython/frameobject.h: the interpreter aborts beyond.
constexpr std::uint32_t kMaxBlocks = 20;
constexpr std::uint64_t kDeepest = 0x1000000;  // of the stack
/// What lies on the block stack, or what the interpreter keeps on the value stack to remember how a
/// `finally` body was entered.
enum class Entered : std::uint8_t {
  Loop,  // 3.7: SETUP_LOOP; target = end of the loop
  Try,   // SETUP_FINALLY, SETUP_WITH: every way out passes the handler (3.7), exceptions go there
  TryExcept,  // 3.7: SETUP_EXCEPT: only exceptions go there
  Handler,    // EXCEPT_HANDLER: at `level` lie the three saved values, above them the exception
  Normally,   // `finally` body, entered by falling into it
  ByCall,     // 3.8: by CALL_FINALLY; target = where to go on
  ByReturn,   // 3.7: by the RETURN_VALUE at `target`; the value lies on the stack
  ByBreak,    // 3.7: by the BREAK_LOOP at `target`
  ByContinue  // 3.7: by the CONTINUE_LOOP at `target`
};

struct Context {
  Entered kind;
  std::uint32_t parent;  // kNone: the bottom
  std::uint32_t target;  // instruction index
  std::uint32_t level;   // stack depth when it was entered
  std::uint32_t region;  // innermost StepRegion here
  std::uint32_t blocks;  // real blocks in the chain
  std::uint32_t length;
  /// How many stack values lie below what the interpreter keeps there: the saved exception of a
  /// handler, how a `finally` body was entered.
  std::uint32_t floor;
  /// WITH_CLEANUP_START has called the exit function. Beside the result the interpreter keeps the
  /// exception on the stack, which only WITH_CLEANUP_FINISH takes away; that one is not in the
  /// graph.
  bool called = false;
  bool operator==(const Context& other) const {
    return kind == other.kind && parent == other.parent && target == other.target &&
           level == other.level && floor == other.floor && called == other.called;
  }
};

struct ContextHash {
  std::size_t operator()(const Context& context) const {
    std::uint64_t hash = static_cast<std::uint64_t>(context.kind);
    for (std::uint64_t part : {context.parent, context.target, context.level, context.floor})
      hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(hash ^ (hash >> 29));
  }
};

/// One instruction under one context.
struct State {
  std::uint32_t index, context, depth;
  std::uint32_t first = kNone;    // first step; kNone until walked, or when the state emits nothing
  std::uint32_t forward = kNone;  // the state that stands for one without steps
};

class Expansion : BlockSurvey {
 public:
  Expansion(const Module& module, CodeId code, const InstrList& list, bool unreached)
      : BlockSurvey(module, code, list), unreached_(unreached) {
    inline_state_.assign(list.instrs.size(), kNone);
    states_.reserve(list.instrs.size() / 2 + 8);
    out_.steps.reserve(list.instrs.size() / 2 + 8);
    budget_ = 64 * list.instrs.size() + 20000;
    out_.made.reserve(list.instrs.size());
  }

  Steps run() {
    const std::uint32_t entry = state(0, kNone, 0, 0);
    walk_all();
    if (unreached_ && minor_ <= 8) {
      go_on_behind_raises();
      go_on_behind_handlers();
    }
    return finish(entry);
  }

 private:
  std::uint32_t push(std::uint32_t parent, Entered kind, std::uint32_t target, std::uint32_t level,
                     const Instr& instr) {
    return push(parent, kind, target, level, instr, floor_of(parent, kind, level));
  }
  std::uint32_t floor_of(std::uint32_t parent, Entered kind, std::uint32_t level) const {
    switch (kind) {
      case Entered::Handler:
        return level + 3;
      case Entered::ByReturn:
        return level + 1;
      case Entered::Normally:
      case Entered::ByCall:
      case Entered::ByBreak:
      case Entered::ByContinue:
        return level;
      case Entered::Loop:
      case Entered::Try:
      case Entered::TryExcept:
        break;
    }
    return floor(parent);
  }
  std::uint32_t push(std::uint32_t parent, Entered kind, std::uint32_t target, std::uint32_t level,
                     const Instr& instr, std::uint32_t floor, bool called = false) {
    Context context{kind, parent, target, level, kNone, 0, 1, floor, called};
    if (parent != kNone) {
      context.region = contexts_[parent].region;
      context.blocks = contexts_[parent].blocks;
      context.length = contexts_[parent].length + 1;
    }
    if (kind <= Entered::Handler && ++context.blocks > kMaxBlocks + (kind == Entered::Handler))
      fail(instr, "nests more than 20 blocks, which no interpreter runs");
    if (context.length > 400) fail(instr, "enters `finally` bodies without end");
    if (auto found = context_ids_.find(context); found != context_ids_.end()) return found->second;
    const auto id = static_cast<std::uint32_t>(contexts_.size());
    if (kind == Entered::Try || kind == Entered::TryExcept) {
      StepRegion region;
      region.parent = context.region;
      region.depth = level;
      region.entry = HandlerEntry::Six;
      if (minor_ <= 8 && instr.op == Op::SETUP_FINALLY) {
        region.setup = instr.offset;
        const Op first = target < list_.instrs.size() ? list_.instrs[target].op : Op::UNKNOWN;
        region.cleanup =
            minor_ <= 7 ? kind == Entered::Try : first != Op::POP_TOP && first != Op::COPY;
        region.after = behind_statement(target);
      }
      std::uint32_t end = clauses_end(target);
      if (end == kNone && minor_ <= 9 && target < list_.instrs.size() &&
          list_.instrs[target].op != Op::COPY)
        end = handler_end(target);
      if (end < list_.instrs.size()) region.end = list_.instrs[end].offset;
      context.region = static_cast<std::uint32_t>(out_.regions.size());
      out_.regions.push_back(region);
    }
    contexts_.push_back(context);
    context_ids_.emplace(context, id);
    if (kind == Entered::Try || kind == Entered::TryExcept) {
      const std::uint32_t handler = push(parent, Entered::Handler, kNone, level, instr);
      const std::uint32_t region = contexts_[id].region;
      out_.regions[region].handler = state(target, handler, level + 6, instr.offset) | kStateBit;
    }
    return id;
  }

  std::uint32_t parent(std::uint32_t context) const { return contexts_[context].parent; }
  bool is(std::uint32_t context, Entered kind) const {
    return context != kNone && contexts_[context].kind == kind;
  }
  std::uint32_t region(std::uint32_t context) const {
    return context == kNone ? kNone : contexts_[context].region;
  }
  std::uint32_t floor(std::uint32_t context) const {
    return context == kNone ? 0 : contexts_[context].floor;
  }

  /// `instr` does not find on the stack what the interpreter put there.
  void misplaced(const Instr& instr) { out_.misplaced = std::min(out_.misplaced, instr.offset); }
  /// `return` in a handler: the value goes below what POP_EXCEPT takes next.
  bool leaves_with_value(const Instr& instr) const {
    const std::vector<Instr>& instrs = list_.instrs;
    std::size_t next = static_cast<std::size_t>(&instr - instrs.data()) + 1;
    while (next < instrs.size() && instrs[next].op == Op::POP_BLOCK) ++next;
    return instr.op == Op::ROT && instr.arg == 4 && next < instrs.size() &&
           instrs[next].op == Op::POP_EXCEPT;
  }
  /// It takes `pops` of `depth` values.
  void look_below(const Instr& instr, std::uint64_t pops, std::uint64_t depth) {
    if (depth - pops < floor(context_) && instr.op != Op::WITH_EXCEPT_START &&
        !leaves_with_value(instr)) [[unlikely]]
      misplaced(instr);
  }
  /// What ends a `finally` body, or calls the exit function of a `with`, finds `above` values above
  /// those that were there when it began.
  void need_above(const Instr& instr, std::uint32_t above, bool called = false) {
    const Context& context = contexts_[context_];
    if (depth_ != context.level + above || context.called != called) misplaced(instr);
  }

  /// The state of (index, context); made and queued when it is not there yet.
  std::uint32_t state(std::uint32_t index, std::uint32_t context, std::uint32_t depth,
                      std::uint32_t offset) {
    if (index >= list_.instrs.size()) {
      Instr instr;
      instr.offset = offset;
      fail(instr, "lets control fall off the end of the code");
    }
    std::uint32_t* slot = nullptr;
    if (inline_state_[index] == kNone || states_[inline_state_[index]].context == context)
      slot = &inline_state_[index];
    else
      slot = &more_states_.try_emplace((static_cast<std::uint64_t>(index) << 32) | context, kNone)
                  .first->second;
    if (*slot != kNone) {
      if (states_[*slot].depth != depth)
        fail(list_.instrs[index], "is reached with stack depths " +
                                      std::to_string(states_[*slot].depth) + " and " +
                                      std::to_string(depth));
      return *slot;
    }
    spend(list_.instrs[index]);
    *slot = static_cast<std::uint32_t>(states_.size());
    states_.push_back({index, context, depth});
    work_.push_back(*slot);
    return *slot;
  }

  std::uint32_t find_state(std::uint32_t index, std::uint32_t context) const {
    const std::uint32_t first = inline_state_[index];
    if (first == kNone || states_[first].context == context) return first;
    const auto found = more_states_.find((static_cast<std::uint64_t>(index) << 32) | context);
    return found == more_states_.end() ? kNone : found->second;
  }

  // --- emission of the current state's steps
  void emit(Op op, std::uint32_t arg = 0, std::uint32_t aux = 0) {
    Instr instr = *here_;
    instr.op = op;
    instr.arg = arg;
    instr.aux = aux;
    emit(instr);
  }
  void emit(const Instr& instr) {
    take_effect(instr);
    out_.made.push_back(instr);
    out_.made.back().target = kNoTarget;
    add_step(1);
  }
  /// What `instr` does to the stack.
  void take_effect(const Instr& instr) {
    const StackEffect effect = stack_effect(instr);
    if (effect.pops > depth_ || depth_ + std::max(effect.pushes, effect.target_pushes) > kDeepest)
        [[unlikely]]
      fail_depth(*here_, depth_, effect.pops);
    depth_ = static_cast<std::uint32_t>(depth_ - effect.pops + effect.pushes);
    spend(*here_);
  }
  /// A step of the last `count` instructions that were made.
  void add_step(std::size_t count) {
    const auto id = static_cast<std::uint32_t>(out_.steps.size());
    const auto end = static_cast<std::uint32_t>(out_.made.size());
    if (last_ != kNone) out_.steps[last_].next = id;
    out_.steps.push_back(
        {end - static_cast<std::uint32_t>(count), end, kNone, kNone, region(context_)});
    if (states_[current_].first == kNone) states_[current_].first = id;
    last_ = id;
  }
  void spend(const Instr& instr, std::size_t count = 1) {
    if (budget_ < count) [[unlikely]]
      fail_blow_up(instr);
    budget_ -= count;
  }
  [[noreturn]] void fail_depth(const Instr& instr, std::uint64_t depth, std::uint64_t pops) const {
    if (pops > depth)
      fail(instr,
           "needs " + std::to_string(pops) + " stack values, there are " + std::to_string(depth));
    fail(instr, "makes the stack deeper than 16 million values");
  }
  /// The interpreter copies nothing, and runs such code. What was walked until here is sound.
  [[noreturn]] void fail_blow_up(const Instr& instr) const {
    throw UnusualCode(place_of(instr) +
                      " is copied too often: `finally` bodies nest too deep to be expanded");
  }
  /// Control goes on at `index` under the current context.
  void go(std::uint32_t index) {
    const std::uint32_t to = state(index, context_, depth_, here_->offset);
    if (last_ != kNone)
      out_.steps[last_].next = to | kStateBit;
    else
      states_[current_].forward = to;
  }
  void jump(std::uint32_t index, JumpRole kind) {
    emit(Op::JUMP, 0, static_cast<std::uint32_t>(kind));
    go(index);
  }
  void drop_to(std::uint32_t level) {
    if (depth_ < level) fail(*here_, "finds fewer stack values than its block started with");
    while (depth_ > level) emit(Op::POP_TOP);
  }
  /// Drops what lies between `level` and the top value.
  void drop_below_top(std::uint32_t level) {
    if (depth_ < level + 1) fail(*here_, "finds fewer stack values than its block started with");
    if (depth_ == level + 4) {
      emit(Op::ROT, 4);
      drop_to(level + 1);
    }
    while (depth_ > level + 1) {
      emit(Op::SWAP, 2);
      emit(Op::POP_TOP);
    }
  }
  void leave_handler(bool keep_top) {
    const std::uint32_t level = contexts_[context_].level;
    if (keep_top) {
      drop_below_top(level + 3);
      emit(Op::ROT, 4);
    } else {
      drop_to(level + 3);
    }
    emit(Op::POP_EXCEPT, 3);
    context_ = parent(context_);
  }
  std::uint32_t none_const() {
    if (none_ != kNone) return none_;
    for (ConstId id : module_[code_].consts)
      if (module_[id].kind == ConstKind::None) return none_ = id.index;
    for (std::uint32_t i = 0; i < module_.consts.size(); ++i)
      if (module_.consts[i].kind == ConstKind::None) return none_ = i;
    return kNone;
  }
  void emit_none() {
    if (const std::uint32_t id = none_const(); id != kNone)
      emit(Op::LOAD_CONST, id);
    else
      emit(Op::LOAD_COMMON, static_cast<std::uint32_t>(CommonConstant::None_));
  }

  // --- 3.7: the ways out of a block that pass through `finally` bodies (fast_block_end)
  /// Behind a `finally` body: what led into it goes on, where it stands.
  void go_on(const Context& context) {
    context_ = context.parent;
    origin_ = context.target;
    here_ = &list_.instrs[origin_];
  }
  void unwind_return() {
    while (context_ != kNone) {
      const Context context = contexts_[context_];
      switch (context.kind) {
        case Entered::Handler:
          leave_handler(true);
          continue;
        case Entered::Try: {
          context_ = context.parent;
          drop_below_top(context.level);
          context_ = push(context_, Entered::ByReturn, origin_, context.level, *here_);
          go(context.target);
          return;
        }
        case Entered::Loop:
        case Entered::TryExcept:
        case Entered::Normally:
        case Entered::ByCall:
        case Entered::ByReturn:
        case Entered::ByBreak:
        case Entered::ByContinue:
          context_ = context.parent;
          continue;
      }
    }
    emit(Op::RETURN_VALUE);
  }
  /// `break`, or `continue`: `as` says which, as the way into a `finally` body on the way out.
  void unwind_loop(Entered as) {
    bool left_over = false;  // how a `finally` body was entered lies on the stack still
    while (context_ != kNone) {
      const Context context = contexts_[context_];
      switch (context.kind) {
        case Entered::Loop:
          if (as == Entered::ByContinue) {
            if (left_over) misplaced(*here_);
            jump(list_.instrs[origin_].target, JumpRole::Continue);
            return;
          }
          context_ = context.parent;
          drop_to(context.level);
          jump(context.target, JumpRole::Break);
          return;
        case Entered::Handler:
          leave_handler(false);
          continue;
        case Entered::Try:
          context_ = context.parent;
          drop_to(context.level);
          context_ = push(context_, as, origin_, context.level, *here_);
          go(context.target);
          return;
        case Entered::TryExcept:
          context_ = context.parent;
          drop_to(context.level);
          left_over = false;
          continue;
        case Entered::Normally:
        case Entered::ByCall:
        case Entered::ByReturn:
        case Entered::ByBreak:
        case Entered::ByContinue:
          context_ = context.parent;
          left_over = true;
          continue;
      }
    }
    fail(*here_, "is outside of a loop");
  }

  /// 3.8's `return`, `break` or `continue` in a `finally` body goes on under one context whichever
  /// way the body was entered. Its tail stays with each copy of the body, as in 3.9, up to the
  /// first instruction that needs more than that.
  void leave_finally(std::uint32_t index) {
    leave_finally_body(list_.instrs[index++]);
    for (std::uint32_t count = 0; count < kFinallyTail && index < list_.instrs.size();
         ++count, ++index) {
      const Instr& instr = list_.instrs[index];
      here_ = &instr;
      if (instr.op == Op::POP_FINALLY) {  // of the body around that one
        leave_finally_body(instr);
        count = 0;
        continue;
      }
      if (instr.op != Op::RETURN_VALUE && !acts_on_values_alone(instr.op)) break;
      emit(instr);
      if (instr.op == Op::RETURN_VALUE) return;
    }
    go(index);
  }

  void leave_finally_body(const Instr& instr) {
    const Entered top = context_ == kNone ? Entered::Loop : contexts_[context_].kind;
    const bool by_handler = top == Entered::Handler;
    if (!by_handler && top != Entered::Normally && top != Entered::ByCall)
      fail(instr, "is outside of a `finally` body");
    need_above(instr, (by_handler ? 6 : 0) + (instr.arg != 0));
    if (by_handler)
      leave_handler(instr.arg != 0);
    else
      context_ = parent(context_);
  }

  /// `try: pass`, or `break` or `continue` instead: protected code that is none. What ends it
  /// stands at `index`.
  void keep_empty_body(std::uint32_t index) {
    if (!unreached_ || index == 0 || list_.instrs[index - 1].op != Op::SETUP_FINALLY) return;
    emit(Op::JUMP);
    out_.unreached = true;
  }

  void walk_all() {
    while (!work_.empty()) {
      const std::uint32_t id = work_.back();
      work_.pop_back();
      walk(id);
    }
  }

  /// Code right after a `raise` that nothing reaches was written there, and stands in the same
  /// statements.
  void go_on_behind_raises() {
    while (!raises_.empty()) {
      const std::uint32_t index = raises_.begin()->first;
      const std::vector<Raised> ways = std::move(raises_.begin()->second);
      raises_.erase(raises_.begin());
      if (index + 1 >= list_.instrs.size() || inline_state_[index + 1] != kNone) continue;
      out_.unreached = true;
      for (const Raised& way : ways)
        out_.steps[way.step].next =
            state(index + 1, way.context, way.depth, list_.instrs[index].offset) | kStateBit;
      walk_all();
    }
  }

  /// Is there a statement at `index` that nothing reaches, other than the `return` that ends a
  /// function?
  bool unreached_statement(std::uint32_t index) const {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    static constexpr OpSet ends_blocks{Op::POP_BLOCK, Op::POP_EXCEPT, Op::BEGIN_FINALLY,
                                       Op::END_FINALLY, Op::JUMP};
    if (index >= n || inline_state_[index] != kNone || ends_blocks[instrs[index].op]) return false;
    return index + 2 != n || !is_none(instrs[index]) || instrs[index + 1].op != Op::RETURN_VALUE;
  }

  /// Where protected code ends in `return` and all clauses leave, nothing reaches what stands
  /// after the clauses: it is there as if that `return`, inside the protected code, went on to it.
  void go_on_behind_handlers() {
    for (std::size_t c = 0; c < contexts_.size(); ++c) {  // which grows
      const Context context = contexts_[c];
      if ((context.kind != Entered::Try && context.kind != Entered::TryExcept) ||
          context.target == 0 || context.target >= list_.instrs.size())
        continue;
      const std::uint32_t end = clauses_end(context.target);
      std::uint32_t at = context.target - 1;
      while (at > 1 && at + kMostHops > context.target && inline_state_[at] == kNone &&
             (list_.instrs[at].op == Op::POP_BLOCK || list_.instrs[at].op == Op::JUMP))
        --at;
      if (list_.instrs[at].op != Op::RETURN_VALUE || end == kNone || !unreached_statement(end))
        continue;
      // from 3.8 on all blocks around it are popped first
      std::uint32_t outside = minor_ <= 7 ? static_cast<std::uint32_t>(c) : context.parent,
                    returns = find_state(at, outside);
      for (; returns == kNone && outside != kNone; returns = find_state(at, outside))
        outside = contexts_[outside].parent;
      if (returns == kNone || states_[returns].depth != context.level + 1) continue;
      const std::uint32_t step = states_[returns].first;
      if (step == kNone || out_.made[out_.steps[step].begin].op != Op::RETURN_VALUE) continue;
      out_.unreached = true;
      out_.steps[step].region = context.region;
      if (const std::uint32_t value = find_state(at - 1, outside);
          list_.instrs[at - 1].op == Op::LOAD_CONST && value != kNone &&
          states_[value].first != kNone)
        out_.steps[states_[value].first].region = context.region;
      out_.steps[step].next =
          state(end, context.parent, context.level, list_.instrs[at].offset) | kStateBit;
      walk_all();
      go_on_behind_raises();
    }
  }

  /// The copies of one RETURN_VALUE that follow each other in one line are one statement: the
  /// first.
  std::uint32_t first_copy(std::uint32_t index) const {
    const std::int32_t line = list_.instrs[index].line;
    const auto returns_here = [&](std::uint32_t i) {
      return list_.instrs[i].op == Op::RETURN_VALUE && list_.instrs[i].line == line;
    };
    while (index > 0 && line != 0 && returns_here(index)) {
      std::uint32_t before = index;
      while (before > 0 && list_.instrs[before - 1].op != Op::RETURN_VALUE &&
             list_.instrs[before - 1].line == line)
        --before;
      if (before == 0 || !returns_here(before - 1)) break;
      index = before - 1;
    }
    return index;
  }

  /// A part of `async for` that the version has no operation for; false for anything else.
  bool walk_async(std::uint32_t index) {
    if (async_.empty() || async_[index] == Async::No) return false;
    if (async_[index] == Async::Stored && is(context_, Entered::TryExcept)) {
      context_ = parent(context_);
      return false;
    }
    if (async_[index] == Async::Left) {
      go(index + 1);
      return true;
    }
    if (async_[index] != Async::Handler || !is(context_, Entered::Handler)) return false;
    emit(Op::END_ASYNC_FOR, 7);
    context_ = parent(context_);
    go(list_.instrs[index + 3].target + 5);
    return true;
  }

  void walk(std::uint32_t id) {
    current_ = id;
    const std::uint32_t index = states_[id].index;
    context_ = states_[id].context;
    depth_ = states_[id].depth;
    here_ = &list_.instrs[index];
    origin_ = minor_ <= 7 && here_->op == Op::RETURN_VALUE ? first_copy(index) : index;
    last_ = kNone;
    if (walk_async(index)) return;
    const Instr& instr = list_.instrs[index];
    const std::uint32_t next = index + 1;
    switch (instr.op) {
#define OP(name, ...) case Op::name:
#define OP_GROUPS OP_MARKERS
#include "opcode/op.def"
      walk_marker(index);
      return;
      case Op::POP_EXCEPT:
        if (!is(context_, Entered::Handler)) fail(instr, "is outside of an exception handler");
        if (contexts_[context_].called) misplaced(instr);
        if (minor_ <= 7) {
          leave_handler(false);
        } else {
          emit(Op::POP_EXCEPT, 3);
          context_ = parent(context_);
        }
        go(next);
        return;
      case Op::END_ASYNC_FOR:
        if (!is(context_, Entered::Handler)) fail(instr, "is outside of an exception handler");
        emit(instr.op, instr.arg, instr.aux);
        context_ = parent(context_);
        go(next);
        return;
      case Op::RETURN_VALUE:
        look_below(instr, 1, depth_);
        if (minor_ <= 7)
          unwind_return();
        else
          emit(Op::RETURN_VALUE);
        return;
      case Op::LOAD_CONST:
        if (marks_normal_entry(index)) {
          context_ = push(context_, Entered::Normally, kNone, depth_, instr);
          go(next);
        } else {
          walk_plain(index);
        }
        return;
      case Op::JUMP:
        need_target(instr);
        if (auto joined = joined_.find(index); joined != joined_.end())
          jump(joined->second, JumpRole::Plain);
        else
          jump(instr.target, role(index));
        return;
      case Op::RAISE:
        look_below(instr, stack_effect(instr).pops, depth_);
        emit(instr.op, instr.arg, instr.aux);
        if (unreached_ && minor_ <= 8) raises_[index].push_back({last_, context_, depth_});
        return;
      case Op::RERAISE:
        look_below(instr, stack_effect(instr).pops, depth_);
        emit(instr.op, instr.arg, instr.aux);
        return;
      case Op::FOR_ITER:
      case Op::SEND:
      case Op::BRANCH_FALSE:
      case Op::BRANCH_TRUE:
      case Op::BRANCH_NONE:
      case Op::BRANCH_NOT_NONE:
      case Op::BRANCH_FALSE_OR_POP:
      case Op::BRANCH_TRUE_OR_POP: {
        need_target(instr);
        const std::uint32_t before = depth_;
        emit(instr.op, instr.arg, instr.aux);
        const StackEffect effect = stack_effect(instr);
        look_below(instr, effect.pops, before);
        const auto taken = static_cast<std::uint32_t>(before - effect.pops + effect.target_pushes);
        // The fall-through is walked first: `work_` is a stack.
        out_.steps[last_].target = state(instr.target, context_, taken, instr.offset) | kStateBit;
        go(next);
        return;
      }
      case Op::LOAD_COMMON:
      case Op::LOAD_BUILD_CLASS:
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~(OP_CONSTANTS | OP_CONTROL | OP_MARKERS))
#include "opcode/op.def"
        walk_plain(index);
        return;
    }
  }

  /// The operations by which old versions enter and leave statements.
  void walk_marker(std::uint32_t index) {
    const Instr& instr = list_.instrs[index];
    const std::uint32_t next = index + 1;
    const Entered top = context_ == kNone ? Entered::Loop : contexts_[context_].kind;
    const bool bottom = context_ == kNone;
    switch (instr.op) {
      case Op::SETUP_FINALLY:
        need_target(instr);
        context_ = push(context_, minor_ <= 7 && instr.aux == 1 ? Entered::TryExcept : Entered::Try,
                        instr.target, depth_, instr);
        go(next);
        return;
      case Op::SETUP_WITH:
        need_target(instr);
        look_below(instr, instr.aux == 0 ? 1 : 2, depth_);
        if (instr.aux == 0) emit(Op::WITH_ENTER);
        if (depth_ < 2) fail(instr, "needs two stack values");
        context_ = push(context_, Entered::Try, instr.target, depth_ - 1, instr);
        go(next);
        return;
      case Op::SETUP_LOOP:
        need_target(instr);
        context_ = push(context_, Entered::Loop, instr.target, depth_, instr);
        if (begins_two_loops(index))
          jump(next, JumpRole::Loop);
        else
          go(next);
        return;
      case Op::POP_BLOCK: {
        if (bottom || top > Entered::TryExcept) fail(instr, "finds no block to leave");
        const std::uint32_t level = contexts_[context_].level;
        keep_empty_body(index);
        context_ = parent(context_);
        if (minor_ <= 7) drop_to(level);
        go(next);
        return;
      }
      case Op::BREAK_LOOP:
        keep_empty_body(index);
        unwind_loop(Entered::ByBreak);
        return;
      case Op::CONTINUE_LOOP:
        need_target(instr);
        keep_empty_body(index);
        unwind_loop(Entered::ByContinue);
        return;
      case Op::BEGIN_FINALLY:
        context_ = push(context_, Entered::Normally, kNone, depth_, instr);
        go(next);
        return;
      case Op::CALL_FINALLY:
        need_target(instr);
        context_ = push(context_, Entered::ByCall, next, depth_, instr);
        go(instr.target);
        return;
      case Op::POP_FINALLY:
        leave_finally(index);
        return;
      case Op::END_FINALLY:
        end_finally(instr, next);
        return;
      case Op::WITH_CLEANUP_START:
        start_cleanup(instr, next);
        return;
      case Op::WITH_CLEANUP_FINISH:
        finish_cleanup(instr, next);
        return;
      case Op::UNKNOWN:
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~OP_MARKERS)
#include "opcode/op.def"
        walk_plain(index);
        return;
    }
  }

  void end_finally(const Instr& instr, std::uint32_t next) {
    if (context_ == kNone) fail(instr, "is outside of a `finally` body");
    const Context context = contexts_[context_];
    switch (context.kind) {
      case Entered::Loop:
      case Entered::Try:
      case Entered::TryExcept:
        fail(instr, "is outside of a `finally` body");
      case Entered::Handler:
        need_above(instr, 6);
        emit(Op::RERAISE, 3);
        return;
      case Entered::Normally:
        need_above(instr, 0);
        context_ = context.parent;
        go(next);
        return;
      case Entered::ByCall:
        need_above(instr, 0);
        context_ = context.parent;
        go(context.target);
        return;
      case Entered::ByReturn:
        need_above(instr, 1);
        go_on(context);
        unwind_return();
        return;
      case Entered::ByBreak:
        need_above(instr, 0);
        go_on(context);
        unwind_loop(Entered::ByBreak);
        return;
      case Entered::ByContinue:
        need_above(instr, 0);
        go_on(context);
        unwind_loop(Entered::ByContinue);
        return;
    }
  }

  /// The context of the `with` whose cleanup the instruction belongs to.
  Context cleaned_up(const Instr& instr) {
    if (context_ == kNone || contexts_[context_].kind <= Entered::TryExcept ||
        contexts_[context_].kind == Entered::ByCall)
      fail(instr, "is outside of a `with` cleanup");
    return contexts_[context_];
  }

  /// What calls the exit function takes it from below what the interpreter keeps on the stack.
  /// Until the result is looked at, that lies right below the result.
  void start_cleanup(const Instr& instr, std::uint32_t next) {
    const Context context = cleaned_up(instr);
    const Entered top = context.kind;
    if (top == Entered::Handler) {
      need_above(instr, 6);
      emit(Op::WITH_EXCEPT_START, 7);
      context_ = push(context.parent, top, kNone, context.level, instr, context.level + 6, true);
    } else {
      need_above(instr, top == Entered::ByReturn);
      if (top == Entered::ByReturn) emit(Op::SWAP, 2);
      emit_none();
      emit(Op::COPY, 1);
      emit(Op::COPY, 1);
      emit(Op::CALL, 3, kPlain);
      const std::uint32_t level = context.level > 0 ? context.level - 1 : 0;
      context_ = push(context.parent, top, context.target, level, instr,
                      floor_of(context.parent, top, level), true);
    }
    go(next);
  }

  void finish_cleanup(const Instr& instr, std::uint32_t next) {
    const Context context = cleaned_up(instr);
    const Entered top = context.kind;
    if (top == Entered::Handler) {
      need_above(instr, 7, true);
      emit(Op::BRANCH_TRUE);
      const std::uint32_t branch = last_;
      context_ = push(context.parent, top, kNone, context.level, instr);
      go(next);
      // The exception is swallowed: as 3.9 does, drop it, leave the handler, drop the exit
      // function.
      out_.steps[branch].target = static_cast<std::uint32_t>(out_.steps.size());
      last_ = kNone;
      for (int i = 0; i < 3; ++i) emit(Op::POP_TOP);
      emit(Op::POP_EXCEPT, 3);
      context_ = parent(context_);
      emit(Op::POP_TOP);
      context_ = push(context_, Entered::Normally, kNone, depth_, instr);
      go(next);
    } else {
      need_above(instr, top == Entered::ByReturn ? 2 : 1, true);
      emit(Op::POP_TOP);
      context_ = push(context.parent, top, context.target, context.level, instr);
      go(next);
    }
  }

  /// One step of the plain operations from `index` on, up to where control may enter.
  void walk_plain(std::uint32_t index) {
    const Instr *const first = &list_.instrs[index], *const end =
                                                         list_.instrs.data() + list_.instrs.size();
    const Instr* instr = first;
    const std::uint32_t state = current_;
    std::uint64_t depth = depth_;
    for (;;) {
      const StackEffect effect = stack_effect(*instr);
      if (effect.pops > depth || depth + effect.pushes > kDeepest) [[unlikely]]
        fail_depth(*instr, depth, effect.pops);
      look_below(*instr, effect.pops, depth);
      depth += effect.pushes - effect.pops;
      ++index;
      if (++instr == end || begins_[index] || inline_state_[index] != kNone) break;
      inline_state_[index] = state;
    }
    here_ = instr - 1;
    depth_ = static_cast<std::uint32_t>(depth);
    spend(*here_, 2 * static_cast<std::size_t>(instr - first));
    out_.made.insert(out_.made.end(), first, instr);
    add_step(static_cast<std::size_t>(instr - first));
    go(index);
  }

  void need_target(const Instr& instr) const {
    if (instr.target == kNoTarget) fail(instr, "has no target");
  }

  /// A jump from the end of a body leads over the `else`, also one that nothing reaches, right
  /// after a `raise`, `break` or `continue`.
  void find_elses() {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    auto reached = [&](std::size_t i) { return inline_state_[i] != kNone; };
    // of the first instruction from there on that is in the graph
    auto offset_of = [&](std::size_t i) {
      return reached(i) ? out_.made[out_.steps[first_step(inline_state_[i])].begin].offset
                        : instrs[i].offset;
    };
    for (std::size_t i : leads_) {
      if (i == 0 || i + 1 >= n || instrs[i].op != Op::JUMP || !reached(i + 1) ||
          is_comparison(i - 1) || is_comparison(i + 1))
        continue;
      if (reached(i) && instrs[i - 1].op != Op::RAISE
              ? role(i) != JumpRole::Plain || instrs[i].target <= i ||
                    joined_.count(static_cast<std::uint32_t>(i)) != 0
              : !reached(i - 1))
        continue;
      out_.elses.push_back({offset_of(i + 1), offset_of(instrs[i].target)});
    }
    // after a `raise` there is always an end
    out_.ends_in_compound = n > 2 && instrs[n - 3].op == Op::RETURN_VALUE &&
                            instrs[n - 1].op == Op::RETURN_VALUE && is_none(instrs[n - 2]) &&
                            !reached(n - 1) && !reached(n - 2) && reached(n - 3);
  }

  /// Successors that are states become steps. A state without steps (POP_BLOCK …) stands for the
  /// one it goes on to.
  std::uint32_t first_step(std::uint32_t state) {
    std::vector<std::uint32_t>& path = work_;
    path.clear();
    while (states_[state].first == kNone) {
      if (states_[state].forward == kNone || path.size() > states_.size())
        fail(list_.instrs[states_[state].index], "leads nowhere");
      path.push_back(state);
      state = states_[state].forward;
    }
    for (std::uint32_t from : path) states_[from].first = states_[state].first;
    return states_[state].first;
  }

  Steps finish(std::uint32_t entry) {
    auto resolve = [&](std::uint32_t& to) {
      if (to != kNone && (to & kStateBit)) to = first_step(to & ~kStateBit);
    };
    for (Step& step : out_.steps) {
      resolve(step.next);
      resolve(step.target);
    }
    for (StepRegion& region : out_.regions) resolve(region.handler);
    if (minor_ <= 9) find_elses();
    out_.entry = first_step(entry);
    out_.instrs = out_.made;
    return std::move(out_);
  }

  const bool unreached_;
  std::size_t budget_;
  std::uint32_t none_ = kNone;
  std::vector<Context> contexts_;
  std::unordered_map<Context, std::uint32_t, ContextHash> context_ids_;
  std::vector<State> states_;
  std::vector<std::uint32_t>
      inline_state_;  // the first state of each instruction; the others in more_states_
  std::unordered_map<std::uint64_t, std::uint32_t> more_states_;
  std::vector<std::uint32_t> work_;
  struct Raised {
    std::uint32_t step, context, depth;
  };
  std::map<std::uint32_t, std::vector<Raised>>
      raises_;  // of each RAISE: its states that go_on_behind_raises has not seen
  // the state being walked
  std::uint32_t current_ = 0, context_ = kNone, depth_ = 0, last_ = kNone;
  std::uint32_t origin_ = 0;  // 3.7: the instruction that leaves a block
  const Instr* here_ = nullptr;
};

}  // namespace

Steps expand_contexts(const Module& module, CodeId code, const InstrList& list, bool unreached) {
  if (unreached) {
    try {
      return Expansion(module, code, list, true).run();
    } catch (const Error&) {  // what never runs may be anything
    }
  }
  return Expansion(module, code, list, false).run();
}

}  // namespace depyf
