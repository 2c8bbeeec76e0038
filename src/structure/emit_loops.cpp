// Loops: the header is an iterator's step, a test, or the first block of an endless loop.
//
//     header: FOR_ITER --> body --> header      for x in y: body
//       |                   |                   else: end of the iterator
//       |                   +-> exit (break)    exit
//     end of the iterator --> exit
#include <algorithm>

#include "structure/emitter.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {

void Emitter::gen_loop(std::uint32_t h, std::uint32_t l, const Context& ctx) {
  open_[h] = 1;
  if (is_block(h)) {
    Node& node = s_.nodes[h];
    if (node.term == TermKind::ForIter && s_.are_quiet(node.body)) {
      gen_for(h, l, ctx);
      return;
    }
    if (node.term == TermKind::Branch && node.match == kNone && gen_while(h, l, ctx)) return;
  }
  LoopShape shape = shape_of(h, kNone);
  StmtId st = statement(StmtKind::While);
  s_.ast[st].e[0] = s_.literal(ConstKind::True);
  std::uint32_t body = list();
  // what no jump leads to may stand in the body
  const Context inner = in_loop_body(h, shape.endless ? kNone : shape.exit, ctx);
  std::vector<std::uint32_t> inside = not_inline(h, shape.inside);
  // single-entry code after the loop that is no `break` target is held by the branch that leads
  // to it
  std::vector<std::uint32_t> after;
  for (std::uint32_t c : shape.after)
    if (c == shape.exit || !(is_inline(h, c) || copied_return(c))) after.push_back(c);
  later([=, this] {
    Stmt& done = s_.ast[st];
    done.body = close(body);
    add(l, st);
    leave_by_break(st, h, shape, after, l, ctx);
  });
  if (is_try(h)) {
    later([=, this] { gen_try(RegionId(h - blocks_), body, inner, &inside); });
  } else if (once_.at(h) && s_.nodes[h].term == TermKind::Branch && s_.nodes[h].match == kNone) {
    // What stands before the test may stand before the loop.
    BlockBuilder builder(s_, false);
    build(h, builder);
    const ExprId test = builder.take_test(s_.nodes[h].value);
    builder.finish(BlockId(h));
    flush(builder, l);
    Context part = inner;
    drop_copied_returns(inside);
    schedule(inside, body, inner);
    if (!inside.empty()) part.follow = inside.front();
    later([=, this] { gen_if(h, test, body, part); });
  } else {
    gen_sequence(h, body, inner, inside);
  }
}

void Emitter::leave_loop(std::uint32_t h, std::uint32_t exit, std::vector<std::uint32_t> after,
                         std::uint32_t l, const Context& ctx) {
  std::erase(after, kNone);
  if (exit != kNone && after.empty()) {
    go_to(h, exit, l, ctx, {});
    return;
  }
  // it would fall into the first of them, which is no exit
  if (exit != kNone && after.front() != exit) throw Error("structure: several ways out of a loop");
  schedule(after, l, ctx);
}

void Emitter::leave_by_break(StmtId st, std::uint32_t h, const LoopShape& shape,
                             const std::vector<std::uint32_t>& after, std::uint32_t l,
                             const Context& ctx) {
  const std::uint32_t exit =
      shape.endless && after.empty() && shape.exit != ctx.follow ? kNone : shape.exit;
  if (exit == kNone) mark_end(st);
  leave_loop(h, exit, after, l, ctx);
}

