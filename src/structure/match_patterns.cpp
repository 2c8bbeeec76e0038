// What the tests of a case say of each value makes its pattern.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "opcode/op_set.h"
#include "structure/match.h"
#include "structure/operations.h"

namespace depyf::match {

std::uint32_t Matcher::constant_number(ValueId v) {
  if (!s_.is_const(v)) throw Failed();
  const Const& c = s_.constant(v);
  if (c.kind != ConstKind::Int || c.big || c.integer < 0 ||
      c.integer > static_cast<std::int64_t>(kMaxKids))
    throw Failed();
  return static_cast<std::uint32_t>(c.integer);
}

ExprId Matcher::expression(ValueId v, int depth) {
  v = resolve(v);
  const Value value = s_.at(v);
  if (depth > kMaxDepth || value.kind != ValueKind::Operation) throw Failed();
  mark(v);
  static constexpr OpSet parts{Op::LOAD_FAST,       Op::LOAD_GLOBAL, Op::LOAD_NAME, Op::LOAD_DEREF,
                               Op::LOAD_CLASSDEREF, Op::LOAD_ATTR,   Op::BINARY,    Op::UNARY};
  if (value.op == Op::LOAD_CONST) return s_.ast.constant(ConstId(value.arg), s_.origin(v));
  if (!parts[value.op]) throw Failed();
  std::vector<ExprId> kids;
  if (value.op == Op::LOAD_CLASSDEREF)
    for (ValueId o : value.operands) mark(resolve(o));  // the class's own dict
  else
    for (ValueId o : value.operands) kids.push_back(expression(o, depth + 1));
  return make_expression(s_.ast, s_.lifted, v, kids);
}

ExprId Matcher::pattern_value(ValueId v, bool any_name) {
  const ExprId id = expression(v);
  const Expr* e = &s_.ast[id];
  if (e->kind == ExprKind::Constant && !any_name) {
    const ConstKind kind = s_.module[ConstId(e->a)].kind;
    if (kind != ConstKind::Int && kind != ConstKind::Float && kind != ConstKind::Complex &&
        kind != ConstKind::Str && kind != ConstKind::Bytes)
      throw Failed();
    return id;
  }
  const bool dotted = e->kind == ExprKind::Attribute;
  while (e->kind == ExprKind::Attribute) e = &s_.ast[e->kids[0]];
  if (e->kind != ExprKind::Name || !(dotted || any_name)) throw Failed();
  return id;
}

std::vector<ExprId> Matcher::key_expressions(ValueId keys) {
  keys = resolve(keys);
  mark(keys);
  std::vector<ExprId> out;
  if (s_.is_op(keys, Op::BUILD_TUPLE)) {
    const auto operands = s_.at(keys).operands;
    for (ValueId o : operands) {
      const bool singleton = s_.is_const(resolve(o));  // None, True, False are keys as well
      out.push_back(singleton ? expression(o) : pattern_value(o));
    }
    return out;
  }
  if (!s_.is_const(keys)) throw Failed();
  const Const& c = s_.constant(keys);
  if (c.kind != ConstKind::Tuple) throw Failed();
  Origin origin = s_.origin(keys);
  origin.columns = 0;  // of all of them
  for (ConstId item : c.items) out.push_back(s_.ast.constant(item, origin));
  return out;
}

namespace {

/// What an operation says of a pattern.
enum class Says : std::uint8_t {
  Nothing,  // operands: marked by what uses them
  Sequence,
  Mapping,
  Keys,
  Class,
  Unpacks,
  Item,
  Rest,
  RestByUpdate,
  RestLosesKey,
  Compares,
  Is,
};
constexpr OpTable<Says> kSays{
    {Says::Sequence, {Op::MATCH_SEQUENCE}},
    {Says::Mapping, {Op::MATCH_MAPPING}},
    {Says::Keys, {Op::MATCH_KEYS}},
    {Says::Class, {Op::MATCH_CLASS}},
    {Says::Unpacks, {Op::UNPACK_SEQUENCE, Op::UNPACK_EX}},
    {Says::Item, {Op::LOAD_SUBSCR}},
    {Says::Rest, {Op::COPY_DICT_WITHOUT_KEYS}},
    {Says::RestByUpdate, {Op::DICT_UPDATE}},
    {Says::RestLosesKey, {Op::DELETE_SUBSCR}},
    {Says::Compares, {Op::COMPARE}},
    {Says::Is, {Op::IS}},
};

}  // namespace

void Matcher::read(Scope& scope, BlockId b, std::size_t from, std::size_t to) {
  const std::vector<ValueId>& body = s_.nodes[b.index].body;
  for (std::size_t i = from; i < to; ++i) {
    if (s_.at(body[i]).kind != ValueKind::Operation) throw Failed();
    read(scope, body[i]);
  }
  blocks_read_.insert(blocks_read_.end(), body.begin() + static_cast<std::ptrdiff_t>(from),
                      body.begin() + static_cast<std::ptrdiff_t>(std::max(from, to)));
}

void Matcher::read(Scope& scope, ValueId v) {
  const Value value = s_.at(v);
  const Says says = kSays[value.op];
  if (says == Says::Nothing) return;
  mark(v);
  const ValueId of = resolve(value.operands[0]);
  const auto subject = [&]() -> Facts& { return scope.facts[of.index]; };
  const auto set_once = [](ValueId& fact, ValueId to) {
    if (fact) throw Failed();
    fact = to;
  };
  switch (says) {
    case Says::Nothing:
    case Says::RestLosesKey:
      break;
    case Says::Sequence:
      subject().sequence = true;
      break;
    case Says::Mapping:
      subject().mapping = true;
      break;
    case Says::Keys:
      set_once(subject().keys, v);
      break;
    case Says::Class:
      set_once(subject().type, v);
      break;
    case Says::Unpacks:
      if (!keys_.count(of.index)) set_once(subject().unpacked, v);  // not those of **rest
      break;
    case Says::Item:
      subject().items.push_back(v);
      break;
    case Says::Rest:
      subject().rest = v;
      mark(resolve(value.operands[1]));
      break;
    case Says::RestByUpdate:
      if (!s_.is_op(of, Op::BUILD_MAP) || !s_.at(of).operands.empty()) throw Failed();
      mark(of);
      scope.facts[resolve(value.operands[1]).index].rest = (value.aux & kInPlace) ? of : v;
      break;
    case Says::Compares:
      if (!s_.is_op(of, Op::GET_LEN)) {
        subject().equals.push_back(v);
      } else {
        mark(of);
        mark(resolve(value.operands[1]));
        Facts& facts = scope.facts[resolve(s_.at(of).operands[0]).index];
        set_once(facts.length, resolve(value.operands[1]));
        facts.at_least = value.arg == static_cast<std::uint32_t>(CompareOp::Ge);
      }
      break;
    case Says::Is:
      mark(resolve(value.operands[1]));
      if (!s_.is_op(of, Op::MATCH_KEYS) && !s_.is_op(of, Op::MATCH_CLASS))
        subject().is.push_back(v);
      break;
  }
}

std::size_t Matcher::pattern_start(BlockId b, ValueId subject) {
  // the subject's own operations come before
  const Node& node = s_.nodes[b.index];
  std::size_t start = 0;
  for (std::size_t i = 0; i < node.body.size(); ++i) {
    const Value& value = s_.at(node.body[i]);
    if (node.body[i] == subject || (is_name_store(value.op) && value.kind == ValueKind::Operation))
      start = i + 1;
  }
  return start;
}

template <class Start, class Takes>
void Matcher::read_tests(Scope& scope, std::uint32_t root, const Start& start, const Takes& takes) {
  std::vector<std::uint32_t> work{root};
  while (!work.empty()) {
    const std::uint32_t t = work.back();
    work.pop_back();
    const Tree& tree = trees_[t];
    switch (tree.kind) {
      case Tree::Leaf:
        read(scope, tree.first, start(tree), s_.nodes[tree.first.index].body.size());
        break;
      case Tree::And:
        work.insert(work.end(), tree.kids.rbegin(), tree.kids.rend());
        break;
      case Tree::Any:
        break;
      case Tree::Or: {
        const bool all = takes(tree);
        scope.facts[resolve(tree.tested).index].alternatives.push_back(t);
        const std::size_t shared = all ? taken_before(tree.first, resolve(tree.tested)) : 0;
        if (shared > 0) read(scope, tree.first, 0, shared);
        break;
      }
    }
    for (BlockId b : tree.tail) read(scope, b, 0, s_.nodes[b.index].body.size());
  }
}

void Matcher::read_tree(Scope& scope, std::uint32_t root, BlockId head, ValueId subject) {
  const auto is_head = [&](const Tree& tree) { return tree.first == head && tree.own; };
  read_tests(
      scope, root,
      [&](const Tree& leaf) { return is_head(leaf) ? pattern_start(head, subject) : 0; },
      [&](const Tree& alternatives) { return !is_head(alternatives); });
}

std::size_t Matcher::taken_before(BlockId first, ValueId tested) {
  const auto& body = s_.nodes[first.index].body;
  std::set<std::uint32_t> needed;
  std::vector<ValueId> work{resolve(s_.nodes[first.index].value)};
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (!v || v == tested || block_of(v) != first || !needed.insert(v.index).second) continue;
    for (ValueId o : s_.at(v).operands) work.push_back(resolve(o));
  }
  std::size_t count = body.size();
  while (count > 0 && needed.count(body[count - 1].index) && !defines(body[count - 1], tested))
    --count;
  return count;
}

