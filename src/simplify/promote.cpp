// Rule "promote local": the loads of a local that nobody else can see are the values stored.
//
// Premises, each checked per slot: it is no argument, cell or free variable; every load and delete
// is reached only with the slot bound, so none raises UnboundLocalError; no NULL is stored; where a
// handler reads it, no protected block changes it, so that its value there does not depend on the
// point of the exception. Proof: a local that is no cell is read and written by its own frame only
// (a debugger and sys._getframe().f_locals apart, which the caller rules out by naming the slot
// promotable). A load then yields what the last store on the way here stored, which is what block
// parameters express; loads, stores and deletes of it have no other effect than the lifetime of the
// stored object, which is not part of the semantics.
#include "simplify/rules.h"
#include "support/error.h"

namespace depyf::simplifying {

namespace {

class Promotion {
 public:
  Promotion(Lifted& lifted, const Order& order)
      : lifted_(lifted), order_(order), replacement_(lifted.values.size()) {}

  /// Promotes one slot; changes nothing when a premise fails.
  void slot(std::uint32_t slot, const std::vector<std::uint32_t>& blocks_with_slot) {
    const std::size_t n = lifted_.blocks.size();
    std::vector<std::uint8_t> live_in(n, 0), stores(n, 0);
    std::vector<std::uint32_t> work;
    auto make_live = [&](std::uint32_t b) {
      if (!live_in[b]) {
        live_in[b] = 1;
        work.push_back(b);
      }
    };
    for (std::uint32_t b : blocks_with_slot) {
      bool stored = false, exposed = false;
      for (ValueId id : lifted_.blocks[b].body) {
        const Value& value = lifted_[id];
        if (value.arg != slot) continue;
        if (value.op == Op::LOAD_FAST)
          exposed |= !stored;
        else if (value.op == Op::STORE_FAST || value.op == Op::DELETE_FAST)
          stored = true;
      }
      stores[b] = stored;
      if (exposed) make_live(b);
    }
    while (!work.empty()) {
      std::uint32_t b = work.back();
      work.pop_back();
      if (b == lifted_.entry.index) return;  // read where nothing was stored
      for (const Predecessor& edge : order_.into(b)) {
        if (edge.edge == kExceptional && stores[edge.from]) return;  // the handler reads it
        if (!stores[edge.from]) make_live(edge.from);
      }
    }
    // Values at the end of each block, in reverse postorder; merges where they differ get a
    // parameter.
    std::vector<ValueId> out(n);
    std::vector<std::pair<std::uint32_t, ValueId>> params;
    for (std::uint32_t b : order_.blocks) {
      ValueId now;
      if (live_in[b]) {
        bool differ = false;
        for (const Predecessor& edge : order_.into(b)) {
          if (order_.number[edge.from] >= order_.number[b])
            differ = true;
          else if (!now.valid())
            now = out[edge.from];
          else if (out[edge.from] != now)
            differ = true;
        }
        if (differ || !now.valid()) {
          Value param;
          param.kind = ValueKind::Param;
          param.block = BlockId(b);
          now = lifted_.add(param);
          replacement_.emplace_back();
          params.emplace_back(b, now);
        }
      }
      for (ValueId id : lifted_.blocks[b].body) {
        const Value& value = lifted_[id];
        if (value.arg != slot) continue;
        if (value.op == Op::LOAD_FAST)
          replacement_[id.index] = now;
        else if (value.op == Op::STORE_FAST)
          now = value.operands[0];
        else if (value.op == Op::DELETE_FAST)
          now = ValueId::none();
        else
          continue;
      }
      out[b] = now;
    }
    if (!lifted_.held_at_end.empty()) hold(slot, live_in, out, params);
    for (auto [b, param] : params) {
      lifted_[param].arg = static_cast<std::uint32_t>(lifted_.blocks[b].params.size());
      lifted_.blocks[b].params.push_back(param);
      for (const Predecessor& edge : order_.into(b)) {
        std::span<ValueId>& args = arguments(lifted_, edge);
        std::span<ValueId> longer = lifted_.arena.array<ValueId>(args.size() + 1);
        std::copy(args.begin(), args.end(), longer.begin());
        longer[args.size()] = out[edge.from];
        args = longer;
      }
    }
    for (std::uint32_t b : blocks_with_slot)
      std::erase_if(lifted_.blocks[b].body, [&](ValueId id) {
        const Value& value = lifted_[id];
        return value.arg == slot && (value.op == Op::LOAD_FAST || value.op == Op::STORE_FAST ||
                                     value.op == Op::DELETE_FAST);
      });
  }

