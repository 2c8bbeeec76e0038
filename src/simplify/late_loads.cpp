// Rule "late load": a load without effect, or a tuple, list or slice of such, stands right before
// the expression that reads it, in the order of its operands; a load once for each use.
//
// Loads: constants, cells, globals that Dynamo installed, and locals that are definitely bound
// (pure_values()). Proof: such a load has no effect and cannot raise, so only what it reads could
// change. Constants do not; nobody rebinds Dynamo's globals; a slot, with the local or the cell
// that it holds, is changed by its own stores, deletes and LOAD_FAST_AND_CLEAR only, and no load
// moves over one of those. All other operations keep their order. For the same reason a load may be
// repeated for each of its uses. A load moves earlier only within the expression that reads it, or
// over the one that a loop at the end of its block runs over, and an expression stores no local. To
// another block a load moves when both have the same handler, no block between has a parameter that
// somebody reads (it may be an expression's own diamond), the reading block is in no loop without
// the load, and, for a local, no way between changes its slot. A slice of constants that is read
// once moves in the same way: it is made at most as often as before, and nobody else has it.
#include <algorithm>

#include "simplify/rules.h"

namespace depyf::simplifying {

namespace {

constexpr std::size_t kWalkBudget = 1u << 16;

bool changes_slot(Op op) {
  return op == Op::STORE_FAST || op == Op::DELETE_FAST || op == Op::LOAD_FAST_AND_CLEAR;
}

bool reads_slot(Op op) { return op == Op::LOAD_FAST || op == Op::LOAD_CLOSURE; }

bool is_build(Op op) {
  return op == Op::BUILD_TUPLE || op == Op::BUILD_LIST || op == Op::BUILD_SLICE ||
         op == Op::BUILD_MAP;
}

bool is_load(Op op) {
  return op == Op::LOAD_CONST || op == Op::LOAD_COMMON || op == Op::LOAD_CLOSURE ||
         op == Op::LOAD_FAST || op == Op::LOAD_GLOBAL;
}

class LateLoads {
 public:
  LateLoads(Lifted& lifted, const Module& module, bool dynamo)
      : lifted_(lifted),
        order_(lifted),
        uses_(uses(lifted)),
        load_(pure_values(lifted, module, order_, dynamo)),
        slots_(module[lifted.code].slots.size()) {
    build_.assign(load_.size(), false);
    for (std::size_t i = 0; i < load_.size(); ++i) {
      build_[i] = load_[i] && is_build(lifted.values[i].op);
      load_[i] = load_[i] && is_load(lifted.values[i].op);
    }
  }

  void run() {
    if (!lifted_.held_at_end.empty()) {
      hold_stored_values();
      uses_ = uses(lifted_);
    }
    one_per_use();
    to_other_blocks();
    // What is read once now can be placed.
    uses_ = uses(lifted_);
    const std::size_t n = lifted_.values.size();
    start_.assign(n, ValueId::none());
    previous_ = next_ = start_;
    waiting_.assign(n, false);
    holder_.assign(n, ValueId::none());
    waiting_for_.resize(slots_);
    for (std::uint32_t b : order_.blocks) block(lifted_.blocks[b]);
  }

 private:
  Lifted& lifted_;
  Order order_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> load_, build_;
  std::size_t slots_;
  // The block's operations as a linked list; none() is both ends.
  std::vector<ValueId> start_, previous_, next_;
  std::vector<bool> waiting_;
  std::vector<ValueId> holder_;  // of a waiting operation: the waiting build that reads it
  std::vector<std::vector<ValueId>> waiting_for_;  // by slot: waiting loads of it
  ValueId first_, last_;
  std::vector<ValueId> pending_;

  /// What the stack holds while an operation runs stays where it is: it counts as read twice.
  static std::vector<std::uint32_t> uses(Lifted& lifted) {
    std::vector<std::uint32_t> out = count_uses(lifted);
    each_held(lifted, [&](std::vector<ValueId>& list) {
      for (ValueId id : list)
        if (id.valid()) out[id.index] += 2;
    });
    return out;
  }

