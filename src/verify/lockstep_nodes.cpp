// Nodes of the prover's walk, each a pair of blocks: the facts known there, and which of them
// remain where two edges join (partition refinement).
#include <algorithm>
#include <map>
#include <set>

#include "verify/lockstep_walk.h"

namespace depyf::verify_detail {

std::vector<ValueId> Lockstep::live_values(Which side) {
  const SideState& s = sides_[side];
  const BlockFacts& facts = s.facts.blocks[s.at.block];
  std::vector<ValueId> out = facts.live_in;
  const auto add = [&](ValueId id) {
    if (live(s, id)) out.push_back(id);
  };
  for (ValueId id : s.lifted->blocks[s.at.block].params) add(id);
  for (ValueId id : facts.at_entry) add(id);
  const std::size_t passed = std::min<std::size_t>(s.at.index, facts.events.size());
  for (std::size_t i = 0; i < passed; ++i) {
    add(facts.events[i]);
    for (std::uint32_t r = s.facts.values[facts.events[i].index].results; r != kNone;
         r = s.facts.values[r].next_result)
      add(ValueId(r));
  }
  std::sort(out.begin(), out.end());
  spend(1 + out.size() + passed / 4);
  return out;
}

State Lockstep::extract(const Node& node) {
  State out;
  ++mark_;
  std::vector<TokenId> objects;  // classes whose items are still to be numbered
  const auto class_of = [&](TokenId id) {
    id = tokens_.find(id);
    Token& token = tokens_[id];
    if (token.mark == mark_) return token.mark_class;
    token.mark = mark_;
    token.mark_class = static_cast<std::uint32_t>(out.classes.size());
    Class made;
    made.kind = token.kind == TokenKind::Pure ? TokenKind::Leaf : token.kind;
    if (made.kind != TokenKind::Leaf) {
      made.side = token.side;
      made.op = token.kind == TokenKind::Object ? Op::UNKNOWN : token.op;
      made.a = token.a;
    }
    out.classes.push_back(made);
    if (token.kind == TokenKind::Object) objects.push_back(id);
    return tokens_[id].mark_class;
  };
  for (Which side : {kA, kB})
    for (ValueId id : node.keys[side]) out.class_of.push_back(class_of(get(side, id)));
  std::vector<TokenId> items;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const TokenId object = objects[i];
    TokenId base;
    flatten(object, items, base);
    const std::uint32_t at = tokens_[object].mark_class;
    std::vector<std::uint32_t> classes{base == kNoToken ? kNone : class_of(base)};
    for (TokenId item : items) classes.push_back(class_of(item));
    Class& made = out.classes[at];
    made.op = object_op(object);
    made.items_at = static_cast<std::uint32_t>(out.items.size());
    made.items_count = static_cast<std::uint32_t>(classes.size());
    out.items.insert(out.items.end(), classes.begin(), classes.end());
    spend(classes.size());
  }
  if (!out.classes.empty()) {
    for (std::uint32_t name : local_names_) {
      if (local_[name] == kNoToken) continue;
      const Token& token = tokens_[tokens_.find(local_[name])];
      if (token.mark == mark_) out.locals.emplace_back(name, token.mark_class);
    }
    std::sort(out.locals.begin(), out.locals.end());
    spend(local_names_.size() / 8 + 1);
  }
  return out;
}

