// What the prover's walk knows of signals. A signal may be the only way out of a loop. In one with
// an operation that may raise, the handlers of that operation are compared; in one without, those
// where CPython looks for signals: from 3.11 on where it jumps back (CHECK_EVAL_BREAKER in
// Python/bytecodes.c), before at other instructions, too.
#include <algorithm>

#include "verify/lockstep_walk.h"

namespace depyf::verify_detail {

void Signals::take(const Lifted& lifted, BlockId at) {
  const LiftedBlock& left = lifted[at];
  Signals one;
  one.any = true;
  one.block = at;
  if (left.signal_region) {
    one.handler = lifted.regions[left.signal_region.index].handler;
    // What this handler would be given is known for the region of the lifted block alone.
    one.mixed = left.signal_region != left.region;
  }
  add(one);
}

void Signals::add(const Signals& other) {
  if (!other.any) return;
  mixed |= other.mixed || (any && handler != other.handler);
  any = true;
  handler = other.handler;
  block = other.block;
}

void Lockstep::note_signals(Which side) {
  SideState& s = sides_[side];
  const LiftedBlock& left = s.lifted->blocks[s.at.block];
  if (!left.takes_signals) return;
  s.signals.take(*s.lifted, BlockId(s.at.block));
  if (left.signal_region && node_ < nodes_.size() && nodes_[node_].compares_signals)
    s.signal_args = tokens_of(side, left.handler_args);
}

void Lockstep::meet_signals() {
  const Signals met[2] = {sides_[kA].signals, sides_[kB].signals};
  for (Which side : {kA, kB}) {
    sides_[side].signals = {};
    way_.signals[side].add(met[side]);
  }
  way_.matched &= met[kA].any == met[kB].any;
  if (!met[kA].handler || !met[kB].handler || met[kA].mixed || met[kB].mixed) return;
  if (node_ >= nodes_.size() || !nodes_[node_].compares_signals) return;
  enter_handlers(met[kA].handler, met[kB].handler,
                 {sides_[kA].signal_args, sides_[kB].signal_args});
}

void Lockstep::note_quiet_way(std::uint32_t to) {
  if (quiet_ways_.size() <= node_) quiet_ways_.resize(node_ + 1);
  QuietWay way = way_;
  way.to = to;
  quiet_ways_[node_].push_back(way);
  spend(1);
}

void Lockstep::signals_of_spin(Which side) {
  SideState& s = sides_[side];
  const std::uint32_t begins = s.at.block;
  const std::vector<TokenId> values = live_tokens(side);
  s.signals = {};
  do {
    take_known(side);
  } while (s.at.block != begins || live_tokens(side) != values);
  if (s.signals.block) s.at.block = s.signals.block.index;
}

void Lockstep::meet_spins() {
  for (Which side : {kA, kB}) signals_of_spin(side);
  const Signals &a = sides_[kA].signals, &b = sides_[kB].signals;
  if (watches_signals_ && (hides_signals() || !a.any || !b.any || a.mixed || b.mixed ||
                           a.handler.valid() != b.handler.valid()))
    part("goes round for ever, and the handlers of a signal differ");
  for (Which side : {kA, kB}) sides_[side].at.index = kSpins;
}

void Lockstep::walk_spins() {
  const SideState& a = sides_[kA];
  if (a.lifted->blocks[a.at.block].signal_region) handlers();
}

bool Lockstep::mark_quiet_loops() {
  // Strongly connected components (R. E. Tarjan, "Depth-First Search and Linear Graph Algorithms",
  // 1972), without recursion.
  struct Visit {
    std::uint32_t node;
    std::size_t next;
  };
  const auto count = static_cast<std::uint32_t>(quiet_ways_.size());
  std::vector<std::uint32_t> number(count, kNone), low(count, 0), loop_of(count, kNone), open;
  std::vector<Visit> visits;
  std::uint32_t numbers = 0;
  bool any = false;
  for (std::uint32_t root = 0; root < count; ++root) {
    if (number[root] != kNone) continue;
    visits.push_back({root, 0});
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const std::uint32_t at = visit.node;
      if (visit.next == 0) {
        number[at] = low[at] = numbers++;
        open.push_back(at);
      }
      bool deeper = false;
      while (visit.next < quiet_ways_[at].size() && !deeper) {
        const std::uint32_t to = quiet_ways_[at][visit.next++].to;
        if (to >= count) continue;  // nothing quiet leaves it
        if (number[to] == kNone) {
          visits.push_back({to, 0});
          deeper = true;
        } else if (loop_of[to] == kNone) {
          low[at] = std::min(low[at], number[to]);
        }
      }
      if (deeper) continue;
      visits.pop_back();
      if (!visits.empty()) low[visits.back().node] = std::min(low[visits.back().node], low[at]);
      if (low[at] != number[at]) continue;
      std::vector<std::uint32_t> loop;
      do {
        loop.push_back(open.back());
        loop_of[open.back()] = at;
        open.pop_back();
      } while (loop.back() != at);
      any |= mark_quiet_loop(loop, loop_of);
    }
  }
  return any;
}

bool Lockstep::mark_quiet_loop(const std::vector<std::uint32_t>& nodes,
                               const std::vector<std::uint32_t>& loop_of) {
  const auto each_way = [&](const auto& visit) {
    for (const std::uint32_t node : nodes)
      for (const QuietWay& way : quiet_ways_[node])
        if (way.to < loop_of.size() && loop_of[way.to] == loop_of[node]) visit(node, way);
  };
  bool handled = hides_signals();
  each_way([&](std::uint32_t, const QuietWay& way) {
    for (const Signals& signals : way.signals) handled |= signals.mixed || signals.handler.valid();
  });
  if (!handled) return false;
  bool any = false;
  each_way([&](std::uint32_t node, const QuietWay& way) {
    const Signals &a = way.signals[kA], &b = way.signals[kB];
    if (!a.any && !b.any) return;
    if (hides_signals() || !way.matched || a.mixed || b.mixed ||
        a.handler.valid() != b.handler.valid()) {
      for (Which side : {kA, kB}) sides_[side].at = nodes_[node].key.at[side];
      part("a loop that only a signal may end: its handlers differ");
    }
    if (!a.handler || nodes_[node].compares_signals) return;
    nodes_[node].compares_signals = true;
    enqueue(node);
    any = true;
  });
  return any;
}

}  // namespace depyf::verify_detail