  void finish() { replace_uses(lifted_, replacement_); }

  /// Lifted::held gets the value of the slot wherever the slot is read later. `out`: the values at
  /// the end of each block.
  void hold(std::uint32_t slot, const std::vector<std::uint8_t>& live_in,
            const std::vector<ValueId>& out,
            const std::vector<std::pair<std::uint32_t, ValueId>>& params) {
    std::vector<std::uint8_t> live_out(live_in.size(), 0);
    for (std::uint32_t b : order_.blocks)
      if (live_in[b])
        for (const Predecessor& edge : order_.into(b)) live_out[edge.from] = 1;
    std::size_t next = 0;  // params come in the order of the blocks
    for (std::uint32_t b : order_.blocks) {
      ValueId now;
      if (next < params.size() && params[next].first == b)
        now = params[next++].second;
      else if (live_in[b])
        for (const Predecessor& edge : order_.into(b))
          if (order_.number[edge.from] < order_.number[b]) now = out[edge.from];
      const std::vector<ValueId>& body = lifted_.blocks[b].body;
      read_behind_.assign(body.size(), false);
      bool read = live_out[b];
      for (std::size_t i = body.size(); i-- > 0;) {
        read_behind_[i] = read;
        const Value& value = lifted_[body[i]];
        if (value.arg != slot) continue;
        if (value.op == Op::LOAD_FAST)
          read = true;
        else if (value.op == Op::STORE_FAST || value.op == Op::DELETE_FAST)
          read = false;
      }
      for (std::size_t i = 0; i < body.size(); ++i) {
        const Value& value = lifted_[body[i]];
        if (value.arg == slot && value.op == Op::STORE_FAST)
          now = value.operands[0];
        else if (value.arg == slot && value.op == Op::DELETE_FAST)
          now = ValueId::none();
        else if (read_behind_[i] && now.valid() && may_free(value.op) &&
                 body[i].index < lifted_.held.size())
          add(lifted_.held[body[i].index], now);
      }
      if (live_out[b] && now.valid()) add(lifted_.held_at_end[b], now);
    }
  }

  void add(std::vector<ValueId>& list, ValueId id) {
    if (lifted_.held_room == 0)
      throw Error("simplify: too many locals to say what they hold at each operation");
    --lifted_.held_room;
    list.push_back(id);
  }

 private:
  Lifted& lifted_;
  const Order& order_;
  std::vector<ValueId> replacement_;
  std::vector<bool> read_behind_;  // by position in a block
};

}  // namespace

void promote_slots(Lifted& lifted, const Module& module, std::vector<bool> promotable) {
  const CodeObject& code = module[lifted.code];
  promotable.resize(code.slots.size());
  const std::uint64_t arguments = code.parameter_count();
  bool any = false;
  for (std::size_t i = 0; i < promotable.size(); ++i) {
    if (i < arguments || code.slots[i].kind != kLocal) promotable[i] = false;
    any |= promotable[i];
  }
  if (!any) return;
  const Order order(lifted);
  const Bound bound(lifted, module, order);
  std::vector<std::vector<std::uint32_t>> blocks(promotable.size());
  for (std::uint32_t b : order.blocks) {
    std::vector<std::uint64_t> state = bound.at_entry(b);
    for (ValueId id : lifted.blocks[b].body) {
      const Value& value = lifted[id];
      const bool local = value.op == Op::LOAD_FAST || value.op == Op::STORE_FAST ||
                         value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR;
      if (local && value.arg < promotable.size() && promotable[value.arg]) {
        if (value.op == Op::LOAD_FAST_AND_CLEAR)
          promotable[value.arg] = false;
        else if (value.op != Op::STORE_FAST && !Bound::has(state, value.arg))
          promotable[value.arg] = false;
        else if (blocks[value.arg].empty() || blocks[value.arg].back() != b)
          blocks[value.arg].push_back(b);
      }
      bound.step(state, value);
      if (value.op == Op::STORE_FAST && value.arg < promotable.size() &&
          !Bound::has(state, value.arg))
        promotable[value.arg] = false;  // stores a NULL
    }
  }
  Promotion promotion(lifted, order);
  for (std::uint32_t slot = 0; slot < promotable.size(); ++slot)
    if (promotable[slot] && !blocks[slot].empty()) promotion.slot(slot, blocks[slot]);
  promotion.finish();
}

}  // namespace depyf::simplifying