std::vector<TokenId> Lockstep::instantiate(const State& state) {
  std::vector<TokenId> out(state.classes.size(), kNoToken);
  // Objects hold each other without cycles, but in any order: first the simple ones, then objects
  // whose items are done.
  std::vector<std::uint32_t> work;
  for (std::uint32_t c = 0; c < state.classes.size(); ++c) work.push_back(c);
  std::reverse(work.begin(), work.end());
  std::vector<TokenId> items;
  while (!work.empty()) {
    const std::uint32_t c = work.back();
    if (out[c] != kNoToken) {
      work.pop_back();
      continue;
    }
    const Class& from = state.classes[c];
    if (from.kind != TokenKind::Object) {
      out[c] = from.kind == TokenKind::Leaf
                   ? tokens_.leaf()
                   : tokens_.consed(from.kind, from.op, from.a, 0, {}, from.side);
      work.pop_back();
      continue;
    }
    bool ready = true;
    for (std::uint32_t i = 0; i < from.items_count; ++i) {
      const std::uint32_t item = state.items[from.items_at + i];
      if (item != kNone && out[item] == kNoToken) {
        ready = false;
        work.push_back(item);
      }
    }
    spend(1 + from.items_count);
    if (!ready) continue;
    work.pop_back();
    items.clear();
    for (std::uint32_t i = 1; i < from.items_count; ++i)
      items.push_back(out[state.items[from.items_at + i]]);
    if (state.items[from.items_at] == kNone) {
      out[c] = tokens_.object(from.side, from.op, items);
    } else {
      // Grown from something that is known to both: the same chain again.
      TokenId grown = out[state.items[from.items_at]];
      if (items.empty())
        grown = tokens_.object(from.side, Op::LIST_APPEND, std::vector<TokenId>{grown});
      for (TokenId item : items)
        grown = tokens_.object(from.side, Op::LIST_APPEND, std::vector<TokenId>{grown, item});
      out[c] = grown;
    }
  }
  return out;
}

void Lockstep::arrive() {
  const NodeKey key{{sides_[kA].at, sides_[kB].at}};
  const auto [found, fresh] = node_ids_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
  const std::uint32_t id = found->second;
  if (watches_signals_ && quiet_) note_quiet_way(id);
  if (fresh) {
    nodes_.emplace_back();
    nodes_[id].key = key;
    for (Which side : {kA, kB}) nodes_[id].keys[side] = live_values(side);
    nodes_[id].state = extract(nodes_[id]);
    enqueue(id);
    return;
  }
  State incoming = extract(nodes_[id]);
  spend(1 + incoming.class_of.size());
  if (incoming == nodes_[id].state) return;
  State joined = join(nodes_[id], incoming);
  if (joined == nodes_[id].state) return;
  nodes_[id].state = std::move(joined);
  enqueue(id);
}

void Lockstep::enqueue(std::uint32_t id) {
  Node& node = nodes_[id];
  if (node.queued) return;
  node.queued = true;
  const std::uint64_t a = sides_[kA].facts.blocks[node.key.at[kA].block].number,
                      b = sides_[kB].facts.blocks[node.key.at[kB].block].number;
  queue_.emplace((a << 32) | b, id);
}

