// Statements of stores: assignments, chained, of several values and of unpacked ones, and augmented
// assignments.
#include <algorithm>

#include "simplify/simplify.h"
#include "structure/build.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {
namespace {

/// How far ahead a pattern over several operations is looked for.
constexpr std::size_t kLookAhead = 512;

StmtId augmented_assignment(Ast& ast, std::uint8_t op, ExprId target, ExprId value, Origin origin) {
  const StmtId id = ast.stmt(StmtKind::AugAssign, origin);
  Stmt& st = ast[id];
  st.flag = op;
  st.e[0] = target;
  st.e[1] = value;
  return id;
}

std::uint32_t element_count(const Value& unpack) {
  return unpack.op == Op::UNPACK_EX ? unpack.arg + 1 + unpack.aux : unpack.arg;
}

}  // namespace

bool BlockBuilder::simple_store(ValueId v) const {
  const Value& value = s_.at(v);
  return value.kind == ValueKind::Operation && is_name_store(value.op);
}

bool BlockBuilder::is_store(Op op) {
  return is_name_store(op) || op == Op::STORE_ATTR || op == Op::STORE_SUBSCR ||
         op == Op::STORE_SLICE;
}

/// Does it store to the local that the operation before it stores to? On one row the compiler drops
/// the first of the two.
bool BlockBuilder::repeats_store(std::size_t position) const {
  if (position == 0 || !version().drops_repeated_stores()) return false;
  const Value &last = s_.at((*body_)[position - 1]), &store = s_.at((*body_)[position]);
  return store.op == Op::STORE_FAST && last.op == Op::STORE_FAST && last.arg == store.arg;
}

void BlockBuilder::store(std::size_t position) {
  const ValueId v = (*body_)[position];
  repeats_store_ = repeats_store(position);
  const Value& value = s_.at(v);
  for (AugStore& aug : augmented_) {
    if (aug.store != v) continue;
    const Expr& binary = s_.ast[pending_.back().expr];
    pending_.pop_back();
    const StmtId st =
        augmented_assignment(s_.ast, binary.op, aug.target, binary.kids[1], origin(v));
    aug = augmented_.back();
    augmented_.pop_back();
    spill_for_statement();
    emit(st);
    return;
  }
  if (pending_.size() >= 2 && parallel_assignment(position)) return;
  std::span<const ExprId> kids;  // of the target; a name has none
  if (value.operands.size() > 1) kids = take_operands(value.operands.subspan(1));
  if (failed) return;
  const ExprId target = make_target(s_.ast, s_.lifted, v, kids);
  assign_target(value.operands[0], target, v);
}

