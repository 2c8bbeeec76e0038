#include "structure/build.h"

#include <algorithm>

#include "opcode/op_set.h"
#include "simplify/simplify.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {
bool yields_no_value(Op op, std::uint32_t aux) {
  static constexpr OpSet always{Op::STORE_FAST,   Op::DELETE_FAST,  Op::STORE_DEREF,
                                Op::DELETE_DEREF, Op::STORE_GLOBAL, Op::DELETE_GLOBAL,
                                Op::STORE_NAME,   Op::DELETE_NAME,  Op::STORE_ATTR,
                                Op::DELETE_ATTR,  Op::STORE_SUBSCR, Op::DELETE_SUBSCR,
                                Op::STORE_SLICE,  Op::IMPORT_STAR,  Op::SETUP_ANNOTATIONS,
                                Op::PRINT_EXPR,   Op::POP_EXCEPT,   Op::POP_TOP,
                                Op::RAISE,        Op::RETURN_VALUE};
  return always[op] || ((aux & kInPlace) != 0 && kAdds[op]);
}

void BlockBuilder::seed(ValueId v, ExprId placeholder, bool once) {
  const std::uint32_t uses = s_.uses[v.index];
  if (uses > 0) pending_.push_back({v, placeholder, once ? 1 : uses});
}

void BlockBuilder::emit(StmtId statement) {
  if (expression_only_) failed = true;
  out.push_back(statement);
}

/// True when `v` needs no pending entry: a temporary, a shared import, a value built in another
/// block.
bool BlockBuilder::operand_ready(ValueId v, ExprId& out) {
  const ValueFacts& known = s_.known(v);
  if (known.named) {
    out = s_.ast.name(known.named, origin(v));
    return true;
  }
  if (known.built) {
    out = known.built;
    return true;
  }
  return false;
}

bool BlockBuilder::movable(const Pending& entry) const {
  const Value& value = s_.at(entry.value);
  if (entry.targets != 0) return false;
  if (entry.local != kNoLocal) return true;
  if (value.kind != ValueKind::Operation) return false;
  return value.op == Op::LOAD_CONST || value.op == Op::LOAD_FAST || value.op == Op::LOAD_CLOSURE ||
         value.op == Op::LOAD_COMMON;
}

BlockBuilder::Operands BlockBuilder::take_targets(const Pending& entry) {
  Operands out;
  if (entry.targets == 0) return out;
  for (const Target& target : targets_)
    if (target.value == entry.value) out.push_back(target.expr);
  std::erase_if(targets_, [&](const Target& target) { return target.value == entry.value; });
  return out;
}

ExprId BlockBuilder::use(const Pending& entry) {
  if (entry.targets == 0) return entry.expr;
  ExprId value = entry.expr;  // the first store is the innermost: `(b := (a := value))`
  for (ExprId target : take_targets(entry))
    value = s_.ast.expr(ExprKind::NamedExpr, {target, value}, UINT32_MAX, 0, origin(entry.value));
  return value;
}

/// Can the stores seen so far be walruses?
bool BlockBuilder::names_alone(const Pending& entry) const {
  if (!s_.lifted.traits.named_expressions) return false;
  if (entry.targets > 1 && s_.options.made_by_dynamo) return false;
  return std::all_of(targets_.begin(), targets_.end(), [&](const Target& target) {
    return target.value != entry.value || s_.ast[target.expr].kind == ExprKind::Name;
  });
}

StmtId BlockBuilder::assign_statement(const Pending& entry, ExprId last) {
  if (entry.targets == 0) return s_.ast.assign(last, entry.expr, s_.ast[entry.expr].origin);
  Operands targets = take_targets(entry);
  targets.push_back(last);
  return s_.ast.assign(targets, entry.expr, s_.ast[entry.expr].origin);
}

