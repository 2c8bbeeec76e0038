#include "bytecode/virtual_slots.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bytecode/compact.h"
#include "bytecode/effect.h"
#include "support/error.h"

namespace depyf {
namespace {

/// The virtual slots of one stack, topmost first; lists share their tails. Node 0 is the empty
/// list.
struct Node {
  std::uint32_t position, below, count;
};

struct State {
  std::uint32_t depth = UINT32_MAX;  // UINT32_MAX: not reached yet
  std::uint32_t slots = 0;
};

struct Scratch {
  std::vector<Node> nodes;
  std::vector<State> states;
  std::vector<std::uint8_t> removed;
  std::vector<std::uint32_t> moved, work, depths;
};
thread_local Scratch scratch;

/// Walks the function once along its edges, with the stack depth and the virtual slots below it.
class Eraser {
 public:
  Eraser(const Module& module, InstrList& list, const CodeObject& code)
      : module_(module), list_(list), code_(code) {}

  void run() {
    const std::size_t size = list_.instrs.size();
    if (!std::any_of(list_.instrs.begin(), list_.instrs.end(), [](const Instr& i) {
          return i.op == Op::FOR_ITER || i.op == Op::SEND || i.aux == kVirtual;
        }))
      return;
    scratch.nodes.assign(1, {0, 0, 0});
    scratch.states.assign(size, State{});
    scratch.removed.assign(size + 1, 0);
    scratch.depths.assign(list_.rows.size(), UINT32_MAX);
    scratch.work.clear();
    if (size > 0) reach(0, {0, 0});
    while (!scratch.work.empty()) {
      const std::uint32_t start = scratch.work.back();
      scratch.work.pop_back();
      follow(start);
    }
    for (Instr& instr : list_.instrs) {  // also the ones that are never reached
      if (instr.op == Op::GET_ITER || instr.op == Op::GET_YIELD_FROM_ITER) instr.aux = 0;
    }
    for (std::size_t r = 0; r < list_.rows.size(); ++r) {
      if (scratch.depths[r] != UINT32_MAX) list_.rows[r].depth = scratch.depths[r];
    }
    remove_marked(list_, scratch.removed, scratch.moved);
  }

 private:
  [[noreturn]] void fail(std::uint32_t at, const char* what) const {
    throw Error("bytecode that no compiler writes: " + std::string(op_name(list_.instrs[at].op)) +
                " at offset " + std::to_string(list_.instrs[at].offset) + " of '" +
                std::string(module_[code_.name]) + "' (CPython 3." +
                std::to_string(code_.version.minor) + ") " + what);
  }

  static std::uint32_t truncate(std::uint32_t slots, std::uint32_t depth) {
    while (slots != 0 && scratch.nodes[slots].position >= depth) slots = scratch.nodes[slots].below;
    return slots;
  }
  /// Walking lists is constant time in code that a compiler wrote; in other code the sum is
  /// bounded.
  void spend(std::uint32_t at) {
    if (++steps_ > 64 * list_.instrs.size() + 100000)
      fail(at, "belongs to loops nested too deeply to follow");
  }
  bool same(std::uint32_t at, std::uint32_t a, std::uint32_t b) {
    for (; a != b; a = scratch.nodes[a].below, b = scratch.nodes[b].below) {
      spend(at);
      if (a == 0 || b == 0 || scratch.nodes[a].position != scratch.nodes[b].position) return false;
    }
    return true;
  }
  static std::uint32_t push(std::uint32_t slots, std::uint32_t position) {
    scratch.nodes.push_back({position, slots, scratch.nodes[slots].count + 1});
    return static_cast<std::uint32_t>(scratch.nodes.size() - 1);
  }
  struct Found {
    std::uint32_t above;  // virtual slots above the position
    bool is_virtual;      // the position is one itself
  };
  Found find(std::uint32_t at, std::uint32_t slots, std::uint32_t position) {
    std::uint32_t count = 0;
    for (; slots != 0 && scratch.nodes[slots].position > position;
         slots = scratch.nodes[slots].below, ++count)
      spend(at);
    return {count, slots != 0 && scratch.nodes[slots].position == position};
  }

  void reach(std::uint32_t at, State state) {
    if (at >= scratch.states.size()) return;  // flow/ reports code that runs over its end
    State& known = scratch.states[at];
    if (known.depth == UINT32_MAX) {
      known = state;
      scratch.work.push_back(at);
    } else if (known.depth != state.depth || !same(at, known.slots, state.slots)) {
      fail(at, "is reached with different stacks");
    }
  }

  bool loop_null(std::uint32_t at) const {
    const std::vector<Instr>& instrs = list_.instrs;
    if (at + 1 < instrs.size() && instrs[at + 1].op == Op::FOR_ITER) return true;
    return at + 2 < instrs.size() && instrs[at + 1].op == Op::LOAD_CONST &&
           instrs[at + 2].op == Op::SEND;
  }

