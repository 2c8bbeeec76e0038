// What statement each handler region is, and the removal of what the compiler copied to every way
// out of it.
//
// CPython duplicates the body of `finally`, the call of a context manager's exit function and the
// unbinding of `except … as name` at each exit of the protected code (compile.c,
// compiler_unwind_fblock). Here each exit edge is led past its copy, so that in the graph the exit
// leads straight to where the program goes on.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/build.h"
#include "structure/graph.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {
namespace {

bool is_exception_of(const Structurer& s, ValueId v, BlockId handler) {
  if (!v) return false;
  const Value& value = s.at(v);
  return (value.kind == ValueKind::Exception || value.kind == ValueKind::ExceptionType) &&
         value.block == handler;
}

class Regions {
 public:
  explicit Regions(Structurer& s) : s_(s) {}

  struct Position {
    BlockId block;
    std::size_t at;
  };

  void erase(RegionId r) {
    s_.regions[r.index].kind = RegionKind::Erased;
    RegionId parent = s_.regions[r.index].parent;
    for (Node& node : s_.nodes)
      if (node.region == r) node.region = parent;
    for (StructRegion& child : s_.regions)
      if (child.parent == r) child.parent = parent;
  }

  /// Regions that only restore the interpreter's exception state: their handler pops it and raises
  /// again.
  void erase_implicit() {
    std::vector<std::uint8_t> gone(s_.regions.size(), 0);
    for (std::size_t i = 0; i < s_.regions.size(); ++i) {
      const StructRegion& region = s_.regions[i];
      const Node& h = s_.nodes[region.handler.index];
      if (h.term != TermKind::Reraise || !is_exception_of(s_, s_.resolve(h.value), region.handler))
        continue;
      bool pops = false, other = false;
      for (ValueId v : h.body) (s_.is_op(v, Op::POP_EXCEPT) ? pops : other) = true;
      if (pops && !other) gone[i] = 1;
    }
    erase_all(gone);
  }

  /// A handler that begins with a loop which begins with `try`: up to 3.10 the empty block at its
  /// entry counts as protected by that `try`, which the loop's other rounds enter behind it.
  void leave_empty_entries() {
    std::vector<BlockId> entries;
    for (const StructRegion& region : s_.regions) {
      const Node& entry = s_.nodes[region.handler.index];
      const bool empty =
          entry.body.empty() && entry.term == TermKind::Jump && entry.edges[0].args.empty();
      if (empty && entry.region && s_.nodes[entry.edges[0].to.index].region == entry.region)
        entries.push_back(region.handler);
    }
    if (entries.empty()) return;
    std::vector<std::uint8_t> entered(s_.nodes.size(), 0);  // by block: from outside of its region
    for (const Node& node : s_.nodes)
      for (int k = 0; node.alive && k < node.edge_count(); ++k)
        entered[node.edges[k].to.index] |=
            !s_.is_ancestor(s_.nodes[node.edges[k].to.index].region, node.region);
    for (BlockId b : entries) {
      Node& entry = s_.nodes[b.index];
      if (entered[entry.edges[0].to.index]) entry.region = s_.regions[entry.region.index].parent;
    }
  }

  void erase_all(const std::vector<std::uint8_t>& gone) {
    auto outer = [&](RegionId r) {
      while (r && gone[r.index]) r = s_.regions[r.index].parent;
      return r;
    };
    for (Node& node : s_.nodes) node.region = outer(node.region);
    for (std::size_t i = 0; i < s_.regions.size(); ++i) {
      s_.regions[i].parent = outer(s_.regions[i].parent);
      if (gone[i]) s_.regions[i].kind = RegionKind::Erased;
    }
  }

  bool inside(BlockId b, RegionId r) const { return s_.is_ancestor(r, s_.nodes[b.index].region); }

  /// Unreachable blocks go, so that they count nowhere.
  void sweep() {
    SmallVector<std::uint8_t, 256> seen(s_.nodes.size());
    bool any = false;
    for (BlockId b : s_.reverse_postorder_blocks()) seen[b.index] = 1;
    for (std::size_t i = 0; i < s_.nodes.size(); ++i)
      if (!seen[i] && s_.nodes[i].alive) {
        any = true;
        s_.nodes[i].alive = false;
        s_.nodes[i].body.clear();
      }
    // a region that protects nothing any more
    SmallVector<std::uint8_t, 64> used(s_.regions.size());
    for (const Node& node : s_.nodes)
      if (node.alive)
        for (RegionId r = node.region; r && !used[r.index]; r = s_.regions[r.index].parent)
          used[r.index] = 1;
    for (std::size_t i = 0; i < s_.regions.size(); ++i)
      if (!used[i] && s_.regions[i].kind != RegionKind::Erased) {
        any = true;
        s_.regions[i].kind = RegionKind::Erased;
      }
    if (any) ++s_.changes;
  }

  void classify(RegionId r) {
    StructRegion& region = s_.regions[r.index];
    const BlockId h = region.handler;
    const Node& node = s_.nodes[h.index];
    for (ValueId v : node.body) {
      if (!s_.is_op(v, Op::WITH_EXCEPT_START)) continue;
      ValueId exit = s_.resolve(s_.at(v).operands[0]);
      const Value& function = s_.at(exit);
      if (function.kind != ValueKind::Result) break;
      region.with_enter = function.operands[0];
      region.async = s_.is_op(region.with_enter, Op::ASYNC_WITH_ENTER);
      if (!region.async && !s_.is_op(region.with_enter, Op::WITH_ENTER)) break;
      region.kind = RegionKind::With;
      return;
    }
    // except: a chain of tests of the exception, or the exception thrown away at once
    ValueId first_effect;
    for (ValueId v : node.body)
      if (!s_.is_const(v)) {
        first_effect = v;
        break;
      }
    bool tests = node.term == TermKind::Branch && s_.is_op(s_.resolve(node.value), Op::EXC_MATCH) &&
                 is_exception_of(s_, s_.resolve(s_.at(s_.resolve(node.value)).operands[0]), h);
    bool dropped = s_.is_op(first_effect, Op::POP_TOP) &&
                   is_exception_of(s_, s_.resolve(s_.at(first_effect).operands[0]), h);
    region.kind = (tests || dropped) && !s_.lifted.regions[r.index].cleanup ? RegionKind::Except
                                                                            : RegionKind::Finally;
  }

  // ---------------------------------------------------------------- except*

  struct StarClause {
    BlockId test, body;
    ValueId type;
    BlockId next;  // the following test; of the last one, where what is left is raised again
    std::vector<BlockId> ends;        // of the body: they jump to `next`
    std::vector<BlockId> collectors;  // handlers that put what the body raised into the list
  };