ExprId Matcher::with_kids(ExprKind kind, const std::vector<ExprId>& kids, std::uint32_t a,
                          std::uint8_t op, const std::vector<std::uint32_t>& extra) {
  Expr e;
  e.kind = kind;
  e.op = op;
  e.a = a;
  e.kids = s_.ast.arena.copy(kids);
  e.extra = s_.ast.arena.copy(extra);
  return s_.ast.add(e);
}

std::vector<ExprId> Matcher::parts(Scope& scope, ValueId source, std::size_t count, int depth) {
  std::vector<ExprId> out;
  Facts none;
  auto at = scope.facts.find(source.index);
  Facts& facts = at == scope.facts.end() ? none : at->second;
  facts.used = true;
  std::vector<ValueId> values(count);
  if (facts.unpacked) {
    if (s_.at(facts.unpacked).op != Op::UNPACK_SEQUENCE || s_.at(facts.unpacked).arg != count)
      throw Failed();
    for (std::size_t i = 0; i < count; ++i)
      values[i] =
          result(facts.unpacked, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(count));
  }
  for (ValueId item : facts.items) {
    const ValueId index = resolve(s_.at(item).operands[1]);
    const std::uint32_t i = constant_number(index);
    mark(index);
    if (i >= count || values[i]) throw Failed();
    values[i] = item;
  }
  for (ValueId v : values) out.push_back(v ? pattern(scope, v, depth + 1) : wildcard());
  return out;
}