/// Temporaries for pending_[0 … index], in order of evaluation.
void BlockBuilder::spill_through(std::size_t index) {
  if (expression_only_) {
    failed = true;
    return;
  }
  if (s_.options
          .made_by_dynamo) {  // in Dynamo's code no loop or comprehension implies `iter` later
    for (std::size_t i = 0; i <= index; ++i)
      pending_[i].expr = written(pending_[i].value, pending_[i].expr);
  }
  if (s_.options.statement_per_value) {  // what is made anew at each use needs none
    std::size_t kept = 0;
    for (std::size_t i = 0; i <= index; ++i) {
      const Pending entry = pending_[i];
      const bool stays = movable(entry) && !forced(entry);
      if (!stays && entry.remaining > 0)
        out.push_back(assign_statement(
            entry, s_.ast.name(s_.temporary_for(entry.value), origin(entry.value))));
      if (stays && entry.remaining > 0) pending_[kept++] = entry;
    }
    pending_.erase(kept, index + 1);
    return;
  }
  for (std::size_t i = 0; i <= index; ++i) {
    const Pending& entry = pending_[i];
    if (entry.remaining == 0) continue;
    const ExprId name = s_.ast.name(s_.temporary_for(entry.value), origin(entry.value));
    out.push_back(assign_statement(entry, name));
  }
  pending_.erase(0, index + 1);
}

/// A statement comes between the pending values and their use. Values that could observe it are
/// stored in temporaries.
void BlockBuilder::spill_for_statement() {
  std::size_t last = pending_.size();
  while (last > 0 && movable(pending_[last - 1])) --last;
  if (last == 0) return;
  spill_through(last - 1);
}

/// Before a store to a local: pending loads of it must not move past the store.
void BlockBuilder::spill_loads_of(std::uint32_t slot) {
  for (std::size_t i = pending_.size(); i > 0; --i) {
    if (!loads(pending_[i - 1], slot)) continue;
    changed_ = slot;
    spill_through(i - 1);
    changed_ = kNoLocal;
    return;
  }
}

/// Must it be stored in a temporary, because a local that it reads changes or another block reads
/// it?
bool BlockBuilder::forced(const Pending& entry) const {
  if (ends_) return !s_.is_const(entry.value);
  return changed_ != kNoLocal && loads(entry, changed_);
}

bool BlockBuilder::loads(const Pending& entry, std::uint32_t slot) const {
  return entry.local == slot || (s_.is_op(entry.value, Op::LOAD_FAST) && entry.targets == 0 &&
                                 s_.at(entry.value).arg == slot);
}

/// Nearly always the operands are the top of the pending values, in order, and nothing else uses
/// them.
std::span<const ExprId> BlockBuilder::take_operands(std::span<const ValueId> operands) {
  const std::size_t n = operands.size();
  taken_.clear();
  if (n <= pending_.size()) {
    const Pending* entry = pending_.end() - n;
    for (ValueId v : operands) {
      if (entry->value != v || !entry->is_once()) break;
      taken_.push_back(entry++->expr);
    }
  }
  if (taken_.size() == n)
    pending_.pop_back(n);
  else
    take_scattered(operands);
  return {taken_.data(), n};
}

