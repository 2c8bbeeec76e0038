#include "structure/structure.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "structure/check.h"
#include "structure/copies.h"
#include "structure/graph.h"
#include "structure/steps.h"
#include "support/error.h"

namespace depyf {

/// A module or class body has no `return`: every way to its end is one way.
void join_module_ends(StructureGraph& s) {
  const CodeObject& code = s.module[s.lifted.code];
  if (code.flags & kOptimized) return;
  BlockId end;
  const std::size_t count = s.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = s.nodes[i];
    if (!node.alive || node.term != TermKind::Return || !s.is_none(s.resolve(node.value))) continue;
    if (class_epilogue(s, node) < node.body.size()) continue;  // joined already
    if (!end) {
      Node last;
      last.term = TermKind::Return;
      last.value = s.add_value(Value(s.at(s.resolve(node.value))));
      last.body.push_back(last.value);
      last.take_position(node);
      end = s.add_node(std::move(last));
    }
    s.nodes[i].jump_to(end);
  }
  const bool loops =
      s.any_edge_back() || std::any_of(s.nodes.begin(), s.nodes.end(), [](const Node& node) {
        return node.alive && node.term == TermKind::ForIter;
      });
  // Behind a loop the end stays apart from the last statement, which may be one of the loop.
  BlockId last = end;
  for (std::size_t i = 0; i < count && loops; ++i) {
    const std::size_t epilogue = class_epilogue(s, s.nodes[i]);
    if (s.nodes[i].alive && s.nodes[i].term == TermKind::Return &&
        epilogue < s.nodes[i].body.size())
      last =
          s.split_test(BlockId(static_cast<std::uint32_t>(i)), s.nodes[i].body.size() - epilogue);
  }
  if (loops) s.body_end = last;
  if (!last) return;
  s.recount();
  s.tidy_jumps();
}

namespace {

/// 3.14 takes a test out of its region where its jump was threaded, as that of `a` in `(a and b)
/// and c`: decode() marks its TO_BOOL. It becomes a plain test again, and what it tells is kept.
void read_threaded_tests(StructureGraph& s) {
  for (Node& node : s.nodes) {
    if (!node.alive || node.term != TermKind::Branch || node.body.empty()) continue;
    const ValueId test = node.body.back();
    const auto hands_over = [&](const Edge& edge) {
      return std::find(edge.args.begin(), edge.args.end(), test) != edge.args.end();
    };
    if (test != s.resolve(node.value) || !s.is_op(test, Op::TO_BOOL) || s.at(test).aux == 0 ||
        hands_over(node.edges[0]) || hands_over(node.edges[1]))
      continue;
    node.value = s.resolve(s.at(test).operands[0]);
    node.body.pop_back();
    node.threaded = true;
  }
}

/// 3.14+ compiles `any(… for …)`, `all`, `tuple`, `list` and `set` of a generator expression to a
/// test whether the name is the builtin and a loop in place of the call. The call says it all.
bool drop_builtin_shortcuts(StructureGraph& s) {
  bool any = false;
  for (Node& node : s.nodes) {
    if (!node.alive || node.term != TermKind::Branch || !s.is_op(node.value, Op::IS)) continue;
    const ValueId right = s.resolve(s.at(node.value).operands[1]);
    if (!s.is_op(right, Op::LOAD_COMMON)) continue;
    const CommonConstant which = static_cast<CommonConstant>(s.at(right).arg);
    if (which != CommonConstant::BuiltinAll && which != CommonConstant::BuiltinAny &&
        which != CommonConstant::BuiltinTuple && which != CommonConstant::BuiltinList &&
        which != CommonConstant::BuiltinSet)
      continue;
    const ValueId test = node.value;
    std::erase_if(node.body, [&](ValueId v) { return v == test || v == right; });
    node.jump_to(node.edges[1].to, node.edges[1].args);
    any = true;
  }
  return any;
}

/// `break` drops the loop's iterator. What comes before it in its block is in the loop, what comes
/// after it, unless it only returns, after the loop.
void split_at_breaks(StructureGraph& s) {
  if (std::none_of(s.nodes.begin(), s.nodes.end(),
                   [](const Node& node) { return node.alive && node.term == TermKind::ForIter; }))
    return;
  std::vector<std::uint8_t> iterates(s.lifted.values.size(), 0);
  for (const Node& node : s.nodes)
    if (node.alive && node.term == TermKind::ForIter) iterates[s.resolve(node.value).index] = 1;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {  // what is split off is looked at too
    if (!s.nodes[i].alive || s.nodes[i].match != UINT32_MAX) continue;
    const std::vector<ValueId>& body = s.nodes[i].body;
    const auto drops_iterator = [&](ValueId v) {
      return s.is_op(v, Op::POP_TOP) && iterates[s.resolve(s.at(v).operands[0]).index];
    };
    std::size_t drop = SIZE_MAX;
    bool before = false, after = false;
    for (std::size_t k = 0; k < body.size() && !after; ++k) {
      if (drops_iterator(body[k])) {
        if (before && drop == SIZE_MAX) drop = k;
      } else if (!s.is_const(body[k])) {
        (drop != SIZE_MAX ? after : before) = true;
      }
    }
    if (!after) continue;
    const auto from_before = [&](ValueId v) {
      const auto end = body.begin() + static_cast<std::ptrdiff_t>(drop);
      return v && !s.is_const(s.resolve(v)) && std::find(body.begin(), end, s.resolve(v)) != end;
    };
    bool carried = from_before(s.nodes[i].value);
    for (std::size_t k = drop + 1; k < body.size() && !carried; ++k)
      for (ValueId operand : s.at(body[k]).operands) carried |= from_before(operand);
    if (carried) continue;  // a value on the stack: no statement ends here
    s.split_test(BlockId(static_cast<std::uint32_t>(i)), body.size() - drop);
  }
}

/// A `for` without a back edge has its iterator made in its own block. Where that block is the
/// header of an endless loop, it is not the `for`'s.
void split_at_iterators(StructureGraph& s) {
  const std::size_t count = s.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = s.nodes[i];
    if (!node.alive || node.term != TermKind::ForIter || node.match != UINT32_MAX) continue;
    if (!s.are_quiet(node.body)) s.split_test(BlockId(static_cast<std::uint32_t>(i)), 0);
  }
}

