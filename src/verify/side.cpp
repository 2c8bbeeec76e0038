#include "verify/side.h"

#include <algorithm>

#include "flow/dominators.h"

namespace depyf::verify_detail {

namespace {

class Gatherer {
 public:
  Gatherer(const Lifted& lifted, const Module& module, const std::vector<bool>& bare,
           std::size_t budget)
      : lifted_(lifted), module_(module), bare_(bare), budget_(budget) {}

  Facts run() {
    out_.blocks.resize(lifted_.blocks.size());
    out_.values.resize(lifted_.values.size());
    order();
    events();
    uses();
    tests();
    liveness();
    bindings();
    return std::move(out_);
  }

 private:
  const Lifted& lifted_;
  const Module& module_;
  const std::vector<bool>& bare_;
  std::size_t budget_;
  Facts out_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::uint32_t>> predecessors_;

  bool spend(std::size_t n) {
    if (budget_ < n) {
      out_.complete = false;
      return false;
    }
    budget_ -= n;
    return true;
  }

  BlockId handler_of(const LiftedBlock& block) const {
    return block.region.valid() ? lifted_.regions[block.region.index].handler : BlockId::none();
  }

  void order() {
    Graph graph;
    graph.offsets.push_back(0);
    for (const LiftedBlock& block : lifted_.blocks) {
      for (const Edge& edge : block.edges)
        if (edge.to.valid()) graph.edges.push_back(edge.to.index);
      if (const BlockId handler = handler_of(block); handler.valid())
        graph.edges.push_back(handler.index);
      graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
    order_ = reverse_postorder(graph, lifted_.entry.index);
    for (std::uint32_t i = 0; i < order_.size(); ++i) out_.blocks[order_[i]].number = i;
    predecessors_.resize(lifted_.blocks.size());
    out_.blocks[lifted_.entry.index].predecessors = 1;
    for (std::uint32_t b : order_)
      for (std::uint32_t to : graph.successors(b)) {
        predecessors_[to].push_back(b);
        ++out_.blocks[to].predecessors;
      }
  }

  void events() {
    // Values that stand in no body belong to their block's entry, but for results.
    std::vector<std::vector<ValueId>> pushes(lifted_.blocks.size());
    for (std::uint32_t i = 0; i < lifted_.values.size(); ++i) {
      const Value& value = lifted_.values[i];
      if (value.block.index >= lifted_.blocks.size()) continue;
      switch (value.kind) {
        case ValueKind::Previous:
          if (six(value.block))
            out_.blocks[value.block.index].at_entry.push_back(ValueId(i));
          else
            pushes[value.block.index].push_back(ValueId(i));
          break;
        case ValueKind::Exception:
        case ValueKind::ExceptionType:
        case ValueKind::Traceback:
        case ValueKind::Lasti:
          out_.blocks[value.block.index].at_entry.push_back(ValueId(i));
          break;
        case ValueKind::Operation:
        case ValueKind::Param:
        case ValueKind::Result:
        case ValueKind::Null:
        case ValueKind::Select:
        case ValueKind::Statements:
          break;
      }
    }
    for (std::uint32_t b : order_) {
      const LiftedBlock& block = lifted_.blocks[b];
      std::vector<ValueId>& list = out_.blocks[b].events;
      list.reserve(block.body.size() + pushes[b].size());
      std::size_t next = 0;
      for (ValueId id : block.body) {
        while (next < pushes[b].size() && lifted_[pushes[b][next]].offset < lifted_[id].offset)
          list.push_back(pushes[b][next++]);
        list.push_back(id);
      }
      while (next < pushes[b].size()) list.push_back(pushes[b][next++]);
      for (std::uint32_t i = 0; i < list.size(); ++i) out_.values[list[i].index].position = i + 1;
    }
    for (std::uint32_t i = 0; i < lifted_.values.size(); ++i) {
      const Value& value = lifted_.values[i];
      if (value.kind != ValueKind::Result || value.operands.empty() || value.op == Op::FOR_ITER)
        continue;
      ValueFacts& of = out_.values[value.operands[0].index];
      out_.values[i].next_result = of.results;
      out_.values[i].position = of.position;
      of.results = i;
    }
    for (std::uint32_t b : order_) {
      const LiftedBlock& block = lifted_.blocks[b];
      if (block.term == TermKind::ForIter && block.item.valid())
        out_.values[block.item.index].position =
            static_cast<std::uint32_t>(out_.blocks[b].events.size()) + 1;
    }
  }

  bool six(BlockId block) const {
    for (const Region& region : lifted_.regions)
      if (region.handler == block) return region.entry == HandlerEntry::Six;
    return false;
  }

  /// Calls visit(value, position + 1) for every use in the block, those by BlockFacts::test once
  /// tests() has run among them; kLiveOut for what the block's handler is given. With `held`, what
  /// the stack holds counts as used.
  template <class Visit>
  void each_use(std::uint32_t b, bool held, Visit&& visit) const {
    const LiftedBlock& block = lifted_.blocks[b];
    const std::vector<ValueId>& list = out_.blocks[b].events;
    for (std::uint32_t i = 0; i < list.size(); ++i)
      for (ValueId operand : lifted_[list[i]].operands) visit(operand, i + 1);
    if (held)
      for (std::uint32_t i = 0; i < list.size(); ++i)
        if (list[i].index < lifted_.held.size())
          for (ValueId id : lifted_.held[list[i].index])
            if (id.valid()) visit(id, i + 1);
    const auto end = static_cast<std::uint32_t>(list.size()) + 1;
    if (held && b < lifted_.held_at_end.size())
      for (ValueId id : lifted_.held_at_end[b])
        if (id.valid()) visit(id, end);
    if (block.value.valid()) visit(block.value, end);
    // The walk stops before the test of `not x`, and then reads x.
    if (const ValueId test = out_.blocks[b].test; test.valid() && test != block.value)
      visit(test, end);
    for (ValueId id : block.raise_args) visit(id, end);
    for (const Edge& edge : block.edges)
      if (edge.to.valid())
        for (ValueId id : edge.args)
          if (id.valid()) visit(id, end);
    for (ValueId id : block.handler_args)
      if (id.valid()) visit(id, kLiveOut);
  }

  void uses() {
    for (std::uint32_t b : order_)
      each_use(b, false, [&](ValueId id, std::uint32_t) { ++out_.values[id.index].uses; });
  }

  /// A test on `not x` is the test on x with its arms swapped, when nothing lies between the two
  /// and nobody else reads the `not`; likewise one on `x is not y`.
  void tests() {
    for (std::uint32_t b : order_) {
      const LiftedBlock& block = lifted_.blocks[b];
      if (block.term != TermKind::Branch) continue;
      BlockFacts& facts = out_.blocks[b];
      facts.test = block.value;
      for (std::size_t i = facts.events.size(); i > 0; --i) {
        const ValueId id = facts.events[i - 1];
        const Value& value = lifted_[id];
        if (id != facts.test || value.kind != ValueKind::Operation ||
            out_.values[id.index].uses != 1)
          break;
        if (value.op == Op::IS && value.arg != 0) {
          facts.flipped = !facts.flipped;
          out_.values[id.index].inverted = true;
          break;
        }
        if (value.op == Op::UNARY && value.arg == static_cast<std::uint32_t>(UnaryOp::Not))
          facts.flipped = !facts.flipped;
        else if (value.op != Op::TO_BOOL || value.aux != 0)
          break;
        out_.values[id.index].transparent = true;
        facts.test = value.operands[0];
      }
    }
  }

  void liveness() {
    std::vector<std::uint32_t> seen(lifted_.blocks.size(),
                                    kNone);  // by block: the value that was last entered
    std::vector<std::vector<std::uint32_t>> users(lifted_.values.size());
    for (std::uint32_t b : order_)
      each_use(b, true, [&](ValueId id, std::uint32_t position) {
        ValueFacts& facts = out_.values[id.index];
        const Value& value = lifted_[id];
        if (value.kind == ValueKind::Null) return;
        if (value.block.index == b)
          facts.last_use = std::max(facts.last_use, position);
        else if (users[id.index].empty() || users[id.index].back() != b)
          users[id.index].push_back(b);
      });
    std::vector<std::uint32_t> work;
    for (std::uint32_t v = 0; v < users.size(); ++v) {
      if (users[v].empty()) continue;
      const std::uint32_t home = lifted_.values[v].block.index;
      out_.values[v].last_use = kLiveOut;
      work = users[v];
      while (!work.empty()) {
        const std::uint32_t b = work.back();
        work.pop_back();
        if (b == home || seen[b] == v) continue;
        seen[b] = v;
        if (!spend(1)) return;
        out_.blocks[b].live_in.push_back(ValueId(v));  // by rising v, so sorted
        for (std::uint32_t from : predecessors_[b]) work.push_back(from);
      }
    }
    // Around a loop a value may be live into its own block only where its definition does not
    // dominate, which SSA form rules out.
  }

  // ---------------------------------------------------------------- which locals are bound

  using Bits = std::vector<std::uint64_t>;

  /// Does a local have a value when the function is entered? The own place of an argument that
  /// became a cell is empty (up to 3.10), or holds the cell. A cell that counts as a local is one.
  bool is_given(const CodeObject& code, std::size_t slot) const {
    const std::size_t arguments = code.parameter_count();
    return slot < arguments &&
           (!(code.slots[slot].kind & kCell) || (slot < bare_.size() && bare_[slot]));
  }

  void bindings() {
    const CodeObject& code = module_[lifted_.code];
    const std::size_t words = (code.slots.size() + 63) / 64;
    Bits entry(words, 0), killed(words, 0);
    for (std::size_t i = 0; i < code.slots.size(); ++i)
      if (is_given(code, i)) entry[i / 64] |= std::uint64_t{1} << (i % 64);
    const std::vector<bool> null = may_be_null();

    const auto gen_kill = [&](ValueId id, auto&& gen, auto&& kill) {
      const Value& value = lifted_[id];
      if (value.kind != ValueKind::Operation || value.arg / 64 >= words) return;
      if (value.op == Op::STORE_FAST) {
        if (null[value.operands[0].index])
          kill(value.arg);
        else
          gen(value.arg);
      } else if (value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR) {
        kill(value.arg);
      } else if (value.op == Op::LOAD_FAST) {
        gen(value.arg);  // had it been unbound, control would not continue
      }
    };
    const auto set = [](Bits& bits, std::uint32_t i) {
      bits[i / 64] |= std::uint64_t{1} << (i % 64);
    };
    const auto clear = [](Bits& bits, std::uint32_t i) {
      bits[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    };
    const auto has = [](const Bits& bits, std::uint32_t i) {
      return (bits[i / 64] >> (i % 64) & 1) != 0;
    };

    if (words * lifted_.blocks.size() > (std::size_t{1} << 22)) {
      // Too large for sets by block: an argument that nothing unbinds.
      for (std::uint32_t b : order_)
        for (ValueId id : out_.blocks[b].events)
          gen_kill(id, [](std::uint32_t) {}, [&](std::uint32_t i) { set(killed, i); });
      for (std::uint32_t b : order_)
        for (ValueId id : out_.blocks[b].events) {
          const Value& value = lifted_[id];
          if (value.op == Op::LOAD_FAST && value.arg / 64 < words)
            out_.values[id.index].bound = has(entry, value.arg) && !has(killed, value.arg);
        }
      return;
    }

    std::vector<Bits> in(lifted_.blocks.size());
    in[lifted_.entry.index] = entry;
    const auto meet = [&](BlockId to, const Bits& bits) {
      if (!to.valid()) return false;
      Bits& at = in[to.index];
      if (at.empty() && words) {
        at = bits;
        return true;
      }
      bool changed = false;
      for (std::size_t w = 0; w < words; ++w) {
        changed |= (at[w] & ~bits[w]) != 0;
        at[w] &= bits[w];
      }
      return changed;
    };
    bool changed = words != 0;
    Bits now, least;
    while (changed) {
      changed = false;
      for (std::uint32_t b : order_) {
        if (in[b].empty()) continue;
        if (!spend(words + out_.blocks[b].events.size())) return;
        now = least = in[b];
        for (ValueId id : out_.blocks[b].events)
          gen_kill(
              id, [&](std::uint32_t i) { set(now, i); },
              [&](std::uint32_t i) {
                clear(now, i);
                clear(least, i);
              });
        const LiftedBlock& block = lifted_.blocks[b];
        bool again = meet(block.edges[0].to, now);
        again |= meet(block.edges[1].to, now);
        again |= meet(handler_of(block), least);
        changed |= again;
      }
    }
    for (std::uint32_t b : order_) {
      if (in[b].empty()) continue;
      now = in[b];
      for (ValueId id : out_.blocks[b].events) {
        const Value& value = lifted_[id];
        if ((value.op == Op::LOAD_FAST || value.op == Op::DELETE_FAST) &&
            value.kind == ValueKind::Operation && value.arg / 64 < words)
          out_.values[id.index].bound = has(now, value.arg);
        gen_kill(
            id, [&](std::uint32_t i) { set(now, i); }, [&](std::uint32_t i) { clear(now, i); });
      }
    }
  }

  /// Values that may be NULL: what LOAD_FAST_AND_CLEAR saves, and parameters that such a value
  /// reaches.
  std::vector<bool> may_be_null() const {
    std::vector<bool> null(lifted_.values.size(), false);
    std::vector<std::vector<std::uint32_t>> params_of(lifted_.values.size());
    std::vector<std::uint32_t> work;
    for (std::uint32_t b : order_) {
      const LiftedBlock& block = lifted_.blocks[b];
      const auto flow = [&](BlockId to, std::span<const ValueId> args) {
        if (!to.valid()) return;
        const std::vector<ValueId>& params = lifted_.blocks[to.index].params;
        for (std::size_t i = 0; i < args.size() && i < params.size(); ++i)
          if (args[i].valid()) params_of[args[i].index].push_back(params[i].index);
      };
      for (const Edge& edge : block.edges) flow(edge.to, edge.args);
      flow(handler_of(block), block.handler_args);
    }
    for (std::uint32_t v = 0; v < lifted_.values.size(); ++v) {
      const Value& value = lifted_.values[v];
      if (value.kind == ValueKind::Null ||
          (value.kind == ValueKind::Operation && value.op == Op::LOAD_FAST_AND_CLEAR)) {
        null[v] = true;
        work.push_back(v);
      }
    }
    while (!work.empty()) {
      const std::uint32_t v = work.back();
      work.pop_back();
      for (std::uint32_t param : params_of[v])
        if (!null[param]) {
          null[param] = true;
          work.push_back(param);
        }
    }
    return null;
  }
};

}  // namespace

Facts gather(const Lifted& lifted, const Module& module, const std::vector<bool>& bare,
             std::size_t budget) {
  return Gatherer(lifted, module, bare, budget).run();
}

}  // namespace depyf::verify_detail
