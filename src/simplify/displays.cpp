// Rule "sets of constants": SET_UPDATE(BUILD_SET(a, …), (b, c)), of a set of constants that nothing
// else has seen, and up to 3.8 BUILD_SET_UNPACK((a, …), (b, c)), is BUILD_SET(a, …, b, c).
//
// Proof: either adds the constants one by one to an empty set (setobject.c, set_update_internal),
// and hashing and comparing them calls nothing of the program. The order of insertion decides in
// which order the set gives its items, so it stays. For the same reason an update with a frozenset,
// to which CPython 3.9 and later compile a display of three constants or more, is no such set: it
// takes over the frozenset's table (set_merge), whose size and order are others. `{*(a, b, c)}` is
// how source spells BUILD_SET(a, b, c), and `{*()}` the empty set.
//
// Rule "maps at once": MAP_ADD(m, k, v) and DICT_UPDATE(m, n), of dicts m and n that nothing else
// has seen and whose keys are constants, are one BUILD_MAP of all their keys and values.
//
// Proof: a display of more than 15 pairs compiles to such steps (compile.c, compiler_dict), Dynamo
// builds it at once. Between two steps values are evaluated, which cannot see the dict, and if that
// raises, dict and values are dropped either way. Hashing and comparing such keys calls nothing of
// the program; where two are equal, the first one stays and the last value counts, either way.
#include <algorithm>
#include <unordered_map>

#include "simplify/rules.h"

namespace depyf::simplifying {

namespace {

/// Constants that can be hashed and compared without running code of the program.
bool plain_key(const Const& c) {
  return c.kind == ConstKind::None || c.kind == ConstKind::Ellipsis || c.kind == ConstKind::Int ||
         c.kind == ConstKind::Str || c.kind == ConstKind::Bytes || c.kind == ConstKind::True ||
         c.kind == ConstKind::False || c.kind == ConstKind::Float || c.kind == ConstKind::Complex;
}

class Displays {
 public:
  Displays(Lifted& lifted, const Module& module) : lifted_(lifted), module_(module) {}

  void run() {
    if (std::none_of(lifted_.values.begin(), lifted_.values.end(),
                     [](const Value& v) { return has_rule(v); }))
      return;
    uses_ = count_uses(lifted_);
    gone_.assign(lifted_.values.size(), 0);
    for (LiftedBlock& block : lifted_.blocks) {
      if (std::none_of(block.body.begin(), block.body.end(),
                       [&](ValueId id) { return has_rule(lifted_[id]); }))
        continue;
      body_.clear();
      maps_.clear();
      for (ValueId id : block.body) {
        operation(id);
        body_.push_back(id);
      }
      std::erase_if(body_, [&](ValueId id) { return id.index < gone_.size() && gone_[id.index]; });
      for (ValueId id : body_)
        if (const auto made = maps_.find(id.index);
            made != maps_.end() && is(id, Op::MAP_ADD, Op::DICT_UPDATE))
          becomes(id, Op::BUILD_MAP, made->second, 2);
      block.body.swap(body_);
    }
    expand_held(lifted_, [&](ValueId id) { return id.index < gone_.size() && gone_[id.index]; });
  }

 private:
  static bool has_rule(const Value& v) {
    return v.kind == ValueKind::Operation && !(v.aux & kInPlace) &&
           (v.op == Op::BUILD_SET || v.op == Op::SET_UPDATE || v.op == Op::BUILD_SET_UNPACK ||
            v.op == Op::MAP_ADD || v.op == Op::DICT_UPDATE);
  }
  template <class... Ops>
  bool is(ValueId v, Ops... ops) const {
    return lifted_[v].kind == ValueKind::Operation && ((lifted_[v].op == ops) || ...);
  }
  const Const* constant(ValueId v) const {
    return is(v, Op::LOAD_CONST) ? &module_[ConstId(lifted_[v].arg)] : nullptr;
  }
  bool is_plain_tuple(ValueId v) const {
    const Const* c = constant(v);
    return c && c->kind == ConstKind::Tuple &&
           std::all_of(c->items.begin(), c->items.end(),
                       [&](ConstId item) { return is_plain(item); });
  }
  /// Also tuples of plain constants, one deep.
  bool is_plain(ConstId id) const {
    const Const& c = module_[id];
    return plain_key(c) || (c.kind == ConstKind::Tuple &&
                            std::all_of(c.items.begin(), c.items.end(),
                                        [&](ConstId item) { return plain_key(module_[item]); }));
  }
  bool is_fresh_plain_set(ValueId v) const {
    return is(v, Op::BUILD_SET) && uses_[v.index] == 1 &&
           std::all_of(lifted_[v].operands.begin(), lifted_[v].operands.end(), [&](ValueId item) {
             return is(item, Op::LOAD_CONST) && is_plain(ConstId(lifted_[item].arg));
           });
  }
  bool is_key(ValueId v) const {
    const Const* c = constant(v);
    return c && plain_key(*c);
  }

