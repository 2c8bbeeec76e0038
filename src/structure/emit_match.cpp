// `match`: a chain of nodes that test one `case` each, every node with an edge to the body and one
// to the next case:
//
//     subject, case 1 --> body 1            match subject:
//       |                                       case 1:
//     case 2 --> guard --> body 2                   body 1
//       |          |                            case 2 if guard:
//     what no case matches                          body 2
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "structure/emitter.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {

ExprId Emitter::probe_condition(std::uint32_t b) {
  const Node& node = s_.nodes[b];
  const std::uint32_t temporaries = s_.temporaries;
  BlockBuilder probe(s_, true);
  probe.run(node.body);
  ExprId e;
  if (!probe.failed && !probe.external) {
    e = probe.take(node.value);
    if (!e || probe.failed || !probe.out.empty() || probe.pending_count() != 0 || probe.external)
      e = ExprId();
  }
  s_.temporaries = temporaries;
  return e;
}

bool Emitter::returns_under(std::uint32_t t) {
  std::vector<std::uint32_t> stack{t};
  while (!stack.empty()) {
    const std::uint32_t u = stack.back();
    stack.pop_back();
    if (is_block(u) && s_.nodes[u].term == TermKind::Return) return true;
    for (std::uint32_t c : children(u)) stack.push_back(c);
  }
  return false;
}

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