void BlockBuilder::assign_target(ValueId value, ExprId target, ValueId store_op) {
  const Value& what = s_.at(value);
  if (!unpacks_.empty() && what.kind == ValueKind::Result) {
    // Elements that nobody stores: 3.12+ drops the first of two stores to one variable, 3.13+ also
    // where an unpacking ends in between.
    while (unpacks_.size() > 1 && what.operands[0] != unpacks_.back().op &&
           s_.at(store_op).op == Op::STORE_FAST)
      close_unpack(target);
    OpenUnpack& open = unpacks_.back();
    if (what.operands[0] == open.op) {
      const std::size_t element = open.count - 1 - what.arg;
      open.on_rows |= repeats_store_ && s_.at(store_op).op == Op::STORE_FAST;
      open.add_up_to(element + 1, target, s_.ast);
      if (open.elements.size() == open.count) close_unpack(target);
      return;
    }
  }
  const bool simple = simple_store(store_op);
  if (repeats_store_ && s_.at(store_op).op == Op::STORE_FAST && !targets_.empty() &&
      targets_.back().value == value && s_.ast[targets_.back().expr].kind == ExprKind::Tuple)
    s_.ast[targets_.back().expr].op = kOnRows;  // `(a, b) = b = c`
  if (!pending_.empty() && pending_.back().value == value) {
    Pending& entry = pending_.back();
    entry.expr = written(value, entry.expr);
    const Expr& e = s_.ast[entry.expr];
    const Expr& t = s_.ast[target];
    if (s_.is_op(value, Op::INPLACE) && e.kind == ExprKind::Binary && entry.is_once() &&
        t.kind == ExprKind::Name && simple && s_.ast[e.kids[0]].kind == ExprKind::Name &&
        s_.ast[e.kids[0]].a == t.a) {
      const StmtId st = augmented_assignment(s_.ast, e.op, target, e.kids[1], origin(store_op));
      pending_.pop_back();
      spill_for_statement();
      emit(st);
      return;
    }
    if (entry.remaining > 1 && stands_for(store_op)) {
      if (expression_only_) {
        failed = true;
        return;
      }
      store_first(target, store_op);
      return;
    }
    if (--entry.remaining > 0) {
      ++entry.targets;
      targets_.push_back({value, target});
      return;
    }
    const Pending done = entry;
    pending_.pop_back();
    if (s_.at(store_op).op == Op::STORE_FAST) spill_loads_of(s_.at(store_op).arg);
    spill_for_statement();
    const StmtId statement = assign_statement(done, target);
    if (simple && s_.at(store_op).aux == kThenDropped) name_expressions(statement);
    emit(statement);
    return;
  }
  ExprId e = take_one(value);
  if (failed) return;
  e = written(value, e);
  if (s_.at(store_op).op == Op::STORE_FAST) spill_loads_of(s_.at(store_op).arg);
  spill_for_statement();
  emit(s_.ast.assign(target, e, origin(store_op)));
}

/// A store to a local that Dynamo made up, of a value that is used again: where it is read there,
/// the source needs no other name for it, and no assignment inside an expression.
bool BlockBuilder::stands_for(ValueId store_op) const {
  const Value& store = s_.at(store_op);
  if (!s_.options.statement_per_value || store.op != Op::STORE_FAST) return false;
  const std::string_view name = s_.module[s_.module[s_.lifted.code].slots[store.arg].name];
  return named_like_dynamos(name) && !s_.options.is_own(name);
}

/// The topmost value is stored, and from then on is what the local holds.
void BlockBuilder::store_first(ExprId target, ValueId store_op) {
  const std::uint32_t slot = s_.at(store_op).arg;
  Pending top = pending_.back();  // which may be a load of the same local
  pending_.pop_back();
  spill_loads_of(slot);
  spill_for_statement();
  emit(assign_statement(top, target));
  top.targets = 0;
  --top.remaining;
  top.local = slot;
  top.expr = s_.ast.name(StrId(s_.ast[target].a), origin(top.value));
  pending_.push_back(top);
}

void BlockBuilder::OpenUnpack::add_up_to(std::size_t end, ExprId target, Ast& ast) {
  while (elements.size() < end)
    elements.push_back(elements.size() == star ? ast.expr(ExprKind::Starred, {target}) : target);
}

/// The innermost unpacking is complete; elements that are missing at its end go to `target`.
void BlockBuilder::close_unpack(ExprId target) {
  OpenUnpack open = std::move(unpacks_.back());
  unpacks_.pop_back();
  open.add_up_to(open.count, target, s_.ast);
  const ExprId tuple = s_.ast.expr(ExprKind::Tuple, open.elements, UINT32_MAX,
                                   open.on_rows ? kOnRows : 0, origin(open.op));
  assign_target(s_.at(open.op).operands[0], tuple, open.op);
}

/// `a := value`, too.
bool BlockBuilder::is_whole_value(const Pending& entry) const {
  return entry.remaining == 1 &&
         (entry.targets == 0 || (!s_.options.made_by_dynamo && names_alone(entry)));
}