  /// `except*` (3.11+) splits the exception with each test, puts what the clauses raise and what
  /// none of them took into a list, and at the end raises what is in it again. Brought to the form
  /// of `except`: a chain of tests, clauses that leave the handler, a last node. Any other layout
  /// is left alone.
  void recognise_star(RegionId r) {
    const BlockId h = s_.regions[r.index].handler;
    const RegionId out = s_.regions[r.index].parent;
    ValueId list;
    for (ValueId v : s_.nodes[h.index].body)
      if (!s_.is_const(v)) {
        list = v;
        break;
      }
    if (!s_.is_op(list, Op::BUILD_LIST) || !s_.at(list).operands.empty()) return;
    std::vector<StarClause> clauses;
    std::unordered_map<std::uint32_t, std::uint8_t> lists{{list.index, 1}};
    auto is_list = [&](ValueId v) { return lists.count(s_.resolve(v).index) != 0; };
    auto is_append = [&](ValueId v) {
      return s_.is_op(v, Op::LIST_APPEND) && is_list(s_.at(v).operands[0]);
    };
    // what an edge hands on are versions of the list, and nothing else
    auto hands_on_lists = [&](const Edge& edge) {
      for (ValueId v : edge.args)
        if (!is_list(v)) return false;
      return true;
    };
    auto note_appends = [&](BlockId b) {
      for (ValueId v : s_.nodes[b.index].body)
        if (is_append(v)) lists[v.index] = 1;
    };
    ValueId rest;  // what no clause took so far
    BlockId end;
    FlatMap<std::uint8_t> seen;
    for (BlockId b = h;;) {
      const Node& node = s_.nodes[b.index];
      if (node.region != out || node.match != UINT32_MAX) return;
      if (std::exchange(seen[b.index], std::uint8_t{1}) != 0) return;
      for (ValueId p : node.params) lists[p.index] = 1;
      note_appends(b);
      if (node.term != TermKind::Branch || !s_.is_op(node.value, Op::IS) ||
          s_.at(node.value).aux != kNoneBranch)
        return;
      const ValueId tested = s_.resolve(s_.at(node.value).operands[0]);
      if (s_.is_op(tested, Op::PREP_RERAISE_STAR)) {
        if (clauses.empty() || !is_exception_of(s_, s_.resolve(s_.at(tested).operands[0]), h) ||
            !is_list(s_.at(tested).operands[1]))
          return;
        end = b;
        break;
      }
      const Value& taken = s_.at(tested);
      if (taken.kind != ValueKind::Result || taken.arg != 1 ||
          !s_.is_op(taken.operands[0], Op::CHECK_EG_MATCH))
        return;
      const Value& split = s_.at(taken.operands[0]);
      const ValueId whole = s_.resolve(split.operands[0]);
      if (clauses.empty() ? !is_exception_of(s_, whole, h) : whole != rest) return;
      StarClause clause;
      clause.test = b;
      clause.body = node.edges[1].to;
      clause.type = split.operands[1];
      rest = s_.results_of(taken.operands[0])[0];
      BlockId miss = node.edges[0].to;
      if (clause.body == miss || !node.edges[0].args.empty() || !node.edges[1].args.empty()) return;
      note_appends(miss);
      for (ValueId v : s_.nodes[miss.index].body)
        if (!s_.is_const(v) && !is_append(v)) return;
      if (s_.nodes[miss.index].term != TermKind::Jump ||
          !hands_on_lists(s_.nodes[miss.index].edges[0]))
        return;
      clause.next = s_.nodes[miss.index].edges[0].to;
      if (!find_ends(clause, miss, out)) return;
      for (BlockId e : clause.ends) note_appends(e);
      for (BlockId c : clause.collectors) {
        note_appends(c);
        note_appends(c);  // a second append has the first one's list
      }
      for (BlockId e : clause.ends)
        if (!hands_on_lists(s_.nodes[e.index].edges[0])) return;
      for (BlockId c : clause.collectors)
        if (!hands_on_lists(s_.nodes[c.index].edges[0]) || !is_collector(c, lists)) return;
      clauses.push_back(clause);
      b = clause.next;
    }
    const BlockId behind = s_.nodes[end.index].edges[0].to, again = s_.nodes[end.index].edges[1].to;
    if (s_.nodes[behind.index].body.empty() ||
        !s_.is_op(s_.nodes[behind.index].body[0], Op::POP_EXCEPT) ||
        !s_.nodes[behind.index].params.empty())
      return;
    if (s_.nodes[again.index].term != TermKind::Reraise ||
        !s_.nodes[end.index].edges[0].args.empty())
      return;

    auto forget_list = [&](BlockId b) {
      std::erase_if(s_.nodes[b.index].body, [&](ValueId v) { return is_append(v) || v == list; });
    };
    ValueId exception = s_.resolve(
        s_.at(s_.resolve(s_.at(s_.resolve(s_.nodes[end.index].value)).operands[0])).operands[0]);
    for (const StarClause& clause : clauses) {
      Node& test = s_.nodes[clause.test.index];
      const ValueId is_none = s_.resolve(test.value),
                    taken = s_.resolve(s_.at(is_none).operands[0]),
                    split = s_.at(taken).operands[0];
      Value match;
      match.op = Op::EXC_MATCH;
      match.block = clause.test;
      match.offset = s_.at(split).offset;
      match.line = s_.at(split).line;
      match.columns = s_.at(split).columns;
      const ValueId operands[] = {exception, clause.type};
      match.operands = s_.lifted.arena.copy(operands);
      const ValueId id = s_.add_value(match);
      std::replace(test.body.begin(), test.body.end(), split, id);
      std::erase(test.body, is_none);
      forget_list(clause.test);
      test.value = id;
      test.edges[0] = Edge{clause.body, {}};
      test.edges[1] = Edge{clause.next, {}};
      test.params.clear();
      s_.replace_by(taken, exception);
      for (BlockId b : clause.ends) {
        forget_list(b);
        s_.nodes[b.index].edges[0] = Edge{behind, {}};
      }
      for (BlockId b : clause.collectors) {
        forget_list(b);
        Node& node = s_.nodes[b.index];
        for (std::size_t i = 0; i < s_.regions.size(); ++i) {
          if (s_.regions[i].handler != b || s_.regions[i].kind == RegionKind::Erased) continue;
          // one that unbinds the name as well looks like that of `except … as name`
          if (std::all_of(node.body.begin(), node.body.end(),
                          [&](ValueId v) { return s_.is_const(v); }))
            erase(RegionId(static_cast<std::uint32_t>(i)));
        }
        node.term = TermKind::Reraise;
        node.value = caught_by(b);
      }
    }
    Node& last = s_.nodes[end.index];
    const ValueId prepared = s_.resolve(s_.at(s_.resolve(last.value)).operands[0]);
    Value drop;
    drop.op = Op::POP_TOP;
    drop.block = end;
    const ValueId operand[] = {prepared};
    drop.operands = s_.lifted.arena.copy(operand);
    std::erase_if(s_.nodes[again.index].body, [&](ValueId v) {
      return s_.is_op(v, Op::POP_EXCEPT);
    });  // raised from within the handler
    last.params.clear();
    last.body = {prepared, s_.add_value(drop)};
    last.value = prepared;
    const ValueId raised[] = {exception};
    s_.lifted.values[prepared.index].operands = s_.lifted.arena.copy(raised);
    s_.regions[r.index].kind = RegionKind::Except;
    s_.regions[r.index].unhandled = end;
  }

  /// The exception that the handler at `b` caught: what its first append puts into the list.
  ValueId caught_by(BlockId b) { return caught_[b.index]; }

  /// A handler that only unbinds the clause's name and puts the exception into the list.
  bool is_collector(BlockId b, const std::unordered_map<std::uint32_t, std::uint8_t>& lists) {
    const Node& node = s_.nodes[b.index];
    if (node.term != TermKind::Jump) return false;
    std::size_t others = 0;
    bool first = true;
    for (ValueId v : node.body) {
      if (s_.is_const(v)) continue;
      const Value& value = s_.at(v);
      if (s_.is_op(v, Op::LIST_APPEND) && lists.count(s_.resolve(value.operands[0]).index) != 0) {
        if (first && !is_exception_of(s_, s_.resolve(value.operands[1]), b)) return false;
        if (first) caught_[b.index] = s_.resolve(value.operands[1]);
        first = false;
        continue;
      }
      if (!first) return false;
      ++others;
    }
    return !first && (others == 0 || others == 2);
  }