void Emitter::gen_match(std::uint32_t n, std::uint32_t l, const Context& ctx,
                        std::vector<std::uint32_t> merges) {
  if (!s_.cases[s_.nodes[n].match].first)
    throw Error("structure: a case of a match is entered by itself");
  std::vector<CasePart> parts;
  std::unordered_set<std::uint32_t> linked;  // the cases and their guards
  std::uint32_t last_case = n;
  std::uint32_t otherwise = kNone;  // where control goes when no case matches
  for (std::uint32_t at = n;;) {
    const Node& node = s_.nodes[at];
    CasePart part;
    part.from = at;
    part.pattern = s_.cases[node.match].pattern;
    part.origin = end_origin(node);
    last_case = at;
    linked.insert(at);
    std::uint32_t fail = node.term == TermKind::Branch ? target(BlockId(at), 1) : kNone;
    const std::uint32_t behind = s_.cases[node.match].never ? kNone : find_guard(at, part);
    if (s_.cases[node.match].never) {
      part.guard = constant(ConstKind::False);
      part.passes = true;
    } else if (part.guard) {
      linked.insert(part.from);
      fail = behind;
    }
    part.list = list();
    parts.push_back(part);
    if (fail == kNone) break;
    if (is_next_case(fail) && !linked.contains(fail)) {
      at = fail;
      continue;
    }
    otherwise = fail;
    break;
  }
  for (std::uint32_t h : linked) {
    if (h == n) continue;
    for (std::uint32_t c : children(h))
      if (!is_inline(h, c)) merges.push_back(c);
  }
  std::erase_if(merges, [&](std::uint32_t m) { return linked.contains(m); });
  std::sort(merges.begin(), merges.end(),
            [&](std::uint32_t a, std::uint32_t b) { return dom_.number[a] < dom_.number[b]; });
  merges.erase(std::unique(merges.begin(), merges.end()), merges.end());
  // `case _`: reached from nowhere else
  bool is_default = false;
  bool passes = false;
  for (CasePart& part : parts)
    if (!part.passes && otherwise != kNone && target(BlockId(part.from), part.edge) == otherwise)
      part.passes = passes = true;
  if (otherwise != kNone && !passes && otherwise != ctx.follow && otherwise != ctx.header &&
      otherwise != ctx.exit && dom_.idom[otherwise] != kNone &&
      linked.contains(dom_.idom[otherwise]) && s_.is_ancestor(ctx.region, region_of(otherwise))) {
    bool only = true;
    for (std::uint32_t p : preds(otherwise))
      only &= linked.contains(p) || dom_.dominates(otherwise, p);
    if (only) {
      std::vector<std::uint32_t> rest(merges);
      std::erase_if(rest, [&](std::uint32_t m) { return m == otherwise || copied_return(m); });
      bool falls = !rest.empty();
      for (const CasePart& part : parts) {
        const std::uint32_t body = target(BlockId(part.from), part.edge);
        if (ctx.follow != ctx.header || ctx.header == kNone)
          falls |= body == ctx.follow ||
                   (dom_.idom[body] == part.from && subtree_reaches(body, ctx.follow));
        falls |= !s_.is_function() && body != otherwise &&
                 returns_under(body);  // the end of a module or class is no statement
      }
      const std::uint32_t last = target(BlockId(parts.back().from), parts.back().edge);
      const std::int32_t before =
          std::max(last_line_under(last), s_.cases[s_.nodes[last_case].match].line);
      is_default = falls || first_line(otherwise) >= before + 2;
    }
    if (is_default) {
      std::erase(merges, otherwise);
    } else if (only && std::find(merges.begin(), merges.end(), otherwise) == merges.end()) {
      merges.push_back(otherwise);
    }
  }
  if (merges.size() > 1) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t m : merges)
      if (!copied_return(m) || m == otherwise) kept.push_back(m);
    if (kept.empty() && !subtree_reaches(n, ctx.follow)) kept.push_back(merges.back());
    merges = kept;
  }
  Context arm = ctx;
  if (!merges.empty()) arm.follow = merges.front();
  schedule(merges, l, ctx);

  BlockBuilder builder(s_, false);
  build(n, builder);
  const ExprId subject = builder.take(s_.nodes[n].value);
  builder.finish(BlockId());
  flush(builder, l);
  StmtId st = statement(StmtKind::Match, end_origin(s_.nodes[n]));
  s_.ast[st].e[0] = subject;
  const bool exhaustive = is_default || otherwise == kNone;
  if (is_default) {
    CasePart part;
    part.pattern = s_.ast.expr(ExprKind::MatchAs, {});
    part.list = list();
    parts.push_back(part);
  }
  const auto close_match = [=, this](std::vector<CasePart> all, bool complete) {
    std::vector<StmtId> arms;
    bool all_end = complete;
    if (complete && !exhaustive && lists_[all.back().list].size == 0) all.pop_back();
    for (const CasePart& part : all) {
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
    if (all_end && merges.empty()) mark_end(st);
  };
  later([=, this] {
    if (exhaustive || otherwise == arm.follow) {
      close_match(parts, exhaustive);
      return;
    }
    const std::uint32_t from = parts.back().from;
    if (merges.empty() && std::all_of(parts.begin(), parts.end(), [&](const CasePart& part) {
          return part.passes || terminates(part.list);
        })) {
      close_match(parts, false);
      go_from_match(from, otherwise, l, ctx);
      return;
    }
    // Bodies go on behind the statement, so what follows where no case matches stands in a case
    // of its own.
    std::vector<CasePart> all = parts;
    CasePart part;
    part.pattern = s_.ast.expr(ExprKind::MatchAs, {});
    part.list = list();
    part.passes = true;
    all.push_back(part);
    later([=] { close_match(all, true); });
    for (const CasePart& one : all)
      if (one.passes) go_from_match(from, otherwise, one.list, arm);
  });
  for (std::size_t i = parts.size(); i > 0; --i) {
    const CasePart part = parts[i - 1];
    if (part.passes) continue;
    if (part.from == kNone)
      gen_later(otherwise, part.list, arm);
    else
      go_later(BlockId(part.from), part.edge, part.list, arm);
  }
}

void Emitter::go_from_match(std::uint32_t from, std::uint32_t t, std::uint32_t l,
                            const Context& ctx) {
  go_to(from, t, l, ctx, end_origin(s_.nodes[from]));
}

}  // namespace depyf