/// A block's parameter that every way in hands the same constant is that constant: up to 3.8 the
/// value that `return` or `return 1` has on the stack on its way out of statements.
void drop_constant_params(StructureGraph& s) {
  struct Way {
    std::uint32_t node;
    int k;
  };
  std::vector<std::vector<Way>> ways(s.nodes.size());
  for (std::uint32_t i = 0; i < s.nodes.size(); ++i)
    for (int k = 0; s.nodes[i].alive && k < s.nodes[i].edge_count(); ++k)
      if (!s.nodes[s.nodes[i].edges[k].to.index].params.empty())
        ways[s.nodes[i].edges[k].to.index].push_back({i, k});
  for (const StructRegion& region : s.regions)
    ways[region.handler.index].clear();  // exceptions lead there too
  bool any = false;
  for (std::uint32_t b = 0; b < s.nodes.size(); ++b) {
    if (!s.nodes[b].alive || ways[b].empty()) continue;
    for (std::size_t p = s.nodes[b].params.size(); p > 0; --p) {
      ValueId constant;
      const bool equal = std::all_of(ways[b].begin(), ways[b].end(), [&](const Way& way) {
        const std::span<ValueId> args = s.nodes[way.node].edges[way.k].args;
        if (args.size() != s.nodes[b].params.size()) return false;
        const ValueId v = s.resolve(args[p - 1]);
        if (!constant) constant = v;
        return s.same_constants(constant, v);
      });
      if (!equal) continue;
      any = true;
      Value here = s.at(constant);  // a value of this block, or else other blocks would read a
                                    // temporary that not every way here assigns
      here.block = BlockId(b);
      const ValueId loaded = s.add_value(here);
      s.nodes[b].body.insert(s.nodes[b].body.begin(), loaded);
      s.replace_by(s.nodes[b].params[p - 1], loaded);
      s.nodes[b].params.erase(s.nodes[b].params.begin() + static_cast<std::ptrdiff_t>(p - 1));
      for (const Way& way : ways[b]) {
        std::vector<ValueId> args(s.nodes[way.node].edges[way.k].args.begin(),
                                  s.nodes[way.node].edges[way.k].args.end());
        args.erase(args.begin() + static_cast<std::ptrdiff_t>(p - 1));
        s.nodes[way.node].edges[way.k].args = s.lifted.arena.copy(args);
      }
    }
  }
  if (any) s.count_uses();
}