  void follow(std::uint32_t at) {
    std::vector<Instr>& instrs = list_.instrs;
    std::size_t row = static_cast<std::size_t>(
        std::partition_point(list_.rows.begin(), list_.rows.end(),
                             [&](const ExceptionRow& r) { return r.end <= at; }) -
        list_.rows.begin());
    State state = scratch.states[at];
    for (;; ++at) {
      while (row < list_.rows.size() && list_.rows[row].end <= at) ++row;
      if (row < list_.rows.size() && list_.rows[row].begin <= at &&
          scratch.depths[row] == UINT32_MAX) {
        const ExceptionRow& handler = list_.rows[row];
        if (handler.depth > state.depth)
          fail(at, "is covered by a handler that needs a deeper stack");
        const std::uint32_t slots = truncate(state.slots, handler.depth);
        scratch.depths[row] = handler.depth - scratch.nodes[slots].count;
        reach(handler.target, {handler.depth + handler.lasti + 1, slots});
      }
      State taken = step(at, state);
      const Instr& instr = instrs[at];
      if (instr.target != kNoTarget) reach(instr.target, taken);
      if (ends_flow(instr.op) || at + 1 >= instrs.size()) return;
      if (scratch.states[at + 1].depth != UINT32_MAX) {
        reach(at + 1, state);
        return;
      }
      scratch.states[at + 1] = state;
    }
  }

  /// Counts the operand that means stack[-operand] without the virtual slots; `depth`: of the stack
  /// it is counted on.
  void recount(std::uint32_t at, std::uint32_t& operand, std::uint32_t depth, std::uint32_t slots) {
    if (operand == 0) return;
    if (operand > depth) fail(at, "needs more stack values than there are");
    const Found found = find(at, slots, depth - operand);
    if (found.is_virtual) fail(at, "reaches the second value of a loop's iterator");
    operand -= found.above;
  }

  /// Changes `state` to the one after the instruction; returns the one at its target.
  State step(std::uint32_t at, State& state) {
    Instr& instr = list_.instrs[at];
    const std::uint32_t depth = state.depth;
    const auto need = [&](std::uint64_t n) {
      if (n > depth) fail(at, "needs more stack values than there are");
    };
    const bool top_virtual =
        depth > 0 && state.slots != 0 && scratch.nodes[state.slots].position == depth - 1;
    const Op op = instr.op;
    if (((op == Op::GET_ITER || op == Op::GET_YIELD_FROM_ITER) && instr.aux == kVirtual) ||
        (op == Op::PUSH_NULL && loop_null(at))) {
      if (op == Op::PUSH_NULL) {
        scratch.removed[at] = 1;
      } else {
        need(1);
        if (top_virtual) fail(at, "takes the second value of a loop's iterator");
      }
      state = {depth + 1, push(state.slots, depth)};
      return state;
    }
    if (op == Op::FOR_ITER) {
      need(2);
      if (!top_virtual) fail(at, "has no iterator of two values below it");
      const State out{depth - 2, truncate(state.slots, depth - 2)};
      state.depth = depth + 1;
      return out;
    }
    if (op == Op::SEND || op == Op::END_SEND || op == Op::CLEANUP_THROW) {
      const std::uint32_t below = op == Op::CLEANUP_THROW ? 3 : 2;
      need(below + 1);
      if (!find(at, state.slots, depth - below).is_virtual)
        fail(at, "has no iterator of two values below it");
      if (op == Op::CLEANUP_THROW) state.depth = depth - 1;
      if (op == Op::END_SEND) state = {depth - 2, truncate(state.slots, depth - 2)};
      return state;
    }
    if (op == Op::POP_TOP && top_virtual) {
      scratch.removed[at] = 1;
      state = {depth - 1, scratch.nodes[state.slots].below};
      return state;
    }
    if (op == Op::SWAP || op == Op::COPY) {
      need(instr.arg);
      if (top_virtual && op == Op::SWAP) fail(at, "moves the second value of a loop's iterator");
      recount(at, instr.arg, depth, state.slots);
      if (op == Op::SWAP && instr.arg == 1) scratch.removed[at] = 1;
      if (op == Op::COPY) ++state.depth;
      return state;
    }
    const StackEffect effect = stack_effect(instr);
    need(effect.pops);
    std::uint32_t operands = static_cast<std::uint32_t>(effect.pops);
    if (op == Op::LIST_APPEND || op == Op::SET_ADD || op == Op::LIST_EXTEND ||
        op == Op::SET_UPDATE || op == Op::DICT_UPDATE || op == Op::DICT_MERGE) {
      recount(at, instr.arg, depth - 1, state.slots);
      operands = 1;
    } else if (op == Op::MAP_ADD) {
      recount(at, instr.arg, depth - 2, state.slots);
      operands = 2;
    } else if (op == Op::WITH_EXCEPT_START) {
      recount(at, instr.arg, depth, state.slots);
      operands = 1;
    } else if (op == Op::RERAISE && instr.aux != 0) {
      need(std::uint64_t{instr.aux} + 1);
      recount(at, instr.aux, depth - 1, state.slots);
    }
    if (truncate(state.slots, depth - operands) != state.slots)
      fail(at, "takes the second value of a loop's iterator");
    const State out{static_cast<std::uint32_t>(depth - effect.pops + effect.target_pushes),
                    state.slots};
    state.depth = static_cast<std::uint32_t>(depth - effect.pops + effect.pushes);
    return out;
  }

  const Module& module_;
  InstrList& list_;
  const CodeObject& code_;
  std::uint64_t steps_ = 0;
};

}  // namespace

void erase_virtual_slots(const Module& module, InstrList& list, const CodeObject& code) {
  Eraser(module, list, code).run();
}

}  // namespace depyf
