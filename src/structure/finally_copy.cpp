#include "structure/finally_copy.h"

#include <algorithm>

#include "structure/regions.h"

namespace depyf {

bool FinallyCopy::same_value(ValueId h, ValueId t, const Values& map) const {
  h = s_.resolve(h);
  t = s_.resolve(t);
  if (h == t) return true;
  auto found = map.find(h.index);
  if (found != map.end()) return s_.resolve(found->second) == t;
  if (s_.is_const(h) && s_.is_const(t))
    return s_.same_const(ConstId(s_.at(h).arg), ConstId(s_.at(t).arg));
  if (s_.at(h).kind != s_.at(t).kind) return false;
  const ValueKind kind = s_.at(h).kind;
  if (is_at_handler_entry(kind)) {  // of two handlers that are taken for the same
    auto pair = visited_.find(s_.at(h).block.index);
    return pair != visited_.end() && pair->second == s_.at(t).block.index &&
           s_.at(h).arg == s_.at(t).arg;
  }
  return kind == ValueKind::Null;
}

bool FinallyCopy::same_end(Position a, Position b) {
  Values map;
  const auto skip = [&](Position& p) {
    const Node& node = s_.nodes[p.block.index];
    while (p.at < node.body.size() && is_quiet_in_handler(s_, node.body[p.at])) ++p.at;
    return p.at < node.body.size();
  };
  // to where a jump leads that hands on nothing
  const auto follow = [&](Position& p) {
    const Node& node = s_.nodes[p.block.index];
    if (!node.is_plain_jump() || !node.edges[0].args.empty()) return false;
    p = {node.edges[0].to, 0};
    return true;
  };
  for (std::size_t steps = 0; steps < kMostCompared; ++steps) {
    if (a.block == b.block && a.at == b.at) return true;
    const bool more_a = skip(a), more_b = skip(b);
    const Node &x = s_.nodes[a.block.index], &y = s_.nodes[b.block.index];
    if (more_a != more_b) {
      if (!follow(more_a ? b : a)) return false;
      continue;
    }
    if (more_a) {
      if (x.region != y.region || !same_operation(x.body[a.at], y.body[b.at], map)) return false;
      ++a.at;
      ++b.at;
      continue;
    }
    return same_term(x, y, map);
  }
  return false;
}

/// Do two blocks that end do so in the same way?
bool FinallyCopy::same_term(const Node& x, const Node& y, const Values& map) const {
  if (x.term != y.term || x.match != y.match || x.raise_args.size() != y.raise_args.size() ||
      x.edge_count() != y.edge_count())
    return false;
  if (x.region != y.region && x.term != TermKind::Return && x.term != TermKind::Jump) return false;
  if (x.value && !same_value(x.value, y.value, map)) return false;
  for (std::size_t k = 0; k < x.raise_args.size(); ++k)
    if (!same_value(x.raise_args[k], y.raise_args[k], map)) return false;
  for (int k = 0; k < x.edge_count(); ++k) {
    const Edge &e = x.edges[k], &f = y.edges[k];
    if (e.to != f.to || e.args.size() != f.args.size()) return false;
    for (std::size_t n = 0; n < e.args.size(); ++n)
      if (!same_value(e.args[n], f.args[n], map)) return false;
  }
  return true;
}

bool FinallyCopy::marks_annotation(const Value& value) const {
  if (value.op != Op::SET_ADD || value.operands.size() != 2) return false;
  const Value& set = s_.at(s_.resolve(value.operands[0]));
  if (set.op != Op::LOAD_DEREF && set.op != Op::LOAD_NAME) return false;
  const auto& slots = s_.module[s_.lifted.code].slots;
  const StrId name = set.op == Op::LOAD_NAME ? StrId(set.arg) : slots[set.arg].name;
  return s_.module[name] == "__conditional_annotations__";
}

bool FinallyCopy::same_operation(ValueId a, ValueId b, Values& map) {
  const Value &x = s_.at(a), &y = s_.at(b);
  if (x.kind != y.kind || x.op != y.op || x.operands.size() != y.operands.size()) return false;
  // The handler's copy of an import is marked as one inside of `try` (3.15), the other copy as what
  // stands where the statement does.
  const auto is_lazy = [](const Value& import) { return import.aux == 1; };
  if (x.op == Op::IMPORT_NAME ? is_lazy(x) != is_lazy(y) : x.aux != y.aux) return false;
  bool negated = false, first_negated = false;
  if (x.kind == ValueKind::Select) {
    // The compiler turns the test of one copy round, where another block follows it.
    const auto turned = negated_.find(s_.resolve(x.operands[0]).index);
    first_negated = turned != negated_.end() && turned->second == s_.resolve(y.operands[0]);
    negated = first_negated || !s_.same_select(a, b);
    if (negated &&
        !(s_.uses[a.index] == 1 && s_.uses[b.index] == 1 && s_.negated_select(a, b, first_negated)))
      return false;
  } else if (x.arg != y.arg && x.op != Op::LOAD_CONST) {
    return false;
  }
  for (std::size_t i = 0; i < x.operands.size(); ++i)
    if (!(i == 0 && first_negated) && !same_value(x.operands[i], y.operands[i], map) &&
        !(i == 1 && marks_annotation(x)))
      return false;
  (negated ? negated_ : map)[a.index] = b;
  if (x.kind == ValueKind::Operation) {
    std::vector<ValueId> ra = s_.results_of(a), rb = s_.results_of(b);
    for (std::size_t i = 0; i < ra.size() && i < rb.size(); ++i) map[ra[i].index] = rb[i];
  }
  return true;
}

bool FinallyCopy::match(BlockId t) {
  visited_[handler_.index] = t.index;
  work_.push_back({{handler_, 0}, {t, 0}});
  while (!work_.empty()) {
    Pair at = work_.back();
    work_.pop_back();
    for (Step step = Step::GoOn; step == Step::GoOn;) {
      step = next(at);
      if (step == Step::Differs) return false;
    }
    if (visited_.size() > kMostCompared) return false;
  }
  return std::all_of(alone_.begin(), alone_.end(),
                     [&](std::uint32_t r) { return statements_.count(r) != 0; });
}

/// Handlers of statements inside the body. Does what is at the two places lie in the same ones?
bool FinallyCopy::equally_protected(RegionId rh, RegionId rt) {
  for (; rh && rh != rt && !s_.is_ancestor(rh, base_); rh = s_.regions[rh.index].parent) {
    if (!rt || s_.is_ancestor(rt, base_)) {
      alone_.insert(rh.index);
      break;
    }
    statements_.insert(rh.index);
    const BlockId hh = s_.regions[rh.index].handler, th = s_.regions[rt.index].handler;
    if (hh != th && !visited_.count(hh.index)) {
      visited_[hh.index] = th.index;
      work_.push_back({{hh, 0}, {th, 0}});
    }
    rt = s_.regions[rt.index].parent;
  }
  return rh == rt || (s_.is_ancestor(rh, base_) && s_.is_ancestor(rt, base_));
}

FinallyCopy::Step FinallyCopy::next(Pair& at) {
  Position &h = at.h, &t = at.t;
  if (h.block == t.block && h.at == t.at) return Step::Ends;  // after both
  const Node &hn = s_[h.block], &tn = s_[t.block];
  const bool equally = equally_protected(hn.region, tn.region);
  const auto skip_quiet = [&](const Node& node, std::size_t& i) {
    while (i < node.body.size() && is_quiet_in_handler(s_, node.body[i])) ++i;
  };
  skip_quiet(hn, h.at);
  if (h.at == hn.body.size() && hn.term == TermKind::Reraise &&
      s_.is_exception_of(s_.resolve(hn.value), handler_))
    return completes_at(t) ? Step::Ends : Step::Differs;
  skip_quiet(tn, t.at);
  if (h.at < hn.body.size()) {
    if (t.at == tn.body.size()) {
      if (tn.term != TermKind::Jump || ++hops_ > s_.nodes.size()) return Step::Differs;
      t = {tn.edges[0].to, 0};
      return Step::GoOn;
    }
    if (!equally || !same_operation(hn.body[h.at], tn.body[t.at], map_)) return Step::Differs;
    ++h.at;
    ++t.at;
    hops_ = 0;
    return Step::GoOn;
  }
  // both at the end of their blocks
  if (hn.term == TermKind::Jump) return jump(at);
  return t.at == tn.body.size() && same_ends(hn, tn, equally) ? Step::Ends : Step::Differs;
}

/// The handler raises again: the copy's body ends at `here`, or after jumps.
bool FinallyCopy::completes_at(Position here) {
  for (;;) {
    const Node& at = s_[here.block];
    // out of the statements of the body, as the handler
    if (!s_.is_ancestor(at.region, base_)) {
      std::size_t end = here.at;
      while (end < at.body.size() && is_quiet_in_handler(s_, at.body[end])) ++end;
      if (end == at.body.size() && at.term == TermKind::Jump && at.jump == JumpRole::Plain &&
          at.edges[0].args.empty() && ++hops_ <= s_.nodes.size()) {
        here = {at.edges[0].to, 0};
        continue;
      }
    }
    // not past values that are handed on, nor around `while True: pass`, nor through another
    // statement, of which nothing else may be left
    if (here.at != at.body.size() || at.term != TermKind::Jump || at.jump != JumpRole::Plain ||
        !at.edges[0].args.empty() || at.edges[0].to == here.block ||
        !s_.is_ancestor(at.region, base_) || !s_.is_ancestor(s_[at.edges[0].to].region, at.region))
      break;
    if (++hops_ > s_.nodes.size()) return false;
    here = {at.edges[0].to, 0};
  }
  if (completes_ && (behind_.block != here.block || behind_.at != here.at) &&
      !same_end(behind_, here))
    return false;
  completes_ = true;
  behind_ = here;
  return true;
}

FinallyCopy::Step FinallyCopy::jump(Pair& at) {
  const Edge& from = s_[at.h.block].edges[0];
  const auto seen = visited_.find(from.to.index);
  // the copy may have the join merged into one of its blocks, or not
  const Node& tn = s_[at.t.block];
  if (at.t.at == tn.body.size() && tn.term == TermKind::Jump && tn.edges[0].to != at.t.block) {
    const std::size_t wanted = s_[from.to].params.size();
    if (wanted == s_[tn.edges[0].to].params.size() && !same_arguments(from, tn.edges[0], wanted))
      return Step::Differs;
    at.t = {tn.edges[0].to, 0};
  }
  const std::uint64_t key = (std::uint64_t{at.t.at} << 32) | at.t.block.index;
  if (seen != visited_.end())
    return seen->second == key || same_place(seen->second, at.t) ? Step::Ends : Step::Differs;
  visited_[from.to.index] = key;
  at.h = {from.to, 0};
  return Step::GoOn;
}

/// Do two edges hand on the same? Then what the one's parameters are to the other is known.
bool FinallyCopy::same_arguments(const Edge& from, const Edge& to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!same_value(from.args[i], to.args[i], map_)) return false;
    map_[s_[from.to].params[i].index] = s_[to.to].params[i];
  }
  return true;
}