State Lockstep::join(const Node& node, const State& incoming) {
  const State& known = node.state;
  const std::vector<TokenId> old_tokens = instantiate(known), new_tokens = instantiate(incoming);
  pair_alike(node, known, old_tokens, incoming, new_tokens);

  using Two = std::pair<TokenId, TokenId>;
  std::set<Two> poisoned;
  while (true) {
    State out;
    std::map<Two, std::uint32_t> ids;
    std::vector<Two> order;
    const auto class_of = [&](TokenId x, TokenId y) {
      const Two two{tokens_.find(x), tokens_.find(y)};
      const auto [found, fresh] =
          ids.try_emplace(two, static_cast<std::uint32_t>(out.classes.size()));
      if (fresh) {
        out.classes.emplace_back();
        order.push_back(two);
      }
      return found->second;
    };
    for (std::size_t i = 0; i < known.class_of.size(); ++i)
      out.class_of.push_back(
          class_of(old_tokens[known.class_of[i]], new_tokens[incoming.class_of[i]]));
    std::map<TokenId, TokenId> partner, partner_back;
    bool conflict = false;
    std::vector<TokenId> items_x, items_y;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto [x, y] = order[i];
      const Token s = tokens_[x], t = tokens_[y];
      Class& made = out.classes[i];
      if (s.kind != t.kind || s.kind == TokenKind::Leaf || s.kind == TokenKind::Pure) continue;
      if (s.kind != TokenKind::Object) {
        if (x == y) {
          made.kind = s.kind;
          made.side = s.side;
          made.op = s.op;
          made.a = s.a;
        }
        continue;
      }
      // Distinct objects must stay distinct: one object of one way goes with one object of the
      // other.
      const TokenId px = partner.try_emplace(x, y).first->second,
                    py = partner_back.try_emplace(y, x).first->second;
      if (px != y || py != x) {
        conflict |= poisoned.insert({x, y}).second;
        conflict |= poisoned.insert({x, px}).second;
        conflict |= poisoned.insert({py, y}).second;
        continue;
      }
      if (poisoned.count({x, y}) || s.side != t.side || object_op(x) != object_op(y)) continue;
      TokenId base_x, base_y;
      flatten(x, items_x, base_x);
      flatten(y, items_y, base_y);
      if (items_x.size() != items_y.size() || (base_x == kNoToken) != (base_y == kNoToken))
        continue;
      std::vector<std::uint32_t> classes{base_x == kNoToken ? kNone : class_of(base_x, base_y)};
      for (std::size_t k = 0; k < items_x.size(); ++k)
        classes.push_back(class_of(items_x[k], items_y[k]));
      Class& object = out.classes[i];
      object.kind = TokenKind::Object;
      object.side = s.side;
      object.op = object_op(x);
      object.items_at = static_cast<std::uint32_t>(out.items.size());
      object.items_count = static_cast<std::uint32_t>(classes.size());
      out.items.insert(out.items.end(), classes.begin(), classes.end());
      spend(classes.size());
    }
    spend(4 * order.size());
    if (conflict) continue;
    std::size_t at = 0;
    for (const auto& [name, class_old] : known.locals) {
      while (at < incoming.locals.size() && incoming.locals[at].first < name) ++at;
      if (at == incoming.locals.size() || incoming.locals[at].first != name) continue;
      const Two two{tokens_.find(old_tokens[class_old]),
                    tokens_.find(new_tokens[incoming.locals[at].second])};
      if (const auto found = ids.find(two); found != ids.end())
        out.locals.emplace_back(name, found->second);
    }
    return out;
  }
}

void Lockstep::pair_alike(const Node& node, const State& known,
                          const std::vector<TokenId>& known_tokens, const State& incoming,
                          const std::vector<TokenId>& incoming_tokens) {
  using Two = std::pair<TokenId, TokenId>;
  std::vector<Two> splits[2];
  std::vector<TokenId> items_x, items_y;
  const std::size_t split = node.keys[kA].size();
  for (Which side : {kA, kB}) {
    std::vector<Two> reached;
    std::set<Two> seen;
    const auto reach = [&](TokenId x, TokenId y) {
      const Two two{tokens_.find(x), tokens_.find(y)};
      if (two.first != two.second && seen.insert(two).second) reached.push_back(two);
    };
    for (std::size_t i = side == kA ? 0 : split; i < (side == kA ? split : known.class_of.size());
         ++i)
      reach(known_tokens[known.class_of[i]], incoming_tokens[incoming.class_of[i]]);
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const auto [x, y] = reached[i];
      const bool object_x = tokens_[x].kind == TokenKind::Object,
                 object_y = tokens_[y].kind == TokenKind::Object;
      if (!object_x && !object_y && !holds_nan(x) && !holds_nan(y)) continue;
      bool alike = object_x && object_y && object_op(x) == object_op(y);
      if (alike) {
        TokenId base_x, base_y;
        flatten(x, items_x, base_x);
        flatten(y, items_y, base_y);
        alike = items_x.size() == items_y.size() && (base_x == kNoToken) == (base_y == kNoToken);
        for (std::size_t k = 0; alike && k < items_x.size(); ++k) reach(items_x[k], items_y[k]);
      }
      if (!alike) splits[side].push_back({x, y});
    }
    spend(1 + reached.size());
  }
  for (const auto& [old_a, new_a] : splits[kA])
    for (const auto& [old_b, new_b] : splits[kB]) {
      std::vector<TokenId> log;
      const Canon::NanPairs nan_pairs = canon_.nan_pairs;
      if (same(old_a, old_b, &log) && same(new_a, new_b, &log)) break;
      for (TokenId id : log) tokens_[id].forward = kNoToken;
      canon_.nan_pairs = nan_pairs;
    }
}

}  // namespace depyf::verify_detail
