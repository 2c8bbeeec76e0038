#include "verify/lockstep.h"

#include <algorithm>

#include "simplify/simplify.h"
#include "verify/lockstep_walk.h"

namespace depyf::verify_detail {

void Lockstep::prepare() {
  std::size_t size = 0;
  for (Which side : {kA, kB}) {
    SideState& s = sides_[side];
    size += s.lifted->values.size() + s.lifted->blocks.size();
    for (const std::vector<ValueId>& list : s.lifted->held) size += list.size();
    for (const std::vector<ValueId>& list : s.lifted->held_at_end) size += list.size();
  }
  budget_ = 20000 + 100 * size;
  for (Which side : {kA, kB}) {
    SideState& s = sides_[side];
    s.facts = gather(*s.lifted, canon_.module(side), canon_.bare[side], 10000 + 100 * size);
    if (!s.facts.complete) {
      Parted parted;
      parted.difference.text = "not proven: the code is larger than the budget of the comparison";
      parted.difference.has_offsets = false;
      throw parted;
    }
    for (const Value& value : s.lifted->values)
      every_way_is_taken_ &= value.kind != ValueKind::Operation ||
                             (value.op != Op::IS && value.op != Op::CONTAINS &&
                              value.op != Op::EXC_MATCH && value.op != Op::CHECK_EXC_MATCH);
    s.env.assign(s.lifted->values.size(), kNoToken);
    s.epoch.assign(s.lifted->values.size(), 0);
    for (const Value& value : s.lifted->values)
      if (value.kind == ValueKind::Operation &&
          (value.op == Op::STORE_GLOBAL || value.op == Op::DELETE_GLOBAL) &&
          installed_by_dynamo(canon_.module(side), StrId(value.arg)))
        loaded_globals_stay_ = false;
  }
}

void Lockstep::begin_walk() {
  tokens_.reset();
  ++walk_;
  local_names_.clear();
  handler_seen_.clear();
  entry_tokens_.clear();
  quiet_ = true;
  way_ = {};
  for (SideState& s : sides_) {
    s.undo.clear();
    s.signals = {};
  }
}

void Lockstep::walk_all() {
  begin_walk();
  for (SideState& s : sides_) s.at = {s.lifted->entry.index, 0};
  meet(true);
  do {
    while (!queue_.empty()) {
      const std::uint32_t id = queue_.top().second;
      queue_.pop();
      nodes_[id].queued = false;
      walk(id);
    }
  } while (mark_quiet_loops());
}

void Lockstep::walk(std::uint32_t id) {
  begin_walk();
  node_ = id;
  if (id < quiet_ways_.size()) quiet_ways_[id].clear();
  {
    const Node& node = nodes_[id];
    const std::vector<TokenId> tokens = instantiate(node.state);
    std::size_t key = 0;
    for (Which side : {kA, kB})
      for (ValueId value : node.keys[side]) set(side, value, tokens[node.state.class_of[key++]]);
    for (const auto& [name, cls] : node.state.locals) local(name) = tokens[cls];
    sides_[kA].at = node.key.at[kA];
    sides_[kB].at = node.key.at[kB];
  }
  if (sides_[kA].at.index == kSpins) return walk_spins();
  while (true) {
    const bool event_a =
        sides_[kA].at.index < sides_[kA].facts.blocks[sides_[kA].at.block].events.size();
    const bool event_b =
        sides_[kB].at.index < sides_[kB].facts.blocks[sides_[kB].at.block].events.size();
    if (event_a != event_b) part_here(different_sight());
    if (!event_a) {
      terminator();
      return;
    }
    effect();
    ++sides_[kA].at.index;
    ++sides_[kB].at.index;
    if (meet(false)) return;
  }
}

void Lockstep::take(Which side, unsigned which) {
  SideState& s = sides_[side];
  const Edge& edge = s.lifted->blocks[s.at.block].edges[which];
  if (!edge.to.valid()) part("not proven: the graph is damaged");
  if (watches_signals_) note_signals(side);
  bind(side, edge.to, tokens_of(side, edge.args));
  if (s.facts.blocks[edge.to.index].predecessors > 1) crossed_ = true;
  s.at = {edge.to.index, 0};
}

std::vector<TokenId> Lockstep::tokens_of(Which side, std::span<const ValueId> values) {
  std::vector<TokenId> tokens;
  for (ValueId id : values) tokens.push_back(get(side, id));
  return tokens;
}

void Lockstep::bind(Which side, BlockId to, const std::vector<TokenId>& values) {
  const std::vector<ValueId>& params = sides_[side].lifted->blocks[to.index].params;
  for (std::size_t i = 0; i < params.size(); ++i)
    set(side, params[i], i < values.size() ? values[i] : tokens_.leaf());
  spend(1 + params.size());
}

bool Lockstep::take_known(Which side) {
  SideState& s = sides_[side];
  const BlockFacts& facts = s.facts.blocks[s.at.block];
  const LiftedBlock& block = s.lifted->blocks[s.at.block];
  for (; s.at.index < facts.events.size(); ++s.at.index) {
    if (!evaluate(side, facts.events[s.at.index])) return false;
    spend(1);
  }
  unsigned which = 0;
  if (block.term == TermKind::Branch) {
    const int known = truth(get(side, facts.test));
    if (known < 0) return false;
    which = (known != 0) != facts.flipped ? 0 : 1;
  } else if (block.term != TermKind::Jump) {
    return false;
  }
  take(side, which);
  return true;
}

Stop Lockstep::advance(Which side) {
  SideState& s = sides_[side];
  // A loop without effects comes back to a block with the values that it had there. What is
  // remembered moves on at powers of two (R. P. Brent, "An Improved Monte Carlo Factorization
  // Algorithm", 1980).
  std::size_t jumps = 0, since = 0, power = 1;
  std::uint32_t remembered = kNone;
  std::vector<TokenId> values;
  while (take_known(side)) {
    if (++jumps <= s.lifted->blocks.size()) continue;
    std::vector<TokenId> now = live_tokens(side);
    if (s.at.block == remembered && now == values) return Stop::Spin;
    if (++since < power) continue;
    power *= 2;
    since = 0;
    remembered = s.at.block;
    values = std::move(now);
  }
  return Stop::Here;
}

bool Lockstep::meet(bool always) {
  if (!always) crossed_ = false;
  const Stop stop_a = advance(kA), stop_b = advance(kB);
  if (stop_a != stop_b)
    part(stop_a == Stop::Spin ? "goes round for ever without an effect, but the other " + here(kB)
                              : here(kA) + ", but the other goes round for ever without an effect");
  if (stop_a == Stop::Spin) meet_spins();
  if (watches_signals_) meet_signals();
  if (!always && !crossed_ && stop_a == Stop::Here) return false;
  arrive();
  return true;
}

bool Lockstep::raises(Which side, ValueId id) const {
  const SideState& s = sides_[side];
  const Value& value = (*s.lifted)[id];
  if (value.kind != ValueKind::Operation) return false;
  if (value.op == Op::DELETE_FAST) return !s.facts.values[id.index].bound;
  return value.op != Op::STORE_FAST && value.op != Op::STORE_DEREF &&
         value.op != Op::MAKE_FUNCTION && value.op != Op::SET_FUNCTION_ATTRIBUTE &&
         value.op != Op::IS && value.op != Op::LOAD_FAST_AND_CLEAR && value.op != Op::POP_EXCEPT;
}

bool Lockstep::same_argument(ValueId va, ValueId vb) {
  const Value &x = (*sides_[kA].lifted)[va], &y = (*sides_[kB].lifted)[vb];
  if (x.op == Op::IS) return negates(kA, va) == negates(kB, vb);
  return canonical_arg(canon_, kA, sides_[kA].lifted->code, x.op, x.arg) ==
         canonical_arg(canon_, kB, sides_[kB].lifted->code, y.op, y.arg);
}

void Lockstep::effect() {
  SideState &a = sides_[kA], &b = sides_[kB];
  const ValueId va = a.facts.blocks[a.at.block].events[a.at.index],
                vb = b.facts.blocks[b.at.block].events[b.at.index];
  const Value &x = (*a.lifted)[va], &y = (*b.lifted)[vb];
  if (x.kind != y.kind) part_here();
  if (x.kind == ValueKind::Previous)
    return;  // PUSH_EXC_INFO: the exception it stacks is the handler's own on both sides
  // A method call and a call of the attribute are the same; lift has made their calls alike.
  const auto plain = [](Op op) { return op == Op::LOAD_METHOD ? Op::LOAD_ATTR : op; };
  const Op op = plain(x.op);
  const bool marked_alike =
      x.aux == y.aux || is_name_store(op);  // of a store, aux says how the source wrote it
  if (op != plain(y.op) || x.operands.size() != y.operands.size() || !marked_alike ||
      !same_argument(va, vb))
    part_here(different_sight());
  for (std::size_t i = 0; i < x.operands.size(); ++i) {
    if (blank_operand(x, y, i)) continue;
    if (op == Op::CONTAINS && i == 1 && same_searched(x.operands[i], y.operands[i])) continue;
    const Known p = known(kA, x.operands[i]), q = known(kB, y.operands[i]);
    if (!same(p.token, q.token)) {
      const bool seen = op == Op::GET_ITER || (is_seen(kA, x) && is_seen(kB, y)) ||
                        (is_defined(kA, x) && is_defined(kB, y));
      part_here(seen && different_values(p, q));
    }
  }
  if (calls_ && (op == Op::CALL || op == Op::CALL_KW || op == Op::CALL_EX))
    calls_->emplace(x.offset, y.offset);
  if (may_free(op)) same_held(held_of(kA, va), held_of(kB, vb));
  if (raises(kA, va) || raises(kB, vb)) handlers();

  const std::uint32_t name = op == Op::LOAD_FAST || op == Op::STORE_FAST || op == Op::DELETE_FAST ||
                                     op == Op::LOAD_FAST_AND_CLEAR
                                 ? local_name(kA, x)
                                 : kNone;
  if (name != kNone && name != local_name(kB, y)) part_here();
  TokenId result = kNoToken;
  if (op == Op::LOAD_FAST || op == Op::LOAD_FAST_AND_CLEAR)
    result = load_local(name);
  else
    result = tokens_.leaf();
  if (op == Op::STORE_FAST)
    local(name) = get(kA, x.operands[0]);
  else if (op == Op::DELETE_FAST || op == Op::LOAD_FAST_AND_CLEAR)
    local(name) = tokens_.leaf();
  if (op == Op::LOAD_FAST_AND_CLEAR && puts_free_cell(x))
    local(Canon::free_of_cell(name)) = tokens_.leaf();
  if (name != kNone && op != Op::LOAD_FAST) ++changes_;
  set(kA, va, result);
  set(kB, vb, result);
  results(va, vb);
  spend(1 + x.operands.size());
}

void Lockstep::results(ValueId va, ValueId vb) {
  const std::vector<ValueFacts>&fa = sides_[kA].facts.values, &fb = sides_[kB].facts.values;
  std::vector<std::pair<std::uint32_t, TokenId>> tokens;
  for (std::uint32_t i = fa[va.index].results; i != kNone; i = fa[i].next_result) {
    tokens.emplace_back(sides_[kA].lifted->values[i].arg, tokens_.leaf());
    set(kA, ValueId(i), tokens.back().second);
  }
  std::sort(tokens.begin(), tokens.end());
  for (std::uint32_t i = fb[vb.index].results; i != kNone; i = fb[i].next_result) {
    const std::uint32_t arg = sides_[kB].lifted->values[i].arg;
    const auto found =
        std::lower_bound(tokens.begin(), tokens.end(), std::pair<std::uint32_t, TokenId>{arg, 0});
    set(kB, ValueId(i),
        found != tokens.end() && found->first == arg ? found->second : tokens_.leaf());
  }
  spend(tokens.size());
}

bool Lockstep::blank_operand(const Value& x, const Value& y, std::size_t i) {
  const Value &p = (*sides_[kA].lifted)[x.operands[i]], &q = (*sides_[kB].lifted)[y.operands[i]];
  if (p.op != Op::LOAD_CONST || q.op != Op::LOAD_CONST || p.kind != ValueKind::Operation ||
      q.kind != ValueKind::Operation)
    return false;
  const Module &ma = canon_.module(kA), &mb = canon_.module(kB);
  const Const &c = ma[ConstId(p.arg)], &d = mb[ConstId(q.arg)];
  if (x.op == Op::STORE_NAME || x.op == Op::STORE_GLOBAL || x.op == Op::STORE_DEREF) {
    const bool lines = stores_own_line(ma, sides_[kA].lifted->code, x.op, x.arg, ConstId(p.arg)) &&
                       stores_own_line(mb, sides_[kB].lifted->code, y.op, y.arg, ConstId(q.arg));
    canon_.lines_differ |=
        lines && canonical_arg(canon_, kA, sides_[kA].lifted->code, p.op, p.arg) !=
                     canonical_arg(canon_, kB, sides_[kB].lifted->code, q.op, q.arg);
    return lines;
  }
  if (x.op != Op::MAKE_FUNCTION || x.aux != 1 || i + 1 != x.operands.size() || compare_names_)
    return false;
  const auto last = [](std::string_view text) { return text.substr(text.rfind('.') + 1); };
  return c.kind == ConstKind::Str && d.kind == ConstKind::Str && last(c.text) == last(d.text);
}

void Lockstep::mark_held(TokenId id, std::uint32_t by, std::vector<TokenId>& seen) {
  Token& token = tokens_[id];
  if (token.mark != mark_) {
    token.mark = mark_;
    token.mark_class = 0;
    seen.push_back(id);
  }
  token.mark_class |= by;
}

/// A cell that both frames hold from start to end?
bool Lockstep::is_own_cell(Which side, const Value& value) {
  if (value.kind != ValueKind::Operation || value.op != Op::LOAD_CLOSURE) return false;
  const std::uint32_t name = local_name(side, value);
  const auto has = [&](Which one) {
    const CodeId code = sides_[one].lifted->code;
    const std::span<const Slot> slots = canon_.module(one)[code].slots;
    spend(slots.size());
    for (std::uint32_t i = 0; i < slots.size(); ++i)
      if ((slots[i].kind & kFree) != 0 && canon_.content(one, code, i) == name) return true;
    return false;
  };
  // From 3.12 on, an inlined comprehension puts another cell in the slot for a while.
  const auto replaces = [&](Which one) {
    spend(sides_[one].lifted->values.size());
    return std::ranges::any_of(sides_[one].lifted->values, [&](const Value& other) {
      if (other.kind != ValueKind::Operation || other.op != Op::LOAD_FAST_AND_CLEAR) return false;
      const std::uint32_t aside = local_name(one, other);
      return aside == name || (puts_free_cell(other) && Canon::free_of_cell(aside) == name);
    });
  };
  return has(kA) && has(kB) && !replaces(kA) && !replaces(kB);
}

/// A tuple, whose own end nobody notices, of what the other side holds, too? `id` is on the stack,
/// or an item of a list there.
bool Lockstep::ends_unnoticed(Which side, TokenId id) {
  const std::vector<Value>& values = (*sides_[side].lifted).values;
  spend(values.size());
  const auto made = std::ranges::find_if(values, [&](const Value& value) {
    const ValueId each(static_cast<std::uint32_t>(&value - values.data()));
    return value.kind == ValueKind::Operation && value.op == Op::BUILD_TUPLE &&
           tokens_.find(get(side, each)) == id;
  });
  if (made == values.end()) return false;
  const Value& value = *made;
  const std::uint32_t other = kBySide[side == kA ? kB : kA];
  return std::ranges::all_of(value.operands, [&](ValueId item) {
    const Token& token = tokens_[tokens_.find(get(side, item))];
    if (is_own_cell(side, (*sides_[side].lifted)[item])) return true;
    if (token.kind == TokenKind::Leaf)
      return token.mark == mark_ && (token.mark_class & (other | kByBoth)) != 0;
    return token.kind == TokenKind::Constant || token.kind == TokenKind::Nullary;
  });
}

void Lockstep::same_held(std::span<const ValueId> a, std::span<const ValueId> b, ValueId during_a,
                         ValueId during_b) {
  if (!compares_held_) return;
  const std::span<const ValueId> lists[2] = {a, b};
  // The frame ends with the exception: what its stack holds until then does not count, as what
  // the traceback keeps does not.
  const bool goes_away = sides_[kA].at.block < raises_on_.size() && raises_on_[sides_[kA].at.block];
  std::vector<TokenId> seen, work, items;
  ++mark_;
  for (std::uint32_t name : local_names_)
    if (local_[name] != kNoToken) mark_held(tokens_.find(local_[name]), kByBoth, seen);
  if (during_a.valid()) mark_held(get(kA, during_a), kByBoth, seen);
  if (during_b.valid()) mark_held(get(kB, during_b), kByBoth, seen);
  for (Which side : {kA, kB})
    for (ValueId id : lists[side]) {
      if (!id.valid() && side == kA && goes_away) continue;
      if (!id.valid()) part("not proven: when a value that the stack held ends");
      const ValueKind kind = (*sides_[side].lifted)[id].kind;
      if (kind == ValueKind::Null || kind == ValueKind::Previous || kind == ValueKind::Lasti ||
          kind == ValueKind::ExceptionType || kind == ValueKind::Traceback || is_bool(side, id))
        continue;
      work.assign(1, get(side, id));
      while (!work.empty()) {
        const TokenId at = tokens_.find(work.back());
        work.pop_back();
        spend(1);
        const TokenKind what = tokens_[at].kind;
        if (what == TokenKind::Leaf) {
          mark_held(at, kBySide[side], seen);
        } else if (what == TokenKind::Object) {
          TokenId base;
          flatten(at, items, base);
          if (base != kNoToken) work.push_back(base);
          work.insert(work.end(), items.begin(), items.end());
        }
      }
    }
  spend(local_names_.size() / 8 + 1);
  std::size_t missing[2] = {0, 0};
  for (TokenId id : seen) {
    const std::uint32_t by = tokens_[id].mark_class;
    if (by == kBySide[kA] && goes_away) continue;
    for (Which side : {kA, kB})
      if (by == kBySide[side] && !ends_unnoticed(side, id)) ++missing[side];
  }
  // Those of the first come first: the caller may let the second hold more, one after another.
  for (Which side : {kA, kB}) {
    if (missing[side] == 0) continue;
    const std::string values =
        missing[side] == 1 ? "a value" : std::to_string(missing[side]) + " values";
    part(here(kA) + " while the stack of the " +
         (side == kA ? "first holds " + values + " that the second"
                     : "second holds " + values + " that the first") +
         " has dropped");
  }
}

void Lockstep::handlers() {
  quiet_ = false;
  const BlockId ha = handler(kA), hb = handler(kB);
  if (ha.valid() != hb.valid())
    part(here(kA) + (ha.valid() ? " under an exception handler, but the other does so outside of it"
                                : " outside of the exception handler that the other has"));
  if (!ha.valid()) return;
  const std::span<const ValueId> args[2] = {handler_args(kA), handler_args(kB)};
  HandlerVisit& seen = handler_seen_[(std::uint64_t{ha.index} << 32) | hb.index];
  if (seen.changes == changes_ && std::ranges::equal(seen.args[kA], args[kA]) &&
      std::ranges::equal(seen.args[kB], args[kB]))
    return;
  seen = {changes_, {args[kA], args[kB]}};
  enter_handlers(ha, hb, {tokens_of(kA, args[kA]), tokens_of(kB, args[kB])});
}

void Lockstep::enter_handlers(BlockId ha, BlockId hb, const std::vector<TokenId> (&args)[2]) {
  there_and_back([&] {
    quiet_ = false;  // an exception was raised, and something saw it
    entry_tokens_.clear();
    for (Which side : {kA, kB}) {
      SideState& s = sides_[side];
      const BlockId to = side == kA ? ha : hb;
      bind(side, to, args[side]);
      for (ValueId id : s.facts.blocks[to.index].at_entry) {
        const Value& value = (*s.lifted)[id];
        const std::uint32_t what = static_cast<std::uint32_t>(value.kind) * 8 +
                                   (value.kind == ValueKind::Previous ? value.arg : 0);
        auto found = std::find_if(entry_tokens_.begin(), entry_tokens_.end(),
                                  [&](const auto& entry) { return entry.first == what; });
        if (found == entry_tokens_.end())
          found = entry_tokens_.insert(found, {what, tokens_.leaf()});
        set(side, id, found->second);
      }
      s.at = {to.index, 0};
    }
    meet(true);
  });
}

void Lockstep::there_and_back(const std::function<void()>& go) {
  const bool outer = undoing_, quiet = quiet_, crossed = crossed_;
  const QuietWay way = way_;
  const Position back[2] = {sides_[kA].at, sides_[kB].at};
  const std::size_t undo[2] = {sides_[kA].undo.size(), sides_[kB].undo.size()};
  undoing_ = true;
  go();
  for (Which side : {kA, kB}) {
    take_back(side, undo[side]);
    sides_[side].at = back[side];
  }
  undoing_ = outer;
  quiet_ = quiet;
  crossed_ = crossed;
  way_ = way;
}

void Lockstep::take_back(Which side, std::size_t to) {
  SideState& s = sides_[side];
  while (s.undo.size() > to) {
    const auto& entry = s.undo.back();
    s.env[entry.id.index] = entry.token;
    s.epoch[entry.id.index] = entry.epoch;
    s.undo.pop_back();
  }
}

bool Lockstep::is_bool(Which side, ValueId id) {
  const Value& value = (*sides_[side].lifted)[id];
  if (value.kind == ValueKind::Operation)
    return value.op == Op::IS || value.op == Op::CONTAINS || value.op == Op::EXC_MATCH ||
           value.op == Op::TO_BOOL || value.op == Op::MATCH_MAPPING ||
           value.op == Op::MATCH_SEQUENCE ||
           (value.op == Op::UNARY && value.arg == static_cast<std::uint32_t>(UnaryOp::Not)) ||
           (value.op == Op::COMPARE && value.aux == 1);
  return value.kind == ValueKind::Result && value.op == Op::MATCH_CLASS && value.arg == 1;
}

void Lockstep::along(unsigned ea, unsigned eb, TokenId item) {
  there_and_back([&] {
    if (item != kNoToken)
      for (Which side : {kA, kB}) {
        const ValueId id = sides_[side].lifted->blocks[sides_[side].at.block].item;
        if (id.valid()) set(side, id, item);
      }
    take(kA, ea);
    take(kB, eb);
    meet(true);
  });
}

void Lockstep::terminator() {
  const LiftedBlock &x = sides_[kA].lifted->blocks[sides_[kA].at.block],
                    &y = sides_[kB].lifted->blocks[sides_[kB].at.block];
  if (x.term != y.term) part_here(different_sight());
  switch (x.term) {
    case TermKind::Jump:
      return;  // advance() follows these
    case TermKind::Branch: {
      const BlockFacts &fa = sides_[kA].facts.blocks[sides_[kA].at.block],
                       &fb = sides_[kB].facts.blocks[sides_[kB].at.block];
      if (!same_values(fa.test, fb.test)) part_here();
      same_held(held_at_end(kA), held_at_end(kB), fa.test, fb.test);
      if (!is_bool(kA, fa.test) && !is_bool(kB, fb.test)) handlers();
      for (unsigned holds : {0u, 1u})
        along(holds ^ unsigned{fa.flipped}, holds ^ unsigned{fb.flipped});
      return;
    }
    case TermKind::ForIter:
      if (!same_values(x.value, y.value)) part_here();
      same_held(held_at_end(kA), held_at_end(kB));
      handlers();
      along(0, 0, tokens_.leaf());
      along(1, 1);
      return;
    case TermKind::Send:
      if (!same_values(x.value, y.value)) part_here();
      quiet_ = false;
      along(0, 0);
      along(1, 1);
      return;
    case TermKind::Return: {
      const Known p = known(kA, x.value), q = known(kB, y.value);
      if (!same(p.token, q.token)) part_here(different_values(p, q));
      return;
    }
    case TermKind::Raise:
      if (x.raise_args.size() != y.raise_args.size()) part_here();
      for (std::size_t i = 0; i < x.raise_args.size(); ++i)
        if (!same_values(x.raise_args[i], y.raise_args[i])) part_here();
      same_held(held_at_end(kA), held_at_end(kB));
      handlers();
      return;
    case TermKind::Reraise:
      if (!same_values(x.value, y.value)) part_here();
      handlers();
      return;
    case TermKind::Unreachable:
      return;
  }
}

std::optional<Difference> lockstep_difference(Canon& canon, const Lifted& a, const Lifted& b,
                                              bool compare_names, bool dynamo, Pairs& nested,
                                              CallPairs* calls) {
  return Lockstep(canon, a, b, compare_names, dynamo, nested, calls).run();
}

}  // namespace depyf::verify_detail
