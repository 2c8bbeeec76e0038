// Each rule keeps what the code does:
// - an unconditional jump has no effect, so what leads to one may lead to where it leads;
// - LOAD_CONST, COPY and SWAP of constants, and comparisons of small ints and of strings by
//   `==` and `!=`, have no effect but on the stack, and run no code of the user;
// - code that no entry, jump or handler leads to never runs;
// - where code stands does not matter as long as each operation keeps its successors and its
//   handler, which are carried along with it.
#include "flow/straighten.h"

#include <algorithm>
#include <optional>

#include "bytecode/effect.h"
#include "opcode/arithmetic.h"
#include "opcode/op_set.h"

namespace depyf {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr int kRounds = 64;
constexpr int kJumps = 1000;

struct Handler {
  std::uint32_t target, depth;
  bool lasti;
  bool operator==(const Handler&) const = default;
};

class Straightener {
 public:
  Straightener(Module& module, const InstrList& list) : module_(module), instrs_(list.instrs) {
    handler_.assign(instrs_.size(), kNone);
    for (const ExceptionRow& row : list.rows) {
      for (std::uint32_t i = row.begin; i < row.end && i < instrs_.size(); ++i)
        handler_[i] = static_cast<std::uint32_t>(handlers_.size());
      handlers_.push_back({row.target, row.depth, row.lasti});
    }
  }

  bool run() {
    if (!whole()) return false;
    bool any = false;
    for (int round = 0; round < kRounds; ++round) {
      changed_ = false;
      gone_.assign(instrs_.size(), 0);
      if (any) fold_with();
      thread_jumps();
      count_references();
      drop_pairs();
      drop_unreached();
      if (!lay_out()) return false;
      if (!changed_) break;
      any = true;
    }
    return any;
  }

  /// A constant expression that stands alone is no junk, nor are a few tests of constants: a person
  /// may have written them. Compilers leave comparisons of constants and values that are dropped
  /// (`1 == 2`, `1 if 0 else 2`), so that both together are not two kinds.
  bool has_junk() {
    constexpr int kLeast = 3;
    if (!whole()) return false;
    gone_.assign(instrs_.size(), 0);
    count_references();
    drop_pairs();
    const bool decided = found_[kDecided] > found_[kCompared];
    const auto kinds = (found_[kPopped] || found_[kCompared]) + (found_[kCopied] != 0) +
                       (found_[kSwapped] != 0) + decided;
    return kinds > 1 &&
           found_[kPopped] + found_[kCopied] + found_[kSwapped] + found_[kDecided] >= kLeast;
  }

  InstrList result() const {
    InstrList out;
    out.instrs = instrs_;
    for (std::uint32_t i = 0; i < instrs_.size();) {
      std::uint32_t end = i + 1;
      while (end < instrs_.size() && same_handler(i, end)) ++end;
      if (handler_[i] != kNone) {
        const Handler& handler = handlers_[handler_[i]];
        out.rows.push_back({i, end, handler.target, handler.depth, handler.lasti});
      }
      i = end;
    }
    return out;
  }

 private:
  /// Do all jumps and handlers lead to instructions, and does control stay in the code?
  bool whole() const {
    if (instrs_.empty() || !ends_flow(instrs_.back().op)) return false;
    return std::all_of(instrs_.begin(), instrs_.end(),
                       [&](const Instr& instr) {
                         return instr.target == kNoTarget || instr.target < instrs_.size();
                       }) &&
           std::all_of(handlers_.begin(), handlers_.end(),
                       [&](const Handler& handler) { return handler.target < instrs_.size(); });
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(instrs_.size()); }

  std::uint32_t live(std::uint32_t i) const {
    while (i < size() && gone_[i]) ++i;
    return i;
  }

  void drop(std::uint32_t i) {
    gone_[i] = 1;
    changed_ = true;
  }

  void thread_jumps() {
    const auto lead = [&](std::uint32_t& target) {
      for (int k = 0; k < kJumps && instrs_[target].op == Op::JUMP; ++k) {
        const std::uint32_t next = instrs_[target].target;
        if (next == target) return;
        target = next;
        changed_ = true;
      }
    };
    for (Instr& instr : instrs_)
      if (instr.target != kNoTarget) lead(instr.target);
    for (Handler& handler : handlers_) lead(handler.target);
  }