  /// In Lifted::held a load of what its own block has stored is the value that was stored, so that
  /// the load can move.
  void hold_stored_values() {
    std::vector<ValueId> stored(slots_), is(lifted_.values.size());
    for (std::uint32_t b : order_.blocks) {
      stored.assign(slots_, ValueId::none());
      for (ValueId id : lifted_.blocks[b].body) {
        const Value& value = lifted_[id];
        if (value.arg >= slots_) continue;
        if (value.op == Op::LOAD_FAST && load_[id.index]) {
          is[id.index] = stored[value.arg];
        } else if (value.op == Op::STORE_FAST) {
          const ValueId of = value.operands[0];
          stored[value.arg] = is[of.index].valid() ? is[of.index] : of;
        } else if (changes_slot(value.op)) {
          stored[value.arg] = ValueId::none();
        }
      }
    }
    each_held(lifted_, [&](std::vector<ValueId>& list) {
      for (ValueId& id : list)
        if (id.valid() && is[id.index].valid()) id = is[id.index];
    });
  }

  ValueId copy_of(ValueId load, std::uint32_t block) {
    Value value = lifted_[load];
    value.block = BlockId(block);
    load_.push_back(load_[load.index]);
    build_.push_back(build_[load.index]);
    uses_.push_back(1);
    return lifted_.add(value);
  }

  bool is_constant_slice(ValueId id) const {
    const Value& value = lifted_[id];
    if (value.op != Op::BUILD_SLICE || !build_[id.index] || uses_[id.index] != 1) return false;
    return std::all_of(value.operands.begin(), value.operands.end(), [&](ValueId operand) {
      return load_[operand.index] && lifted_[operand].op == Op::LOAD_CONST;
    });
  }

  /// A load that its own block reads several times becomes one for each use, as long as its slot
  /// keeps its value.
  void one_per_use() {
    std::vector<std::uint32_t> version(slots_, 0), at_load(lifted_.values.size(), UINT32_MAX);
    std::vector<ValueId> body;
    for (std::uint32_t b : order_.blocks) {
      LiftedBlock& block = lifted_.blocks[b];
      body.clear();
      auto read = [&](ValueId& id) {
        if (!id.valid() || id.index >= at_load.size() || at_load[id.index] == UINT32_MAX ||
            uses_[id.index] < 2)
          return;
        const Value& value = lifted_[id];
        if (value.block.index != b ||
            (reads_slot(value.op) && version[value.arg] != at_load[id.index]))
          return;
        --uses_[id.index];
        id = copy_of(id, b);
        body.push_back(id);
      };
      for (ValueId id : block.body) {
        for (ValueId& operand : lifted_[id].operands) read(operand);
        const Value& value = lifted_[id];
        if (changes_slot(value.op) && value.arg < slots_) ++version[value.arg];
        if (load_[id.index] && uses_[id.index] > 1)
          at_load[id.index] = reads_slot(value.op) ? version[value.arg] : 0;
        body.push_back(id);
      }
      read(block.value);
      for (ValueId& id : block.raise_args) read(id);
      block.body.swap(body);
    }
  }