void BlockBuilder::emit_parallel(std::span<const ExprId> targets, std::span<const ExprId> values,
                                 std::size_t position, std::size_t end, bool on_rows) {
  const ExprId target =
      s_.ast.expr(ExprKind::Tuple, targets, UINT32_MAX, on_rows ? kOnRows : 0, Origin{});
  const ExprId source = s_.ast.expr(ExprKind::Tuple, values);
  const StmtId st = s_.ast.assign(target, source, origin((*body_)[position]));
  spill_for_statement();
  emit(st);
  skip_until_ = end;
}

/// `a, b = b, a`: several values are pending and the next stores take them, in order; or, as 3.12+
/// rewrites it, a run of plain stores takes them in any order.
bool BlockBuilder::parallel_assignment(std::size_t position) {
  const std::vector<ValueId>& body = *body_;
  // A run of plain stores that takes the last m pending values.
  std::size_t run = 0;
  const auto is_local = [&](std::size_t k) {
    return s_.at(body[position + k]).op == Op::STORE_FAST;
  };
  std::vector<std::size_t> others{0};  // by store: how many before it are of no local
  while (position + run < body.size() && run < pending_.size() &&
         simple_store(body[position + run])) {
    others.push_back(others.back() + (is_local(run) ? 0 : 1));
    ++run;
  }
  for (std::size_t m = run; m >= 2; --m) {
    std::size_t base = pending_.size() - m;
    std::vector<std::size_t> store_of(m, m);
    bool all = true;
    for (std::size_t k = 0; k < m && all; ++k) {
      ValueId stored = s_.resolve(s_.at(body[position + k]).operands[0]);
      std::size_t at = m;
      for (std::size_t j = 0; j < m; ++j)
        if (pending_[base + j].value == stored) at = j;
      all = at < m && store_of[at] == m && is_whole_value(pending_[base + at]);
      if (all) store_of[at] = k;
    }
    // 3.12+ stores neighbouring locals in any order. Others are stored in the order of the targets,
    // and no local moves over one of them.
    for (std::size_t k = 0; k < m && all; ++k)
      all = is_local(k) == is_local(store_of[k]) && others[k] == others[store_of[k]];
    if (!all) continue;
    const std::int32_t line = s_.at(body[position]).line;
    bool in_order = version().swaps_stores() && !s_.options.made_by_dynamo, on_rows = false,
         repeated = false;
    for (std::size_t k = 0; k < m; ++k) {
      in_order &= store_of[k] == k && is_local(k);
      on_rows |= line > 0 && s_.at(body[position + k]).line != line;
      repeated |= k > 0 && repeats_store(position + k);
    }
    std::vector<ExprId> targets, values;
    for (std::size_t j = 0; j < m; ++j) {
      targets.push_back(make_target(s_.ast, s_.lifted, body[position + store_of[j]], {}));
      values.push_back(use_written(pending_[base + j]));
    }
    pending_.resize(base);
    emit_parallel(targets, values, position, position + m, (in_order && on_rows) || repeated);
    return true;
  }
  return parallel_targets(position);
}