  void count_references() {
    references_.assign(instrs_.size(), 0);
    references_[0] = 2;
    for (const Instr& instr : instrs_)
      if (instr.target != kNoTarget) references_[instr.target] += instr.op == Op::JUMP ? 1 : 2;
    for (const Handler& handler : handlers_) references_[handler.target] += 2;
  }

  const Const& constant(std::uint32_t i) const { return module_[ConstId(instrs_[i].arg)]; }

  std::optional<std::int64_t> number(std::uint32_t i) const {
    const Const& c = constant(i);
    if (c.kind == ConstKind::True) return 1;
    if (c.kind == ConstKind::False) return 0;
    if (c.kind == ConstKind::Int && !c.big) return c.integer;
    return {};
  }

  std::optional<bool> truth(std::uint32_t i) const {
    const Const& c = constant(i);
    if (c.kind == ConstKind::None) return false;
    if (c.kind == ConstKind::Str) return !c.text.empty();
    const std::optional<std::int64_t> n = number(i);
    if (!n) return {};
    return *n != 0;
  }

  std::optional<bool> compared(std::uint32_t a, std::uint32_t b, CompareOp op) const {
    if (constant(a).kind == ConstKind::Str && constant(b).kind == ConstKind::Str) {
      const bool equal = constant(a).text == constant(b).text;
      if (op == CompareOp::Eq) return equal;
      if (op == CompareOp::Ne) return !equal;
      return {};
    }
    const std::optional<std::int64_t> x = number(a), y = number(b);
    if (!x || !y) return {};
    return depyf::compared(op, *x, *y);
  }

  void load_bool(std::uint32_t i, bool value) {
    Const c;
    c.kind = value ? ConstKind::True : ConstKind::False;
    instrs_[i].arg = module_.add(c).index;
  }

  /// 3.14+: what decode() does with the methods of `with`, where junk was between.
  void fold_with() {
    count_references();
    for (std::uint32_t i = 0; i + 6 <= size(); ++i) {
      const Instr* const at = &instrs_[i];
      const auto method = [](const Instr& instr, SpecialMethod which) {
        return instr.op == Op::LOAD_SPECIAL && instr.arg == static_cast<std::uint32_t>(which);
      };
      const bool plain = method(at[1], SpecialMethod::Exit) && method(at[4], SpecialMethod::Enter);
      if (!plain && !(method(at[1], SpecialMethod::AExit) && method(at[4], SpecialMethod::AEnter)))
        continue;
      if (at[0].op != Op::COPY || at[0].arg != 1 || at[2].op != Op::SWAP || at[2].arg != 2 ||
          at[3].op != Op::SWAP || at[3].arg != 3 || at[5].op != Op::CALL || at[5].arg != 0)
        continue;
      bool together = true;
      for (std::uint32_t k = i + 1; k < i + 6; ++k)
        together &= references_[k] == 0 && same_handler(i, k);
      if (!together) continue;
      instrs_[i].op = plain ? Op::WITH_ENTER : Op::ASYNC_WITH_ENTER;
      instrs_[i].arg = 0;
      instrs_[i].aux = 2;
      for (std::uint32_t k = i + 1; k < i + 6; ++k) drop(k);
    }
  }

  bool same_handler(std::uint32_t a, std::uint32_t b) const {
    if (handler_[a] == kNone || handler_[b] == kNone) return handler_[a] == handler_[b];
    return handlers_[handler_[a]] == handlers_[handler_[b]];
  }

  /// Operations that follow each other; the later ones are reached from the first alone.
  void drop_pairs() {
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (gone_[i]) continue;
      const std::uint32_t j = live(i + 1);
      if (j >= size()) return;
      Instr& one = instrs_[i];
      Instr& next = instrs_[j];
      if (one.op == Op::JUMP && live(one.target) == j) {
        drop(i);
        continue;
      }
      if (references_[j]) continue;
      if (one.op == Op::SWAP && next.op == Op::SWAP && one.arg == next.arg) {
        ++found_[kSwapped];
        drop(i);
        drop(j);
        continue;
      }
      if (one.op != Op::LOAD_CONST) continue;
      if (next.op == Op::POP_TOP) {
        ++found_[kPopped];
        drop(i);
        drop(j);
      } else if (next.op == Op::COPY && next.arg == 1 && is_used_up(j)) {
        ++found_[kCopied];
        next.op = Op::LOAD_CONST;
        next.arg = one.arg;
        changed_ = true;
      } else if (next.op == Op::TO_BOOL && truth(i)) {
        load_bool(i, *truth(i));
        drop(j);
      } else if ((next.op == Op::BRANCH_TRUE || next.op == Op::BRANCH_FALSE) && truth(i)) {
        decide(i, j, *truth(i) == (next.op == Op::BRANCH_TRUE));
      } else if (next.op == Op::LOAD_CONST) {
        const std::uint32_t k = live(j + 1);
        if (k >= size() || references_[k]) continue;
        if (instrs_[k].op == Op::SWAP && instrs_[k].arg == 2) {
          ++found_[kSwapped];
          std::swap(one.arg, next.arg);
          drop(k);
        } else if (instrs_[k].op == Op::COMPARE) {
          const auto result = compared(i, j, static_cast<CompareOp>(instrs_[k].arg));
          if (!result) continue;
          ++found_[kCompared];
          load_bool(i, *result);
          drop(j);
          drop(k);
          --i;  // what tests it is decided at once
        }
      }
    }
  }