  void to_other_blocks() {
    // Who reads the loads of other blocks.
    std::vector<std::vector<ValueId>> wanted(lifted_.blocks.size());
    std::vector<std::uint32_t> seen(lifted_.values.size(), UINT32_MAX);
    bool any = false;
    for (std::uint32_t b : order_.blocks) {
      const LiftedBlock& block = lifted_.blocks[b];
      auto read = [&](ValueId id) {
        if (!id.valid() || lifted_[id].block.index == b || seen[id.index] == b ||
            (!load_[id.index] && !is_constant_slice(id)))
          return;
        seen[id.index] = b;
        wanted[b].push_back(id);
        any = true;
      };
      for (ValueId id : block.body)
        for (ValueId operand : lifted_[id].operands) read(operand);
      read(block.value);
      for (ValueId id : block.raise_args) read(id);
    }
    if (!any) return;
    const std::vector<bool> leaves = unchanged_to_the_end();
    std::vector<std::uint32_t> mark(lifted_.blocks.size(), 0), work;
    std::uint32_t round = 0;
    std::size_t walked = 0;
    std::vector<std::uint32_t> allowed(lifted_.values.size(), UINT32_MAX),
        changed_in(slots_, UINT32_MAX);
    for (std::uint32_t target : order_.blocks) {
      if (wanted[target].empty() || !lifted_.blocks[target].params.empty()) continue;
      bool moves = false;
      for (ValueId id : wanted[target]) {
        const std::uint32_t home = lifted_[id].block.index;
        if (lifted_.blocks[target].region != lifted_.blocks[home].region ||
            (load_[id.index] && !leaves[id.index]))
          continue;
        ++round;
        work.assign(1, target);
        bool ok = true;
        while (ok && !work.empty()) {
          const std::uint32_t at = work.back();
          work.pop_back();
          for (const Predecessor& edge : order_.into(at)) {
            if (++walked > kWalkBudget || edge.from == target || edge.edge == kExceptional) {
              ok = false;
              break;
            }
            if (edge.from == home || mark[edge.from] == round) continue;
            mark[edge.from] = round;
            const std::size_t size = lifted_.blocks[edge.from].body.size();
            walked += size;
            if (!lifted_.blocks[edge.from].params.empty() || changes(edge.from, id)) ok = false;
            work.push_back(edge.from);
          }
        }
        if (!ok) continue;
        allowed[id.index] = target;
        moves = true;
      }
      if (!moves) continue;
      LiftedBlock& block = lifted_.blocks[target];
      std::vector<ValueId> body;
      auto read = [&](ValueId& id) {
        if (!id.valid() || id.index >= allowed.size() || allowed[id.index] != target) return;
        const Value& value = lifted_[id];
        if (reads_slot(value.op) && changed_in[value.arg] == target) return;
        --uses_[id.index];
        std::vector<ValueId> parts(value.operands.begin(), value.operands.end());
        for (ValueId& part : parts) {
          --uses_[part.index];
          part = copy_of(part, target);
          body.push_back(part);
        }
        id = copy_of(id, target);
        if (!parts.empty()) lifted_[id].operands = lifted_.arena.copy(parts);
        body.push_back(id);
      };
      for (ValueId id : block.body) {
        for (ValueId& operand : lifted_[id].operands) read(operand);
        if (changes_slot(lifted_[id].op) && lifted_[id].arg < slots_)
          changed_in[lifted_[id].arg] = target;
        body.push_back(id);
      }
      read(block.value);
      for (ValueId& id : block.raise_args) read(id);
      block.body.swap(body);
    }
    for (std::uint32_t b : order_.blocks)
      std::erase_if(lifted_.blocks[b].body, [&](ValueId id) {
        return (load_[id.index] || build_[id.index]) && uses_[id.index] == 0;
      });
  }

  /// By value: a load whose slot keeps its value to the end of the block.
  std::vector<bool> unchanged_to_the_end() const {
    std::vector<bool> result(lifted_.values.size(), false);
    std::vector<std::uint32_t> changed_in(slots_, UINT32_MAX);
    for (std::uint32_t b : order_.blocks) {
      const std::vector<ValueId>& body = lifted_.blocks[b].body;
      for (std::size_t i = body.size(); i-- > 0;) {
        const Value& value = lifted_[body[i]];
        if (load_[body[i].index])
          result[body[i].index] = !reads_slot(value.op) || changed_in[value.arg] != b;
        if (changes_slot(value.op) && value.arg < slots_) changed_in[value.arg] = b;
      }
    }
    return result;
  }

  bool changes(std::uint32_t b, ValueId load) const {
    if (!reads_slot(lifted_[load].op)) return false;
    for (ValueId id : lifted_.blocks[b].body)
      if (changes_slot(lifted_[id].op) && lifted_[id].arg == lifted_[load].arg) return true;
    return false;
  }