ExprId Matcher::bind(Scope& scope, ValueId v, ExprId base) {
  for (Capture& capture : *scope.captures) {
    if (capture.value != v || capture.used) continue;
    capture.used = true;
    const ExprId name = as_name(ExprKind::MatchAs, capture.store);
    if (base) {
      const std::vector<ExprId> kids{base};
      s_.ast[name].kids = s_.ast.arena.copy(kids);
    }
    base = name;
  }
  return base ? base : wildcard();
}

ExprId Matcher::sequence(Scope& scope, ValueId v, Facts& facts, int depth) {
  std::vector<ExprId> kids;
  auto star = [&](ValueId value) {
    if (value && scope.facts.count(value.index)) throw Failed();
    if (value)
      for (Capture& capture : *scope.captures)
        if (capture.value == value && !capture.used) {
          capture.used = true;
          return as_name(ExprKind::MatchStar, capture.store);
        }
    return s_.ast.expr(ExprKind::MatchStar, {});
  };
  const std::uint32_t length = facts.length ? constant_number(facts.length) : 0;
  if (facts.unpacked) {
    const Value unpack = s_.at(facts.unpacked);
    if (!facts.items.empty()) throw Failed();
    const bool starred = unpack.op == Op::UNPACK_EX;
    const std::uint32_t count = starred ? unpack.arg + 1 + unpack.aux : unpack.arg;
    if (count > kMaxKids || starred != (facts.at_least || !facts.length) ||
        length != (starred ? count - 1 : count))
      throw Failed();
    for (std::uint32_t i = 0; i < count; ++i) {
      const ValueId item = result(facts.unpacked, i, count);
      if (starred && i == unpack.arg)
        kids.push_back(star(item));
      else
        kids.push_back(item ? pattern(scope, item, depth + 1) : wildcard());
    }
  } else {
    const bool starred = facts.at_least || !facts.length;
    std::vector<ExprId> front, back;  // back: last item first
    for (ValueId item : facts.items) {
      const ValueId index = resolve(s_.at(item).operands[1]);
      mark(index);
      bool from_end = false;
      std::uint32_t n = 0;
      if (s_.is_op(index, Op::BINARY)) {
        const ValueId whole = resolve(s_.at(index).operands[0]),
                      part = resolve(s_.at(index).operands[1]);
        if (s_.at(index).arg != static_cast<std::uint32_t>(BinaryOp::Subtract) ||
            !s_.is_op(whole, Op::GET_LEN) || resolve(s_.at(whole).operands[0]) != v)
          throw Failed();
        mark(whole);
        mark(part);
        from_end = true;
        n = constant_number(part);
        if (n == 0) throw Failed();
        --n;
      } else {
        n = constant_number(index);
      }
      std::vector<ExprId>& side = from_end ? back : front;
      if (n >= length || !starred) throw Failed();
      if (side.size() <= n) side.resize(n + 1);
      if (side[n]) throw Failed();
      side[n] = pattern(scope, item, depth + 1);
    }
    if (front.size() + back.size() > length) throw Failed();
    kids = front;
    kids.resize(length - back.size());
    if (starred) kids.push_back(star({}));
    kids.insert(kids.end(), back.rbegin(), back.rend());
    for (ExprId& kid : kids)
      if (!kid) kid = wildcard();
  }
  return with_kids(ExprKind::MatchSequence, kids);
}