  /// The blocks of a clause's body that lead to what follows it. False when something else leads
  /// there.
  bool find_ends(StarClause& clause, BlockId miss, RegionId out) {
    std::unordered_map<std::uint32_t, std::uint8_t> seen;
    std::vector<BlockId> work{clause.body};
    seen[clause.body.index] = 1;
    seen[clause.next.index] = 1;
    auto reach = [&](BlockId b) {
      if (seen.emplace(b.index, std::uint8_t{1}).second) work.push_back(b);
    };
    std::unordered_map<std::uint32_t, std::uint8_t> handlers;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      const Node& node = s_.nodes[b.index];
      if (!s_.is_ancestor(out, node.region) || b == miss || b == clause.test) return false;
      for (RegionId r = node.region; r && r != out; r = s_.regions[r.index].parent)
        if (s_.regions[r.index].kind != RegionKind::Erased) {
          handlers[s_.regions[r.index].handler.index] = 1;
          reach(s_.regions[r.index].handler);
        }
      for (int k = 0; k < node.edge_count(); ++k) {
        if (node.edges[k].to != clause.next) {
          reach(node.edges[k].to);
          continue;
        }
        if (node.term != TermKind::Jump) return false;
        (handlers.count(b.index) && node.region == out && catches(b) ? clause.collectors
                                                                     : clause.ends)
            .push_back(b);
      }
    }
    return true;
  }

  /// Does the handler at `b` put what it caught into a list?
  bool catches(BlockId b) {
    for (ValueId v : s_.nodes[b.index].body)
      if (s_.is_op(v, Op::LIST_APPEND) && is_exception_of(s_, s_.resolve(s_.at(v).operands[1]), b))
        return true;
    return false;
  }

