#include "verify/exact.h"

#include <algorithm>

#include "bytecode/effect.h"

namespace depyf::verify_detail {

namespace {

constexpr std::uint32_t kSpin = UINT32_MAX - 1;  // jumps that go round without doing anything

/// In place of the region of a jump back that control takes: none is taken, it has no handler, or
/// there are several jumps in different regions.
constexpr std::uint32_t kNoJump = UINT32_MAX - 2, kUnhandled = UINT32_MAX - 3,
                        kSeveral = UINT32_MAX - 4;

/// The last part of a qualified name: the rest follows from where the function stands.
std::string_view last_part(std::string_view qualname) {
  const std::size_t dot = qualname.rfind('.');
  return dot == std::string_view::npos ? qualname : qualname.substr(dot + 1);
}

/// Does a class store its own line with the two?
bool is_line(const Module& module, CodeId code, const Instr& load, const Instr* store) {
  return load.op == Op::LOAD_CONST && store &&
         stores_own_line(module, code, store->op, store->arg, ConstId(load.arg));
}

/// Operand of `instr` when `after` comes next. An instruction's operand may follow from where it
/// stands: `__firstlineno__` is a line number, and so are two such constants equal.
std::uint32_t operand(Canon& canon, Which side, CodeId code, const Instr& instr, const Instr* after,
                      bool compare_names) {
  if (instr.op == Op::LOAD_CONST && after) {
    const Module& module = canon.module(side);
    const ConstId id(instr.arg);
    if (id.index < module.consts.size()) {
      if (is_line(module, code, instr, after)) return canon.str("(line)") | 0x80000000u;
      if (after->op == Op::MAKE_FUNCTION && after->aux == 1 && module[id].kind == ConstKind::Str &&
          !compare_names)
        return canon.str(last_part(module[id].text)) | 0x80000000u;
    }
  }
  return canonical_arg(canon, side, code, instr.op, instr.arg);
}

/// Registers code operands as nested pairs; false when the two operands differ. `searched`: what
/// comes next asks the constants whether they hold something.
bool same_operand(Canon& canon, std::uint32_t x, std::uint32_t y, bool is_const, bool searched,
                  Pairs& nested) {
  if (x == y) return true;
  if (!is_const || (x & 0x80000000u) || (y & 0x80000000u)) return false;
  if (searched ? canon.same_collection(x, y) : canon.same_constant(x, y)) return true;
  const Literal &a = canon[x], &b = canon[y];
  if (a.kind != ConstKind::Code || b.kind != ConstKind::Code) return false;
  const Module &ma = canon.module(kA), &mb = canon.module(kB);
  return ma[ma[a.code].name] == mb[mb[b.code].name] && nested.one_to_one(a.code, b.code);
}

bool is_search(const Instr* instr) { return instr && instr->op == Op::CONTAINS; }

std::string describe(const Canon& canon, Which side, CodeId code, const Instr& instr) {
  const Module& module = canon.module(side);
  std::string out(op_name(instr.op));
  switch (arg_kind(instr.op)) {
    case ArgKind::Plain:
      if (instr.arg || instr.aux) out += ' ' + std::to_string(instr.arg);
      if (instr.aux) out += ", " + std::to_string(instr.aux);
      break;
    case ArgKind::Const:
      out += ' ' + describe_const(module, ConstId(instr.arg));
      break;
    case ArgKind::Str:
      out += ' ' + quoted(module[StrId(instr.arg)]);
      break;
    case ArgKind::Local:
    case ArgKind::Deref:
      if (instr.arg < module[code].slots.size())
        out += ' ' + quoted(module[module[code].slots[instr.arg].name]);
      break;
  }
  return out;
}

/// One side's graph by instruction index.
struct View {
  Canon& canon;
  Which side;
  CodeId code;
  const Cfg& cfg;
  std::vector<std::uint32_t> entry;  // by block: first visible instruction from its start, or kSpin
  std::vector<std::uint32_t> jump;   // by block: the region of the jumps back on that way
  std::vector<std::uint32_t> block_of;  // by instruction