/// Stores with operands of their own and unpackings, in order of the values.
bool BlockBuilder::parallel_targets(std::size_t position) {
  const std::vector<ValueId>& body = *body_;
  const auto unpacks = [](const Value& value) {
    return value.op == Op::UNPACK_SEQUENCE || value.op == Op::UNPACK_EX;
  };
  const Value& start = s_.at(body[position]);
  const ValueId first = s_.resolve(start.operands[0]);
  std::size_t top = pending_.size();  // above: operands of the first target
  for (std::size_t k = start.operands.size(); k > 1; --k)
    if (top > 0 && pending_[top - 1].value == s_.resolve(start.operands[k - 1])) --top;
  std::size_t base = top;
  for (std::size_t j = 0; j < top; ++j)
    if (pending_[j].value == first) base = j;
  if (base + 1 >= top) return false;
  const std::size_t count = top - base;
  std::size_t found = 0;
  for (std::size_t i = position; i < body.size() && i < position + kLookAhead && found < count;
       ++i) {
    const Value& value = s_.at(body[i]);
    if (value.kind != ValueKind::Operation || !(is_store(value.op) || unpacks(value))) continue;
    const ValueId v = s_.resolve(value.operands[0]);
    if (v == pending_[base + found].value) {
      if (unpacks(value) && !unpack_is_regular(i)) return false;
      ++found;
    } else if (s_.at(v).kind != ValueKind::Result) {
      return false;
    }
  }
  if (found != count || !std::all_of(pending_.begin() + base, pending_.begin() + top,
                                     [&](const Pending& entry) { return is_whole_value(entry); }))
    return false;
  if (expression_only_) {  // a statement
    failed = true;
    return true;
  }
  // The values move aside. Each store then assigns from a hole, and gives its target to the one
  // assignment.
  const std::vector<Pending> values(pending_.begin() + base, pending_.begin() + top),
      below(pending_.begin(), pending_.begin() + base);
  pending_.erase(0, top);
  std::vector<ExprId> sources, targets;
  bool on_rows = false;
  for (const Pending& value : values) sources.push_back(use_written(value));
  std::size_t i = position;
  for (const Pending& value : values) {
    ExprId hole = s_.ast.expr(ExprKind::Raw, {});
    const Pending first_value{value.value, hole, 1};
    pending_.insert(0, {&first_value, 1});
    const std::size_t before = out.size();
    on_rows |= i > position && repeats_store(i);
    i = run_to_statement(i);
    if (out.size() != before + 1 || s_.ast[out.back()].kind != StmtKind::Assign ||
        s_.ast[out.back()].e[0] != hole)
      throw Error("structure: a parallel assignment of an unknown shape");
    targets.push_back(s_.ast[out.back()].list[0]);
    out.pop_back();
  }
  pending_.insert(0, below);
  emit_parallel(targets, sources, position, i, on_rows);
  return true;
}

// ------------------------------------------------------------------ unpacking

/// The elements are stored one after the other, first element first, with nothing but the targets'
/// own operands in between.
bool BlockBuilder::unpack_is_regular(std::size_t position) const {
  struct Open {
    ValueId op;
    std::uint32_t next, count;
  };
  std::vector<Open> open{{(*body_)[position], 0, element_count(s_.at((*body_)[position]))}};
  if (open[0].count == 0) return true;
  // Up to `end`, that no element is stored; the store of a local that comes next stores them, too
  // (see assign_target).
  const auto skip_to = [&](std::uint32_t end, bool local) {
    if (end == open.back().next) return true;
    if (!local) return false;
    for (ValueId r : s_.results_of(open.back().op)) {
      const std::uint32_t element = open.back().count - 1 - s_.at(r).arg;
      if (element >= open.back().next && element < end && s_.uses[r.index] != 0) return false;
    }
    open.back().next = end;
    return true;
  };
  const auto expected = [&](ValueId v, bool local) {
    const Value& value = s_.at(v);
    if (value.kind != ValueKind::Result || s_.uses[v.index] != 1) return false;
    while (value.operands[0] != open.back().op) {
      if (open.size() == 1 || !skip_to(open.back().count, local)) return false;
      open.pop_back();
    }
    const std::uint32_t element = open.back().count - 1 - value.arg;
    return element >= open.back().next && skip_to(element, local);
  };
  // `e[(y := a)]`: of a value that is read again, and is no element.
  const auto stores_operand = [&](const Value& value) {
    if (!is_name_store(value.op)) return false;
    const ValueId stored = s_.resolve(value.operands[0]);
    return s_.at(stored).kind != ValueKind::Result && s_.uses[stored.index] > 1;
  };
  for (std::size_t i = position + 1; i < body_->size(); ++i) {
    const Value& value = s_.at((*body_)[i]);
    if (value.kind != ValueKind::Operation || stores_operand(value)) continue;
    bool store = is_store(value.op);
    bool nested = value.op == Op::UNPACK_SEQUENCE || value.op == Op::UNPACK_EX;
    if (store || nested) {
      if (!expected(s_.resolve(value.operands[0]), value.op == Op::STORE_FAST)) return false;
      ++open.back().next;
      if (nested) open.push_back({(*body_)[i], 0, element_count(value)});
      while (!open.empty() && open.back().next == open.back().count) open.pop_back();
      if (open.empty()) return true;
    } else if (yields_no_value(value.op, value.aux)) {
      return false;
    }
  }
  return false;
}

