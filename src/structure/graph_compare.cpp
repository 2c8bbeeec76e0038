// Are two constants, operations or expressions the same? Copies of code are.
#include <algorithm>
#include <cstring>
#include <utility>

#include "ast/comprehension.h"
#include "ast/negate.h"
#include "structure/graph.h"
#include "structure/same_constants.h"
#include "support/small_vector.h"

namespace depyf {

namespace {

bool same_slots(std::span<const Slot> a, std::span<const Slot> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Slot& x, const Slot& y) {
    return x.name == y.name && x.kind == y.kind;
  });
}

/// All that a program can tell of a code object but its constants and its place in the source.
bool same_code_apart_from_constants(const CodeObject& a, const CodeObject& b) {
  return a.name == b.name && a.qualname == b.qualname && a.flags == b.flags &&
         a.argcount == b.argcount && a.posonlyargcount == b.posonlyargcount &&
         a.kwonlyargcount == b.kwonlyargcount && std::ranges::equal(a.code, b.code) &&
         std::ranges::equal(a.names, b.names) && same_slots(a.slots, b.slots) &&
         std::ranges::equal(a.deref_slots, b.deref_slots) &&
         std::ranges::equal(a.exceptiontable, b.exceptiontable);
}

}  // namespace

bool same_constants(const Module& module, ConstId a, ConstId b) {
  SmallVector<ConstId, 16> work{a, b};
  for (std::size_t pairs = 0; !work.empty(); ++pairs) {
    const ConstId q = work.back();
    work.pop_back();
    const ConstId p = work.back();
    work.pop_back();
    if (p == q) continue;
    const Const &x = module[p], &y = module[q];
    if (x.kind != y.kind || pairs > kMostCompared) return false;
    std::span<const ConstId> left = x.items, right = y.items;
    switch (x.kind) {
      case ConstKind::None:
      case ConstKind::True:
      case ConstKind::False:
      case ConstKind::Ellipsis:
      case ConstKind::StopIteration:
        continue;
      case ConstKind::Int:
        if (x.big != y.big || x.integer != y.integer || x.text != y.text) return false;
        continue;
      case ConstKind::Str:
      case ConstKind::Bytes:
        if (x.text != y.text) return false;
        continue;
      case ConstKind::Float:
      case ConstKind::Complex:
        if (std::memcmp(&x.re, &y.re, sizeof x.re) != 0 ||
            std::memcmp(&x.im, &y.im, sizeof x.im) != 0)
          return false;
        continue;
      case ConstKind::Object:
        if (x.object != y.object) return false;
        continue;
      case ConstKind::Code:
        if (!same_code_apart_from_constants(module[x.code], module[y.code])) return false;
        left = module[x.code].consts;
        right = module[y.code].consts;
        break;
      case ConstKind::Tuple:
      case ConstKind::List:
      case ConstKind::Set:
      case ConstKind::FrozenSet:
      case ConstKind::Dict:
      case ConstKind::Slice:
        break;
    }
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      work.push_back(left[i]);
      work.push_back(right[i]);
    }
  }
  return true;
}

bool same_code(const Module& module, CodeId a, CodeId b) {
  if (!a || !b) return !a && !b;
  const std::span<const ConstId> left = module[a].consts, right = module[b].consts;
  return a == b || (same_code_apart_from_constants(module[a], module[b]) &&
                    std::equal(left.begin(), left.end(), right.begin(), right.end(),
                               [&](ConstId x, ConstId y) { return same_constants(module, x, y); }));
}

bool StructureGraph::same_const(ConstId a, ConstId b) const {
  return depyf::same_constants(module, a, b);
}

bool StructureGraph::same_operation(const Value& a, const Value& b) const {
  if (a.kind != ValueKind::Operation || b.kind != ValueKind::Operation || a.op != b.op ||
      a.aux != b.aux || a.operands.size() != b.operands.size())
    return false;
  return a.op == Op::LOAD_CONST ? same_const(ConstId(a.arg), ConstId(b.arg)) : a.arg == b.arg;
}

bool StructureGraph::same_select(ValueId a, ValueId b) {
  const Select &m = select_of(a), &n = select_of(b);
  return m.kind == n.kind && m.chained == n.chained && m.negate_first == n.negate_first &&
         same_tree(m.rest, n.rest) && same_tree(m.orelse, n.orelse) &&
         same_tree(m.decided, n.decided);
}