  /// Does an operation that works on constants alone take this copy of one? Others, such as the
  /// stores of `a = b = 5`, need to see that they are given one value.
  bool is_used_up(std::uint32_t copy) const {
    static constexpr OpSet takers{Op::POP_TOP,     Op::SWAP,           Op::COMPARE,
                                  Op::TO_BOOL,     Op::BRANCH_TRUE,    Op::BRANCH_FALSE,
                                  Op::BRANCH_NONE, Op::BRANCH_NOT_NONE};
    const std::uint32_t k = live(copy + 1);
    return k < size() && takers[instrs_[k].op];
  }

  void decide(std::uint32_t load, std::uint32_t branch, bool taken) {
    ++found_[kDecided];
    drop(load);
    if (taken)
      instrs_[branch].op = Op::JUMP;
    else
      drop(branch);
  }

  void drop_unreached() {
    std::vector<std::uint8_t> reached(instrs_.size(), 0);
    std::vector<std::uint32_t> work{0};
    while (!work.empty()) {
      std::uint32_t i = live(work.back());
      work.pop_back();
      for (; i < size() && !reached[i]; i = live(i + 1)) {
        reached[i] = 1;
        if (instrs_[i].target != kNoTarget) work.push_back(instrs_[i].target);
        if (handler_[i] != kNone) work.push_back(handlers_[handler_[i]].target);
        if (ends_flow(instrs_[i].op)) break;
      }
    }
    for (std::uint32_t i = 0; i < size(); ++i)
      if (!gone_[i] && !reached[i]) drop(i);
  }

