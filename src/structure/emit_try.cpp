// `try` and `with`: the region's node has an edge to the protected code, one to the handler, and
// one to each place that control leaves to.
//
//     try node --> protected code --> else --+      try: protected code
//       |                                    |      except E: body
//     EXC_MATCH E --> body ------------------+      else: else
//       |                                    |      after
//     RERAISE                              after
#include <algorithm>
#include <memory>

#include "structure/emitter.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {

void Emitter::gen_try(RegionId r, std::uint32_t l, const Context& ctx,
                      const std::vector<std::uint32_t>* only) {
  const StructRegion& region = s_.regions[r.index];
  check_place(try_node(r), ctx);
  const auto shape = std::make_shared<const TryShape>(try_shape(r, ctx, only));
  if (shape->merges.empty() && shape->resume != kNone)
    later([=, this] { go_to(shape->node, shape->resume, l, ctx, {}); });
  schedule(shape->merges, l, ctx);
  Context inner = ctx;
  inner.region = r;
  inner.follow = shape->otherwise != kNone ? shape->otherwise : shape->next;
  if (region.kind == RegionKind::With) {
    gen_with(r, l, shape, inner);
    return;
  }
  const StmtId st = statement(StmtKind::Try);
  const auto parts = std::make_shared<TryParts>(TryParts{list(), list(), list(), {}});
  later([=, this] { close_try(st, r, l, *shape, *parts); });
  Context arm = ctx;
  if (region.scope) arm.region = region.scope;
  if (region.kind == RegionKind::Finally) {
    arm.follow = end_node(r);
    arm.in_finally = true;
    gen_later(wrapped(region.parent, region.handler), parts->final, arm);
  } else {
    arm.follow = shape->next;
    if (region.is_star()) arm.header = arm.exit = kNone;
    gen_clauses(r, parts, *shape, arm);
  }
  if (shape->otherwise != kNone) {
    Context otherwise = ctx;
    otherwise.follow = shape->next;
    gen_later(shape->otherwise, parts->orelse, otherwise);
  }
  gen_later(shape->entry, parts->body, inner);
}

void Emitter::gen_with(RegionId r, std::uint32_t l, const std::shared_ptr<const TryShape>& shape,
                       const Context& inner) {
  const StructRegion& region = s_.regions[r.index];
  const StmtId st = statement(StmtKind::With);
  s_.ast[st].flag = region.async;
  s_.ast[st].list = s_.ast.arena.copy(std::initializer_list<ExprId>{ExprId(), ExprId()});
  const ExprId manager = s_.known(region.with_enter).built;
  s_.ast[st].list[0] = manager ? manager : s_.ast.name(s_.temporary_for(region.with_enter));
  s_.ast[st].origin = s_.origin(region.with_enter);
  const ValueId result = with_result(region);
  if (result && s_.uses[result.index] > 0) {
    if (is_block(shape->entry) && !header_[shape->entry])
      seeds_[shape->entry] = {result, st};
    else
      s_.ast[st].list[1] = s_.ast.name(s_.temporary_for(result));
  }
  const std::uint32_t body = list();
  later([=, this] {
    s_.ast[st].body = close(body);
    add(l, st);
    if (shape->next == kNone && terminates(body) && shape->merges.empty()) mark_end(st);
  });
  gen_later(shape->entry, body, inner);
}

void Emitter::gen_clauses(RegionId r, const std::shared_ptr<TryParts>& parts, const TryShape& shape,
                          const Context& arm) {
  const StructRegion& region = s_.regions[r.index];
  const BlockId last = shape.tests.back();
  const std::uint32_t bare = shape.bare;
  if (bare != kNone || (is_test(last, region.handler) && !raises_again(target(last, 1), region))) {
    later([=, this] {
      const StmtId handler = statement(StmtKind::Handler);
      const std::uint32_t code = list();
      parts->arms.push_back({handler, code});
      if (bare != kNone)
        gen(bare, code, arm);
      else
        go(last, 1, code, arm);  // `except: pass`, or no more than a jump
    });
  }
  for (std::size_t i = shape.tests.size(); i > 0; --i) {
    const BlockId t = shape.tests[i - 1];
    later([=, this] { gen_handler(r, t, parts->arms, arm); });
  }
}

void Emitter::close_try(StmtId st, RegionId r, std::uint32_t l, const TryShape& shape,
                        const TryParts& parts) {
  const bool finally = s_.regions[r.index].kind == RegionKind::Finally;
  std::vector<StmtId> handlers;
  bool all_end = terminates(parts.body) || (shape.otherwise != kNone && terminates(parts.orelse));
  for (const Arm& arm : parts.arms) {
    s_.ast[arm.handler].body = close(arm.list);
    handlers.push_back(arm.handler);
    all_end &= terminates(arm.list);
  }
  Stmt& done = s_.ast[st];
  done.flag = s_.regions[r.index].is_star();
  done.body = close(parts.body);
  done.orelse = close(parts.orelse);
  done.final = close(parts.final);
  if (finally && done.final.empty()) {
    const std::span<StmtId> pass = only_pass();
    s_.ast[st].final = pass;
  }
  s_.ast[st].arms = s_.ast.arena.copy(handlers);
  if (shape.goes_on) fate(st).goes_on = true;
  if (!shape.goes_on && (all_end || (finally && terminates(parts.final)))) mark_end(st);
  add(l, st);
}

void Emitter::gen_handler(RegionId r, BlockId t, std::vector<Arm>& arms, const Context& ctx) {
  const StructRegion& region = s_.regions[r.index];
  Node& node = s_.nodes[t.index];
  if (node.term == TermKind::Reraise && node.body.empty() && t != region.handler) return;
  StmtId st = statement(StmtKind::Handler, end_origin(node));
  std::uint32_t body = list();
  arms.push_back({st, body});
  if (!is_test(t, region.handler)) {
    gen(t.index, body, ctx);
    return;
  }
  BlockBuilder builder(s_, false);
  std::vector<ValueId> ops(node.body);
  std::erase(ops, node.value);
  builder.run(ops);
  const Value& match = s_.at(node.value);
  s_.ast[st].e[0] = builder.take(match.operands[1]);
  builder.finish(BlockId());
  if (!builder.out.empty()) throw Error("structure: the type of an except clause needs statements");
  std::uint32_t next = target(t, 0);
  ValueId exception;
  if (is_block(next)) {
    const std::vector<ValueId>& code = s_.nodes[next].body;
    const auto first = std::ranges::find_if_not(code, [&](ValueId v) { return s_.is_quiet(v); });
    if (first != code.end() && !s_.at(*first).operands.empty())
      if (const ValueId stored = s_.resolve(s_.at(*first).operands[0]);
          s_.at(stored).kind == ValueKind::Exception && s_.at(stored).block == region.handler)
        exception = stored;
  }
  if (exception && forward_in_[next] == 1) seeds_[next] = {exception, st};
  go(t, 0, body, ctx);
}

}  // namespace depyf