void BlockBuilder::take_scattered(std::span<const ValueId> operands) {
  const auto refuse_null = [&](ValueId v) {
    if (v && s_.at(v).kind == ValueKind::Null)
      throw UnusualCode("a NULL of the stack is used as a value");
  };
  Operands& kids = taken_;
  kids.clear();
  kids.resize(operands.size());
  // The top of the pending values in order, with some operands in between that wait elsewhere.
  std::size_t top = pending_.size();
  std::size_t i = operands.size();
  for (; i > 0; --i) {
    ValueId v = operands[i - 1];
    if (top > 0 && pending_[top - 1].value == v && pending_[top - 1].is_once()) {
      --top;
      continue;
    }
    if (!v) continue;
    ExprId ready;
    if (operand_ready(v, ready)) {
      kids[i - 1] = ready;
      continue;
    }
    if (expression_only_ && i == 1 && !external &&
        std::none_of(pending_.begin(), pending_.end(),
                     [&](const Pending& p) { return p.value == v; })) {
      refuse_null(v);
      if (!compares_) {
        failed = true;
        return;
      }
      external = v;  // the left side of a chained comparison
      continue;
    }
    if (top == 0 || pending_[top - 1].value != v) break;
    const Pending& entry = pending_[top - 1];
    if (entry.remaining > 1 && !s_.known(v).chained) break;
    if (entry.targets != 0 && !names_alone(entry)) break;
    --top;
  }
  if (i == 0) {
    std::size_t at = top;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      ValueId v = operands[k];
      if (!v || kids[k] || (k == 0 && v == external)) continue;
      kids[k] = use(pending_[at++]);
    }
    pending_.resize(top);
    return;
  }
  // Otherwise pure values move, and the others are stored in temporaries, up to the last operand
  // that is not pure.
  std::for_each(operands.begin(), operands.end(), refuse_null);
  std::size_t spill = 0;
  for (ValueId v : operands) {
    if (!v) continue;
    for (std::size_t p = pending_.size(); p > 0; --p) {
      if (pending_[p - 1].value != v) continue;
      if (!movable(pending_[p - 1]) ||
          (pending_[p - 1].remaining > 1 && !made_anew(pending_[p - 1])))
        spill = std::max(spill, p);
      break;
    }
  }
  if (spill > 0) {
    spill_through(spill - 1);
    if (failed) return;
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    ValueId v = operands[k];
    if (!v) continue;
    kids[k] = ExprId::none();
    if (operand_ready(v, kids[k])) continue;
    bool found = false;
    for (std::size_t p = pending_.size(); p > 0; --p) {
      Pending& entry = pending_[p - 1];
      if (entry.value != v) continue;
      found = true;
      kids[k] = entry.expr;
      if (--entry.remaining == 0)
        pending_.erase(p - 1, p);
      else
        kids[k] = made_anew(entry) ? load_again(entry) : kids[k];
      break;
    }
    if (found) continue;
    if (s_.is_const(v)) {
      kids[k] = make_load(s_.ast, s_.lifted, v);
    } else if (expression_only_) {
      if (external || k != 0 || !compares_) failed = true;
      external = v;
    } else {
      kids[k] = s_.ast.name(s_.temporary_for(v), origin(v));
    }
  }
}

/// May its expression be repeated at each use? This holds for constants and, in Dynamo's code, for
/// a local until it changes.
bool BlockBuilder::made_anew(const Pending& entry) const {
  return s_.is_const(entry.value) || (s_.options.statement_per_value && movable(entry));
}

ExprId BlockBuilder::load_again(const Pending& entry) {
  return entry.local == kNoLocal ? make_load(s_.ast, s_.lifted, entry.value)
                                 : s_.ast.name(StrId(s_.ast[entry.expr].a), origin(entry.value));
}

ExprId BlockBuilder::take_one(ValueId v) {
  if (!pending_.empty()) {
    const Pending& top = pending_.back();
    if (top.value == v && top.is_once()) {
      pending_.pop_back();
      return top.expr;
    }
  }
  take_scattered({&v, 1});
  return taken_[0];
}

/// A loop or a comprehension calls `iter` implicitly; everywhere else the call is written.
ExprId BlockBuilder::written(ValueId v, ExprId e) {
  if (!e || !s_.is_op(v, Op::GET_ITER) || s_.at(v).aux == kIteratorWritten || s_.known(v).named)
    return e;
  s_.lifted[v].aux = kIteratorWritten;
  return call_of_iter(s_.ast, e);
}

/// use() where the value goes into something that does not call `iter` implicitly.
ExprId BlockBuilder::use_written(const Pending& entry) { return written(entry.value, use(entry)); }

ExprId BlockBuilder::take(ValueId v) {
  v = s_.resolve(v);
  const ExprId e = take_one(v);
  return failed ? e : written(v, e);
}

/// `(a or b) or c` tests the value of `a or b`; `if a or b:` tests the operands alone.
ExprId BlockBuilder::take_test(ValueId v) {
  v = s_.resolve(v);
  const ExprId e = take(v);
  if (failed || !s_.is_merged(v) || s_.ast[e].kind != ExprKind::BoolOp) return e;
  spill_for_statement();
  emit(s_.ast.assign(s_.ast.name(s_.temporary_for(v), origin(v)), e, origin(v)));
  return s_.ast.name(s_.temporary_for(v), origin(v));
}

