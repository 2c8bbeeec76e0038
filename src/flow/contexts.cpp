// The block stack of CPython ≤ 3.10, resolved. Facts: Python/ceval.c (fast_block_end, POP_BLOCK,
// END_FINALLY, WITH_CLEANUP_*, CALL_FINALLY, POP_FINALLY, UNWIND_BLOCK, UNWIND_EXCEPT_HANDLER) and
// Python/compile.c (compiler_unwind_fblock) of 3.7 to 3.10.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "bytecode/effect.h"
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
/// How far a look ahead for the end of a handler goes, in instructions or clauses: each of n
/// handlers in one another looks.
constexpr std::size_t kFar = 2000;

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
  bool operator==(const Context& other) const {
    return kind == other.kind && parent == other.parent && target == other.target &&
           level == other.level;
  }
};

struct ContextHash {
  std::size_t operator()(const Context& context) const {
    std::uint64_t hash = static_cast<std::uint64_t>(context.kind);
    for (std::uint64_t part : {context.parent, context.target, context.level})
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

class Expansion {
 public:
  Expansion(const Module& module, CodeId code, const InstrList& list, bool unreached)
      : module_(module),
        code_(code),
        list_(list),
        unreached_(unreached),
        minor_(module[code].version.minor) {
    inline_state_.assign(list.instrs.size(), kNone);
    states_.reserve(list.instrs.size() / 2 + 8);
    out_.steps.reserve(list.instrs.size() / 2 + 8);
    budget_ = 64 * list.instrs.size() + 20000;
    find_leads();
    find_setups();
    if (minor_ <= 7 && !first_setup_.empty()) {
      find_finally_bodies();
      find_async_loops();
    }
    if (minor_ <= 9) {
      find_comparisons();
      find_jumps();
    }
    if ((minor_ == 8 || minor_ == 9) && !first_setup_.empty()) join_breaks();
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
  [[noreturn]] void fail(const Instr& instr, const std::string& what) const {
    const StrId name = module_[code_].name;
    throw Error((name ? std::string(module_[name]) : std::string("<code>")) + " at offset " +
                std::to_string(instr.offset) + ": " + std::string(op_name(instr.op)) + " " + what);
  }

  void find_leads() {
    const std::uint32_t n = static_cast<std::uint32_t>(list_.instrs.size());
    begins_.assign(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      const Instr& instr = list_.instrs[i];
      if (acts_on_values_alone(instr.op)) continue;
      begins_[i] = 1;
      if (instr.target != kNoTarget) {
        if (instr.target >= n) fail_target(module_, code_, list_, instr);
        leads_.push_back(i);
        begins_[instr.target] = 1;
      } else if (instr.op == Op::POP_FINALLY && i + 1 + kFinallyTail < n) {
        begins_[i + 1 + kFinallyTail] = 1;
      } else if (instr.op == Op::RETURN_VALUE && i > 0 &&
                 list_.instrs[i - 1].op == Op::LOAD_CONST) {
        begins_[i - 1] = 1;  // go_on_behind_handlers looks for the constant of a `return` by itself
      }
    }
  }

  void find_setups() {
    for (std::uint32_t i : leads_) {
      const Instr& instr = list_.instrs[i];
      if (instr.op != Op::SETUP_FINALLY && instr.op != Op::SETUP_WITH) continue;
      if (first_setup_.empty()) first_setup_.assign(list_.instrs.size(), kNone);
      first_setup_[instr.target] = std::min(first_setup_[instr.target], i);
    }
  }

  /// 3.7 marks the normal way into a `finally` body by LOAD_CONST None right before the handler.
  void find_finally_bodies() {
    finally_body_.assign(list_.instrs.size(), false);
    for (std::uint32_t i : leads_) {
      const Instr& instr = list_.instrs[i];
      if ((instr.op == Op::SETUP_FINALLY && instr.aux == 0) || instr.op == Op::SETUP_WITH)
        finally_body_[instr.target] = true;
    }
    for (std::uint32_t i = 0; i < list_.instrs.size(); ++i)
      if (marks_normal_entry(i)) begins_[i] = 1;
  }

  /// 3.7 spells END_ASYNC_FOR out, and protects the loop's target too:
  ///   SETUP_EXCEPT h; GET_ANEXT; LOAD_CONST None; YIELD_FROM; store; POP_BLOCK; …
  ///   h: COPY 1; LOAD_GLOBAL StopAsyncIteration; EXC_MATCH; BRANCH_TRUE t; END_FINALLY; …    t:
  ///   POP_TOP × 3; POP_EXCEPT; POP_TOP
  /// No other statement gives this, so it is brought to 3.8's form: the region ends before the
  /// store, the handler is END_ASYNC_FOR.
  void find_async_loops() {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    async_.assign(n, Async::No);
    std::vector<bool> targeted;
    auto matches = [&](std::size_t from, std::initializer_list<Op> ops) {
      if (from >= n || n - from < ops.size()) return false;
      for (Op op : ops)
        if (instrs[from++].op != op) return false;
      return true;
    };
    for (std::size_t s : leads_) {
      if (instrs[s].op != Op::SETUP_FINALLY || instrs[s].aux != 1) continue;
      const std::size_t h = instrs[s].target;
      if (!matches(s + 1, {Op::GET_ANEXT, Op::LOAD_CONST, Op::YIELD_FROM}) ||
          !matches(h,
                   {Op::COPY, Op::LOAD_GLOBAL, Op::EXC_MATCH, Op::BRANCH_TRUE, Op::END_FINALLY}) ||
          instrs[h].arg != 1 || module_[StrId(instrs[h + 1].arg)] != "StopAsyncIteration" ||
          instrs[h + 3].target == kNoTarget)
        continue;
      const std::size_t t = instrs[h + 3].target;
      if (!matches(t, {Op::POP_TOP, Op::POP_TOP, Op::POP_TOP, Op::POP_EXCEPT, Op::POP_TOP}))
        continue;
      if (targeted.empty()) {
        targeted.assign(n, false);
        for (const Instr& instr : instrs)
          if (instr.target != kNoTarget) targeted[instr.target] = true;
      }
      std::size_t end = s + 4;
      while (end < n && !targeted[end] && acts_on_values_alone(instrs[end].op)) ++end;
      if (end >= n || targeted[end] || instrs[end].op != Op::POP_BLOCK || targeted[s + 1] ||
          targeted[s + 2] || targeted[s + 3])
        continue;
      const Op last = instrs[end - 1].op;
      if (last != Op::STORE_FAST && last != Op::STORE_DEREF && last != Op::STORE_GLOBAL &&
          last != Op::STORE_NAME && last != Op::STORE_ATTR && last != Op::STORE_SUBSCR)
        continue;
      async_[s + 4] = Async::Stored;
      async_[end] = Async::Left;
      async_[h] = Async::Handler;
      for (std::size_t i : {s + 4, end, h, t + 5})
        if (i < n) begins_[i] = 1;
    }
  }

  /// A chained comparison that a loop or a statement tests: where its first part fails, it drops
  /// the value and leaves.
  void find_comparisons() {
    const std::vector<Instr>& instrs = list_.instrs;
    for (std::uint32_t i : leads_) {
      if (i < 3 || !is_branch(instrs[i].op) || instrs[i - 2].op != Op::ROT ||
          instrs[i - 3].op != Op::COPY || instrs[instrs[i].target].op != Op::POP_TOP)
        continue;
      if (comparison_.empty()) comparison_.assign(instrs.size(), false);
      comparison_[instrs[i].target] = true;
    }
  }
  bool is_comparison(std::size_t index) const { return !comparison_.empty() && comparison_[index]; }

  /// Up to 3.9 the instructions stand in the order of the source: a jump back ends a loop, a jump
  /// from inside a loop to behind its end is `break`, and so is one to the beginning of a loop
  /// further out (a jump to that loop's jump back, threaded). A jump back right behind what leaves
  /// a `with`, a `finally` or an unbinding by name is `continue`: the end of the body does not
  /// leave them so. So is one in a handler or in protected code with the end of that behind it,
  /// which nothing reaches.
  void find_jumps() {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    std::vector<std::uint32_t> loop_end;
    auto loop = [&](std::uint32_t begin, std::uint32_t end) {
      if (loop_end.empty()) loop_end.assign(n, 0);
      loop_end[begin] = std::max(loop_end[begin], end);
    };
    for (std::uint32_t i : leads_)
      if (instrs[i].target <= i && (instrs[i].op == Op::JUMP || is_branch(instrs[i].op)))
        loop(instrs[i].target, i + 1);
    for (std::uint32_t i : leads_)  // the body of a `for`, also where no way leads back
      if (instrs[i].op == Op::FOR_ITER) loop(i, instrs[i].target);
    if (loop_end.empty()) return;
    jump_role_.assign(n, JumpRole::Plain);
    if (minor_ <= 7) {
      begins_two_loops_.assign(n, false);
      for (std::uint32_t i = 0; i + 1 < n; ++i)
        begins_two_loops_[i] =
            instrs[i].op == Op::SETUP_LOOP && loop_end[i] > i && loop_end[i + 1] > i + 1;
    }
    std::vector<std::uint32_t> begins;
    std::vector<std::pair<std::uint32_t, bool>>
        setups;  // the SETUP_LOOPs around i, and whether their loop has begun
    for (std::uint32_t i = 0; i < n; ++i) {
      while (!setups.empty() && instrs[setups.back().first].target <= i) setups.pop_back();
      if (loop_end[i] > i) {
        begins.push_back(i);
        LoopSpan span{instrs[i].offset, instrs[loop_end[i] - 1].offset};
        if (!setups.empty() && !setups.back().second) {
          setups.back().second = true;
          span.after = goes_on(instrs[setups.back().first].target);
        }
        out_.loops.push_back(span);
      }
      if (minor_ <= 7 && instrs[i].op == Op::SETUP_LOOP && instrs[i].target > i &&
          instrs[i].target < n)
        setups.emplace_back(i, false);
    }
    std::vector<std::uint8_t> targeted(n, 0);
    for (std::uint32_t i : leads_) targeted[instrs[i].target] = 1;
    auto ends_behind_jump = [&](std::uint32_t i) {
      if (i == 0 || i + 1 >= n || targeted[i + 1]) return false;
      return instrs[i + 1].op == Op::POP_EXCEPT ||
             (minor_ >= 8 && instrs[i + 1].op == Op::POP_BLOCK &&
              instrs[i - 1].op == Op::POP_BLOCK);
    };
    auto unwound = [&](std::uint32_t i) {  // right behind the copy or the call of a cleanup
      while (i-- > 0) {
        if (i > 0 && is_comparison(i - 1)) continue;
        const Op op = instrs[i].op;
        if (op == Op::CALL_FINALLY || op == Op::POP_FINALLY) return true;
        if (op != Op::POP_EXCEPT && op != Op::POP_BLOCK && op != Op::POP_TOP) return false;
      }
      return false;
    };
    std::vector<std::uint32_t> open;  // beginnings of the loops around a jump
    std::size_t next = 0;             // in `begins`
    auto close = [&](std::uint32_t i) {
      while (!open.empty() && loop_end[open.back()] <= i) open.pop_back();
    };
    for (std::uint32_t i : leads_) {
      if (instrs[i].op != Op::JUMP) continue;
      for (; next < begins.size() && begins[next] <= i; ++next) {
        close(begins[next]);
        open.push_back(begins[next]);
      }
      close(i);
      if (i > 0 && is_comparison(i - 1)) continue;
      const std::uint32_t target = instrs[i].target;
      if (!open.empty() && (target > i ? target >= loop_end[open.back()] : target < open.back()))
        jump_role_[i] = JumpRole::Break;
      else if (target <= i && (unwound(i) || ends_behind_jump(i)))
        jump_role_[i] = JumpRole::Continue;
    }
  }

  bool begins_two_loops(std::size_t setup) const {
    return !begins_two_loops_.empty() && begins_two_loops_[setup];
  }
  JumpRole role(std::size_t jump) const {
    return jump_role_.empty() ? JumpRole::Plain : jump_role_[jump];
  }

  /// Where control goes on from an instruction: past jumps. kNoOffset where that is not plain.
  std::uint32_t goes_on(std::uint32_t index) const {
    for (int hops = 0; hops < kMostHops && index < list_.instrs.size(); ++hops) {
      static constexpr OpSet begins_statement{Op::LOAD_CONST, Op::LOAD_FAST,       Op::LOAD_GLOBAL,
                                              Op::LOAD_NAME,  Op::LOAD_DEREF,      Op::LOAD_CLOSURE,
                                              Op::FOR_ITER,   Op::SETUP_FINALLY,   Op::BUILD_LIST,
                                              Op::BUILD_MAP,  Op::LOAD_BUILD_CLASS};
      const Instr& instr = list_.instrs[index];
      if (instr.op == Op::JUMP) {
        if (role(index) != JumpRole::Plain || instr.target == kNoTarget) return kNoOffset;
        index = instr.target;
      } else if (instr.op == Op::SETUP_LOOP && !begins_two_loops(index)) {
        ++index;
      } else if (instr.op == Op::LOAD_CONST && marks_normal_entry(index)) {
        return kNoOffset;
      } else {
        const bool begins = begins_statement[instr.op] || instr.op == Op::SETUP_LOOP;
        return begins ? instr.offset : kNoOffset;
      }
    }
    return kNoOffset;
  }

  /// Calls visit(first) for the first instruction of each clause of `except` from `handler` on, but
  /// a bare one. Returns what stands behind them: the instruction that raises again what no clause
  /// took, or the first one of the bare `except`; kNone where this is no such handler.
  template <typename Visit>
  std::uint32_t walk_clauses(std::uint32_t handler, Visit visit) const {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    std::size_t i = handler;
    for (std::size_t clauses = 0; i < n && instrs[i].op == Op::COPY && clauses < kFar; ++clauses) {
      std::size_t test = i;
      while (test < n && test < i + kFar && instrs[test].op != Op::EXC_MATCH) ++test;
      if (test + 1 >= n || instrs[test].op != Op::EXC_MATCH ||
          instrs[test + 1].op != Op::BRANCH_FALSE)
        return kNone;
      const std::size_t next = instrs[test + 1].target;
      if (next <= test + 1 || next >= n) return kNone;
      visit(static_cast<std::uint32_t>(next));
      i = next;
    }
    return i < n ? static_cast<std::uint32_t>(i) : kNone;
  }

  /// The first instruction behind the clauses of the `except` that begins at `handler`, with what
  /// raises again; kNone for other handlers.
  std::uint32_t clauses_end(std::uint32_t handler) const {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    if (minor_ > 9 || handler >= n) return kNone;
    const std::uint32_t last = walk_clauses(handler, [](std::uint32_t) {});
    if (last == kNone) return kNone;
    if (raises_again(instrs[last].op)) return last != handler ? last + 1 : kNone;
    return instrs[last].op == Op::POP_TOP ? handler_end(last) : kNone;
  }

  static bool raises_again(Op op) { return op == Op::END_FINALLY || op == Op::RERAISE; }

  /// Up to 3.9: the first instruction behind what ends the handler that goes on at `from`; kNone if
  /// that is not plain.
  std::uint32_t handler_end(std::uint32_t from) const {
    const std::vector<Instr>& instrs = list_.instrs;
    std::uint32_t depth = 0;
    for (std::size_t i = from; i < instrs.size() && i < from + kFar; ++i) {
      const Op op = instrs[i].op;
      if (i > from && first_setup_[i] < from)
        return kNone;  // the handler of a statement around this one, whose own end is gone
      if (op == Op::SETUP_FINALLY || op == Op::SETUP_WITH) ++depth;
      if (!raises_again(op) && op != Op::END_ASYNC_FOR) continue;
      if (depth == 0) return raises_again(op) ? static_cast<std::uint32_t>(i + 1) : kNone;
      --depth;
    }
    return kNone;
  }

  /// Up to 3.9 a `break` right behind the clauses of `except` takes the jumps that end the
  /// protected code and the clauses along (they lead to a jump, and are threaded). They lead to it
  /// again: what it was is told once.
  void join_breaks() {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::uint32_t n = static_cast<std::uint32_t>(instrs.size());
    for (std::uint32_t i : leads_) {
      const Instr& setup = instrs[i];
      if (setup.op != Op::SETUP_FINALLY || setup.target == 0) continue;
      const std::uint32_t end = clauses_end(setup.target);
      if (end >= n || instrs[end].op != Op::JUMP || role(end) != JumpRole::Break) continue;
      auto join = [&](std::uint32_t jump) {
        if (instrs[jump].op != Op::JUMP || instrs[jump].target != instrs[end].target) return;
        jump_role_[jump] = JumpRole::Plain;
        joined_[jump] = end;
      };
      join(setup.target - 1);
      walk_clauses(setup.target, [&](std::uint32_t next) {
        if (instrs[next - 2].op == Op::POP_EXCEPT) join(next - 1);
      });
      if (end >= 3 && instrs[end - 3].op == Op::POP_EXCEPT) join(end - 2);  // a bare `except`
    }
  }

  /// What stands behind the statement whose handler begins at `handler`: behind the last clause of
  /// `except` there is a jump, also where the clause itself never ends; behind `finally` its
  /// END_FINALLY goes on.
  std::uint32_t behind_statement(std::uint32_t handler) const {
    const std::vector<Instr>& instrs = list_.instrs;
    const std::size_t n = instrs.size();
    if (handler >= n) return kNoOffset;
    if (instrs[handler].op == Op::COPY && instrs[handler].arg == 1) {
      std::uint32_t after = kNoOffset;
      bool jumps = false;
      const std::uint32_t last = walk_clauses(handler, [&](std::uint32_t next) {
        if (instrs[next - 1].op != Op::JUMP || instrs[next - 2].op != Op::POP_EXCEPT) return;
        after = goes_on(next - 1);
        jumps = true;
      });
      if (last == kNone) return kNoOffset;
      // Clauses that end in `return` have lost their jump.
      if (!jumps && last + 1 < n && instrs[last].op == Op::END_FINALLY) after = goes_on(last + 1);
      return after;
    }
    if (instrs[handler].op == Op::POP_TOP) return kNoOffset;  // a bare `except`
    std::uint32_t depth = 0;
    for (std::size_t i = handler; i < n && i < handler + kFar; ++i) {
      const Op op = instrs[i].op;
      if (op == Op::SETUP_FINALLY) ++depth;
      if (op != Op::END_FINALLY && op != Op::END_ASYNC_FOR) continue;
      if (instrs[i - 1].op == Op::WITH_CLEANUP_FINISH)
        continue;  // ends a `with`, whose beginning may be gone as dead code
      if (depth == 0)
        return op == Op::END_FINALLY && i + 1 < n ? goes_on(static_cast<std::uint32_t>(i + 1))
                                                  : kNoOffset;
      --depth;
    }
    return kNoOffset;
  }

  bool is_none(const Instr& instr) const {
    return instr.op == Op::LOAD_CONST && instr.arg < module_.consts.size() &&
           module_[ConstId(instr.arg)].kind == ConstKind::None;
  }

  bool marks_normal_entry(std::uint32_t index) const {
    if (finally_body_.empty() || !is_none(list_.instrs[index])) return false;
    std::uint32_t next = index + 1;
    for (int hops = 0;
         hops < kMostHops && next < list_.instrs.size() && list_.instrs[next].op == Op::JUMP;
         ++hops)
      next = list_.instrs[next].target;
    return next < list_.instrs.size() && finally_body_[next];
  }

  std::uint32_t push(std::uint32_t parent, Entered kind, std::uint32_t target, std::uint32_t level,
                     const Instr& instr) {
    Context context{kind, parent, target, level, kNone, 0, 1};
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
  [[noreturn]] void fail_blow_up(const Instr& instr) const {
    fail(instr, "is copied too often: `finally` bodies nest too deep to be expanded");
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
    while (context_ != kNone) {
      const Context context = contexts_[context_];
      switch (context.kind) {
        case Entered::Loop:
          if (as == Entered::ByContinue) {
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
          continue;
        case Entered::Normally:
        case Entered::ByCall:
        case Entered::ByReturn:
        case Entered::ByBreak:
        case Entered::ByContinue:
          context_ = context.parent;
          continue;
      }
    }
    fail(*here_, "is outside of a loop");
  }

  /// 3.8's `return`, `break` or `continue` in a `finally` body goes on under one context whichever
  /// way the body was entered. Its tail stays with each copy of the body, as in 3.9, up to the
  /// first instruction that needs more than that.
  void leave_finally(std::uint32_t index) {
    for (std::uint32_t count = 0; count < kFinallyTail && index < list_.instrs.size();
         ++count, ++index) {
      const Instr& instr = list_.instrs[index];
      if (instr.op != Op::RETURN_VALUE && !acts_on_values_alone(instr.op)) break;
      here_ = &instr;
      emit(instr);
      if (instr.op == Op::RETURN_VALUE) return;
    }
    go(index);
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

  /// Code right behind a `raise` that nothing reaches was written there, and stands in the same
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
  /// behind the clauses: it is there as if that `return`, inside the protected code, went on to it.
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

  void walk(std::uint32_t id) {
    current_ = id;
    const std::uint32_t index = states_[id].index;
    context_ = states_[id].context;
    depth_ = states_[id].depth;
    here_ = &list_.instrs[index];
    origin_ = index;
    if (minor_ <= 7) {
      // The copies of one RETURN_VALUE that follow each other in one line are one statement.
      while (here_->op == Op::RETURN_VALUE && origin_ > 0 && here_->line != 0) {
        std::uint32_t before = origin_;
        while (before > 0 && list_.instrs[before - 1].op != Op::RETURN_VALUE &&
               list_.instrs[before - 1].line == here_->line)
          --before;
        if (before == 0 || list_.instrs[before - 1].op != Op::RETURN_VALUE ||
            list_.instrs[before - 1].line != here_->line)
          break;
        origin_ = before - 1;
      }
    }
    last_ = kNone;
    const Instr& instr = list_.instrs[index];
    const std::uint32_t next = index + 1;
    if (!async_.empty() && async_[index] != Async::No) {
      if (async_[index] == Async::Stored && is(context_, Entered::TryExcept)) {
        context_ = parent(context_);
      } else if (async_[index] == Async::Left) {
        go(next);
        return;
      } else if (async_[index] == Async::Handler && is(context_, Entered::Handler)) {
        emit(Op::END_ASYNC_FOR, 7);
        context_ = parent(context_);
        go(list_.instrs[index + 3].target + 5);
        return;
      }
    }
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
      case Op::POP_EXCEPT:
        if (bottom || top != Entered::Handler) fail(instr, "is outside of an exception handler");
        if (minor_ <= 7) {
          leave_handler(false);
        } else {
          emit(Op::POP_EXCEPT, 3);
          context_ = parent(context_);
        }
        go(next);
        return;
      case Op::END_ASYNC_FOR:
        if (bottom || top != Entered::Handler) fail(instr, "is outside of an exception handler");
        emit(instr.op, instr.arg, instr.aux);
        context_ = parent(context_);
        go(next);
        return;
      case Op::BREAK_LOOP:
        keep_empty_body(index);
        unwind_loop(Entered::ByBreak);
        return;
      case Op::CONTINUE_LOOP:
        need_target(instr);
        keep_empty_body(index);
        unwind_loop(Entered::ByContinue);
        return;
      case Op::RETURN_VALUE:
        if (minor_ <= 7)
          unwind_return();
        else
          emit(Op::RETURN_VALUE);
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
        if (bottom) fail(instr, "is outside of a `finally` body");
        if (top == Entered::Handler)
          leave_handler(instr.arg != 0);
        else if (top == Entered::Normally || top == Entered::ByCall)
          context_ = parent(context_);
        else
          fail(instr, "is outside of a `finally` body");
        leave_finally(next);
        return;
      case Op::END_FINALLY: {
        if (bottom) fail(instr, "is outside of a `finally` body");
        const Context context = contexts_[context_];
        switch (context.kind) {
          case Entered::Loop:
          case Entered::Try:
          case Entered::TryExcept:
            fail(instr, "is outside of a `finally` body");
          case Entered::Handler:
            emit(Op::RERAISE, 3);
            return;
          case Entered::Normally:
            context_ = context.parent;
            go(next);
            return;
          case Entered::ByCall:
            context_ = context.parent;
            go(context.target);
            return;
          case Entered::ByReturn:
            go_on(context);
            unwind_return();
            return;
          case Entered::ByBreak:
            go_on(context);
            unwind_loop(Entered::ByBreak);
            return;
          case Entered::ByContinue:
            go_on(context);
            unwind_loop(Entered::ByContinue);
            return;
        }
        return;
      }
      case Op::WITH_CLEANUP_START:
        if (bottom || top <= Entered::TryExcept || top == Entered::ByCall)
          fail(instr, "is outside of a `with` cleanup");
        if (top == Entered::Handler) {
          emit(Op::WITH_EXCEPT_START, 7);
        } else {
          if (top == Entered::ByReturn) emit(Op::SWAP, 2);
          emit_none();
          emit(Op::COPY, 1);
          emit(Op::COPY, 1);
          emit(Op::CALL, 3, kPlain);
        }
        go(next);
        return;
      case Op::WITH_CLEANUP_FINISH:
        if (bottom || top <= Entered::TryExcept || top == Entered::ByCall)
          fail(instr, "is outside of a `with` cleanup");
        if (top == Entered::Handler) {
          emit(Op::BRANCH_TRUE);
          const std::uint32_t branch = last_;
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
          emit(Op::POP_TOP);
          go(next);
        }
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
        emit(instr.op, instr.arg, instr.aux);
        if (unreached_ && minor_ <= 8) raises_[index].push_back({last_, context_, depth_});
        return;
      case Op::RERAISE:
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
        const auto taken = static_cast<std::uint32_t>(before - effect.pops + effect.target_pushes);
        // The fall-through is walked first: `work_` is a stack.
        out_.steps[last_].target = state(instr.target, context_, taken, instr.offset) | kStateBit;
        go(next);
        return;
      }
      case Op::LOAD_COMMON:
      case Op::LOAD_BUILD_CLASS:
      case Op::UNKNOWN:
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~(OP_CONSTANTS | OP_CONTROL | OP_MARKERS))
#include "opcode/op.def"
        walk_plain(index);
        return;
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
  /// behind a `raise`, `break` or `continue`.
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
    // behind a `raise` there is always an end
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

  /// Where find_async_loops found: the loop's target is stored; the store is done; the handler.
  enum class Async : std::uint8_t { No, Stored, Left, Handler };

  const Module& module_;
  const CodeId code_;
  const InstrList& list_;
  const bool unreached_;
  const std::uint32_t minor_;
  std::size_t budget_;
  std::uint32_t none_ = kNone;
  /// How many instructions behind POP_FINALLY stay with each copy of the body, at most.
  static constexpr std::uint32_t kFinallyTail = 16;
  std::vector<std::uint32_t> leads_;  // the instructions with a target
  std::vector<std::uint8_t> begins_;  // by instruction: it does not just follow on the one before,
                                      // as one plain operation on another
  std::vector<std::uint32_t> first_setup_;  // of each handler; empty where there is none
  std::vector<bool> finally_body_;
  std::vector<Async> async_;
  std::vector<JumpRole>
      jump_role_;  // of each JUMP; empty where there is no loop, or the order of the source is lost
  std::vector<bool> begins_two_loops_;  // 3.7: a SETUP_LOOP that the body of an endless loop begins
                                        // with, of a loop that begins without any code
  std::vector<bool> comparison_;  // where the first part of a chained comparison that is tested
                                  // leads when it fails
  std::unordered_map<std::uint32_t, std::uint32_t> joined_;  // see join_breaks
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
  Steps out_;
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