  /// A load of `item`, which is part of the constant that `whole` loads.
  ValueId load_part(ValueId whole, ConstId item, BlockId block) {
    Value load = lifted_[whole];
    load.arg = item.index;
    load.block = block;
    return lifted_.add(load);
  }

  void becomes(ValueId id, Op op, const std::vector<ValueId>& operands, std::uint32_t each = 1) {
    const std::span<ValueId> list = lifted_.arena.copy(operands);
    Value& value = lifted_[id];
    value.op = op;
    value.arg = static_cast<std::uint32_t>(operands.size()) / each;
    value.aux = 0;
    value.operands = list;
  }

  void operation(ValueId id) {
    const Value value = lifted_[id];
    if (value.kind != ValueKind::Operation || (value.aux & kInPlace)) return;
    const std::span<const ValueId> operands = value.operands;
    if (value.op == Op::BUILD_SET_UNPACK &&
        std::all_of(operands.begin(), operands.end(), [&](ValueId v) { return is_plain_tuple(v); }))
      add_all(id, value, {}, operands);
    else if (value.op == Op::SET_UPDATE && is_fresh_plain_set(operands[0]) &&
             is_plain_tuple(operands[1]))
      add_all(id, value, operands[0], operands.last(1));
    else if (value.op == Op::BUILD_MAP || value.op == Op::BUILD_CONST_KEY_MAP ||
             value.op == Op::MAP_ADD || value.op == Op::DICT_UPDATE)
      grow(id, value);
  }

  /// Makes it a set of the items of `set`, if there is one, and then those of `tuples`.
  void add_all(ValueId id, const Value& value, ValueId set, std::span<const ValueId> tuples) {
    std::vector<ValueId> items;
    if (set.valid()) {
      items.assign(lifted_[set].operands.begin(), lifted_[set].operands.end());
      gone_[set.index] = 1;
    }
    for (ValueId tuple : tuples)
      for (ConstId item : constant(tuple)->items) {
        items.push_back(load_part(tuple, item, value.block));
        body_.push_back(items.back());
      }
    becomes(id, Op::BUILD_SET, items);
  }

  void grow(ValueId id, const Value& value) {
    const std::span<const ValueId> operands = value.operands;
    const auto own = [&](ValueId v) {
      return uses_[v.index] == 1 ? maps_.find(v.index) : maps_.end();
    };
    if (value.op == Op::BUILD_MAP) {
      for (std::size_t i = 0; i + 1 < operands.size(); i += 2)
        if (!is_key(operands[i])) return;
      maps_[id.index].assign(operands.begin(), operands.end());
    } else if (value.op == Op::BUILD_CONST_KEY_MAP) {
      const Const* keys = constant(operands.back());
      if (!keys || keys->kind != ConstKind::Tuple || keys->items.size() + 1 != operands.size())
        return;
      for (ConstId key : keys->items)
        if (!plain_key(module_[key])) return;
      std::vector<ValueId>& pairs = maps_[id.index];
      for (std::size_t i = 0; i < keys->items.size(); ++i) {
        pairs.push_back(load_part(operands.back(), keys->items[i], value.block));
        body_.push_back(pairs.back());
        pairs.push_back(operands[i]);
      }
    } else if (const auto grown = own(operands[0]); grown != maps_.end()) {
      std::vector<ValueId> more(operands.begin() + 1, operands.end());
      if (value.op == Op::DICT_UPDATE) {
        const auto part = own(operands[1]);
        if (part == maps_.end()) return;
        more = std::move(part->second);
        gone_[operands[1].index] = 1;
      } else if (!is_key(operands[1])) {
        return;
      }
      std::vector<ValueId> pairs = std::move(grown->second);
      pairs.insert(pairs.end(), more.begin(), more.end());
      gone_[operands[0].index] = 1;
      maps_[id.index] = std::move(pairs);
    }
  }

  Lifted& lifted_;
  const Module& module_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint8_t> gone_;
  std::vector<ValueId> body_;
  std::unordered_map<std::uint32_t, std::vector<ValueId>>
      maps_;  // by value: keys and values of a dict of the block at hand
};

}  // namespace

void write_out_displays(Lifted& lifted, const Module& module) { Displays(lifted, module).run(); }

}  // namespace depyf::simplifying