BlockBuilder::Operands BlockBuilder::take_all(std::span<const ValueId> values) {
  SmallVector<ValueId, 8> list;
  for (ValueId v : values) list.push_back(s_.resolve(v));
  Operands out;
  out.append(take_operands(list));
  if (s_.options.made_by_dynamo && !failed)
    for (std::size_t i = 0; i < list.size(); ++i) out[i] = written(list[i], out[i]);
  return out;
}

/// Does a loop over `iterator` follow the node `from`, with nothing but jumps on the way?
bool BlockBuilder::loop_follows(ValueId iterator, BlockId from) const {
  for (int steps = 0; from.valid() && steps < kMostHops; ++steps) {
    const Node& node = s_.nodes[from.index];
    if (node.term == TermKind::ForIter) return s_.resolve(node.value) == s_.resolve(iterator);
    if (node.term != TermKind::Jump) return false;
    from = node.edges[0].to;
  }
  return false;
}

/// Is its evaluation unobservable, earlier or later? This holds for displays of locals and
/// constants, if the items that are hashed are constants.
bool BlockBuilder::unseen(ExprId e) const {
  SmallVector<ExprId, 16> work{e};
  while (!work.empty()) {
    const Expr& at = s_.ast[work.back()];
    work.pop_back();
    if (at.kind == ExprKind::Constant ||
        (at.kind == ExprKind::Name && static_cast<NameScope>(at.op) == NameScope::Fast))
      continue;
    const bool keys = at.kind == ExprKind::Dict;
    if (!keys && at.kind != ExprKind::List && at.kind != ExprKind::Tuple &&
        at.kind != ExprKind::Set)
      return false;
    for (std::size_t i = 0; i < at.kids.size(); ++i) {
      const bool hashed = at.kind == ExprKind::Set || (keys && i % 2 == 0);
      if (hashed && (!at.kids[i] || s_.ast[at.kids[i]].kind != ExprKind::Constant)) return false;
      work.push_back(at.kids[i]);
    }
  }
  return true;
}

void BlockBuilder::finish(BlockId from) {
  if (s_.options.made_by_dynamo) {  // which builds what it needs after the loop before it;
                                    // simplify() moves that after the iterator
    const std::reverse_iterator top(pending_.end()), bottom(pending_.begin());
    const auto iterator = std::find_if(top, bottom, [&](const Pending& p) {
      return s_.is_op(p.value, Op::GET_ITER) && loop_follows(p.value, from);
    });
    if (iterator != bottom && std::all_of(top, iterator, [&](const Pending& p) {
          return p.targets == 0 && unseen(p.expr);
        }))
      std::rotate(iterator.base() - 1, iterator.base(), pending_.end());
  }
  // The last pending value may be what the next block's loop or `with` starts from; constants are
  // made again.
  Pending handed_on{};
  while (!pending_.empty()) {
    const Pending& entry = pending_.back();
    const Value& value = s_.at(entry.value);
    if (value.kind != ValueKind::Operation || entry.targets != 0) break;
    const bool is_constant = value.op == Op::LOAD_CONST;
    if (!is_constant) {
      const bool begins = value.op == Op::WITH_ENTER || value.op == Op::ASYNC_WITH_ENTER ||
                          value.op == Op::GET_AITER ||
                          (value.op == Op::GET_ITER &&
                           (!s_.options.made_by_dynamo || loop_follows(entry.value, from)));
      if (!begins && !(value.op == Op::LOAD_FAST && entry.remaining == 1)) break;
      handed_on = entry;
    }
    pending_.pop_back();
    if (!is_constant) break;
  }
  spill_at_end();
  if (handed_on.value) s_.note(handed_on.value).built = handed_on.expr;
}

void BlockBuilder::finish_all() {
  const auto is_constant = [&](const Pending& entry) {
    return entry.targets == 0 && s_.is_const(entry.value);
  };
  pending_.resize(static_cast<std::size_t>(
      std::remove_if(pending_.begin(), pending_.end(), is_constant) - pending_.begin()));
  spill_at_end();
}

/// Nothing is pending any more; constants are made again.
void BlockBuilder::spill_at_end() {
  ends_ = true;
  if (!pending_.empty()) spill_through(pending_.size() - 1);
  ends_ = false;
  pending_.resize(0);
}