/// `a, a = a = b`: the compiler drops each store to a local that the last one stores to.
bool BlockBuilder::unpack_overwritten(std::size_t position) {
  const ValueId v = (*body_)[position];
  const Value& value = s_.at(v);
  const std::uint32_t count = element_count(value);
  if (!version().drops_repeated_stores() || count == 0 || position + 1 >= body_->size() ||
      pending_.empty() || pending_.back().value != value.operands[0] || pending_.back().is_once())
    return false;
  for (ValueId result : s_.results_of(v))
    if (s_.uses[result.index] != 0) return false;
  const ValueId next = (*body_)[position + 1];
  const Value& store = s_.at(next);
  if (store.kind != ValueKind::Operation || store.op != Op::STORE_FAST ||
      s_.resolve(store.operands[0]) != value.operands[0])
    return false;
  const ExprId target = make_target(s_.ast, s_.lifted, next, {});
  OpenUnpack open{v, count, value.op == Op::UNPACK_EX ? value.arg : UINT32_MAX, {}, false};
  open.add_up_to(count, target, s_.ast);
  const ExprId tuple = s_.ast.expr(ExprKind::Tuple, open.elements, UINT32_MAX, 0, origin(v));
  assign_target(value.operands[0], tuple, v);
  return true;
}

bool BlockBuilder::unpack(std::size_t position) {
  const ValueId v = (*body_)[position];
  const Value& value = s_.at(v);
  if (expression_only_) {
    failed = true;
    return true;
  }
  bool inner = !unpacks_.empty();
  if (!inner && unpack_overwritten(position)) return true;
  if (!inner && !unpack_is_regular(position)) {
    unpack_to_temporaries(v);
    return true;
  }
  std::uint32_t count = element_count(value);
  if (count == 0) {
    assign_target(value.operands[0], s_.ast.expr(ExprKind::Tuple, {}), v);
    return true;
  }
  unpacks_.push_back({v, count, value.op == Op::UNPACK_EX ? value.arg : UINT32_MAX, {}, false});
  return true;
}

void BlockBuilder::unpack_to_temporaries(ValueId op) {
  const Value& value = s_.at(op);
  const ExprId e = take_one(value.operands[0]);
  std::uint32_t count = element_count(value);
  std::vector<ExprId> elements(count);
  for (ValueId r : s_.results_of(op)) {
    std::uint32_t index = count - 1 - s_.at(r).arg;
    if (index < count) elements[index] = s_.ast.name(s_.temporary_for(r));
  }
  for (ExprId& element : elements)
    if (!element) {
      s_.temporaries.made = true;
      element = s_.ast.name(s_.module.intern(std::string(s_.options.temp_prefix) +
                                             std::to_string(s_.temporaries.count++)));
    }
  if (value.op == Op::UNPACK_EX)
    elements[value.arg] = s_.ast.expr(ExprKind::Starred, {elements[value.arg]});
  const ExprId tuple = s_.ast.expr(ExprKind::Tuple, elements);
  const StmtId st = s_.ast.assign(tuple, e, origin(op));
  spill_for_statement();
  emit(st);
}

// ------------------------------------------------------------------ augmented assignment