bool Emitter::gen_while(std::uint32_t h, std::uint32_t l, const Context& ctx) {
  Node& node = s_.nodes[h];
  const BlockId from(h);
  const std::uint32_t* const once = once_.at(h);
  const auto stays = [&](std::uint32_t t) { return once ? t != *once : in_loop(t, h); };
  const bool in0 = stays(target(from, 0)), in1 = stays(target(from, 1));
  if (in0 == in1) return false;
  const int stay = in0 ? 0 : 1;
  if (!node.edges[0].args.empty() || !node.edges[1].args.empty()) return false;
  std::uint32_t exit = target(from, 1 - stay);
  if (within(exit, h) || (s_.falls_known() && node.falls != stay))
    return false;  // `while True: if …: break`
  if (h < last_.size() && !const_return(exit) && written_in_lines(exit, h, last_)) return false;
  const ExprId whole = probe_condition(h);
  if (!whole || (stay == 1 && !negation_is_free(s_.ast, whole))) return false;
  LoopShape shape = shape_of(h, exit);
  const bool stands_after = h < last_.size() && last_[h] != 0 && first_line(exit) > last_[h];
  if (!in_source_order() && shape.else_needed && !stands_after && ends_at_once(exit)) return false;
  BlockBuilder builder(s_, false);
  build(h, builder);
  ExprId test = builder.take_test(node.value);
  StmtId st = statement(StmtKind::While, end_origin(node));
  s_.ast[st].e[0] = stay == 0 ? test : negate(s_.ast, test);
  gen_loop_rest(st, h, stay, 1 - stay, shape, exit, l, ctx);
  return true;
}

void Emitter::gen_loop_rest(StmtId st, std::uint32_t h, int stay, int leave, const LoopShape& shape,
                            std::uint32_t exit, std::uint32_t l, const Context& ctx) {
  const BlockId from(h);
  std::uint32_t body = list(), orelse = list();
  Context inner = in_loop_body(h, shape.exit, ctx);
  const std::vector<std::uint32_t> inside = not_inline(h, shape.inside);
  std::vector<std::uint32_t> after;
  for (std::uint32_t c : shape.after) {
    if (shape.else_needed && c == exit) continue;
    if (c != shape.exit && c != exit && (is_inline(h, c) || copied_return(c))) continue;
    after.push_back(c);
  }
  later([=, this] {
    s_.ast[st].body = close(body);
    later([=, this] {
      s_.ast[st].orelse = close(orelse);
      add(l, st);
      if (shape.else_needed) {
        leave_by_break(st, h, shape, after, l, ctx);
      } else if (!after.empty() && after.front() == exit) {
        schedule(after, l, ctx);
      } else if (after.empty()) {
        go(from, leave, l, ctx, false);
      } else {
        throw Error("structure: several ways out of a loop");
      }
    });
    if (shape.else_needed) {
      Context e = ctx;
      e.follow = shape.exit;
      go(from, leave, orelse, e, false);
    }
  });
  schedule(inside, body, inner);
  if (!inside.empty()) inner.follow = inside.front();
  go_later(from, stay, body, inner, false);
}

void Emitter::gen_for(std::uint32_t h, std::uint32_t l, const Context& ctx) {
  Node& node = s_.nodes[h];
  const BlockId from(h);
  StmtId st = statement(StmtKind::For, end_origin(node));
  s_.ast[st].flag = node.async_for;
  ValueId iterator = s_.resolve(node.value);
  ExprId iterable = s_.known(iterator).built;
  if (!iterable) iterable = s_.ast.name(s_.temporary_for(iterator));
  s_.ast[st].e[1] = iterable;
  std::uint32_t body = target(from, 0), exit = target(from, 1);
  ValueId item = node.item;
  const Edge& edge = node.edges[0];
  const Node& first = s_.nodes[edge.to.index];
  // the item may be handed over as the block's parameter
  for (std::size_t i = 0; i < first.params.size() && i < edge.args.size(); ++i)
    if (s_.resolve(edge.args[i]) == item && s_.uses[first.params[i].index] > 0)
      item = first.params[i];
  if (is_block(body) && !header_[body] && forward_in_[body] == 1 && s_.uses[item.index] > 0) {
    seeds_[body] = {item, st};
  } else {
    s_.ast[st].e[0] = s_.ast.name(s_.temporary_for(item));
  }
  const LoopShape shape = header_[h] ? shape_of(h, exit) : shape_of_once(h, body, exit);
  gen_loop_rest(st, h, 0, 1, shape, exit, l, ctx);
}

}  // namespace depyf