ExprId Matcher::mapping(Scope& scope, Facts& facts, int depth) {
  std::vector<ExprId> kids;
  std::size_t count = 0;
  if (facts.keys) {
    std::vector<ExprId> keys = key_expressions(s_.at(facts.keys).operands[1]);
    count = keys.size();
    ValueId values = facts.keys;
    if (s_.at(facts.keys).aux == 1) {
      values = ValueId();
      for (ValueId r : s_.results_of(facts.keys))
        if (s_.at(r).arg == 0) values = r;
      if (!values) throw Failed();
    }
    std::vector<ExprId> items = parts(scope, values, count, depth);
    for (std::size_t i = 0; i < count; ++i) {
      kids.push_back(keys[i]);
      kids.push_back(items[i]);
    }
  }
  if (facts.length && (!facts.at_least || constant_number(facts.length) != count)) throw Failed();
  if (!facts.length && count > 0) throw Failed();
  std::uint32_t rest = UINT32_MAX;
  std::uint8_t scope_of_rest = 0;
  if (facts.rest) {
    bool bound = false;
    for (Capture& capture : *scope.captures)
      if (capture.value == facts.rest && !capture.used && !bound) {
        capture.used = bound = true;
        const ExprId target = make_target(s_.ast, s_.lifted, capture.store, {});
        rest = s_.ast[target].a;
        scope_of_rest = s_.ast[target].op;
      }
    if (!bound) throw Failed();
  } else if (facts.keys && count == 0) {
    throw Failed();
  }
  return with_kids(ExprKind::MatchMapping, kids, rest, scope_of_rest);
}