bool StructureGraph::negated_select(ValueId a, ValueId b, bool first_negated) {
  const Select m = select_of(a), n = select_of(b);
  const bool kinds = (m.kind == Select::And && n.kind == Select::Or) ||
                     (m.kind == Select::Or && n.kind == Select::And);
  return kinds && !m.chained && !n.chained && (m.negate_first != n.negate_first) != first_negated &&
         opposite_tests(m.rest, n.rest);
}

bool StructureGraph::opposite_tests(ExprId a, ExprId b) {
  struct Test {
    ExprId expr;
    bool negated;
  };
  const auto bare = [&](Test t) {
    while (is_not(ast[t.expr])) t = {ast[t.expr].kids[0], !t.negated};
    return t;
  };
  // 0 for `and`, 1 for `or`, by De Morgan's laws; none of them: 2
  const auto connective = [&](Test t) {
    const Expr& e = ast[t.expr];
    return e.kind == ExprKind::BoolOp ? (e.op != 0) != t.negated : 2;
  };
  const auto operands = [&](Test whole) {
    std::vector<Test> out, stack{whole};
    const int kind = connective(whole);
    while (!stack.empty()) {
      const Test t = bare(stack.back());
      stack.pop_back();
      if (connective(t) != kind) {
        out.push_back(t);
        continue;
      }
      const std::span<const ExprId> kids = ast[t.expr].kids;
      for (std::size_t i = kids.size(); i > 0; --i) stack.push_back({kids[i - 1], t.negated});
    }
    return out;
  };
  std::vector<std::pair<Test, Test>> work{{{a, true}, {b, false}}};
  while (!work.empty()) {
    const Test p = bare(work.back().first), q = bare(work.back().second);
    work.pop_back();
    if (connective(p) != connective(q)) return false;
    if (connective(p) == 2) {
      if (!same_tree(p.negated == q.negated ? p.expr : negate(ast, p.expr), q.expr)) return false;
      continue;
    }
    const std::vector<Test> left = operands(p), right = operands(q);
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) work.push_back({left[i], right[i]});
  }
  return true;
}

/// The operands of `and` or `or`, with those of a first one in parentheses (kInner).
std::vector<ExprId> StructureGraph::all_operands(const Expr& whole) const {
  std::vector<ExprId> out(whole.kids.begin(), whole.kids.end());
  for (ExprId first = out[0];
       ast[first].kind == ExprKind::BoolOp && ast[first].op == whole.op && ast[first].a == kInner;
       first = out[0]) {
    const std::span<const ExprId> kids = ast[first].kids;
    out.erase(out.begin());
    out.insert(out.begin(), kids.begin(), kids.end());
  }
  return out;
}

bool StructureGraph::same_tree(ExprId a, ExprId b) {
  std::vector<std::pair<ExprId, ExprId>> work{{a, b}};
  while (!work.empty()) {
    auto [p, q] = work.back();
    work.pop_back();
    if (p == q) continue;
    if (!p || !q) return false;
    const Expr &x = ast[p], &y = ast[q];
    if (x.kind == ExprKind::BoolOp && y.kind == x.kind && x.op == y.op) {
      // Code under a handler shows the parentheses (3.14), its copy outside does not.
      const std::vector<ExprId> left = all_operands(x), right = all_operands(y);
      if (left.size() != right.size()) return false;
      for (std::size_t i = 0; i < left.size(); ++i) work.push_back({left[i], right[i]});
      continue;
    }
    // that of a comprehension tells of rows, and of how the compiler joined blocks behind it
    const bool same_op = x.op == y.op || is_comprehension(x.kind);
    if (x.kind != y.kind || !same_op || x.kids.size() != y.kids.size() ||
        !std::equal(x.extra.begin(), x.extra.end(), y.extra.begin(), y.extra.end()))
      return false;
    if (x.kind == ExprKind::Constant ? !same_const(ConstId(x.a), ConstId(y.a)) : x.a != y.a)
      return false;
    for (std::size_t i = 0; i < x.kids.size(); ++i) work.push_back({x.kids[i], y.kids[i]});
  }
  return true;
}

}  // namespace depyf