/// `o.a += v`, `o[i] += v`: the object (and index) are used twice, by this load and by the store of
/// the in-place result.
bool BlockBuilder::augmented_load(std::size_t position) {
  const ValueId v = (*body_)[position];
  const Value& value = s_.at(v);
  const std::size_t n = value.operands.size();
  if (expression_only_ || pending_.size() < n) return false;
  if (s_.uses[v.index] != 1) return false;
  for (std::size_t k = 0; k < n; ++k) {
    const Pending& entry = pending_[pending_.size() - n + k];
    if (entry.value != value.operands[k] || entry.remaining != 2 ||
        (entry.targets != 0 && !names_alone(entry)))
      return false;
  }
  ValueId in_place, store;
  for (std::size_t i = position + 1; i < body_->size(); ++i) {
    ValueId w = (*body_)[i];
    const Value& next = s_.at(w);
    if (next.kind != ValueKind::Operation || next.operands.empty()) continue;
    if (!in_place) {
      if (s_.resolve(next.operands[0]) == v) {
        if (next.op != Op::INPLACE || s_.uses[w.index] != 1) return false;
        in_place = w;
      }
    } else if (s_.resolve(next.operands[0]) == in_place) {
      store = w;
      break;
    }
  }
  if (!store) return false;
  const Value& st = s_.at(store);
  Op expected = value.op == Op::LOAD_ATTR     ? Op::STORE_ATTR
                : value.op == Op::LOAD_SUBSCR ? Op::STORE_SUBSCR
                                              : Op::STORE_SLICE;
  if (st.op != expected || st.operands.size() != n + 1 ||
      (value.op == Op::LOAD_ATTR && st.arg != value.arg))
    return false;
  for (std::size_t k = 0; k < n; ++k)
    if (s_.resolve(st.operands[k + 1]) != value.operands[k]) return false;
  std::vector<ExprId> kids;
  for (std::size_t k = 0; k < n; ++k)
    kids.push_back(use_written(pending_[pending_.size() - n + k]));
  pending_.resize(pending_.size() - n);
  ExprId e = make_expression(s_.ast, s_.lifted, v, kids);
  augmented_.push_back({store, e});
  pending_.push_back({v, e, 1});
  return true;
}

void BlockBuilder::inplace(std::size_t position) {
  const ValueId v = (*body_)[position];
  const Value& value = s_.at(v);
  const std::uint32_t uses = s_.uses[v.index];
  bool of_augmented = false;  // stored by the store of an augmented target
  ValueId variable;           // the store at once to a variable
  if (uses == 1) {
    for (const AugStore& aug : augmented_)
      of_augmented |= s_.resolve(s_.at(aug.store).operands[0]) == v;
    if (!of_augmented && position + 1 < body_->size()) {
      const ValueId next = (*body_)[position + 1];
      if (simple_store(next) && s_.resolve(s_.at(next).operands[0]) == v) variable = next;
    }
  }
  if (expression_only_ && !of_augmented && !variable) {
    failed = true;
    return;
  }
  const std::span<const ExprId> kids = take_operands(value.operands);
  if (failed) return;
  bool plain = of_augmented;
  if (variable) {
    // What is written decides: where a temporary holds what the variable was, `x = temp + v` would
    // be no operation in place.
    const Expr& target = s_.ast[make_target(s_.ast, s_.lifted, variable, {})];
    const Expr& left = s_.ast[kids[0]];
    plain = target.kind == ExprKind::Name && left.kind == ExprKind::Name && left.a == target.a;
  }
  if (plain) {
    pending_.push_back({v, make_expression(s_.ast, s_.lifted, v, kids), uses});
    return;
  }
  if (expression_only_) {
    failed = true;
    return;
  }
  spill_for_statement();
  const ExprId temp = s_.ast.name(s_.temporary_for(v), origin(v));
  emit(s_.ast.assign(temp, kids[0], origin(v)));
  emit(
      augmented_assignment(s_.ast, static_cast<std::uint8_t>(value.arg), temp, kids[1], origin(v)));
}

}  // namespace depyf