  /// Takes out what is gone, and puts each run of code that one jump alone leads to after that
  /// jump. False where control would fall off the end.
  bool lay_out() {
    if (!changed_ && !std::any_of(instrs_.begin(), instrs_.end(),
                                  [](const Instr& instr) { return instr.op == Op::JUMP; }))
      return true;
    for (Instr& instr : instrs_)
      if (instr.target != kNoTarget) instr.target = live(instr.target);
    for (Handler& handler : handlers_) handler.target = live(handler.target);
    const auto ok = [&](std::uint32_t target) { return target < size(); };
    for (std::uint32_t i = 0; i < size(); ++i)
      if (!gone_[i] && ((instrs_[i].target != kNoTarget && !ok(instrs_[i].target)) ||
                        (handler_[i] != kNone && !ok(handlers_[handler_[i]].target))))
        return false;
    // Only handlers of what is left count.
    references_.assign(instrs_.size(), 0);
    const std::uint32_t entry = live(0);
    if (!ok(entry)) return false;
    references_[entry] = 2;
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (gone_[i]) continue;
      if (instrs_[i].target != kNoTarget)
        references_[instrs_[i].target] += instrs_[i].op == Op::JUMP ? 1 : 2;
      if (handler_[i] != kNone) references_[handlers_[handler_[i]].target] = 2;
    }
    // Runs: from after an end of the flow to the next one.
    struct Run {
      std::vector<std::uint32_t> items;
      std::uint32_t next = kNone;
      bool follows = false;
    };
    std::vector<Run> runs(1);
    std::vector<std::uint32_t> run_at(instrs_.size(), kNone);
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (gone_[i]) continue;
      if (runs.back().items.empty()) run_at[i] = static_cast<std::uint32_t>(runs.size() - 1);
      runs.back().items.push_back(i);
      if (ends_flow(instrs_[i].op)) runs.emplace_back();
    }
    if (!runs.back().items.empty()) return false;
    runs.pop_back();
    std::vector<std::uint32_t> head(runs.size());
    for (std::uint32_t r = 0; r < runs.size(); ++r) head[r] = r;
    const auto find = [&](std::uint32_t r) {
      while (head[r] != r) r = head[r] = head[head[r]];
      return r;
    };
    for (std::uint32_t r = 0; r < runs.size(); ++r) {
      const Instr& last = instrs_[runs[r].items.back()];
      if (last.op != Op::JUMP || references_[last.target] != 1) continue;
      const std::uint32_t to = run_at[last.target];
      if (to == kNone || to == 0 || runs[to].follows || find(to) == find(r)) continue;
      runs[r].next = to;
      runs[to].follows = true;
      head[find(to)] = find(r);
    }
    std::vector<std::uint32_t> order;
    order.reserve(instrs_.size());
    for (std::uint32_t r = 0; r < runs.size(); ++r) {
      if (runs[r].follows) continue;
      for (std::uint32_t at = r; at != kNone; at = runs[at].next) {
        order.insert(order.end(), runs[at].items.begin(), runs[at].items.end());
        if (runs[at].next == kNone) continue;
        order.pop_back();  // the jump to what follows now
        changed_ = true;
      }
    }
    // A run that was nothing but that jump may have been led to.
    std::vector<std::uint32_t> number(instrs_.size(), kNone);
    for (std::uint32_t n = 0; n < order.size(); ++n) number[order[n]] = n;
    const auto moved = [&](std::uint32_t target) {
      for (int k = 0; k < kJumps && number[target] == kNone; ++k) target = instrs_[target].target;
      return number[target];
    };
    std::vector<Instr> instrs;
    std::vector<std::uint32_t> handler;
    instrs.reserve(order.size());
    handler.reserve(order.size());
    std::vector<std::uint8_t> used(handlers_.size(), 0);
    for (std::uint32_t i : order) {
      instrs.push_back(instrs_[i]);
      handler.push_back(handler_[i]);
      if (handler_[i] != kNone) used[handler_[i]] = 1;
      std::uint32_t& target = instrs.back().target;
      if (target != kNoTarget && (target = moved(target)) == kNone) return false;
    }
    for (std::uint32_t h = 0; h < handlers_.size(); ++h) {
      handlers_[h].target = used[h] ? moved(handlers_[h].target) : 0;
      if (handlers_[h].target == kNone) return false;
    }
    instrs_ = std::move(instrs);
    handler_ = std::move(handler);
    return true;
  }

  enum Kind { kPopped, kCopied, kSwapped, kDecided, kCompared, kKinds };

  Module& module_;
  int found_[kKinds] = {};
  std::vector<Instr> instrs_;
  std::vector<Handler> handlers_;
  std::vector<std::uint32_t> handler_;  // of each instruction
  std::vector<std::uint32_t> references_;
  std::vector<std::uint8_t> gone_;
  bool changed_ = false;
};

}  // namespace

bool straighten(Module& module, InstrList& list) {
  Straightener work(module, list);
  if (!work.run()) return false;
  list = work.result();
  return true;
}

bool has_junk(Module& module, const InstrList& list) {
  // Most code has nothing to look at.
  static constexpr OpSet behind{Op::POP_TOP, Op::COPY,       Op::SWAP,         Op::BRANCH_TRUE,
                                Op::COMPARE, Op::LOAD_CONST, Op::BRANCH_FALSE, Op::TO_BOOL};
  // Only these count by themselves; `x == 1` is no junk.
  static constexpr OpSet alone{Op::POP_TOP, Op::COPY, Op::BRANCH_TRUE, Op::BRANCH_FALSE};
  const std::vector<Instr>& instrs = list.instrs;
  const auto computes = [&](std::size_t i) {
    return i < instrs.size() && (instrs[i].op == Op::SWAP || instrs[i].op == Op::COMPARE);
  };
  int places = 0;
  bool any = false;
  for (std::size_t i = 1; i < instrs.size(); ++i) {
    const Op before = instrs[i - 1].op, op = instrs[i].op;
    if ((before != Op::LOAD_CONST && before != Op::SWAP) || !behind[op]) continue;
    ++places;
    any |= before == Op::SWAP ? op == Op::SWAP
                              : alone[op] || (op == Op::LOAD_CONST && computes(i + 1));
  }
  if (places < 3 || !any) return false;
  return Straightener(module, list).has_junk();
}

}  // namespace depyf