/// A value whose expression is known: an expression statement when nobody reads it.
inline void BlockBuilder::push(ValueId v, ExprId e) {
  const std::uint32_t uses = s_.uses[v.index];
  const bool deep = s_.is_deep(e);
  if (deep && expression_only_) {
    failed = true;
    return;
  }
  if (uses > 0) {
    pending_.push_back({v, e, uses});
    if (deep) spill_through(pending_.size() - 1);
    return;
  }
  spill_for_statement();
  const StmtId st = s_.ast.stmt(StmtKind::Expr, origin(v));
  s_.ast[st].e[0] = e;
  emit(st);
}

namespace {

/// Operations that are part of a statement or an assignment.
enum class Shape : std::uint8_t {
  None,
  Dropped,
  Unpack,
  InPlace,
  Load,
  Store,
  Enter,
  Awaitable,
  YieldFrom,
  Import
};
constexpr OpTable<Shape> kShapes{
    {Shape::Dropped, {Op::POP_EXCEPT, Op::POP_TOP, Op::LOAD_CONST}},
    {Shape::Unpack, {Op::UNPACK_SEQUENCE, Op::UNPACK_EX}},
    {Shape::InPlace, {Op::INPLACE}},
    {Shape::Load, {Op::LOAD_ATTR, Op::LOAD_SUBSCR, Op::LOAD_SLICE}},
    {Shape::Store,
     {Op::STORE_FAST, Op::STORE_NAME, Op::STORE_GLOBAL, Op::STORE_DEREF, Op::STORE_ATTR,
      Op::STORE_SUBSCR, Op::STORE_SLICE}},
    {Shape::Enter, {Op::WITH_ENTER, Op::ASYNC_WITH_ENTER}},
    {Shape::Awaitable, {Op::GET_AWAITABLE}},
    {Shape::YieldFrom, {Op::YIELD_FROM}},
    {Shape::Import, {Op::IMPORT_NAME}},
};

}  // namespace

/// True if the operation, which has a shape, was handled here.
bool BlockBuilder::part_of_a_shape(ValueId v, const Value& value, std::size_t position) {
  switch (kShapes[value.op]) {
    case Shape::Dropped:
      return true;  // a constant that nobody reads
    case Shape::Unpack:
      return (unpacks_.empty() && pending_.size() >= 2 && !expression_only_ &&
              parallel_assignment(position)) ||
             unpack(position);
    case Shape::InPlace:
      inplace(position);
      return true;
    case Shape::Load:
      return !expression_only_ && !pending_.empty() && pending_.back().remaining == 2 &&
             augmented_load(position);
    case Shape::Store:
      store(position);
      return true;
    case Shape::Enter: {
      const std::span<const ExprId> kids = take_operands(value.operands);
      pending_.push_back({v, kids[0], 1});
      return true;
    }
    case Shape::Awaitable: {  // of an `async with`: the awaitable is the result of entering
      const Value& operand = s_.at(value.operands[0]);
      if (operand.kind != ValueKind::Result ||
          !s_.is_op(operand.operands[0], Op::ASYNC_WITH_ENTER) || pending_.empty() ||
          pending_.back().value != operand.operands[0])
        return false;
      s_.note(v).built = pending_.back().expr;
      return true;
    }
    case Shape::YieldFrom: {
      const Value& operand = s_.at(value.operands[0]);
      if (operand.kind != ValueKind::Operation || operand.op != Op::GET_AWAITABLE ||
          !s_.known(value.operands[0]).built)
        return false;
      if (!pending_.empty() && s_.is_const(pending_.back().value)) pending_.pop_back();
      return true;
    }
    case Shape::Import: {
      // An import that IMPORT_FROM reads stays on the stack: every name imported from it shares the
      // one node.
      if (position + 1 >= body_->size()) return false;
      const Value& next = s_.at((*body_)[position + 1]);
      if (next.kind != ValueKind::Operation || next.op != Op::IMPORT_FROM ||
          next.operands.empty() || s_.resolve(next.operands[0]) != v)
        return false;
      const std::span<const ExprId> kids = take_operands(value.operands);
      s_.note(v).built = make_expression(s_.ast, s_.lifted, v, kids);
      return true;
    }
    case Shape::None:
      return false;
  }
  return false;
}