  View(Canon& canon_, Which side_, CodeId code_, const Cfg& cfg_)
      : canon(canon_), side(side_), code(code_), cfg(cfg_) {
    block_of.assign(cfg.instrs.size(), 0);
    for (std::uint32_t b = 0; b < cfg.size(); ++b)
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].end; ++i) block_of[i] = b;
    entry.assign(cfg.size(), kNone);
    jump.assign(cfg.size(), kNoJump);
    std::vector<std::uint32_t> path;
    for (std::uint32_t b = 0; b < cfg.size(); ++b) {
      std::uint32_t at = b, found = kNone;
      path.clear();
      while (true) {
        if (entry[at] != kNone) {
          found = entry[at] == kSpin - 1 ? kSpin : entry[at];
          break;
        }
        path.push_back(at);
        entry[at] = kSpin - 1;  // being looked at: to come here again is a loop of jumps
        const Block& block = cfg.blocks[at];
        if (block.first < block.end && cfg.instrs[block.first].op != Op::JUMP) {
          found = block.first;
          break;
        }
        at = after(block).index;
      }
      for (auto step = path.rbegin(); step != path.rend(); ++step) {
        const Block& block = cfg.blocks[*step];
        entry[*step] = found;
        const bool visible = block.first < block.end && cfg.instrs[block.first].op != Op::JUMP;
        if (!visible) jump[*step] = with(own_jump(block), jump_into(after(block)));
      }
    }
  }

  static BlockId after(const Block& block) { return block.next ? block.next : block.target; }

  static std::uint32_t with(std::uint32_t first, std::uint32_t then) {
    if (first == kNoJump || first == then) return then;
    return then == kNoJump ? first : kSeveral;
  }

  /// The region of a jump back at the end of the block.
  std::uint32_t own_jump(const Block& block) const {
    if (!jumps_back(cfg, block)) return kNoJump;
    return block.region_at_end ? block.region_at_end.index : kUnhandled;
  }

  /// The same for the way from `i` to what follows it where it does not branch.
  std::uint32_t jump_after(std::uint32_t i) const {
    const Block& block = cfg.blocks[block_of[i]];
    if (i + 1 < block.end && cfg.instrs[i + 1].op != Op::JUMP) return kNoJump;
    return with(own_jump(block), jump_into(block.next));
  }
  std::uint32_t jump_into(BlockId block) const { return block ? jump[block.index] : kNoJump; }

  /// The same for one way of a branch, which may jump back itself (3.11).
  std::uint32_t jump_along(const Block& branch, BlockId to) const {
    return with(to == branch.target ? own_jump(branch) : kNoJump, jump_into(to));
  }

  std::uint32_t at(BlockId block) const { return block.valid() ? entry[block.index] : kNone; }

  /// Visible instruction that control reaches after `i` when it does not branch.
  std::uint32_t after(std::uint32_t i) const {
    const Block& block = cfg.blocks[block_of[i]];
    if (i + 1 < block.end) return cfg.instrs[i + 1].op == Op::JUMP ? at(block.next) : i + 1;
    return at(block.next);
  }
};

/// Classes of instructions that must be equal: a union-find over both sides.
class Classes {
 public:
  explicit Classes(std::size_t count) : parent_(count) {
    for (std::uint32_t i = 0; i < count; ++i) parent_[i] = i;
  }

  /// False where the two are in one class already.
  bool join(std::uint32_t i, std::uint32_t j) {
    const std::uint32_t x = find(i), y = find(j);
    if (x == y) return false;
    parent_[y] = x;
    return true;
  }

 private:
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  std::vector<std::uint32_t> parent_;
};

const Instr* instr_at(const std::vector<Instr>& instrs, std::size_t k) {
  return k < instrs.size() ? &instrs[k] : nullptr;
}

/// Successors when the test holds, and when it does not.
std::pair<BlockId, BlockId> arms(const Instr& instr, const Block& block) {
  return instr.op == Op::BRANCH_TRUE || instr.op == Op::BRANCH_NONE
             ? std::pair{block.target, block.next}
             : std::pair{block.next, block.target};
}

/// The operation whichever way it jumps.
Op test(Op op) {
  return op == Op::BRANCH_TRUE   ? Op::BRANCH_FALSE
         : op == Op::BRANCH_NONE ? Op::BRANCH_NOT_NONE
                                 : op;
}

}  // namespace

