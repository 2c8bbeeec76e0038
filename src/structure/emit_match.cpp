// `match`: a chain of nodes that test one `case` each, every node with an edge to the body and one
// to the next case:
//
//     subject, case 1 --> body 1            match subject:
//       |                                       case 1:
//     case 2 --> guard --> body 2                   body 1
//       |          |                            case 2 if guard:
//     what no case matches                          body 2
#include <algorithm>
#include <unordered_set>

#include "structure/emitter.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {

std::uint32_t Emitter::find_guard(std::uint32_t head, CasePart& part) {
  const Node& node = s_.nodes[head];
  const bool refutable = node.term == TermKind::Branch;
  const std::uint32_t b = target(BlockId(head), 0);
  if (!is_block(b) || header_[b] || forward_in_[b] != 1) return kNone;
  const Node& test = s_.nodes[b];
  if (test.match != kNone || test.term != TermKind::Branch || test.region != node.region)
    return kNone;
  for (int pass = 0; pass < 2; ++pass)
    for (int k = 1; k >= 0; --k) {
      const std::uint32_t t = target(BlockId(b), k);
      if (refutable ? t != target(BlockId(head), 1) : false) continue;
      const bool sure = is_next_case(t);
      if (pass == 0
              ? !sure
              : (sure || test.term_line != s_.cases[node.match].line || (!refutable && k == 0)))
        continue;
      if (!test.edges[0].args.empty() || !test.edges[1].args.empty()) continue;
      ExprId e = probe_condition(b);
      if (!e || (k == 0 && !negation_is_free(s_.ast, e) && !sure)) continue;
      part.guard = k == 0 ? negate(s_.ast, e) : e;
      part.from = b;
      part.edge = 1 - k;
      return t;
    }
  return kNone;
}

void Emitter::link_cases(std::uint32_t n, MatchShape& shape) {
  for (std::uint32_t at = n;;) {
    const Node& node = s_.nodes[at];
    CasePart part;
    part.from = at;
    part.pattern = s_.cases[node.match].pattern;
    part.origin = end_origin(node);
    shape.last_case = at;
    shape.linked.insert(at);
    std::uint32_t fail = node.term == TermKind::Branch ? target(BlockId(at), 1) : kNone;
    const bool never = s_.cases[node.match].never;
    const std::uint32_t behind = never ? kNone : find_guard(at, part);
    if (never) {
      part.guard = s_.literal(ConstKind::False);
      part.passes = true;
    } else if (part.guard) {
      shape.linked.insert(part.from);
      fail = behind;
    }
    const std::uint32_t body = target(BlockId(part.from), part.edge);
    if (!never && (fail == kNone || fail == body) && is_next_case(body) &&
        !shape.linked.contains(body)) {  // `case [x] if False`, `case k if f() and False`
      fail = body;
      const ExprId no = s_.literal(ConstKind::False);
      part.guard = part.guard ? s_.ast.expr(ExprKind::BoolOp, {part.guard, no}) : no;
      part.passes = true;
    }
    part.list = list();
    shape.parts.push_back(part);
    if (fail == kNone) return;
    if (!is_next_case(fail) || shape.linked.contains(fail)) {
      shape.otherwise = fail;
      return;
    }
    at = fail;
  }
}

void Emitter::find_merges_of_cases(std::uint32_t n, MatchShape& shape) {
  std::vector<std::uint32_t>& merges = shape.merges;
  for (std::uint32_t h : shape.linked) {
    if (h == n) continue;
    for (std::uint32_t c : children(h))
      if (!is_inline(h, c)) merges.push_back(c);
  }
  std::erase_if(merges, [&](std::uint32_t m) { return shape.linked.contains(m); });
  std::sort(merges.begin(), merges.end(),
            [&](std::uint32_t a, std::uint32_t b) { return dom_.number[a] < dom_.number[b]; });
  merges.erase(std::unique(merges.begin(), merges.end()), merges.end());
}

bool Emitter::goes_on_behind(const Context& ctx, const CasePart& part) {
  if (ctx.follow == ctx.header && ctx.header != kNone) return false;
  const std::uint32_t body = target(BlockId(part.from), part.edge);
  return body == ctx.follow || (dom_.idom[body] == part.from && subtree_reaches(body, ctx.follow));
}

void Emitter::find_body_of_default(const Context& ctx, MatchShape& shape) {
  CasePart& last = shape.parts.back();
  if (!last.guard || last.passes || s_.nodes[shape.last_case].term == TermKind::Branch) return;
  const std::uint32_t test = last.from;
  const auto joins = [&](std::uint32_t c) { return !is_inline(test, c) && !copied_return(c); };
  if (std::ranges::none_of(children(test), joins)) return;
  bool passed = std::ranges::any_of(
      shape.merges, [&](std::uint32_t m) { return !dom_.dominates(test, m) && !copied_return(m); });
  for (const CasePart& part : std::span(shape.parts).first(shape.parts.size() - 1))
    passed |= goes_on_behind(ctx, part);
  if (!passed) return;
  last.guard = {};
  last.from = shape.last_case;
  last.edge = 0;
  shape.linked.erase(test);
  shape.otherwise = kNone;
  std::erase_if(shape.merges, [&](std::uint32_t m) { return dom_.dominates(test, m); });
}