/// The value is dropped after the last store: what assigns is an expression, `(b := (a := 1))`.
void BlockBuilder::name_expressions(StmtId statement) {
  Stmt& st = s_.ast[statement];
  const auto is_name = [&](ExprId target) { return s_.ast[target].kind == ExprKind::Name; };
  if (!s_.lifted.traits.named_expressions || s_.options.made_by_dynamo ||
      !std::all_of(st.list.begin(), st.list.end(), is_name))
    return;
  st.kind = StmtKind::Expr;
  for (ExprId target : st.list)
    st.e[0] = s_.ast.expr(ExprKind::NamedExpr, {target, st.e[0]}, UINT32_MAX, 0, st.origin);
  st.list = {};
}

/// None where it is a statement, or failed.
inline ExprId BlockBuilder::plain_operation(ValueId v, const Value& value,
                                            std::span<const ExprId> kids) {
  if (value.op == Op::YIELD_FROM) kids = kids.first(1);  // what is sent first is always None
  const bool is_statement =
      (s_.uses[v.index] == 0 && value.op != Op::YIELD_FROM) || yields_no_value(value.op, value.aux);
  if (is_statement) {
    if (value.op == Op::DELETE_FAST) spill_loads_of(value.arg);
    spill_for_statement();
    emit(make_statement(s_.ast, s_.lifted, v, kids));
    return {};
  }
  const ExprId e = make_expression(s_.ast, s_.lifted, v, kids);
  if (kComparisons[value.op]) {
    if (value.op == Op::IS && (value.aux == kNoneBranch || s_.options.made_by_dynamo))
      s_.ast[e].op = kEitherPolarity;
    else if (value.op != Op::COMPARE && s_.lifted.traits.keeps_not &&
             s_.ast[e].kind == ExprKind::Compare)
      s_.ast[e].op = kKeepsNot;
  }
  return e;
}

/// Half of all operations load what the others work on.
inline void BlockBuilder::operation(ValueId v, std::size_t position) {
  static constexpr OpSet loads{Op::LOAD_CONST, Op::LOAD_FAST, Op::LOAD_GLOBAL, Op::LOAD_NAME,
                               Op::LOAD_DEREF};
  const Value& value = s_.at(v);  // nothing here makes further values
  const std::uint32_t uses = s_.uses[v.index];
  if (value.kind == ValueKind::Operation && loads[value.op] && uses > 0)
    pending_.push_back({v, make_load(s_.ast, s_.lifted, v), uses});
  else
    shaped_operation(v, value, position);
}

void BlockBuilder::shaped_operation(ValueId v, const Value& value, std::size_t position) {
  if (s_.forwarded_since_count())
    for (ValueId& operand : value.operands) operand = s_.resolve(operand);
  if (value.kind == ValueKind::Statements) {
    if (expression_only_) {
      failed = true;
      return;
    }
    spill_for_statement();
    for (StmtId statement : s_.parts[value.arg]) emit(s_.ast.add(Stmt(s_.ast[statement])));
    return;
  }
  const bool is_select = value.kind == ValueKind::Select;
  if (value.kind == ValueKind::Operation
          ? kShapes[value.op] != Shape::None && part_of_a_shape(v, value, position)
          : !is_select)
    return;
  compares_ = !is_select && kComparisons[value.op] && s_.uses[v.index] != 0;
  const std::span<const ExprId> kids = take_operands(value.operands);
  compares_ = false;
  if (failed) return;
  if (const ExprId e = is_select ? select_expression(v, kids[0]) : plain_operation(v, value, kids))
    push(v, e);
}

void BlockBuilder::run(const std::vector<ValueId>& body) {
  body_ = &body;
  const std::span<const ValueId> operations(body);
  for (std::size_t i = 0; i < operations.size() && !failed; ++i) {
    if (i < skip_until_) continue;
    operation(operations[i], i);
  }
  skip_until_ = 0;
}

std::size_t BlockBuilder::run_to_statement(std::size_t position) {
  const std::size_t before = out.size();
  while (position < body_->size() && out.size() == before) {
    operation((*body_)[position], position);
    ++position;
  }
  return position;
}

}  // namespace depyf