std::optional<Difference> exact_difference(Canon& canon, CodeId code_a, const Cfg& cfg_a,
                                           CodeId code_b, const Cfg& cfg_b, bool compare_names,
                                           bool copies, Pairs& nested) {
  const View a(canon, kA, code_a, cfg_a), b(canon, kB, code_b, cfg_b);
  const auto size_a = static_cast<std::uint32_t>(cfg_a.instrs.size());

  Classes classes(size_a + cfg_b.instrs.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> work{{a.at(cfg_a.entry), b.at(cfg_b.entry)}};
  const bool hides_signals = cfg_a.hides_signals || cfg_b.hides_signals;
  const bool handles = hides_signals || !cfg_a.regions.empty() || !cfg_b.regions.empty();
  const bool compares_signals = handles && !copies;
  Difference difference;
  const auto part = [&](std::string text) {
    difference.text = std::move(text);
    return difference;
  };
  while (!work.empty()) {
    const auto [i, j] = work.back();
    work.pop_back();
    if (i >= size_a || j >= cfg_b.instrs.size()) {
      // A signal ends what goes round for ever.
      if (i == j && (i != kSpin || !compares_signals)) continue;
      difference.offset_a = i < size_a ? cfg_a.instrs[i].offset : difference.offset_a;
      difference.offset_b = j < cfg_b.instrs.size() ? cfg_b.instrs[j].offset : difference.offset_b;
      if (i == j) return part("both go round for ever, and a signal may find other handlers");
      return part(i == kSpin
                      ? "this side goes round for ever without doing anything, the other does not"
                      : "the other side goes round for ever without doing anything");
    }
    if (!classes.join(i, size_a + j)) continue;

    const Instr &p = cfg_a.instrs[i], &q = cfg_b.instrs[j];
    const Block &block_a = cfg_a.blocks[a.block_of[i]], &block_b = cfg_b.blocks[b.block_of[j]];
    difference.offset_a = p.offset;
    difference.offset_b = q.offset;
    const bool last_a = i + 1 == block_a.end, last_b = j + 1 == block_b.end;
    const bool control_a = last_a && block_a.target.valid(),
               control_b = last_b && block_b.target.valid();
    const std::uint32_t next_a = a.after(i), next_b = b.after(j);
    if (test(p.op) != test(q.op) || p.aux != q.aux || control_a != control_b ||
        !same_operand(
            canon, operand(canon, kA, code_a, p, instr_at(cfg_a.instrs, next_a), compare_names),
            operand(canon, kB, code_b, q, instr_at(cfg_b.instrs, next_b), compare_names),
            p.op == Op::LOAD_CONST,
            is_search(instr_at(cfg_a.instrs, next_a)) && is_search(instr_at(cfg_b.instrs, next_b)),
            nested))
      return part(describe(canon, kA, code_a, p) + ", but the other has " +
                  describe(canon, kB, code_b, q));
    if (is_line(canon.module(kA), code_a, p, instr_at(cfg_a.instrs, next_a)))
      canon.lines_differ |= canonical_arg(canon, kA, code_a, p.op, p.arg) !=
                            canonical_arg(canon, kB, code_b, q.op, q.arg);

    if (block_a.region.valid() != block_b.region.valid())
      return part(describe(canon, kA, code_a, p) +
                  (block_a.region.valid() ? " is protected by a handler, the other is not"
                                          : " is not protected by a handler, the other is"));
    const auto same_handlers = [&](RegionId x_id, RegionId y_id) {
      const Region &region_a = cfg_a[x_id], &region_b = cfg_b[y_id];
      work.emplace_back(a.at(region_a.handler), b.at(region_b.handler));
      return region_a.depth == region_b.depth && region_a.lasti == region_b.lasti &&
             region_a.entry == region_b.entry;
    };
    if (block_a.region.valid() && !same_handlers(block_a.region, block_b.region))
      return part("the handlers of " + describe(canon, kA, code_a, p) +
                  " start at different stack depths");
    // Whether the jumps back on both ways have handlers that correspond.
    const auto same_jumps = [&](std::uint32_t jump_a, std::uint32_t jump_b) {
      if (!compares_signals) return true;
      const auto handled = [](std::uint32_t jump) { return jump < kSeveral; };
      if (handled(jump_a) != handled(jump_b) || jump_a == kSeveral || jump_b == kSeveral)
        return false;
      return !handled(jump_a) || same_handlers(RegionId(jump_a), RegionId(jump_b));
    };
    bool same = !(hides_signals && compares_signals) ||
                (!jumps_back(cfg_a, block_a) && !jumps_back(cfg_b, block_b));
    if (control_a) {
      const auto [true_a, false_a] = arms(p, block_a);
      const auto [true_b, false_b] = arms(q, block_b);
      work.emplace_back(a.at(true_a), b.at(true_b));
      work.emplace_back(a.at(false_a), b.at(false_b));
      same = same && same_jumps(a.jump_along(block_a, true_a), b.jump_along(block_b, true_b)) &&
             same_jumps(a.jump_along(block_a, false_a), b.jump_along(block_b, false_b));
    } else if (next_a != kNone || next_b != kNone) {
      work.emplace_back(next_a, next_b);
      same = same && same_jumps(a.jump_after(i), b.jump_after(j));
    }
    if (!same)
      return part("the jumps back behind " + describe(canon, kA, code_a, p) +
                  " have other handlers than those of the other side");
  }
  return std::nullopt;
}

bool same_reached(Canon& canon, CodeId a, const InstrList& list_a, CodeId b,
                  const InstrList& list_b, bool compare_names) {
  const std::vector<Instr>&x = list_a.instrs, &y = list_b.instrs;
  Classes classes(x.size() + y.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> work{{0, 0}};
  Pairs codes;
  const auto behind_jumps = [](const std::vector<Instr>& instrs, std::uint32_t at) {
    for (int hops = 0; hops < kMostHops && at < instrs.size() && instrs[at].op == Op::JUMP; ++hops)
      at = instrs[at].target;
    return at;
  };
  while (!work.empty()) {
    const std::uint32_t i = behind_jumps(x, work.back().first),
                        j = behind_jumps(y, work.back().second);
    work.pop_back();
    if (i >= x.size() || j >= y.size()) return false;
    if (!classes.join(i, static_cast<std::uint32_t>(x.size()) + j)) continue;
    const Instr &p = x[i], &q = y[j];
    if (p.op != q.op || p.aux != q.aux || (p.target == kNoTarget) != (q.target == kNoTarget) ||
        !same_operand(canon, operand(canon, kA, a, p, instr_at(x, i + 1), compare_names),
                      operand(canon, kB, b, q, instr_at(y, j + 1), compare_names),
                      p.op == Op::LOAD_CONST, false, codes))
      return false;
    if (p.target != kNoTarget) work.emplace_back(p.target, q.target);
    if (!ends_flow(p.op)) work.emplace_back(i + 1, j + 1);
  }
  return true;
}

bool same_sequence(Canon& canon, CodeId a, const InstrList& list_a, CodeId b,
                   const InstrList& list_b, bool compare_names, Pairs& nested) {
  if (list_a.instrs.size() != list_b.instrs.size() || list_a.rows.size() != list_b.rows.size())
    return false;
  Pairs codes;
  const std::size_t n = list_a.instrs.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Instr &p = list_a.instrs[i], &q = list_b.instrs[i];
    if (p.op != q.op || p.aux != q.aux || p.target != q.target) return false;
    const std::uint32_t x = operand(canon, kA, a, p, instr_at(list_a.instrs, i + 1), compare_names);
    const std::uint32_t y = operand(canon, kB, b, q, instr_at(list_b.instrs, i + 1), compare_names);
    const bool searched = is_search(instr_at(list_a.instrs, i + 1));
    if (!same_operand(canon, x, y, p.op == Op::LOAD_CONST, searched, codes)) return false;
  }
  if (!std::equal(list_a.rows.begin(), list_a.rows.end(), list_b.rows.begin(),
                  [](const ExceptionRow& x, const ExceptionRow& y) {
                    return x.begin == y.begin && x.end == y.end && x.target == y.target &&
                           x.depth == y.depth && x.lasti == y.lasti;
                  }))
    return false;
  for (const auto& [x, y] : codes.list()) nested.many(x, y);
  return true;
}

}  // namespace depyf::verify_detail