/// A way out of statements that does nothing but drop what is on the stack, or load a constant, and
/// then returns that is that return. From 3.10 on, where offsets do not tell, so is an end after
/// them that drops a loop's iterator itself and is reached from one place.
void return_at_once(StructureGraph& s) {
  if (!s.is_function()) return;
  const auto is_drop = [&](ValueId v) { return s.is_op(v, Op::POP_TOP); };
  const auto drops = [&](const Node& n) {
    return std::any_of(n.body.begin(), n.body.end(), is_drop);
  };
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    const Node& node = s.nodes[i];
    if (!node.alive || node.term != TermKind::Jump || node.jump == JumpRole::Break ||
        node.match != UINT32_MAX)
      continue;
    const BlockId to = node.edges[0].to;
    Node& end = s.nodes[to.index];
    if (to == s.entry || end.region == node.region || end.pred_count != 1 ||
        end.term != TermKind::Return || !end.params.empty() || !s.is_const(end.value) ||
        !s.are_quiet(end.body))
      continue;
    const bool has_value =
        std::find(node.body.begin(), node.body.end(), s.resolve(end.value)) != node.body.end();
    if (s.are_quiet(node.body) && (drops(node) || has_value)) {
      s.merge(BlockId(static_cast<std::uint32_t>(i)));
      s.nodes[i].in_place = true;
    } else if (!s.lifted.traits.source_order && drops(end)) {
      end.in_place = true;
    }
  }
}

/// What a run over the steps keeps besides the graph.
struct Reshaping {
  StructureGraph& s;
  std::uint32_t untidied = 0;  // the changes before tidy_jumps() first ran
};

struct Step {
  std::string_view name;
  void (*run)(Reshaping&);
};

constexpr Step kSteps[] = {
    {"regions",
     [](Reshaping& r) {  // exception-state bookkeeping goes first: it hides the real regions
       if (r.s.lifted.traits.folds_displays) read_threaded_tests(r.s);
       if (drop_builtin_shortcuts(r.s) || !r.s.regions.empty()) classify_regions(r.s);
     }},
    // while copies still stand alone
    {"dropped-values", [](Reshaping& r) { join_dropped_values(r.s); }},
    {"copied-merges",
     [](Reshaping& r) {
       if (!r.s.regions.empty()) join_copied_merges(r.s);
     }},
    {"exit-copies", [](Reshaping& r) { join_exit_copies(r.s); }},
    {"jumps",
     [](Reshaping& r) {
       r.untidied = r.s.changes;
       r.s.tidy_jumps();
     }},
    // before folding: the test where values meet would become part of a larger expression
    {"threaded-tests", [](Reshaping& r) { join_threaded_tests(r.s); }},
    {"module-ends", [](Reshaping& r) { join_module_ends(r.s); }},
    // before folding: the handler's remainder becomes ordinary code
    {"async-for", [](Reshaping& r) { fold_async_for(r.s); }},
    // one may be the subject of a `match`
    {"comprehensions", [](Reshaping& r) { fold_inlined_comprehensions(r.s); }},
    // before folding: a pattern's tests are no operands of `and`
    {"matches", [](Reshaping& r) { recognise_matches(r.s); }},
    {"expressions", [](Reshaping& r) { fold_expressions(r.s); }},
    {"constant-parameters",
     [](Reshaping& r) {
       if (!r.s.lifted.regions.empty()) drop_constant_params(r.s);
     }},
    // compares copies of code, so expressions are folded on both sides
    {"cleanups", [](Reshaping& r) { strip_cleanups(r.s); }},
    {"copies-behind-cleanups", [](Reshaping& r) { join_copies_behind_cleanups(r.s); }},
    // needs the loops' tests as one condition
    {"loop-tests", [](Reshaping& r) { join_loop_tests(r.s); }},
    {"jumps-again",
     [](Reshaping& r) {
       if (r.s.changes != r.untidied) r.s.tidy_jumps();
     }},
    {"expressions-again", [](Reshaping& r) { fold_expressions(r.s); }},
    {"breaks", [](Reshaping& r) { split_at_breaks(r.s); }},
    {"iterators", [](Reshaping& r) { split_at_iterators(r.s); }},
};