ExprId Matcher::instance(Scope& scope, Facts& facts, int depth) {
  const Value match = s_.at(facts.type);
  std::vector<ExprId> kids{pattern_value(match.operands[1], true)};
  const ValueId names = resolve(match.operands[2]);
  mark(names);
  if (!s_.is_const(names)) throw Failed();
  const Const& c = s_.constant(names);
  if (c.kind != ConstKind::Tuple || match.arg > kMaxKids) throw Failed();
  std::vector<std::uint32_t> keywords;
  for (ConstId item : c.items) {
    if (s_.module[item].kind != ConstKind::Str) throw Failed();
    keywords.push_back(s_.module.intern(s_.module[item].text).index);
  }
  ValueId values = facts.type;
  if (match.aux == 1) {
    values = ValueId();
    for (ValueId r : s_.results_of(facts.type))
      if (s_.at(r).arg == 0) values = r;
    if (!values) throw Failed();
  }
  std::vector<ExprId> items = parts(scope, values, match.arg + keywords.size(), depth);
  kids.insert(kids.end(), items.begin(), items.end());
  return with_kids(ExprKind::MatchClass, kids, UINT32_MAX, 0, keywords);
}

ExprId Matcher::alternatives(Scope& scope, std::uint32_t t, int depth) {
  const Tree tree = trees_[t];
  std::vector<ExprId> kids;
  for (std::size_t k = 0; k < tree.kids.size(); ++k) {
    std::vector<Capture> captures;
    for (const Capture& outer : *scope.captures)
      for (std::size_t i = 0; i < tree.outs.size(); ++i)
        if (resolve(tree.outs[i]) == outer.value && tree.outs[i] != tree.args[k][i])
          captures.push_back({resolve(tree.args[k][i]), outer.store, false});
    Scope inner;
    inner.captures = &captures;
    read_alternative(inner, tree.kids[k], k == 0 ? tree.first : BlockId(), tree.tested);
    kids.push_back(pattern(inner, tree.tested, depth + 1));
    finish(inner);
  }
  for (std::size_t i = 0; i < tree.outs.size(); ++i)
    for (Capture& outer : *scope.captures)
      if (outer.value == resolve(tree.outs[i]) && tree.outs[i] != tree.args[0][i])
        outer.used = true;
  return with_kids(ExprKind::MatchOr, kids);
}

void Matcher::read_alternative(Scope& scope, std::uint32_t t, BlockId first, ValueId tested) {
  read_tests(
      scope, t,
      [&](const Tree& leaf) {
        if (leaf.first != first) return std::size_t{0};
        const std::size_t start = taken_before(first, tested);
        return leaf.own ? std::max(start, pattern_start(first, tested)) : start;
      },
      [&](const Tree& alternatives) {
        if (alternatives.first == first && alternatives.tested == tested) throw Failed();
        return alternatives.first != first;
      });
}

