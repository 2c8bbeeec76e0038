#pragma once
// What the instructions of CPython ≤ 3.10 tell before the block stack is followed: where handlers,
// `finally` bodies and loops are, and what each jump was in the source.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/effect.h"
#include "flow/steps.h"
#include "support/error.h"

namespace depyf {

class BlockSurvey {
 protected:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// How far a look ahead for the end of a handler goes, in instructions or clauses: each of n
  /// handlers in one another looks.
  static constexpr std::size_t kFar = 2000;

  BlockSurvey(const Module& module, CodeId code, const InstrList& list)
      : module_(module), code_(code), list_(list), minor_(module[code].version.minor) {
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
  }

  [[noreturn]] void fail(const Instr& instr, const std::string& what) const {
    throw Error(place_of(instr) + " " + what);
  }
  std::string place_of(const Instr& instr) const {
    const StrId name = module_[code_].name;
    return (name ? std::string(module_[name]) : std::string("<code>")) + " at offset " +
           std::to_string(instr.offset) + ": " + std::string(op_name(instr.op));
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
  /// from inside a loop to after its end is `break`, and so is one to the beginning of a loop
  /// further out (a jump to that loop's jump back, threaded). A jump back right after what leaves
  /// a `with`, a `finally` or an unbinding by name is `continue`: the end of the body does not
  /// leave them so. So is one in a handler or in protected code with the end of that after it,
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
    auto unwound = [&](std::uint32_t i) {  // right after the copy or the call of a cleanup
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
        jump_role_[ends_chain_before(i)] = JumpRole::Break;
      else if (target <= i && (unwound(i) || ends_behind_jump(i)))
        jump_role_[i] = JumpRole::Continue;
    }
  }

  /// `if not (a < b < c): break`: the jump that ends the comparisons, past what drops `b`, is
  /// threaded through the `break`. It leads there again. The jump that is the `break`.
  std::uint32_t ends_chain_before(std::uint32_t jump) {
    const std::vector<Instr>& instrs = list_.instrs;
    if (jump + 2 >= instrs.size() || !is_comparison(jump + 1) || instrs[jump + 2].op != Op::JUMP ||
        instrs[jump + 2].target != instrs[jump].target)
      return jump;
    joined_[jump] = jump + 2;
    return jump + 2;
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
  /// a bare one. Returns what follows them: the instruction that raises again what no clause
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

  /// The first instruction after the clauses of the `except` that begins at `handler`, with what
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

  /// Up to 3.9: the first instruction after what ends the handler that goes on at `from`; kNone if
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

  /// Up to 3.9 a `break` right after the clauses of `except` takes the jumps that end the
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

  /// What follows the statement whose handler begins at `handler`: after the last clause of
  /// `except` there is a jump, also where the clause itself never ends; after `finally` its
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

  /// Where find_async_loops found: the loop's target is stored; the store is done; the handler.
  enum class Async : std::uint8_t { No, Stored, Left, Handler };

  Steps out_;  // its loops and breaks are found here, the steps by the walk
  const Module& module_;
  const CodeId code_;
  const InstrList& list_;
  const std::uint32_t minor_;
  /// How many instructions after POP_FINALLY stay with each copy of the body, at most.
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
  std::unordered_map<std::uint32_t, std::uint32_t> joined_;  // see join_breaks, ends_chain_before
};

}  // namespace depyf