  /// Before `at`; none(): at the end.
  void insert(ValueId id, ValueId at) {
    ValueId before = at.valid() ? previous_[at.index] : last_;
    previous_[id.index] = before;
    next_[id.index] = at;
    (before.valid() ? next_[before.index] : first_) = id;
    (at.valid() ? previous_[at.index] : last_) = id;
  }

  /// A waiting load, or a waiting build with all that it is built from; returns where it starts.
  ValueId place(ValueId root, ValueId at) {
    pending_.assign(1, root);
    while (!pending_.empty()) {
      const ValueId id = pending_.back();
      pending_.pop_back();
      insert(id, at);
      at = id;
      waiting_[id.index] = false;
      for (ValueId operand : lifted_[id].operands)
        if (waiting_[operand.index] && holder_[operand.index] == id) pending_.push_back(operand);
    }
    return start_[root.index] = at;
  }

  /// Places the loads among the operands; returns where the whole expression starts.
  template <class Operands>
  ValueId place_operands(const Operands& operands) {
    ValueId at;  // none: the end
    for (std::size_t k = operands.size(); k-- > 0;) {
      ValueId id = operands[k];
      if (!id.valid()) continue;
      if (waiting_[id.index]) {
        at = place(id, at);
        continue;
      }
      ValueId before = at.valid() ? previous_[at.index] : last_;
      if (before == id && uses_[id.index] == 1) at = start_[id.index];
    }
    return at;
  }

  ValueId outermost(ValueId id) const {
    while (holder_[id.index].valid()) id = holder_[id.index];
    return id;
  }

  void block(LiftedBlock& block) {
    first_ = last_ = ValueId::none();
    std::vector<ValueId> loads;
    for (ValueId id : block.body) {
      const Value& value = lifted_[id];
      if (load_[id.index] && uses_[id.index] == 1) {
        waiting_[id.index] = true;
        loads.push_back(id);
        if (reads_slot(value.op) && value.arg < waiting_for_.size())
          waiting_for_[value.arg].push_back(id);
        continue;
      }
      if (build_[id.index] && uses_[id.index] == 1) {
        // A fresh object made of nothing but such loads: no effect between here and its reader can
        // touch it or what it is made of.
        bool all = true;
        for (ValueId operand : value.operands)
          all &= waiting_[operand.index] && !holder_[operand.index].valid();
        if (all) {
          for (ValueId operand : value.operands) holder_[operand.index] = id;
          waiting_[id.index] = true;
          loads.push_back(id);
          continue;
        }
      }
      ValueId at = place_operands(value.operands);
      if (changes_slot(value.op) && value.arg < waiting_for_.size()) {
        for (ValueId load : waiting_for_[value.arg])
          if (waiting_[load.index]) at = place(outermost(load), at);
        waiting_for_[value.arg].clear();
      }
      insert(id, ValueId::none());
      start_[id.index] = at.valid() ? at : id;
    }
    // The end of the block reads like one more operation; then what other blocks and parameters
    // get.
    std::vector<ValueId> end(block.raise_args.begin(), block.raise_args.end());
    end.push_back(block.value);
    place_operands(end);
    // Nothing stands between an iterator and its loop.
    const bool iterates = last_.valid() && lifted_[last_].op == Op::GET_ITER;
    const ValueId before = iterates ? start_[last_.index] : ValueId::none();
    for (ValueId id : loads) {
      if (waiting_[id.index]) place(outermost(id), before);
      if (reads_slot(lifted_[id].op) && lifted_[id].arg < waiting_for_.size())
        waiting_for_[lifted_[id].arg].clear();
    }
    block.body.clear();
    for (ValueId id = first_; id.valid(); id = next_[id.index]) block.body.push_back(id);
  }
};

}  // namespace

void sink_loads(Lifted& lifted, const Module& module, bool dynamo) {
  LateLoads(lifted, module, dynamo).run();
}

}  // namespace depyf::simplifying