  /// `except E as name: pass` protects nothing: the name is stored and unbound in one go. The
  /// unbinding is implied by the `as`.
  void forget_name(BlockId b, BlockId handler) {
    std::vector<ValueId>& body = s_.nodes[b.index].body;
    for (std::size_t k = 0; k < body.size(); ++k) {
      const Value& store = s_.at(body[k]);
      if (store.kind != ValueKind::Operation || store.operands.size() != 1) continue;
      if (store.op != Op::STORE_FAST && store.op != Op::STORE_NAME &&
          store.op != Op::STORE_GLOBAL && store.op != Op::STORE_DEREF)
        continue;
      if (!is_exception_of(s_, s_.resolve(store.operands[0]), handler)) continue;
      std::vector<std::size_t> next;
      for (std::size_t j = k + 1; j < body.size() && next.size() < 2; ++j)
        if (!s_.is_const(body[j]) && !s_.is_op(body[j], Op::POP_EXCEPT) &&
            !s_.is_op(body[j], Op::POP_TOP))
          next.push_back(j);
      if (next.size() < 2) return;
      const Value &unbind = s_.at(body[next[0]]), &remove = s_.at(body[next[1]]);
      const bool deletes = (remove.op == Op::DELETE_FAST && store.op == Op::STORE_FAST) ||
                           (remove.op == Op::DELETE_NAME && store.op == Op::STORE_NAME) ||
                           (remove.op == Op::DELETE_GLOBAL && store.op == Op::STORE_GLOBAL) ||
                           (remove.op == Op::DELETE_DEREF && store.op == Op::STORE_DEREF);
      if (unbind.op != store.op || unbind.arg != store.arg || !deletes || remove.arg != store.arg ||
          !s_.is_const(s_.resolve(unbind.operands[0])))
        return;
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(next[1]));
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(next[0]));
      return;
    }
  }

  /// A constant that is returned from within: loaded before the exception state is popped at
  /// body[pop] (3.14+ folds `return 0, 0` after that order is settled), or at the place in the
  /// source where it is popped. An implicit `return None` takes that place too.
  bool returns_value_before(const Node& node, std::size_t pop) const {
    if (node.term != TermKind::Return || !s_.is_const(node.value)) return false;
    for (std::size_t i = pop + 1; i < node.body.size(); ++i)
      if (!s_.is_const(node.body[i])) return false;
    const Value& popped = s_.at(node.body[pop]);
    if (node.term_columns != 0 && node.term_columns == popped.columns &&
        node.term_line == popped.line &&
        s_.module[ConstId(s_.at(node.value).arg)].kind != ConstKind::None)
      return true;
    return std::find(node.body.begin(), node.body.begin() + static_cast<std::ptrdiff_t>(pop),
                     node.value) != node.body.begin() + static_cast<std::ptrdiff_t>(pop);
  }

  bool is_quiet(ValueId v) const {
    return s_.is_const(v) || s_.is_op(v, Op::POP_TOP) || s_.is_op(v, Op::POP_EXCEPT);
  }

  /// A way out of a handler, from the operation that pops the exception state on: does it only
  /// return what is there already, or raise again?
  bool only_ends(BlockId b, std::size_t at) const {
    for (int steps = 0; steps < kMostHops; ++steps) {
      const Node& node = s_.nodes[b.index];
      for (; at < node.body.size(); ++at)
        if (!is_quiet(node.body[at])) return false;
      if (node.term != TermKind::Jump)
        return node.term == TermKind::Return || node.term == TermKind::Reraise;
      b = node.edges[0].to;
      at = 0;
    }
    return false;
  }

  /// The code of each `except` handler becomes a region (kind Scope), so that what follows the
  /// statement is told from it: control leaves the handler where the exception state is popped. A
  /// handler inside pops its own. So does that of a `finally` which control leaves by `break` or
  /// `continue`: where the loop never comes around, nothing else tells its body from what the jump
  /// leads to.
  void scope_handlers() {
    const std::size_t count = s_.regions.size();
    for (std::size_t i = 0; i < count; ++i) {
      const bool clauses = s_.regions[i].kind == RegionKind::Except;
      if (!clauses && s_.regions[i].kind != RegionKind::Finally) continue;
      const RegionId owner(static_cast<std::uint32_t>(i));
      const RegionId parent = s_.regions[i].parent;
      const RegionId scope(static_cast<std::uint32_t>(s_.regions.size()));
      std::vector<BlockId> members;
      std::vector<Position> ways_out;
      std::unordered_map<std::uint32_t, std::uint32_t> depth_at;
      std::vector<BlockId> work{s_.regions[i].handler};
      depth_at[work[0].index] = 1;
      auto reach = [&](BlockId b, std::uint32_t depth) {
        if (depth_at.emplace(b.index, depth).second) work.push_back(b);
      };
      while (!work.empty()) {
        BlockId b = work.back();
        work.pop_back();
        std::uint32_t depth = depth_at[b.index];
        members.push_back(b);
        for (RegionId r = s_.nodes[b.index].region; r && r != parent;
             r = s_.regions[r.index].parent)
          if (s_.regions[r.index].kind != RegionKind::Erased &&
              s_.regions[r.index].kind != RegionKind::Scope && r != owner)
            reach(s_.regions[r.index].handler, depth + 1);
        if (clauses) forget_name(b, s_.regions[i].handler);
        bool left = false;
        for (std::size_t k = 0; k < s_.nodes[b.index].body.size() && !left; ++k) {
          if (!s_.is_op(s_.nodes[b.index].body[k], Op::POP_EXCEPT) || --depth > 0) continue;
          left = true;
          ways_out.push_back({b, k});
        }
        if (left) continue;
        for (int k = 0; k < s_.nodes[b.index].edge_count(); ++k)
          reach(s_.nodes[b.index].edges[k].to, depth);
      }
      if (!clauses && std::all_of(ways_out.begin(), ways_out.end(), [&](const Position& out) {
            return only_ends(out.block, out.at);
          }))
        continue;
      for (const auto& [b, k] : ways_out) {
        if (returns_value_before(s_.nodes[b.index], k)) continue;
        if (k + 1 == s_.nodes[b.index].body.size() && s_.nodes[b.index].term == TermKind::Jump)
          continue;
        const BlockId rest = split({b, k + 1});
        s_.nodes[rest.index].in_place =
            s_.nodes[rest.index].term == TermKind::Return && s_.is_function();
      }
      StructRegion region;
      region.parent = parent;
      region.kind = RegionKind::Scope;
      region.owner = owner;
      region.handler = s_.regions[i].handler;
      s_.regions.push_back(region);
      s_.regions[i].scope = scope;
      for (BlockId b : members) {
        RegionId r = s_.nodes[b.index].region;
        if (r == parent) {
          s_.nodes[b.index].region = scope;
          continue;
        }
        while (r && r != scope && s_.regions[r.index].parent != parent &&
               s_.regions[r.index].parent != scope)
          r = s_.regions[r.index].parent;
        if (r && r != scope && r != owner && s_.regions[r.index].parent == parent)
          s_.regions[r.index].parent = scope;
      }
    }
  }

  // ---------------------------------------------------------------- with

  /// Takes away the calls of the exit function; what control does after them is what the program
  /// does after the statement.
  void strip_with(RegionId r) {
    StructRegion& region = s_.regions[r.index];
    std::unordered_set<std::uint32_t> gone;
    auto strip = [&](Node& node) {
      if (!node.alive) return;
      bool any = false;
      for (ValueId v : node.body) {
        const Value& value = s_.at(v);
        if (value.kind != ValueKind::Operation || value.operands.empty()) continue;
        ValueId callee = s_.resolve(value.operands[0]);
        bool exit_call = value.op == Op::CALL && value.operands.size() == 4 &&
                         s_.at(callee).kind == ValueKind::Result && s_.at(callee).arg == 0 &&
                         s_.at(callee).operands[0] == region.with_enter;
        bool awaits = region.async &&
                      (value.op == Op::GET_AWAITABLE || value.op == Op::YIELD_FROM) &&
                      gone.count(callee.index);
        if (exit_call || awaits) {
          gone.insert(v.index);
          any = true;
        }
      }
      if (!any) return;
      std::erase_if(node.body, [&](ValueId v) { return gone.count(v.index) != 0; });
      node.behind_copy = true;
    };
    if (region.async)
      for (Node& node : s_.nodes) strip(node);
    else if (auto found = exit_calls_.find(region.with_enter.index); found != exit_calls_.end())
      for (BlockId b : found->second) strip(s_.nodes[b.index]);
  }

  // ---------------------------------------------------------------- finally

  bool same_value(ValueId h, ValueId t, const std::unordered_map<std::uint32_t, ValueId>& map) {
    h = s_.resolve(h);
    t = s_.resolve(t);
    if (h == t) return true;
    auto found = map.find(h.index);
    if (found != map.end()) return s_.resolve(found->second) == t;
    if (s_.is_const(h) && s_.is_const(t))
      return s_.same_const(ConstId(s_.at(h).arg), ConstId(s_.at(t).arg));
    if (s_.at(h).kind != s_.at(t).kind) return false;
    // what a handler finds at its entry, where the two handlers are taken for the same
    const ValueKind kind = s_.at(h).kind;
    if (kind == ValueKind::Exception || kind == ValueKind::ExceptionType ||
        kind == ValueKind::Traceback || kind == ValueKind::Previous || kind == ValueKind::Lasti) {
      auto pair = visited_.find(s_.at(h).block.index);
      return pair != visited_.end() && pair->second == s_.at(t).block.index &&
             s_.at(h).arg == s_.at(t).arg;
    }
    return kind == ValueKind::Null;
  }

  /// Two places from which control does the same in one block. (Short exits are copied to each way
  /// out.)
  bool same_end(Position a, Position b) {
    const Node &x = s_.nodes[a.block.index], &y = s_.nodes[b.block.index];
    if (x.term != y.term || x.match != y.match || x.raise_args.size() != y.raise_args.size() ||
        x.edge_count() != y.edge_count())
      return false;
    bool may_raise = x.term != TermKind::Return && x.term != TermKind::Jump;
    std::unordered_map<std::uint32_t, ValueId> map;
    std::size_t i = a.at, j = b.at;
    auto skip = [&](const Node& node, std::size_t& k) {
      while (k < node.body.size() && is_quiet(node.body[k])) ++k;
    };
    for (;;) {
      skip(x, i);
      skip(y, j);
      if (i == x.body.size() || j == y.body.size()) break;
      if (!same_operation(x.body[i], y.body[j], map)) return false;
      may_raise = true;
      ++i;
      ++j;
    }
    if (i != x.body.size() || j != y.body.size()) return false;
    if (x.region != y.region && may_raise) return false;
    if (x.value && !same_value(x.value, y.value, map)) return false;
    for (std::size_t k = 0; k < x.raise_args.size(); ++k)
      if (!same_value(x.raise_args[k], y.raise_args[k], map)) return false;
    for (int k = 0; k < x.edge_count(); ++k) {
      const Edge &e = x.edges[k], &f = y.edges[k];
      if (e.to != f.to || e.args.size() != f.args.size()) return false;
      for (std::size_t n = 0; n < e.args.size(); ++n)
        if (!same_value(e.args[n], f.args[n], map)) return false;
    }
    return true;
  }

  /// `key`: a position of `visited_`.
  bool same_place(std::uint64_t key, Position b) {
    const Position a{BlockId(static_cast<std::uint32_t>(key)), static_cast<std::size_t>(key >> 32)};
    if (same_end(a, b) || (a.at == 0 && b.at == 0 && s_.same_exit(a.block, b.block))) return true;
    const Position x = past_jumps(a), y = past_jumps(b);
    return x.block == y.block && x.at == y.at;
  }

  /// Where control goes from there without doing anything.
  Position past_jumps(Position p) const {
    for (int steps = 0; steps < kMostHops; ++steps) {
      const Node& node = s_.nodes[p.block.index];
      while (p.at < node.body.size() &&
             (s_.is_const(node.body[p.at]) || s_.is_op(node.body[p.at], Op::POP_EXCEPT)))
        ++p.at;
      if (p.at != node.body.size() || node.term != TermKind::Jump || node.jump != JumpRole::Plain ||
          !node.edges[0].args.empty())
        break;
      p = {node.edges[0].to, 0};
    }
    return p;
  }

  /// 3.14+: does it note that an annotation was reached? Each copy of the annotation has a number
  /// of its own.
  bool marks_annotation(const Value& value) const {
    if (value.op != Op::SET_ADD || value.operands.size() != 2) return false;
    const Value& set = s_.at(s_.resolve(value.operands[0]));
    if (set.op != Op::LOAD_DEREF && set.op != Op::LOAD_NAME) return false;
    const auto& slots = s_.module[s_.lifted.code].slots;
    const StrId name = set.op == Op::LOAD_NAME ? StrId(set.arg) : slots[set.arg].name;
    return s_.module[name] == "__conditional_annotations__";
  }

  /// The same operation on the same values; `map` learns what the second one's results are to the
  /// first.
  bool same_operation(ValueId a, ValueId b, std::unordered_map<std::uint32_t, ValueId>& map) {
    const Value &x = s_.at(a), &y = s_.at(b);
    if (x.kind != y.kind || x.op != y.op || x.aux != y.aux ||
        x.operands.size() != y.operands.size())
      return false;
    if (x.kind == ValueKind::Select) {
      if (!s_.same_select(a, b)) return false;
    } else if (x.arg != y.arg && x.op != Op::LOAD_CONST) {
      return false;
    }
    for (std::size_t i = 0; i < x.operands.size(); ++i)
      if (!same_value(x.operands[i], y.operands[i], map) && !(i == 1 && marks_annotation(x)))
        return false;
    map[a.index] = b;
    if (x.kind == ValueKind::Operation) {
      std::vector<ValueId> ra = s_.results_of(a), rb = s_.results_of(b);
      for (std::size_t i = 0; i < ra.size() && i < rb.size(); ++i) map[ra[i].index] = rb[i];
    }
    return true;
  }

  /// Walks the handler's copy of the body and the copy at `t` in lockstep. On success `out` is
  /// where control goes on after the copy; none when the body never completes.
  bool match_copy(BlockId handler, RegionId base_h, BlockId t, Position& out, bool& completes) {
    std::unordered_map<std::uint32_t, ValueId> map;
    auto& visited = visited_;
    visited.clear();
    struct Pair {
      BlockId h;
      std::size_t hi;
      BlockId t;
      std::size_t ti;
    };
    std::vector<Pair> work{{handler, 0, t, 0}};
    visited[handler.index] = t.index;
    completes = false;
    std::unordered_set<std::uint32_t> statements,
        alone;             // regions in the handler that the copy has, or lacked at some place
    std::size_t hops = 0;  // jumps in a row: empty blocks may form a ring
    while (!work.empty()) {
      Pair p = work.back();
      work.pop_back();
      for (;;) {
        if (p.h == p.t && p.hi == p.ti) break;  // behind both
        const Node& hn = s_.nodes[p.h.index];
        const Node& tn = s_.nodes[p.t.index];
        // handlers of statements inside the body
        RegionId rh = hn.region, rt = tn.region;
        for (; rh && rh != rt && !s_.is_ancestor(rh, base_h); rh = s_.regions[rh.index].parent) {
          if (!rt || s_.is_ancestor(rt, base_h)) {
            alone.insert(rh.index);
            break;
          }
          statements.insert(rh.index);
          const BlockId hh = s_.regions[rh.index].handler, th = s_.regions[rt.index].handler;
          if (hh != th && !visited.count(hh.index)) {
            visited[hh.index] = th.index;
            work.push_back({hh, 0, th, 0});
          }
          rt = s_.regions[rt.index].parent;
        }
        const bool equally_protected =
            rh == rt || (s_.is_ancestor(rh, base_h) && s_.is_ancestor(rt, base_h));
        while (p.hi < hn.body.size() && is_quiet(hn.body[p.hi])) ++p.hi;
        if (p.hi == hn.body.size()) {
          if (hn.term == TermKind::Reraise && is_exception_of(s_, s_.resolve(hn.value), handler)) {
            Position here{p.t, p.ti};
            for (;;) {
              const Node& at = s_.nodes[here.block.index];
              // not past values that are handed on, nor around `while True: pass`, nor through
              // another statement, of which nothing else may be left
              if (here.at != at.body.size() || at.term != TermKind::Jump ||
                  at.jump != JumpRole::Plain || !at.edges[0].args.empty() ||
                  at.edges[0].to == here.block || !s_.is_ancestor(at.region, base_h) ||
                  !s_.is_ancestor(s_.nodes[at.edges[0].to.index].region, at.region))
                break;
              if (++hops > s_.nodes.size()) return false;
              here = {at.edges[0].to, 0};
            }
            if (completes && (out.block != here.block || out.at != here.at) && !same_end(out, here))
              return false;
            completes = true;
            out = here;
            break;
          }
        }
        while (p.ti < tn.body.size() && is_quiet(tn.body[p.ti])) ++p.ti;
        if (p.hi < hn.body.size()) {
          if (p.ti == tn.body.size()) {
            if (tn.term != TermKind::Jump || ++hops > s_.nodes.size()) return false;
            p.t = tn.edges[0].to;
            p.ti = 0;
            continue;
          }
          if (!equally_protected || !same_operation(hn.body[p.hi], tn.body[p.ti], map))
            return false;
          ++p.hi;
          ++p.ti;
          hops = 0;
          continue;
        }
        // both at the end of their blocks
        if (hn.term == TermKind::Jump) {
          BlockId next = hn.edges[0].to;
          // the copy may have the join merged into one of its blocks, or not
          auto seen = visited.find(next.index);
          std::size_t ti = p.ti;
          BlockId tb = p.t;
          while (ti == s_.nodes[tb.index].body.size() &&
                 s_.nodes[tb.index].term == TermKind::Jump &&
                 s_.nodes[tb.index].edges[0].to != tb) {
            const Edge& e = s_.nodes[tb.index].edges[0];
            const Edge& he = hn.edges[0];
            const Node &hp = s_.nodes[next.index], &tp = s_.nodes[e.to.index];
            if (hp.params.size() == tp.params.size())
              for (std::size_t i = 0; i < hp.params.size(); ++i) {
                if (!same_value(he.args[i], e.args[i], map)) return false;
                map[hp.params[i].index] = tp.params[i];
              }
            tb = e.to;
            ti = 0;
            break;
          }
          std::uint64_t key = (std::uint64_t{ti} << 32) | tb.index;
          if (seen != visited.end()) {
            if (seen->second != key && !same_place(seen->second, {tb, ti})) return false;
            break;
          }
          visited[next.index] = key;
          p = {next, 0, tb, ti};
          continue;
        }
        if (p.ti != tn.body.size()) return false;
        const bool may_raise = hn.term != TermKind::Return && hn.term != TermKind::Branch &&
                               hn.term != TermKind::Unreachable;
        if ((may_raise && !equally_protected) || hn.term != tn.term ||
            (hn.match != UINT32_MAX) != (tn.match != UINT32_MAX))
          return false;
        if (hn.match != UINT32_MAX &&
            !s_.same_tree(s_.cases[hn.match].pattern, s_.cases[tn.match].pattern))
          return false;
        if (hn.value && !same_value(hn.value, tn.value, map)) return false;
        if (hn.raise_args.size() != tn.raise_args.size()) return false;
        for (std::size_t i = 0; i < hn.raise_args.size(); ++i)
          if (!same_value(hn.raise_args[i], tn.raise_args[i], map)) return false;
        if (hn.item && tn.item) map[hn.item.index] = tn.item;
        for (int k = 0; k < hn.edge_count(); ++k) {
          const Edge &he = hn.edges[k], &te = tn.edges[k];
          const Node &hp = s_.nodes[he.to.index], &tp = s_.nodes[te.to.index];
          if (hp.params.size() == tp.params.size() && he.args.size() == te.args.size())
            for (std::size_t i = 0; i < he.args.size(); ++i) {
              if (!same_value(he.args[i], te.args[i], map)) return false;
              map[hp.params[i].index] = tp.params[i];
            }
          auto seen = visited.find(he.to.index);
          if (seen != visited.end()) {
            if (seen->second != te.to.index && !same_place(seen->second, {te.to, 0})) return false;
            continue;
          }
          visited[he.to.index] = te.to.index;
          work.push_back({he.to, 0, te.to, 0});
        }
        break;
      }
      if (visited.size() > kMostCompared) return false;
    }
    return std::all_of(alone.begin(), alone.end(),
                       [&](std::uint32_t r) { return statements.count(r) != 0; });
  }

  /// The rest of a block from `at` on, as a block of its own.
  BlockId split(Position p) {
    if (p.at == 0) return p.block;
    Node rest = s_.nodes[p.block.index];
    rest.body.assign(rest.body.begin() + static_cast<std::ptrdiff_t>(p.at), rest.body.end());
    rest.params.clear();
    rest.pred_count = 0;
    BlockId id(static_cast<std::uint32_t>(s_.nodes.size()));
    for (ValueId v : rest.body) s_.lifted.values[v.index].block = id;
    Node& head = s_.nodes[p.block.index];
    head.body.resize(p.at);
    head.term = TermKind::Jump;
    head.jump = JumpRole::Plain;
    head.value = head.item = ValueId();
    head.raise_args = {};
    head.edges[0] = Edge{id, {}};
    head.async_for = false;
    s_.nodes.push_back(std::move(rest));
    return id;
  }

  /// A `return` behind which the copy of `finally` never completes is not in the bytecode. Nothing
  /// takes what it returns off the stack.
  ValueId left_for_return(const Node& node) const {
    if (node.term != TermKind::Jump) return {};
    const auto last = std::find_if(node.body.rbegin(), node.body.rend(), [&](ValueId v) {
      return !s_.is_op(v, Op::POP_EXCEPT) && !s_.is_op(v, Op::POP_TOP);
    });
    if (last == node.body.rend() || s_.uses[last->index] != 0 || s_.at(*last).dropped ||
        yields_no_value(s_.at(*last).op, s_.at(*last).aux))
      return {};
    return *last;
  }

  /// False when a way out has no copy: then the statement is no `finally`.
  bool strip_finally(RegionId r) {
    const StructRegion& region = s_.regions[r.index];
    std::vector<BlockId> exits, protects;
    if (has_children_[r.index]) {
      for (std::uint32_t i = 0; i < s_.nodes.size(); ++i)
        if (s_.is_ancestor(r, s_.nodes[i].region)) protects.push_back(BlockId(i));
    } else {
      protects = protected_[r.index];
    }
    for (BlockId b : protects) {
      const std::size_t i = b.index;
      if (!s_.nodes[i].alive) continue;
      for (int k = 0; k < s_.nodes[i].edge_count(); ++k) {
        BlockId to = s_.nodes[i].edges[k].to;
        if (!inside(to, r) && std::find(exits.begin(), exits.end(), to) == exits.end())
          exits.push_back(to);
      }
    }
    std::vector<Position> resume(exits.size());
    for (std::size_t i = 0; i < exits.size(); ++i) {
      bool completes = false;
      if (!match_copy(region.handler, region.scope ? region.scope : region.parent, exits[i],
                      resume[i], completes))
        return false;
      if (!completes) resume[i] = {BlockId(), 0};
    }
    std::vector<BlockId> after(exits.size());
    BlockId never;  // behind a body of `finally` that never completes: one place for all ways out
    for (std::size_t i = 0; i < exits.size(); ++i) {
      if (!resume[i].block) {
        if (!never) {
          Node nothing;
          nothing.term = TermKind::Unreachable;
          nothing.region = region.parent;
          nothing.term_offset = s_.nodes[exits[i].index].term_offset;
          never = BlockId(static_cast<std::uint32_t>(s_.nodes.size()));
          s_.nodes.push_back(nothing);
        }
        after[i] = never;
        continue;
      }
      after[i] = split(resume[i]);
      s_.nodes[after[i].index].behind_copy = true;
      // a later copy may end in the block that was just split
      for (std::size_t j = i + 1; j < exits.size(); ++j)
        if (resume[j].block == resume[i].block && resume[j].at >= resume[i].at && resume[i].at != 0)
          resume[j] = {after[i], resume[j].at - resume[i].at};
    }
    for (BlockId b : protects) {
      if (!s_.nodes[b.index].alive) continue;
      for (int k = 0; k < s_.nodes[b.index].edge_count(); ++k) {
        Edge& edge = s_.nodes[b.index].edges[k];
        if (inside(edge.to, r)) continue;
        auto at = std::find(exits.begin(), exits.end(), edge.to);
        if (at == exits.end()) continue;
        BlockId from = edge.to;
        const auto exit = static_cast<std::size_t>(at - exits.begin());
        if (!resume[exit].block) {
          if (const ValueId v = left_for_return(s_.nodes[b.index])) {
            s_.nodes[b.index].term = TermKind::Return;
            s_.nodes[b.index].value = v;
            continue;
          }
        }
        BlockId to = after[exit];
        // values handed to the copy and used after it
        if (edge.args.size() < s_.nodes[from.index].params.size())
          throw Error("structure: a way into the copy of a `finally` body hands on too few values");
        for (std::size_t p = 0; from != to && p < s_.nodes[from.index].params.size(); ++p) {
          const ValueId param = s_.nodes[from.index].params[p], given = s_.resolve(edge.args[p]);
          if (s_.resolve(param) == given) continue;  // also the parameter itself, around a loop
          if (!s_.forward[param.index])
            s_.replace_by(param, given);
          else
            throw Error(
                "structure: several ways into one copy of a `finally` body hand on different "
                "values");
        }
        const std::size_t wanted = s_.nodes[to.index].params.size();
        if (from != to && wanted > 0 && wanted != edge.args.size())
          throw Error(
              "structure: the code after a copy of a `finally` body wants other values than the "
              "way into the copy has");
        if (from != to && inside(to, r) && wanted == 0) {
          // out of the statement and into it again: a block outside says so
          Node between;
          between.term = TermKind::Jump;
          between.behind_copy = true;
          between.region = region.parent;
          between.term_offset = s_.nodes[b.index].term_offset;
          between.term_line = s_.nodes[b.index].term_line;
          between.edges[0] = Edge{to, {}};
          edge = Edge{BlockId(static_cast<std::uint32_t>(s_.nodes.size())), {}};
          s_.nodes.push_back(between);
          continue;
        }
        edge = from == to ? edge
                          : Edge{to,
                                 s_.nodes[to.index].params.size() == edge.args.size()
                                     ? edge.args
                                     : std::span<ValueId>(),
                                 edge.written};
      }
    }
    return true;
  }

  /// `name = None; del name` as a region's handler: what `except … as name` leaves behind.
  bool unbinds_name(RegionId r) const {
    const Node& h = s_.nodes[s_.regions[r.index].handler.index];
    if (h.term != TermKind::Reraise ||
        !is_exception_of(s_, s_.forward[h.value.index] ? s_.forward[h.value.index] : h.value,
                         s_.regions[r.index].handler))
      return false;
    std::vector<ValueId> ops;
    for (ValueId v : h.body)
      if (!s_.is_const(v) && !s_.is_op(v, Op::POP_EXCEPT) && !s_.is_op(v, Op::POP_TOP))
        ops.push_back(v);
    if (ops.size() != 2) return false;
    const Value &store = s_.at(ops[0]), &remove = s_.at(ops[1]);
    auto pair = [&](Op a, Op b) {
      return store.op == a && remove.op == b && store.arg == remove.arg;
    };
    if (!pair(Op::STORE_FAST, Op::DELETE_FAST) && !pair(Op::STORE_NAME, Op::DELETE_NAME) &&
        !pair(Op::STORE_GLOBAL, Op::DELETE_GLOBAL) && !pair(Op::STORE_DEREF, Op::DELETE_DEREF))
      return false;
    ValueId stored = store.operands[0];
    if (!s_.is_const(stored) || s_.module[ConstId(s_.at(stored).arg)].kind != ConstKind::None)
      return false;
    // the region starts right after the exception was stored under that name
    for (const Node& node : s_.nodes) {
      if (!node.alive) continue;
      for (int k = 0; k < node.edge_count(); ++k) {
        if (s_.is_ancestor(r, node.region) || !inside(node.edges[k].to, r)) continue;
        for (std::size_t i = node.body.size(); i > 0; --i) {
          const Value& last = s_.at(node.body[i - 1]);
          if (s_.is_const(node.body[i - 1]) || last.op == Op::POP_TOP) continue;
          return last.op == store.op && last.arg == store.arg &&
                 s_.at(s_.resolve(last.operands[0])).kind == ValueKind::Exception;
        }
      }
    }
    return false;
  }

  /// A returned value that was computed before the exit: the return belongs to the protected code.
  bool absorb_returns() {
    bool any = false;
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      Node& node = s_.nodes[i];
      if (!node.alive || node.term != TermKind::Jump) continue;
      auto quiet = [&](const Node& n) {
        return std::all_of(n.body.begin(), n.body.end(), [&](ValueId v) { return is_quiet(v); });
      };
      SmallVector<Edge, 8> way{node.edges[0]};
      while (way.size() <
             8) {  // blocks on the way that only drop a loop's iterator, or leave a handler
        const Node& between = s_.nodes[way.back().to.index];
        if (between.term != TermKind::Jump || between.jump != JumpRole::Plain ||
            between.match != UINT32_MAX || !quiet(between))
          break;
        way.push_back(between.edges[0]);
      }
      const Node& end = s_.nodes[way.back().to.index];
      if (end.term != TermKind::Return || end.region == node.region || !quiet(end)) continue;
      ValueId value = s_.resolve(end.value);
      for (std::size_t step = way.size(); step-- > 0;) {
        const std::vector<ValueId>& params = s_.nodes[way[step].to.index].params;
        for (std::size_t p = 0; p < params.size() && p < way[step].args.size(); ++p)
          if (params[p] == value) {
            value = s_.resolve(way[step].args[p]);
            break;
          }
      }
      if (s_.is_const(value) || s_.at(value).block != BlockId(static_cast<std::uint32_t>(i)))
        continue;
      node.term = TermKind::Return;
      node.value = value;
      node.term_offset = end.term_offset;
      node.term_line = end.term_line;
      node.term_columns = end.term_columns;
      any = true;
    }
    return any;
  }

  void run() {
    if (s_.regions.empty()) return;
    // Children come after their parents, so backwards is innermost first.
    std::vector<RegionId> order;
    for (std::size_t i = s_.regions.size(); i > 0; --i)
      order.push_back(RegionId(static_cast<std::uint32_t>(i - 1)));
    std::vector<std::uint32_t> depth(s_.regions.size(), 0);
    for (std::size_t i = 0; i < s_.regions.size(); ++i)
      for (RegionId p = s_.regions[i].parent; p; p = s_.regions[p.index].parent) ++depth[i];
    std::stable_sort(order.begin(), order.end(),
                     [&](RegionId a, RegionId b) { return depth[a.index] > depth[b.index]; });
    has_children_.assign(s_.regions.size(), 0);
    for (const StructRegion& region : s_.regions)
      if (region.parent) has_children_[region.parent.index] = 1;
    // A statement that neither holds another one nor stands in another's handler is not in the way
    // of its like: the graph is put in order once for a row of them. One that only has clauses
    // changes nothing.
    auto plain = [&](RegionId r) {
      const StructRegion& region = s_.regions[r.index];
      return !has_children_[r.index] &&
             (region.kind == RegionKind::With ||
              (region.kind == RegionKind::Finally &&
               s_.nodes[region.handler.index].term == TermKind::Reraise));
    };
    bool untidy = true;
    auto row_of = [&](RegionId r) {
      return plain(r) ? 2 * depth[r.index] + (s_.regions[r.index].kind == RegionKind::With)
                      : UINT32_MAX;
    };
    std::uint32_t row = UINT32_MAX;  // depth and kind of the row of plain statements that came last
    for (RegionId r : order) {
      StructRegion& region = s_.regions[r.index];
      if (region.kind == RegionKind::Erased || region.kind == RegionKind::Scope ||
          region.kind == RegionKind::Except)
        continue;
      const bool in_row = plain(r) && row == row_of(r);
      if (untidy && !in_row) {
        tidy();
        index();
        untidy = false;
        if (region.kind == RegionKind::Erased) continue;
      }
      row = row_of(r);
      untidy = true;
      ++s_.changes;
      if (region.kind == RegionKind::With) {
        strip_with(r);
      } else if (region.kind == RegionKind::Finally) {
        if (strip_finally(r)) {
          if (s_.regions[r.index].unbinds) erase(r);
        } else {
          // Shown as `except` it would run what follows outside of the handler.
          throw Error("structure: the copies of a `finally` body differ");
        }
      }
    }
    if (untidy) tidy();
  }

 private:
  void tidy() {
    sweep();
    if (absorb_returns()) {
      ++s_.changes;
      sweep();
    }
    if (!s_.counted()) s_.recount();
    if (s_.tidy_jumps()) s_.recount();
  }

  /// Where each region's own blocks and each context manager's exit calls are.
  void index() {
    protected_.assign(s_.regions.size(), {});
    exit_calls_.clear();
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& node = s_.nodes[i];
      if (!node.alive) continue;
      if (node.region) protected_[node.region.index].push_back(BlockId(i));
      for (ValueId v : node.body) {
        const Value& value = s_.at(v);
        if (value.kind != ValueKind::Operation || value.op != Op::CALL ||
            value.operands.size() != 4)
          continue;
        const Value& callee = s_.at(s_.resolve(value.operands[0]));
        if (callee.kind != ValueKind::Result || callee.arg != 0) continue;
        std::vector<BlockId>& blocks = exit_calls_[callee.operands[0].index];
        if (blocks.empty() || blocks.back() != BlockId(i)) blocks.push_back(BlockId(i));
      }
    }
  }

  Structurer& s_;
  std::vector<std::uint8_t> has_children_;       // of each region
  std::vector<std::vector<BlockId>> protected_;  // of each region without children
  std::unordered_map<std::uint32_t, std::vector<BlockId>>
      exit_calls_;                                     // by the value that entered the context
  std::unordered_map<std::uint32_t, ValueId> caught_;  // by the handler's block
  std::unordered_map<std::uint32_t, std::uint64_t>
      visited_;  // match_copy: block of the handler's code -> position in the copy
};

}  // namespace

