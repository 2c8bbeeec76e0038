// The graph -> raw statements, by its dominator tree.
//
// Ramsey, "Beyond Relooper: Recursive Translation of Unstructured Control Flow to Structured
// Control Flow" (ICFP 2022), for a language without labelled exits: a node's branches hold the
// nodes that only they reach; a node that several branches reach (a merge) stands after the
// statement of its immediate dominator, and is reached by falling off the end. A loop's exits are
// the end of its test, `break`, and the code that leads out of it. Each handler region has a node
// of its own (`try`), which dominates the protected code, the handlers and what follows. Work is
// kept on an explicit stack.
#include <algorithm>
#include <functional>
#include <utility>

#include "structure/copies.h"
#include "structure/emitter.h"
#include "structure/operations.h"
#include "structure/steps.h"
#include "support/error.h"

namespace depyf {

std::span<StmtId> Emitter::run() {
  std::uint32_t top = list();
  Context context;
  context.region = base_;
  if (stop_) context.follow = stop_.index;
  if (is_straight()) {
    gen_part(entry_.index, top, context);
  } else {
    build_graph();
    gen_later(node_of_entry(), top, context);
  }
  while (!work_.empty()) {
    const Task task = work_.back();
    work_.pop_back();
    switch (task.kind) {
      case Task::Gen:
        gen(task.node, task.list, task.context);
        break;
      case Task::Part:
        gen_part(task.node, task.list, task.context);
        break;
      case Task::Edge:
        go(BlockId(task.node), task.edge, task.list, task.context, task.with_args);
        break;
      case Task::Other: {
        const std::function<void()> other = std::move(others_.back());
        others_.pop_back();
        other();
      }
    }
  }
  const std::span<StmtId> body = close(top);
  return s_.lifted.ends_in_compound && entry_ == s_.entry ? end_in_else(body) : body;
}

std::span<StmtId> Emitter::end_in_else(std::span<StmtId> list) {
  if (list.size() < 2) return list;
  if (s_.ast[list.back()].kind != StmtKind::Return) return list;
  for (std::size_t i = list.size() - 1; i-- > 0;) {
    Stmt& st = s_.ast[list[i]];
    auto ends = [&](std::span<const StmtId> body) {
      return !body.empty() && never_goes_on(body.back());
    };
    if (!st.orelse.empty() || !st.final.empty()) continue;
    if (st.kind == StmtKind::If ? !ends(st.body) : st.kind != StmtKind::Try || ends(st.body))
      continue;
    if (std::any_of(st.arms.begin(), st.arms.end(),
                    [&](StmtId arm) { return !ends(s_.ast[arm].body); }))
      continue;
    st.orelse = list.subspan(i + 1);
    if (st.kind == StmtKind::If) st.flag = kElseWritten;
    return list.first(i + 1);
  }
  return list;
}

void Emitter::assign_params(std::span<const ValueId> params, std::span<const ExprId> values,
                            std::uint32_t l) {
  if (params.empty()) return;
  std::vector<ExprId> targets;
  for (ValueId p : params) targets.push_back(s_.ast.name(s_.temporary_for(p)));
  auto tuple = [&](std::span<const ExprId> items) {
    return items.size() == 1 ? items[0] : s_.ast.expr(ExprKind::Tuple, items);
  };
  const ExprId target = tuple(targets);
  add(l, s_.ast.assign(target, tuple(values)));
}

void Emitter::used_params(const Edge& edge, std::vector<ValueId>& params,
                          std::vector<ValueId>& args) {
  const Node& to = s_.nodes[edge.to.index];
  for (std::size_t i = 0; i < to.params.size() && i < edge.args.size(); ++i) {
    if (s_.uses[to.params[i].index] == 0) continue;
    if (s_.resolve(edge.args[i]) == to.params[i]) continue;
    params.push_back(to.params[i]);
    args.push_back(s_.resolve(edge.args[i]));
  }
}

bool Emitter::hands_over(const Edge& edge) {
  if (edge.args.empty()) return false;
  std::vector<ValueId> params, args;
  used_params(edge, params, args);
  return !params.empty();
}

void Emitter::build(std::uint32_t b, BlockBuilder& builder) {
  Node& node = s_.nodes[b];
  const Seed* const seed = seeds_.at(b);
  ExprId hole;
  if (seed && s_.uses[seed->value.index] > 0) {
    hole = placeholder();
    builder.seed(seed->value, hole, s_.ast[seed->statement].kind == StmtKind::Handler);
  }
  builder.run(node.body);
  if (hole) plug(*seed, hole, builder);
}

void Emitter::plug(const Seed& seed, ExprId hole, BlockBuilder& builder) {
  ExprId found;
  if (!builder.out.empty()) {
    Stmt& first = s_.ast[builder.out.front()];
    if (first.kind == StmtKind::Assign && first.e[0] == hole && first.list.size() == 1) {
      found = first.list[0];
      builder.out.erase(0, 1);
    }
  }
  if (!found) {
    StrId name = s_.temporary_for(seed.value);
    found = s_.ast.name(name);
    s_.ast[hole] = s_.ast[found];
  }
  Stmt& st = s_.ast[seed.statement];
  if (st.kind == StmtKind::For) st.e[0] = found;
  if (st.kind == StmtKind::With) st.list[1] = found;
  if (st.kind == StmtKind::Handler) {
    st.a = s_.ast[found].a;
    st.flag = s_.ast[found].op;
  }
}

void Emitter::finish_and_hand_over(BlockBuilder& builder, BlockId from, const Edge& edge,
                                   std::uint32_t l) {
  std::vector<ValueId> params, args;
  if (!edge.args.empty()) used_params(edge, params, args);
  BlockBuilder::Operands values;
  if (!args.empty()) values = builder.take_all(args);
  builder.finish(from);
  flush(builder, l);
  assign_params(params, values, l);
}

void Emitter::gen(std::uint32_t n, std::uint32_t l, const Context& ctx) {
  if (n >= blocks_ + regions_) {
    go_to_end(n, l, ctx, {});
    return;
  }
  if (header_[n] && !open_.at(n)) {
    gen_loop(n, l, ctx);
    return;
  }
  if (is_try(n)) {
    gen_try(RegionId(n - blocks_), l, ctx);
    return;
  }
  gen_sequence(n, l, ctx, not_inline(n, children(n)));
}

void Emitter::gen_sequence(std::uint32_t n, std::uint32_t l, const Context& ctx,
                           std::vector<std::uint32_t> merges) {
  if (is_block(n) && s_.nodes[n].match != kNone) {
    gen_match(n, l, ctx, std::move(merges));
    return;
  }
  Context part = ctx;
  drop_copied_returns(merges);
  schedule(merges, l, ctx);
  if (!merges.empty()) part.follow = merges.front();
  work_.push_back({Task::Part, false, 0, n, l, part});
}

void Emitter::gen_part(std::uint32_t b, std::uint32_t l, const Context& ctx) {
  Node& node = s_.nodes[b];
  if (node.region != ctx.region && !const_return(b) && !is_jump_statement(b)) check_place(b, ctx);
  BlockBuilder builder(s_, false);
  build(b, builder);
  const auto finish = [&] {
    builder.finish(BlockId(b));
    flush(builder, l);
  };
  switch (node.term) {
    case TermKind::Jump: {
      finish_and_hand_over(builder, BlockId(b), node.edges[0], l);
      go(BlockId(b), 0, l, ctx, false);
      return;
    }
    case TermKind::Branch: {
      ExprId test = builder.take_test(node.value);
      finish();
      gen_if(b, test, l, ctx);
      return;
    }
    case TermKind::ForIter: {
      finish();
      gen_for(b, l, ctx);
      return;
    }
    case TermKind::Return: {
      ExprId value = builder.take(node.value);
      finish();
      StmtId st = statement(StmtKind::Return, end_origin(node));
      s_.ast[st].e[0] = value;
      add(l, st);
      if (s_.is_function()) mark_end(st);  // the end of a module or class is no statement
      return;
    }
    case TermKind::Raise: {
      BlockBuilder::Operands args = builder.take_all(node.raise_args);
      finish();
      StmtId st = statement(StmtKind::Raise, end_origin(node));
      for (std::size_t i = 0; i < args.size() && i < 2; ++i) s_.ast[st].e[i] = args[i];
      add(l, st);
      mark_end(st);
      return;
    }
    case TermKind::Reraise: {
      finish();
      std::uint32_t t = targets_[std::size_t{b} * 2];
      if (t != kNone) {
        go_to_end(t, l, ctx, end_origin(node));
        return;
      }
      append_end(l, StmtKind::Raise, end_origin(node));
      return;
    }
    case TermKind::Unreachable:
      finish();
      return;
    case TermKind::Send:
      throw Error("structure: a SEND loop of an unknown shape");
  }
}

void Emitter::go_to_end(std::uint32_t n, std::uint32_t l, const Context& ctx, Origin origin) {
  if (n == ctx.follow) return;
  if (n != ctx.exit) throw Error("structure: the end of a finally body is reached from within");
  append_end(l, StmtKind::Break, origin);
}

void Emitter::append_continue(std::uint32_t l, const Context& ctx, Origin origin) {
  if (ctx.in_finally && !s_.lifted.traits.continue_in_finally)
    throw Error("structure: continue in the body of a finally, which this version does not take");
  append_end(l, StmtKind::Continue, origin);
}

void Emitter::go(BlockId from, int k, std::uint32_t l, const Context& ctx, bool with_args) {
  const Edge& edge = s_.nodes[from.index].edges[k];
  std::uint32_t t = target(from, k);
  if (with_args && !edge.args.empty()) {
    std::vector<ValueId> params, args;
    used_params(edge, params, args);
    std::vector<ExprId> values;
    for (ValueId v : args) values.push_back(reference(v));
    assign_params(params, values, l);
  }
  Origin origin = end_origin(s_.nodes[from.index]);
  const Node& node = s_.nodes[from.index];
  if (node.jump != JumpRole::Plain && jump_statement(node.jump, t, l, ctx, origin)) return;
  if (node.term == TermKind::Jump && t == ctx.header && !ctx.in_finally && lists_[l].size != 0 &&
      s_.is_continue_behind(node) && jump_statement(JumpRole::Continue, t, l, ctx, origin))
    return;
  if (node.tests_value() && t == ctx.header && t == ctx.follow && !ctx.in_finally &&
      lists_[l].size != 0 && is_continue_behind(from.index, edge.written)) {
    const WrittenJump& jump = edge.written;
    jump_statement(JumpRole::Continue, t, l, ctx,
                   {jump.offset, jump.line, s_.lifted.code, jump.columns});
    return;
  }
  go_to(from.index, t, l, ctx, origin);
}

bool Emitter::jump_statement(JumpRole role, std::uint32_t t, std::uint32_t l, const Context& ctx,
                             Origin origin) {
  if (role == JumpRole::Break && t == ctx.exit) {
    append_end(l, StmtKind::Break, origin);
    return true;
  }
  if (role == JumpRole::Continue && t == ctx.header) {
    append_continue(l, ctx, origin);
    s_.ast[lists_[l].last].flag = kJumpWritten;
    return true;
  }
  return false;
}

void Emitter::go_to(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx,
                    Origin origin) {
  if (t == ctx.follow) return;
  if (is_jump_statement(t)) {
    const std::uint32_t next = targets_[std::size_t{t} * 2];
    if (jump_statement(s_.nodes[t].jump, next, l, ctx, end_origin(s_.nodes[t]))) return;
    if (t == ctx.exit)  // it stands behind the loop
      append_end(l, StmtKind::Break, origin);
    else
      go_to(t, next, l, ctx, end_origin(s_.nodes[t]));
    return;
  }
  if (is_block(t) && ctx.follow < blocks_ && copied_return(t) &&
      same_exit(s_, BlockId(t), BlockId(ctx.follow)) && !is_written_return(from, t))
    return;
  if (t == ctx.header) {
    append_continue(l, ctx, origin);
    return;
  }
  if (t == ctx.exit) {
    append_end(l, StmtKind::Break, origin);
    return;
  }
  if (is_block(t) && s_.nodes[t].term == TermKind::Unreachable && s_.is_function() &&
      !holds_part(s_.nodes[t])) {
    append_end(l, StmtKind::Return,
               origin);  // into a `finally` that never completes: every way out is as good
    return;
  }
  const bool leaves_region = !s_.is_ancestor(ctx.region, region_of(t));
  if (!leaves_region && forward_in_[t] == 1 && dom_.idom[t] == from) {
    gen(t, l, ctx);
    return;
  }
  if (const_return(t)) {
    gen_part(t, l, ctx);
    return;
  }
  if (!leaves_region && copyable(t, ctx)) {
    s_.diagnose(1, s_.nodes[t].term_offset, "a short tail is copied");
    gen_part(t, l, ctx);
    return;
  }
  ask_for_loop(from, t);
  throw Error("structure: a jump that no statement expresses, from offset " +
              std::to_string(origin.offset));
}

void Emitter::ask_for_loop(std::uint32_t from, std::uint32_t t) {
  constexpr std::size_t kMost = 16;
  const std::uint32_t begin = dom_.idom[t];
  if (!s_.options.loops || s_.options.loops->size() >= kMost || entry_ != s_.entry) return;
  if (begin == kNone || header_[begin] || t >= blocks_ + regions_) return;
  if (header_[t] && dom_.dominates(t, from)) return;  // a loop of its own
  s_.options.loops->push_back({begin, t});
}

ExprId Emitter::probe_condition(std::uint32_t b) {
  const Node& node = s_.nodes[b];
  const std::uint32_t temporaries = s_.temporaries.count;
  BlockBuilder probe(s_, true);
  probe.run(node.body);
  ExprId e;
  if (!probe.failed && !probe.external) {
    e = probe.take_test(node.value);
    if (!e || probe.failed || !probe.out.empty() || probe.pending_count() != 0 || probe.external)
      e = ExprId();
  }
  s_.temporaries.count = temporaries;
  return e;
}

void Emitter::gen_if(std::uint32_t b, ExprId test, std::uint32_t l, const Context& ctx) {
  const BlockId from(b);
  Node& node = s_.nodes[b];
  std::uint32_t yes = target(from, 0), no = target(from, 1);
  StmtId st = statement(StmtKind::If, end_origin(node));
  s_.ast[st].e[0] = test;
  const bool yes_empty = yes == ctx.follow && !hands_over(node.edges[0]);
  // The arm that stands first in the bytecode is the body; an arm without code is no body.
  int body = 0;
  auto first_block = [&](std::uint32_t t) {
    return t == ctx.follow ? kNone : is_try(t) ? s_.regions[t - blocks_].entry.index : t;
  };
  // The blocks are in the order of the bytecode, except for the jumps out of `finally` statements.
  const auto stands_before = [&](std::uint32_t x, std::uint32_t y) {
    return is_jump_statement(x) || is_jump_statement(y)
               ? offset_of(x) < offset_of(y) && offset_of(x) > node.term_offset
               : first_block(x) < first_block(y) && first_block(x) > b;
  };
  if (yes_empty || (no != ctx.follow && stands_before(no, yes))) body = 1;
  if (no == ctx.follow && !yes_empty) body = 0;
  if ((no == ctx.header || no == ctx.exit) && !yes_empty && yes != ctx.header && yes != ctx.exit)
    body = 0;
  // `if …: continue` and `if …: break` where they were written
  auto written = [&](int k, std::uint32_t t) {
    return static_cast<bool>(node.edges[k].written) && t != kNone &&
           (t == ctx.header || t == ctx.exit);
  };
  if (written(0, yes) != written(1, no)) body = written(1, no);
  const bool else_written =
      !else_of_.empty() && else_of_[b] >= 0 && target(from, else_of_[b]) != ctx.follow;
  if (else_written) body = 1 - else_of_[b];
  // From 3.10 on blocks move, but a test jumps over its body still.
  const bool falls = s_.falls_known() && (node.falls == 0 || negation_is_free(s_.ast, test));
  if (falls) body = node.falls;
  if (body == 1 && !negation_is_free(s_.ast, test)) body = 0;
  if (body == 1) s_.ast[st].e[0] = negate(s_.ast, test);
  if (falls) s_.ast[st].level = kBodyKnown;
  std::uint32_t then = list(), rest = list();
  const int other = 1 - body;
  // `assert a is b`, whose test has no negation: what follows it is not nested in it.
  if (body == 0 && !else_written && is_block(no) && no != ctx.follow &&
      s_.nodes[no].pred_count == 1 && !negation_is_free(s_.ast, test) &&
      s_.fails_assertion(BlockId(no))) {
    later([=, this] {
      const std::span<StmtId> pass = only_pass();
      s_.ast[st].body = pass;
      s_.ast[st].orelse = close(rest);
      add(l, st);
      go(from, 0, l, ctx);
    });
    go(from, 1, rest, ctx);
    return;
  }
  later([=, this] {
    if (terminates(then) && !else_written) {
      s_.ast[st].body = close(then);
      add(l, st);
      go(from, other, l, ctx);
      return;
    }
    later([=, this] {
      Stmt& done = s_.ast[st];
      auto goes_on = [&](std::uint32_t part) {
        return lists_[part].size != 0 && fate(lists_[part].last).goes_on;
      };
      done.flag = goes_on(then) || else_written ? kElseWritten : 0;
      if (terminates(then) && terminates(rest)) mark_end(st);
      done.body = close(then);
      done.orelse = close(rest);
      if (done.body.empty()) {
        const std::span<StmtId> pass = only_pass();
        s_.ast[st].body = pass;
      }
      add(l, st);
    });
    go(from, other, rest, ctx);
  });
  const bool continues = target(from, body) == ctx.header && written(body, ctx.header) &&
                         !node.edges[body].written.pass && node.edges[body].args.empty();
  const WrittenJump& jump = node.edges[body].written;
  if (continues)
    append_continue(then, ctx, {jump.offset, jump.line, s_.lifted.code, jump.columns});
  else
    go_later(from, body, then, ctx);
}

std::span<StmtId> emit_statements(StructureGraph& s, BlockId from, RegionId base, BlockId stop) {
  return Emitter(s, from, base, stop).run();
}

}  // namespace depyf