bool Emitter::stands_in_default(const Context& ctx, const MatchShape& shape) {
  const std::uint32_t otherwise = shape.otherwise;
  bool falls = std::any_of(shape.merges.begin(), shape.merges.end(),
                           [&](std::uint32_t m) { return m != otherwise && !copied_return(m); });
  for (const CasePart& part : shape.parts) {
    const std::uint32_t body = target(BlockId(part.from), part.edge);
    falls |= goes_on_behind(ctx, part);
    falls |= !s_.is_function() && body != otherwise &&
             returns_under(body);  // the end of a module or class is no statement
  }
  const std::uint32_t last = target(BlockId(shape.parts.back().from), shape.parts.back().edge);
  const std::int32_t before =
      std::max(last_line_under(last), s_.cases[s_.nodes[shape.last_case].match].line);
  return falls || first_line(otherwise) >= before + 2;
}

void Emitter::find_default(const Context& ctx, MatchShape& shape) {
  const std::uint32_t otherwise = shape.otherwise;
  if (otherwise == kNone) return;
  bool passes = false;
  for (CasePart& part : shape.parts)
    if (!part.passes && target(BlockId(part.from), part.edge) == otherwise)
      part.passes = passes = true;
  if (passes || otherwise == ctx.follow || otherwise == ctx.header || otherwise == ctx.exit ||
      dom_.idom[otherwise] == kNone || !shape.linked.contains(dom_.idom[otherwise]) ||
      !s_.is_ancestor(ctx.region, region_of(otherwise)))
    return;
  // reached from nowhere else
  for (std::uint32_t p : preds(otherwise))
    if (!shape.linked.contains(p) && !dom_.dominates(otherwise, p)) return;
  std::vector<std::uint32_t>& merges = shape.merges;
  shape.is_default = stands_in_default(ctx, shape);
  if (shape.is_default)
    std::erase(merges, otherwise);
  else if (std::find(merges.begin(), merges.end(), otherwise) == merges.end())
    merges.push_back(otherwise);
}

void Emitter::gen_match(std::uint32_t n, std::uint32_t l, const Context& ctx,
                        std::vector<std::uint32_t> merges) {
  if (!s_.cases[s_.nodes[n].match].first)
    throw Error("structure: a case of a match is entered by itself");
  const auto shape = std::make_shared<MatchShape>();
  shape->merges = std::move(merges);
  link_cases(n, *shape);
  find_merges_of_cases(n, *shape);
  find_body_of_default(ctx, *shape);
  find_default(ctx, *shape);
  const std::uint32_t otherwise = shape->otherwise;
  if (shape->merges.size() > 1) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t m : shape->merges)
      if (!copied_return(m) || m == otherwise) kept.push_back(m);
    if (kept.empty() && !subtree_reaches(n, ctx.follow)) kept.push_back(shape->merges.back());
    shape->merges = kept;
  }
  Context arm = ctx;
  if (!shape->merges.empty()) arm.follow = shape->merges.front();
  schedule(shape->merges, l, ctx);

  BlockBuilder builder(s_, false);
  build(n, builder);
  const ExprId subject = builder.take(s_.nodes[n].value);
  builder.finish(BlockId());
  flush(builder, l);
  StmtId st = statement(StmtKind::Match, end_origin(s_.nodes[n]));
  s_.ast[st].e[0] = subject;
  if (shape->is_default) shape->parts.push_back(default_case());
  later([=, this] {
    const std::vector<CasePart>& parts = shape->parts;
    if (shape->exhaustive() || otherwise == arm.follow) {
      close_match(st, l, *shape, parts, shape->exhaustive());
      return;
    }
    const std::uint32_t from = parts.back().from;
    if (shape->merges.empty() && std::all_of(parts.begin(), parts.end(), [&](const CasePart& part) {
          return part.passes || terminates(part.list);
        })) {
      close_match(st, l, *shape, parts, false);
      go_from_match(from, otherwise, l, ctx);
      return;
    }
    // Bodies continue after the statement, so what follows where no case matches stands in a case
    // of its own.
    std::vector<CasePart> all = parts;
    all.push_back(default_case());
    all.back().passes = true;
    later([=, this] { close_match(st, l, *shape, all, true); });
    for (const CasePart& one : all)
      if (one.passes) go_from_match(from, otherwise, one.list, arm);
  });
  for (std::size_t i = shape->parts.size(); i > 0; --i) {
    const CasePart& part = shape->parts[i - 1];
    if (part.passes) continue;
    if (part.from == kNone)
      gen_later(otherwise, part.list, arm);
    else
      go_later(BlockId(part.from), part.edge, part.list, arm);
  }
}

Emitter::CasePart Emitter::default_case() {
  CasePart part;
  part.pattern = s_.ast.expr(ExprKind::MatchAs, {});
  part.list = list();
  return part;
}

void Emitter::close_match(StmtId st, std::uint32_t l, const MatchShape& shape,
                          std::vector<CasePart> parts, bool complete) {
  std::vector<StmtId> arms;
  bool all_end = complete;
  if (complete && !shape.exhaustive() && lists_[parts.back().list].size == 0) parts.pop_back();
  for (const CasePart& part : parts) {
    all_end &= terminates(part.list);
    StmtId one = statement(StmtKind::Case, part.origin);
    s_.ast[one].e[0] = part.pattern;
    s_.ast[one].e[1] = part.guard;
    if (lists_[part.list].size == 0) add(part.list, statement(StmtKind::Pass));
    s_.ast[one].body = close(part.list);
    arms.push_back(one);
  }
  s_.ast[st].arms = s_.ast.arena.copy(arms);
  add(l, st);
  if (all_end && shape.merges.empty()) mark_end(st);
}

void Emitter::go_from_match(std::uint32_t from, std::uint32_t t, std::uint32_t l,
                            const Context& ctx) {
  go_to(from, t, l, ctx, end_origin(s_.nodes[from]));
}

}  // namespace depyf