ExprId Matcher::pattern(Scope& scope, ValueId v, int depth) {
  if (depth > kMaxDepth) throw Failed();
  auto found = scope.facts.find(v.index);
  if (found == scope.facts.end()) return bind(scope, v, {});
  Facts& facts = found->second;
  if (facts.used) throw Failed();
  facts.used = true;
  const std::size_t kinds = facts.sequence + facts.mapping + static_cast<bool>(facts.type) +
                            facts.equals.size() + facts.is.size() + facts.alternatives.size();
  if (kinds != 1) throw Failed();
  ExprId base;
  if (facts.sequence) {
    if (facts.keys || facts.rest) throw Failed();
    base = sequence(scope, v, facts, depth);
  } else if (facts.mapping) {
    if (facts.unpacked || !facts.items.empty()) throw Failed();
    base = mapping(scope, facts, depth);
  } else {
    if (facts.length || facts.keys || facts.rest || facts.unpacked || !facts.items.empty())
      throw Failed();
    if (facts.type) {
      base = instance(scope, facts, depth);
    } else if (!facts.equals.empty()) {
      base = s_.ast.expr(ExprKind::MatchValue, {pattern_value(s_.at(facts.equals[0]).operands[1])});
    } else if (!facts.is.empty()) {
      base = s_.ast.expr(ExprKind::MatchSingleton, {}, operand(facts.is[0], 1).arg);
    } else {
      base = alternatives(scope, facts.alternatives[0], depth);
    }
  }
  return bind(scope, v, base);
}

void Matcher::read_body_start(Scope& scope, const Tree& tree, std::vector<Capture>& captures,
                              Found& out) {
  const BlockId b = tree.yes.to;
  const Node& node = s_.nodes[b.index];
  if (preds_[b.index] != 1) {
    if (!takes_nothing(b)) throw Failed();
    return;
  }
  auto through = [&](ValueId v) {
    v = resolve(v);
    for (std::size_t i = 0; i < node.params.size() && i < tree.yes.args.size(); ++i)
      if (node.params[i] == v) return resolve(tree.yes.args[i]);
    return v;
  };
  // everything up to the last operation that takes a value from before the block
  std::map<std::uint32_t, bool> ours;
  std::size_t end = 0;
  for (std::size_t i = 0; i < node.body.size(); ++i) {
    const Value& value = s_.at(node.body[i]);
    if (value.kind != ValueKind::Operation) break;
    if (!takes_apart(node.body[i]) && !is_name_store(value.op)) break;
    bool takes = false;
    for (ValueId o : value.operands) {
      const ValueId v = resolve(o);
      takes |= block_of(v) != b || ours.count(v.index) ||
               std::find(node.params.begin(), node.params.end(), v) != node.params.end() ||
               (s_.at(v).kind == ValueKind::Result && ours.count(s_.at(v).operands[0].index));
    }
    if (!takes) continue;
    ours[node.body[i].index] = true;
    end = i + 1;
  }
  // uses beyond the start would need the values
  for (std::size_t i = 0; i < end; ++i) {
    const Value& value = s_.at(node.body[i]);
    if (is_name_store(value.op))
      captures.push_back({through(value.operands[0]), node.body[i], false});
  }
  std::size_t from = 0;
  for (std::size_t i = 0; i < end; ++i)
    if (is_name_store(s_.at(node.body[i]).op)) {
      read(scope, b, from, i);
      from = i + 1;
    }
  read(scope, b, from, end);
  out.prefix = end;
}

std::int32_t Matcher::last_line(std::uint32_t t) {
  std::int32_t line = 0;
  std::vector<std::uint32_t> work{t};
  while (!work.empty()) {
    const Tree& tree = trees_[work.back()];
    work.pop_back();
    if (tree.kind == Tree::Leaf) line = std::max(line, s_.nodes[tree.first.index].term_line);
    work.insert(work.end(), tree.kids.begin(), tree.kids.end());
  }
  return line;
}

void Matcher::build(Found& found, ValueId subject, BlockId head) {
  const Tree tree = trees_[found.tree];
  ++builds_;
  marked_.resize(s_.lifted.values.size(), 0);
  blocks_read_.clear();
  std::vector<Capture> captures;
  Scope scope;
  scope.captures = &captures;
  read_body_start(scope, tree, captures, found);
  read_tree(scope, found.tree, found.block == head ? head : BlockId(), subject);
  found.pattern = pattern(scope, subject, 0);
  finish(scope);
  for (ValueId v : blocks_read_)
    if (marked_[v.index] != builds_ && !(s_.is_const(v) && used_by_read(v))) throw Failed();
  found.line = last_line(found.tree);
}

}  // namespace depyf::match