void Structurer::classify_regions() {
  Regions regions_step(*this);
  regions_step.erase_implicit();
  regions_step.leave_empty_entries();
  regions_step.sweep();
  fold_exception_types();
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].kind != RegionKind::Erased)
      regions_step.recognise_star(RegionId(static_cast<std::uint32_t>(i)));
  if (std::any_of(regions.begin(), regions.end(),
                  [](const StructRegion& region) { return region.is_star(); }))
    regions_step.sweep();
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].kind == RegionKind::Unclassified)
      regions_step.classify(RegionId(static_cast<std::uint32_t>(i)));
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].kind == RegionKind::Finally)
      regions[i].unbinds = regions_step.unbinds_name(RegionId(static_cast<std::uint32_t>(i)));
  regions_step.scope_handlers();
  for (Node& node : nodes)
    if (node.alive)
      std::erase_if(node.body, [&](ValueId v) {
        return is_op(v, Op::POP_EXCEPT) ||
               (is_op(v, Op::POP_TOP) &&
                at(resolve(at(v).operands[0])).kind == ValueKind::Exception);
      });
  recount();
}

/// Finds the blocks that stand behind statements where the bytecode tells (see Region::after,
/// LoopSpan::after), and makes an empty one where the code there is reached from nowhere.
void Structurer::mark_statement_ends() {
  const bool regions_tell = std::any_of(lifted.regions.begin(), lifted.regions.end(),
                                        [](const Region& r) { return r.after != kNoOffset; });
  const bool loops_tell = std::any_of(lifted.loops.begin(), lifted.loops.end(),
                                      [](const LoopSpan& l) { return l.after != kNoOffset; });
  if (!regions_tell && !loops_tell && lifted.elses.empty()) return;
  if (!counted())
    recount();  // which takes away what would stand before a statement and does nothing
  struct Begin {
    std::uint32_t offset;
    BlockId block;
    auto operator<=>(const Begin&) const = default;
  };
  std::vector<Begin> begins;  // of blocks, sorted
  const auto begin_at = [&](std::uint32_t offset) {
    const auto first =
        std::lower_bound(begins.begin(), begins.end(), offset,
                         [](const Begin& begin, std::uint32_t at) { return begin.offset < at; });
    const auto behind = std::find_if(first, begins.end(),
                                     [&](const Begin& begin) { return begin.offset != offset; });
    return std::span<const Begin>(first, behind);
  };
  struct Place {
    bool known = false;
    BlockId block;
    ValueId value;
  };
  std::vector<Place> places(module[lifted.code].code.size() / 2 +
                            1);  // by offset: where its code is
  const auto place_at = [&](std::uint32_t offset) -> Place* {
    return offset / 2 < places.size() ? &places[offset / 2] : nullptr;
  };
  const auto add_place = [&](std::uint32_t offset, BlockId block, ValueId value) {
    if (Place* place = place_at(offset); place && !place->known) *place = {true, block, value};
  };
  const auto is_known = [&](std::uint32_t offset) {
    return place_at(offset) && place_at(offset)->known;
  };
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> setups;
  std::unordered_map<std::uint32_t, BlockId> iterates;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!node.alive) continue;
    const BlockId b(static_cast<std::uint32_t>(i));
    begins.push_back({first_offset(b), b});
    if (node.term == TermKind::ForIter && !iterates.emplace(node.term_offset, b).second)
      iterates[node.term_offset] = BlockId();  // copies
    for (ValueId v : node.body) add_place(at(v).offset, b, v);
    add_place(node.term_offset, BlockId(), ValueId());
  }
  std::sort(begins.begin(), begins.end());
  auto alone_at = [&](std::uint32_t offset) {
    const auto begin = begin_at(offset);
    return begin.size() == 1 ? begin[0].block : BlockId();
  };
  // where each region is entered
  std::vector<BlockId> entered(regions.size());
  for (RegionId r = nodes[entry.index].region; r; r = regions[r.index].parent)
    entered[r.index] = entry;
  for (const Node& node : nodes) {
    if (!node.alive) continue;
    for (int k = 0; k < node.edge_count(); ++k)
      for (RegionId r = nodes[node.edges[k].to.index].region; r && !is_ancestor(r, node.region);
           r = regions[r.index].parent)
        entered[r.index] = node.edges[k].to;
  }
  for (std::uint32_t r = 0; r < lifted.regions.size(); ++r)
    if (lifted.regions[r].setup != kNoOffset && entered[r])
      setups[lifted.regions[r].setup].push_back(r);
  std::unordered_map<std::uint64_t, BlockId> made;
  // the block at an offset, for a statement in region `around`
  auto find = [&](std::uint32_t after, RegionId around) {
    BlockId found;
    bool known = is_known(after);
    if (auto setup = setups.find(after); setup != setups.end()) {
      known = true;
      for (std::uint32_t q : setup->second)
        if (is_ancestor(regions[q].parent, around)) found = entered[q];
    } else {
      for (const Begin& begin : begin_at(after))
        if (is_ancestor(nodes[begin.block.index].region, around)) found = begin.block;
    }
    if (!found && is_known(after) && place_at(after)->value && setups.find(after) == setups.end()) {
      // in the middle of a block, because nothing else leads there: the block is split, so that the
      // statement's end can be named
      const auto [in_code, b, v] = *place_at(after);
      Node& node = nodes[b.index];
      auto place = std::find(node.body.begin(), node.body.end(), v);
      if (place == node.body.end() || place == node.body.begin() || node.match != UINT32_MAX ||
          !is_ancestor(node.region, around))
        return found;
      for (auto p = place; p != node.body.end(); ++p)
        for (ValueId operand : at(*p).operands)
          if (std::find(node.body.begin(), place, resolve(operand)) != place)
            return found;  // no statement begins here
      if (node.value && std::find(node.body.begin(), place, resolve(node.value)) != place)
        return found;
      found = split_test(b, static_cast<std::size_t>(node.body.end() - place));
      const Begin begin{after, found};
      begins.insert(std::upper_bound(begins.begin(), begins.end(), begin), begin);
      for (ValueId moved : nodes[found.index].body)
        if (Place* moved_to = place_at(at(moved).offset)) *moved_to = {true, found, moved};
    }
    if (found || known) return found;
    BlockId& made_here = made[(std::uint64_t{after} << 32) | (around ? around.index : UINT32_MAX)];
    if (!made_here) {
      Node nothing;
      nothing.term = TermKind::Unreachable;
      nothing.term_offset = after;
      nothing.region = around;
      made_here = BlockId(static_cast<std::uint32_t>(nodes.size()));
      nodes.push_back(nothing);
      ++changes;
    }
    return made_here;
  };
  for (const ElseSpan& span : lifted.elses) {
    const BlockId begin = alone_at(span.begin);
    if (!begin) continue;
    BlockId& behind = elses[span.begin];
    behind = alone_at(span.end);
    if (!behind && begin_at(span.end).empty() && is_known(span.end))
      behind = find(span.end, nodes[begin.index].region);
  }
  ends_behind.assign(regions.size(), BlockId());
  for (std::uint32_t r = 0; r < lifted.regions.size(); ++r)
    if (lifted.regions[r].after != kNoOffset &&
        (regions[r].kind == RegionKind::Except || regions[r].kind == RegionKind::Finally))
      ends_behind[r] = find(lifted.regions[r].after, regions[r].parent);
  loops_behind.assign(lifted.loops.size(), BlockId());
  for (std::size_t i = 0; i < lifted.loops.size(); ++i) {
    const LoopSpan& loop = lifted.loops[i];
    if (loop.after == kNoOffset) continue;
    RegionId around;
    if (auto setup = setups.find(loop.begin); setup != setups.end()) {
      if (setup->second.size() != 1) continue;  // copies
      around = regions[setup->second[0]].parent;
    } else if (auto iterator = iterates.find(loop.begin);
               iterator != iterates.end() && iterator->second) {
      around = nodes[iterator->second.index].region;
    } else {
      const BlockId begin = alone_at(loop.begin);
      if (!begin) continue;
      around = nodes[begin.index].region;
    }
    loops_behind[i] = find(loop.after, around);
  }
}

void Structurer::strip_cleanups() { Regions(*this).run(); }

}  // namespace depyf