void run_step(Reshaping& reshaping, const Step& step) {
  step.run(reshaping);
#ifndef NDEBUG
  check_graph(reshaping.s, step.name);
#endif
}

/// The graph as `lifted.blocks`, without what the steps removed.
void write_back(StructureGraph& s) {
  std::vector<BlockId> number(s.nodes.size());
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < s.nodes.size(); ++i)
    if (s.nodes[i].alive) number[i] = BlockId(count++);
  const auto renumbered = [&](BlockId b) { return b ? number[b.index] : b; };
  std::vector<LiftedBlock> blocks;
  for (Node& node : s.nodes) {
    if (!node.alive) continue;
    LiftedBlock block;
    block.term = node.term;
    block.value = s.resolve(node.value);
    block.item = node.item;
    for (ValueId& v : node.raise_args) v = s.resolve(v);
    block.raise_args = node.raise_args;
    for (int k = 0; k < node.edge_count(); ++k) {
      block.edges[k].to = renumbered(node.edges[k].to);
      for (ValueId& v : node.edges[k].args) v = s.resolve(v);
      block.edges[k].args = node.edges[k].args;
    }
    for (ValueId v : node.body)
      for (ValueId& operand : s.lifted[v].operands) operand = s.resolve(operand);
    block.params = std::move(node.params);
    block.body = std::move(node.body);
    block.region = node.region;
    while (block.region && !s.regions[block.region.index].catches())
      block.region = s.regions[block.region.index].parent;
    blocks.push_back(std::move(block));
  }
  // A step adds scopes, which protect nothing.
  for (std::size_t i = 0; i < s.lifted.regions.size() && i < s.regions.size(); ++i)
    s.lifted.regions[i].handler = renumbered(s.regions[i].handler);
  s.lifted.blocks = std::move(blocks);
  s.lifted.entry = renumbered(s.entry);
}

}  // namespace

std::span<const std::string_view> structure_steps() {
  static constexpr auto names = [] {
    std::array<std::string_view, std::size(kSteps)> list;
    for (std::size_t i = 0; i < std::size(kSteps); ++i) list[i] = kSteps[i].name;
    return list;
  }();
  return names;
}

void structure_up_to(std::string_view step, Lifted& lifted, Ast& ast,
                     const StructureOptions& options) {
  const auto last = std::find_if(std::begin(kSteps), std::end(kSteps),
                                 [&](const Step& each) { return each.name == step; });
  if (last == std::end(kSteps)) throw Error("structure: no step is called " + std::string(step));
  StructureGraph s(lifted, ast, options);
  if (s.regions.empty()) s.recount();
  Reshaping reshaping{s};
  if (s.nodes.size() > 1)
    std::for_each(std::begin(kSteps), last + 1,
                  [&](const Step& each) { run_step(reshaping, each); });
  write_back(s);
}

void make_statements(StructureGraph& s) {
  if (s.regions.empty()) s.recount();  // else classify_regions() does
  if (s.nodes.size() > 1) {
    Reshaping reshaping{s};
    for (const Step& step : kSteps) run_step(reshaping, step);
  }
  mark_statement_ends(s);
  if (!s.counted()) s.recount();
  if (s.nodes.size() > 1) return_at_once(s);
  s.ast.bodies[s.lifted.code.index].stmts = emit_statements(s, s.entry, RegionId(), BlockId());
  check_effects(s);
  check_temporaries(s);
}

void structure(Lifted& lifted, Ast& ast, const StructureOptions& options) {
  StructureGraph s(lifted, ast, options);
  make_statements(s);
}

}  // namespace depyf