bool FinallyCopy::same_ends(const Node& hn, const Node& tn, bool equally) {
  const bool may_raise = hn.term != TermKind::Return && hn.term != TermKind::Branch &&
                         hn.term != TermKind::Unreachable;
  if ((may_raise && !equally) || hn.term != tn.term ||
      (hn.match != UINT32_MAX) != (tn.match != UINT32_MAX) ||
      hn.raise_args.size() != tn.raise_args.size())
    return false;
  if (hn.match != UINT32_MAX &&
      !s_.same_tree(s_.cases[hn.match].pattern, s_.cases[tn.match].pattern))
    return false;
  bool turned = false;  // the test, and so its ways
  if (hn.term == TermKind::Branch) {
    const auto found = negated_.find(s_.resolve(hn.value).index);
    turned = found != negated_.end() && found->second == s_.resolve(tn.value);
  }
  if (hn.value && !turned && !same_value(hn.value, tn.value, map_)) return false;
  for (std::size_t i = 0; i < hn.raise_args.size(); ++i)
    if (!same_value(hn.raise_args[i], tn.raise_args[i], map_)) return false;
  if (hn.item && tn.item) map_[hn.item.index] = tn.item;
  for (int k = 0; k < hn.edge_count(); ++k) {
    const Edge &he = hn.edges[k], &te = tn.edges[turned ? 1 - k : k];
    if (s_[he.to].params.size() == s_[te.to].params.size() && he.args.size() == te.args.size() &&
        !same_arguments(he, te, he.args.size()))
      return false;
    const auto seen = visited_.find(he.to.index);
    if (seen != visited_.end()) {
      if (seen->second != te.to.index && !same_place(seen->second, {te.to, 0})) return false;
      continue;
    }
    visited_[he.to.index] = te.to.index;
    work_.push_back({{he.to, 0}, {te.to, 0}});
  }
  return true;
}

}  // namespace depyf
