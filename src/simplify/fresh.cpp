// Rule "fresh sequence": a list or tuple built here that has not escaped is known, so what is done
// to it is resolved.
//
// An OBJECT is what one BUILD_LIST or BUILD_TUPLE (or slice, or LIST_TO_TUPLE of an object) makes.
// Going through the blocks in reverse postorder we keep for every object that may still be
// referenced its items, as values. As long as all that ever touched it are the operations below,
// nobody else can have a reference to it: such an object can be neither read nor changed by any
// effect, whatever runs in between. Hence
// · LOAD_SUBSCR with a constant index in range is the item; a slice (step 1) is an object of its
//   own; STORE_SUBSCR, DELETE_SUBSCR with constants, LIST_APPEND, LIST_EXTEND by a known sequence,
//   `reverse()` change our record of the items; UNPACK_SEQUENCE of the right length gives the
//   items; `f(*known)` is f(items…);
// · DICT_MERGE of a fresh empty dict with a display of distinct texts as keys, which nothing else
//   reads and this only once, is that display;
// · `(lambda: a).__closure__` of a function that is made for that alone is the tuple of cells that
//   it is made with: a function's type is known, and `__closure__` is a read-only member of it.
//   This is how source spells a cell that Dynamo passes on as an object;
// · none of these can raise (indices are in range, lengths agree), call anything, or be seen, so
//   dropping the operation itself changes nothing;
// · at its first use by anything else the object ESCAPES: it is built there from its items. Before
//   that point nobody could tell whether, or as which object, it existed. An object that escapes as
//   it was built stays where it was built.
// What is not known is left alone: an index that is no constant or out of range, a sequence from
// elsewhere, a list with *unknown parts, an iterable of more than kLongest items.
//
// Where ways meet, the records must agree; where they do not and the object is used afterwards, we
// start again with that object's site declared unknown from the start ("blocked"), so the result
// never depends on a guess. The same holds when a loop brings back another record than the one it
// was entered with, and in a handler for objects that the protected block touched.
#include <algorithm>
#include <iterator>

#include "simplify/rules.h"

namespace depyf::simplifying {

namespace {

constexpr std::size_t kLongest = 16384;  // items of one known sequence: Dynamo hands every live
                                         // local to a resume function in one
constexpr std::size_t kRounds = 12;      // fresh starts before giving up
constexpr std::size_t kBudget =
    1u << 22;  // records copied in all, against quadratic behaviour on hostile code
constexpr std::uint32_t kNoObject = UINT32_MAX;
constexpr std::uint32_t kHasClosure = 8;  // MAKE_FUNCTION's flag

enum class Status : std::uint8_t {
  Known,     // items
  Escaped,   // other code may have it: `escaped` is its value
  Conflict,  // the ways here disagree
};

struct Record {
  std::uint32_t object;
  Status status = Status::Known;
  bool changed = false;  // items differ from what the site built
  std::vector<ValueId> items;
  ValueId escaped;
  bool operator==(const Record&) const = default;
};

struct Object {
  ValueId site;
  bool list;
  bool used_elsewhere;  // some value for it is used in another block than its own
  std::uint32_t mark = 0;
  std::uint32_t touched_in = UINT32_MAX;  // the last block that changed its record
};

using State = std::vector<Record>;  // by ascending object

class Fresh {
 public:
  Fresh(Lifted& lifted, Module& module, bool any_keyword)
      : lifted_(lifted),
        module_(module),
        any_keyword_(any_keyword),
        order_(lifted),
        blocked_(lifted.values.size(), false) {
    base_values_ = lifted_.values.size();
    find_loops();
    base_elsewhere_.assign(base_values_, false);
    auto use = [&](ValueId id, std::uint32_t b, bool always) {
      if (!id.valid()) return;
      ValueId of = lifted_[id].kind == ValueKind::Result && !lifted_[id].operands.empty()
                       ? lifted_[id].operands[0]
                       : id;
      if (always || lifted_[of].block.index != b)
        base_elsewhere_[of.index] = base_elsewhere_[id.index] = true;
    };
    for (std::uint32_t b : order_.blocks) {
      const LiftedBlock& block = lifted_.blocks[b];
      for (ValueId id : block.body)
        for (ValueId operand : lifted_[id].operands) use(operand, b, false);
      use(block.value, b, false);
      for (ValueId id : block.raise_args) use(id, b, false);
      for (const Edge& edge : block.edges)
        for (ValueId id : edge.args) use(id, b, true);
      for (ValueId id : block.handler_args) use(id, b, true);
      for (ValueId id : block.body)
        if (id.index < lifted_.held.size())
          for (ValueId one : lifted_.held[id.index]) use(one, b, false);
      if (b < lifted_.held_at_end.size())
        for (ValueId one : lifted_.held_at_end[b]) use(one, b, false);
    }
  }

  bool anything_to_do() const {
    for (std::uint32_t b : order_.blocks)
      for (ValueId id : lifted_.blocks[b].body)
        if (lifted_[id].op == Op::BUILD_LIST || lifted_[id].op == Op::BUILD_TUPLE ||
            lifted_[id].op == Op::DICT_MERGE || lifted_[id].op == Op::CALL_EX)
          return true;
    return false;
  }

  void run() {
    for (std::size_t round = 0; round < kRounds; ++round) {
      if (attempt()) {
        commit();
        return;
      }
      if (over_budget_) break;
    }
    lifted_.values.resize(base_values_);
  }

 private:
  Lifted& lifted_;
  Module& module_;
  bool any_keyword_;  // also one that no source can hold
  Order order_;
  std::vector<bool> blocked_;  // sites
  std::size_t base_values_;
  std::vector<bool> base_elsewhere_;
  std::vector<bool> may_repeat_;  // by block

  // One attempt.
  std::vector<Object> objects_;
  std::vector<std::uint32_t> object_of_;  // by value
  std::vector<ValueId> replacement_;      // by value
  std::vector<bool> elsewhere_;
  std::vector<bool> virtual_site_, kept_;  // by value: the site's operation is dropped unless kept
  struct Change {
    ValueId id;
    Value value;
  };
  std::vector<Change> changes_;
  std::vector<ValueId> gone_;  // displays of dicts that an operation took over
  struct BlockResult {
    State in, out, handler;
    std::vector<ValueId> body;
    ValueId value;
    std::vector<ValueId> raise_args, args[2], handler_args;
    std::vector<std::pair<ValueId, std::vector<ValueId>>> held;  // by operation
    std::vector<ValueId> held_at_end;
  };
  std::vector<BlockResult> results_;
  std::vector<bool> done_;
  bool failed_ = false, over_budget_ = false;
  std::size_t copied_ = 0;
  std::uint32_t mark_ = 0;

  // The block at hand.
  BlockId block_;
  State state_;
  std::vector<ValueId> body_;
  std::uint32_t offset_ = 0;
  std::int32_t line_ = 0;

  /// Blocks between the ends of an edge that goes back in reverse postorder: every block of every
  /// cycle is one.
  void find_loops() {
    std::vector<std::int32_t> change(order_.blocks.size() + 1, 0);
    for (std::uint32_t b : order_.blocks)
      for (const Predecessor& edge : order_.into(b))
        if (order_.number[edge.from] >= order_.number[b]) {
          ++change[order_.number[b]];
          --change[order_.number[edge.from] + 1];
        }
    may_repeat_.assign(lifted_.blocks.size(), false);
    std::int32_t depth = 0;
    for (std::size_t n = 0; n < order_.blocks.size(); ++n) {
      depth += change[n];
      may_repeat_[order_.blocks[n]] = depth > 0;
    }
  }

  // ---------------------------------------------------------------- bookkeeping

  ValueId find(ValueId id) const {
    while (id.valid() && replacement_[id.index].valid()) id = replacement_[id.index];
    return id;
  }

  ValueId add(const Value& value) {
    ValueId id = lifted_.add(value);
    object_of_.push_back(kNoObject);
    replacement_.emplace_back();
    elsewhere_.push_back(false);
    virtual_site_.push_back(false);
    kept_.push_back(false);
    return id;
  }

  ValueId emit(Op op, std::uint32_t arg, std::span<const ValueId> operands) {
    Value value;
    value.op = op;
    value.arg = arg;
    value.block = block_;
    value.offset = offset_;
    value.line = line_;
    value.operands = lifted_.arena.copy(operands);
    ValueId id = add(value);
    body_.push_back(id);
    return id;
  }

  void block_site(std::uint32_t object) {
    blocked_[objects_[object].site.index] = true;
    failed_ = true;
  }

  Record* record(std::uint32_t object) {
    auto at = std::lower_bound(state_.begin(), state_.end(), object,
                               [](const Record& r, std::uint32_t o) { return r.object < o; });
    return at != state_.end() && at->object == object ? &*at : nullptr;
  }

  /// The record of the object that `id` stands for, when it is known here.
  Record* known(ValueId id) {
    id = find(id);
    if (!id.valid() || object_of_[id.index] == kNoObject) return nullptr;
    Record* r = record(object_of_[id.index]);
    return r && r->status == Status::Known ? r : nullptr;
  }

  bool is_list(const Record& r) const { return objects_[r.object].list; }

  std::uint32_t make_object(ValueId site, bool list, std::vector<ValueId> items, bool changed) {
    std::uint32_t object = static_cast<std::uint32_t>(objects_.size());
    objects_.push_back({site, list, elsewhere_[site.index]});
    object_of_[site.index] = object;
    virtual_site_[site.index] = true;
    state_.push_back({object, Status::Known, changed, std::move(items), ValueId::none()});
    return object;
  }

  void alias(ValueId id, ValueId target) {
    target = find(target);
    replacement_[id.index] = target;
    if (!elsewhere_[id.index]) return;
    elsewhere_[target.index] = true;
    if (object_of_[target.index] != kNoObject)
      objects_[object_of_[target.index]].used_elsewhere = true;
  }

  /// What to record as an item: the value itself, or what stands for an object that escaped.
  ValueId item(ValueId id) {
    id = find(id);
    if (object_of_[id.index] == kNoObject) return id;
    Record* r = record(object_of_[id.index]);
    return r && r->status == Status::Escaped ? r->escaped : id;
  }

  // ---------------------------------------------------------------- escaping

  /// The value to use for `id` where its object, if it is one, may be seen by others from now on.
  ValueId escape(ValueId id) {
    id = find(id);
    if (!id.valid() || object_of_[id.index] == kNoObject) return id;
    // Depth first without recursion: objects that hold objects. Records hold no cycles (see
    // may_hold).
    std::vector<std::uint32_t> stack{object_of_[id.index]};
    while (!stack.empty()) {
      const std::uint32_t object = stack.back();
      Record* r = record(object);
      if (!r || r->status == Status::Conflict) {
        block_site(object);
        return id;
      }
      if (r->status == Status::Escaped) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (ValueId raw : r->items) {
        std::uint32_t inner = object_of_[raw.index];
        if (inner == kNoObject) continue;
        Record* held = record(inner);
        if (held && held->status == Status::Escaped) continue;
        stack.push_back(inner);
        ready = false;
      }
      if (!ready) continue;
      stack.pop_back();
      // As built: every item is still the value that the site was given.
      bool in_place = !r->changed;
      std::vector<ValueId> items(r->items);
      for (ValueId& raw : items) {
        ValueId now = item(raw);
        in_place &= now == raw;
        raw = now;
      }
      ValueId value = objects_[object].site;
      if (in_place) {
        kept_[value.index] = true;
      } else {
        value = emit(objects_[object].list ? Op::BUILD_LIST : Op::BUILD_TUPLE,
                     static_cast<std::uint32_t>(items.size()), items);
        object_of_[value.index] = object;
        r = record(object);
      }
      r->status = Status::Escaped;
      r->escaped = value;
      r->items.clear();
    }
    return record(object_of_[id.index])->escaped;
  }

  /// May the object hold `id`? Not when that would make a cycle.
  bool may_hold(std::uint32_t object, ValueId id) {
    id = find(id);
    if (object_of_[id.index] == kNoObject) return true;
    ++mark_;
    std::vector<std::uint32_t> work{object_of_[id.index]};
    objects_[work[0]].mark = mark_;
    while (!work.empty()) {
      std::uint32_t at = work.back();
      work.pop_back();
      if (at == object) return false;
      Record* r = record(at);
      if (!r || r->status != Status::Known) continue;
      for (ValueId raw : r->items) {
        std::uint32_t inner = object_of_[raw.index];
        if (inner == kNoObject || objects_[inner].mark == mark_) continue;
        objects_[inner].mark = mark_;
        work.push_back(inner);
        if (++copied_ > kBudget) {
          over_budget_ = failed_ = true;
          return false;
        }
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- constants

  const Const* constant(ValueId id) const {
    id = find(id);
    if (!id.valid()) return nullptr;
    const Value& value = lifted_[id];
    if (value.kind != ValueKind::Operation || value.op != Op::LOAD_CONST ||
        value.arg >= module_.consts.size())
      return nullptr;
    return &module_[ConstId(value.arg)];
  }

  static bool small(const Const* c, std::int64_t& out) {
    if (!c || c->kind != ConstKind::Int || c->big) return false;
    out = c->integer;
    return true;
  }

  bool index(ValueId id, std::size_t length, std::size_t& out) const {
    std::int64_t i;
    if (!small(constant(id), i)) return false;
    if (i < 0) i += static_cast<std::int64_t>(length);
    if (i < 0 || i >= static_cast<std::int64_t>(length)) return false;
    out = static_cast<std::size_t>(i);
    return true;
  }

  static bool bound(const Const* c, std::size_t length, std::size_t absent, std::size_t& out) {
    if (!c) return false;
    if (c->kind == ConstKind::None) {
      out = absent;
      return true;
    }
    std::int64_t i;
    if (!small(c, i)) return false;
    if (i < 0) i = std::max<std::int64_t>(0, i + static_cast<std::int64_t>(length));
    out = std::min<std::size_t>(static_cast<std::size_t>(i), length);
    return true;
  }

  static bool is_one(const Const* c) {
    std::int64_t i;
    return c && (c->kind == ConstKind::None || (small(c, i) && i == 1));
  }

  bool range(const Const* start, const Const* stop, std::size_t length, std::size_t& from,
             std::size_t& to) const {
    if (!bound(start, length, 0, from) || !bound(stop, length, length, to)) return false;
    to = std::max(from, to);
    return true;
  }

  /// slice(a, b) with constants, built here or a constant itself.
  bool slice(ValueId id, std::size_t length, std::size_t& from, std::size_t& to) const {
    id = find(id);
    const Value& value = lifted_[id];
    if (value.kind == ValueKind::Operation && value.op == Op::BUILD_SLICE) {
      if (value.operands.size() == 3 && !is_one(constant(value.operands[2]))) return false;
      return value.operands.size() >= 2 &&
             range(constant(value.operands[0]), constant(value.operands[1]), length, from, to);
    }
    const Const* c = constant(id);
    if (!c || c->kind != ConstKind::Slice || c->items.size() != 3 || !is_one(&module_[c->items[2]]))
      return false;
    return range(&module_[c->items[0]], &module_[c->items[1]], length, from, to);
  }

  /// The items of a known sequence or of a constant tuple.
  bool sequence(ValueId id, std::vector<ValueId>& items) {
    if (Record* r = known(id)) {
      items = r->items;
      return true;
    }
    const Const* c = constant(id);
    if (!c || c->kind != ConstKind::Tuple || c->items.size() > kLongest) return false;
    std::vector<ConstId> held(c->items.begin(), c->items.end());
    for (ConstId one : held) items.push_back(emit(Op::LOAD_CONST, one.index, {}));
    return true;
  }

  bool is_sequence(ValueId id) {
    if (known(id)) return true;
    const Const* c = constant(id);
    return c && c->kind == ConstKind::Tuple && c->items.size() <= kLongest;
  }

  // ---------------------------------------------------------------- operations

  void touch(Record& r) {
    r.changed = true;
    objects_[r.object].touched_in = block_.index;
  }

  void splice(Record& r, std::size_t from, std::size_t to, const std::vector<ValueId>& items) {
    const auto begin = r.items.begin();
    r.items.erase(begin + static_cast<std::ptrdiff_t>(from),
                  begin + static_cast<std::ptrdiff_t>(to));
    r.items.insert(r.items.begin() + static_cast<std::ptrdiff_t>(from), items.begin(), items.end());
    touch(r);
  }

  bool store_slice(ValueId stored, std::uint32_t object, std::size_t from, std::size_t to) {
    if (!is_sequence(stored)) return false;
    std::vector<ValueId> items;
    sequence(stored, items);
    for (ValueId id : items)
      if (!may_hold(object, id)) return false;
    Record& r = *record(object);
    if (r.items.size() + items.size() > kLongest) return false;
    splice(r, from, to, items);
    return true;
  }

  bool make_display(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    if (blocked_[id.index] || args.size() > kLongest) return false;
    std::vector<ValueId> items;
    bool differs = false;
    for (ValueId raw : args) {
      items.push_back(item(raw));
      differs |= items.back() != raw;
    }
    if (differs) change_operands(id, value, items);
    make_object(id, value.op == Op::BUILD_LIST, std::move(items), false);
    body_.push_back(id);  // commit() drops it unless it escapes as built
    return true;
  }

  bool make_tuple(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    Record* r = known(args[0]);
    if (!r || blocked_[id.index]) return false;
    // The tuple is made here, and not where it is used: what comes between may be evaluated.
    std::vector<ValueId> items = r->items;
    Value tuple = value;
    tuple.op = Op::BUILD_TUPLE;
    tuple.arg = static_cast<std::uint32_t>(items.size());
    change_operands(id, tuple, items);
    make_object(id, false, std::move(items), false);
    body_.push_back(id);
    return true;
  }

  bool load_part(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    Record* r = known(args[0]);
    if (!r) return false;
    std::size_t from, to;
    if (value.op == Op::LOAD_SUBSCR && index(args[1], r->items.size(), from)) {
      alias(id, r->items[from]);
      return true;
    }
    if (blocked_[id.index]) return false;
    const bool ok = value.op == Op::LOAD_SUBSCR
                        ? slice(args[1], r->items.size(), from, to)
                        : range(constant(args[1]), constant(args[2]), r->items.size(), from, to);
    if (!ok) return false;
    const bool list = is_list(*r);
    std::vector<ValueId> items(r->items.begin() + static_cast<std::ptrdiff_t>(from),
                               r->items.begin() + static_cast<std::ptrdiff_t>(to));
    make_object(id, list, std::move(items), true);
    return true;
  }

  bool store_part(const Value& value) {
    const std::span<ValueId> args = value.operands;
    Record* r = known(args[1]);
    if (!r || !is_list(*r)) return false;
    const std::uint32_t object = r->object;
    std::size_t from, to;
    if (value.op == Op::STORE_SUBSCR && index(args[2], r->items.size(), from)) {
      if (!may_hold(object, args[0])) return false;
      r->items[from] = item(args[0]);
      touch(*r);
      return true;
    }
    const bool ok = value.op == Op::STORE_SUBSCR
                        ? slice(args[2], r->items.size(), from, to)
                        : range(constant(args[2]), constant(args[3]), r->items.size(), from, to);
    return ok && store_slice(args[0], object, from, to);
  }

  bool delete_part(const Value& value) {
    const std::span<ValueId> args = value.operands;
    Record* r = known(args[0]);
    if (!r || !is_list(*r)) return false;
    std::size_t from, to;
    if (index(args[1], r->items.size(), from))
      splice(*r, from, from + 1, {});
    else if (slice(args[1], r->items.size(), from, to))
      splice(*r, from, to, {});
    else
      return false;
    return true;
  }

  bool grow(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    Record* r = known(args[0]);
    if (!r || !is_list(*r)) return false;
    const std::uint32_t object = r->object;
    if (value.op == Op::LIST_APPEND) {
      if (!may_hold(object, args[1]) || r->items.size() >= kLongest) return false;
      r->items.push_back(item(args[1]));
      touch(*r);
    } else if (!store_slice(args[1], object, r->items.size(), r->items.size())) {
      return false;
    }
    if (!(value.aux & kInPlace)) alias(id, args[0]);
    return true;
  }

  bool unpack(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    if (!is_sequence(args[0])) return false;
    std::vector<ValueId> items;
    if (Record* r = known(args[0])) {
      if (r->items.size() != value.arg) return false;
    } else if (constant(args[0])->items.size() != value.arg) {
      return false;
    }
    sequence(args[0], items);
    // lift() makes the results right after their operation; result 0 is the deepest, which is the
    // last item.
    for (std::uint32_t at = id.index + 1;
         at < base_values_ && lifted_.values[at].kind == ValueKind::Result &&
         lifted_.values[at].operands.size() == 1 && lifted_.values[at].operands[0] == id;
         ++at)
      alias(ValueId(at), items[value.arg - 1 - lifted_.values[at].arg]);
    return true;
  }

  bool call_unpacked(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    // Without a mapping the callee gets exactly the items as positional arguments; a dict display
    // that only this call reads, with keys that are distinct names, arrives as exactly those
    // keywords in that order.
    if (args.size() > 3 || !is_sequence(args[1])) return false;
    std::vector<ValueId> operands, items, values;
    std::vector<ConstId> names;
    if (args.size() == 3 && !keywords(args[2], names, values)) return false;
    sequence(args[1], items);
    operands.push_back(escape(args[0]));
    for (ValueId raw : items) operands.push_back(escape(raw));
    Value call = value;
    call.op = Op::CALL;
    call.arg = static_cast<std::uint32_t>(items.size() + values.size());
    if (!names.empty()) {
      for (ValueId raw : values) operands.push_back(escape(raw));
      Const tuple;
      tuple.kind = ConstKind::Tuple;
      tuple.items = module_.arena.copy(names);
      operands.push_back(emit(Op::LOAD_CONST, module_.add(tuple).index, {}));
      call.op = Op::CALL_KW;
      // Right before the call as a rule.
      auto at = std::find(body_.rbegin(), body_.rend(), find(args[2]));
      if (at != body_.rend()) body_.erase(std::next(at).base());
      gone_.push_back(find(args[2]));
    }
    call.operands = lifted_.arena.copy(operands);
    changes_.push_back({id, call});
    body_.push_back(id);
    return true;
  }

  bool merge_into_empty(ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    // An empty dict into which a display with distinct names is merged: `f(*args, **{"k": v})`,
    // where only the source form merges. The display may have been made long before (`d = {"k":
    // v}` … `f(**d)`): nothing but the merge reads it, and only once, so nobody can have changed
    // it or tell it from its copy.
    const ValueId empty = find(args[0]);
    const Value& target = lifted_[empty];
    if (empty.index >= uses_.size() || target.kind != ValueKind::Operation ||
        target.op != Op::BUILD_MAP || !target.operands.empty() || uses_[empty.index] != 1 ||
        uses_[id.index] != 1 || target.block != block_ || !distinct_names(args[1]) ||
        (may_repeat_[block_.index] && lifted_[find(args[1])].block != block_))
      return false;
    alias(id, args[1]);
    std::erase(body_, empty);
    gone_.push_back(empty);
    return true;
  }

  bool read_closure(const std::vector<ValueId>& body, std::size_t& i, ValueId id,
                    const Value& value) {
    const std::span<ValueId> args = value.operands;
    // flags say that a closure is all it has; it is the deepest operand then.
    const Value& load = lifted_[body[i + 1]];
    if (value.arg != kHasClosure || uses_[id.index] != 1 || !known(args[0])) return false;
    if ((load.op != Op::LOAD_ATTR && load.op != Op::LOAD_METHOD) || load.operands.size() != 1 ||
        load.operands[0] != id || load.arg >= module_.strings.size() ||
        module_[StrId(load.arg)] != "__closure__")
      return false;
    ++i;
    alias(body[i], args[0]);
    return true;
  }

  bool reverse(const std::vector<ValueId>& body, std::size_t& i, ValueId id, const Value& value) {
    const std::span<ValueId> args = value.operands;
    // l.reverse(), of Dynamo's stack swaps up to 3.10. The bound method is used by that call
    // only: lift() has no value in between.
    Record* r = known(args[0]);
    if (!r || !is_list(*r) || value.arg >= module_.strings.size() ||
        module_[StrId(value.arg)] != "reverse")
      return false;
    const Value& call = lifted_[body[i + 1]];
    if (call.op != Op::CALL || call.operands.size() != 1 || call.operands[0] != id ||
        uses_[id.index] != 1 || uses_[body[i + 1].index] != 0)
      return false;
    std::reverse(r->items.begin(), r->items.end());
    touch(*r);
    ++i;
    return true;
  }

  /// Resolves the operation at body[i]. True when nothing of it is left to emit.
  bool resolve(const std::vector<ValueId>& body, std::size_t& i) {
    const ValueId id = body[i];
    const Value value = lifted_[id];
    if (value.op == Op::BUILD_LIST || value.op == Op::BUILD_TUPLE) return make_display(id, value);
    if (value.op == Op::LIST_TO_TUPLE) return make_tuple(id, value);
    if (value.op == Op::LOAD_SUBSCR || value.op == Op::LOAD_SLICE) return load_part(id, value);
    if (value.op == Op::STORE_SUBSCR || value.op == Op::STORE_SLICE) return store_part(value);
    if (value.op == Op::DELETE_SUBSCR) return delete_part(value);
    if (value.op == Op::LIST_APPEND || value.op == Op::LIST_EXTEND) return grow(id, value);
    if (value.op == Op::UNPACK_SEQUENCE) return unpack(id, value);
    if (value.op == Op::CALL_EX) return call_unpacked(id, value);
    if (value.op == Op::DICT_MERGE && !(value.aux & kInPlace)) return merge_into_empty(id, value);
    if (value.op == Op::MAKE_FUNCTION && i + 1 < body.size())
      return read_closure(body, i, id, value);
    if ((value.op == Op::LOAD_METHOD || value.op == Op::LOAD_ATTR) && i + 1 < body.size())
      return reverse(body, i, id, value);
    return false;
  }

  /// The keys (constants) and values of a dict display that only one operation reads and whose keys
  /// are texts, all different.
  bool text_keys(ValueId id, std::vector<ConstId>& keys, std::vector<ValueId>& values) const {
    const ValueId map = find(id);
    const Value& value = lifted_[map];
    if (map.index >= uses_.size() || value.kind != ValueKind::Operation || uses_[map.index] != 1 ||
        value.operands.size() > 2 * kLongest)
      return false;
    if (value.op == Op::BUILD_MAP) {
      for (std::size_t i = 0; i + 1 < value.operands.size(); i += 2) {
        if (!constant(value.operands[i])) return false;
        keys.push_back(ConstId(lifted_[find(value.operands[i])].arg));
        values.push_back(value.operands[i + 1]);
      }
    } else if (value.op == Op::BUILD_CONST_KEY_MAP) {
      const Const* names = constant(value.operands.back());
      if (!names || names->kind != ConstKind::Tuple ||
          names->items.size() + 1 != value.operands.size())
        return false;
      keys.assign(names->items.begin(), names->items.end());
      values.assign(value.operands.begin(), value.operands.end() - 1);
    } else {
      return false;
    }
    std::vector<std::string_view> seen;
    for (ConstId key : keys) {
      if (key.index >= module_.consts.size() || module_[key].kind != ConstKind::Str) return false;
      seen.push_back(module_[key].text);
    }
    std::sort(seen.begin(), seen.end());
    return std::adjacent_find(seen.begin(), seen.end()) == seen.end();
  }

  bool distinct_names(ValueId id) const {
    std::vector<ConstId> keys;
    std::vector<ValueId> values;
    return text_keys(id, keys, values);
  }

  /// A dict display of names, made in the block at hand, that only one operation reads.
  bool keywords(ValueId id, std::vector<ConstId>& names, std::vector<ValueId>& values) const {
    return text_keys(id, names, values) && lifted_[find(id)].block == block_ &&
           std::all_of(names.begin(), names.end(),
                       [&](ConstId name) { return any_keyword_ || is_name(module_[name].text); });
  }

  /// An ASCII identifier that is no keyword and that a class body would not mangle.
  static bool is_name(std::string_view text) {
    static constexpr std::string_view kKeywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    if (text.empty() || (text[0] >= '0' && text[0] <= '9') || text.starts_with("__")) return false;
    for (char c : text)
      if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
        return false;
    return std::find(std::begin(kKeywords), std::end(kKeywords), text) == std::end(kKeywords);
  }

  void change_operands(ValueId id, Value value, const std::vector<ValueId>& operands) {
    value.operands = lifted_.arena.copy(operands);
    changes_.push_back({id, value});
  }

  void opaque(ValueId id) {
    const Value value = lifted_[id];
    bool differs = false;
    std::vector<ValueId> operands;
    operands.reserve(value.operands.size());
    for (ValueId raw : value.operands) {
      operands.push_back(escape(raw));
      differs |= operands.back() != raw;
    }
    if (differs) change_operands(id, value, operands);
    body_.push_back(id);
  }

  // ---------------------------------------------------------------- control flow

  std::vector<std::uint32_t> uses_;

  void meet(State& into, const State& other) {
    std::size_t n = 0, k = 0;
    for (std::size_t i = 0; i < into.size(); ++i) {
      while (k < other.size() && other[k].object < into[i].object) ++k;
      if (k == other.size() || other[k].object != into[i].object)
        continue;  // made on one way only: unreachable here, but through a parameter
      if (into[i].status != Status::Conflict && into[i] != other[k]) {
        into[i].status = Status::Conflict;
        into[i].items.clear();
      }
      if (n != i) into[n] = std::move(into[i]);
      ++n;
    }
    into.resize(n);
  }

  void enter(std::uint32_t b) {
    state_.clear();
    bool first = true;
    for (const Predecessor& edge : order_.into(b)) {
      if (!done_[edge.from]) continue;
      const State& from =
          edge.edge == kExceptional ? results_[edge.from].handler : results_[edge.from].out;
      copied_ += from.size() + 1;
      if (first)
        state_ = from;
      else
        meet(state_, from);
      first = false;
    }
    if (copied_ > kBudget) over_budget_ = failed_ = true;
  }

  /// Keeps the records of objects that other blocks can still name, directly or inside another.
  void prune() {
    ++mark_;
    std::vector<std::uint32_t> work;
    for (const Record& r : state_)
      if (objects_[r.object].used_elsewhere) {
        objects_[r.object].mark = mark_;
        work.push_back(r.object);
      }
    while (!work.empty()) {
      Record* r = record(work.back());
      work.pop_back();
      if (!r) continue;
      for (ValueId raw : r->items) {
        std::uint32_t inner = object_of_[raw.index];
        if (inner == kNoObject || objects_[inner].mark == mark_) continue;
        objects_[inner].mark = mark_;
        work.push_back(inner);
      }
    }
    std::erase_if(state_, [&](const Record& r) { return objects_[r.object].mark != mark_; });
  }

  bool attempt() {
    lifted_.values.resize(base_values_);
    objects_.clear();
    object_of_.assign(base_values_, kNoObject);
    replacement_.assign(base_values_, ValueId::none());
    elsewhere_ = base_elsewhere_;
    virtual_site_.assign(base_values_, false);
    kept_.assign(base_values_, false);
    changes_.clear();
    gone_.clear();
    results_.assign(lifted_.blocks.size(), BlockResult());
    done_.assign(lifted_.blocks.size(), false);
    failed_ = false;
    if (uses_.empty()) uses_ = count_uses(lifted_);

    for (std::uint32_t b : order_.blocks) {
      block_ = BlockId(b);
      enter(b);
      if (over_budget_) return false;
      BlockResult& result = results_[b];
      const LiftedBlock& block = lifted_.blocks[b];
      const bool header = std::any_of(order_.into(b).begin(), order_.into(b).end(),
                                      [&](const Predecessor& e) { return !done_[e.from]; });
      const bool keep_in = header || block.region.valid();
      if (keep_in) result.in = state_;
      body_.clear();
      const std::vector<ValueId>& body = block.body;
      for (std::size_t i = 0; i < body.size(); ++i) {
        offset_ = lifted_[body[i]].offset;
        line_ = lifted_[body[i]].line;
        const ValueId id = body[i];
        if (!resolve(body, i)) opaque(id);
        // What the operation gives away has escaped by now.
        if (id.index < lifted_.held.size()) {
          std::vector<ValueId> list = lifted_.held[id.index];
          const Value& value = lifted_[id];
          if (value.op == Op::CALL_EX && lifted_.traits.keeps_starred)
            list.insert(list.end(), value.operands.begin() + 1, value.operands.end());
          if (!list.empty()) result.held.emplace_back(id, held(list));
        }
      }
      offset_ = block.term_offset;
      line_ = block.term_line;
      result.value = escape(block.value);
      for (ValueId id : block.raise_args) result.raise_args.push_back(escape(id));
      if (b < lifted_.held_at_end.size()) result.held_at_end = held(lifted_.held_at_end[b]);
      for (int k = 0; k < 2; ++k)
        for (ValueId id : block.edges[k].args) result.args[k].push_back(escape(id));
      for (ValueId id : block.handler_args) {
        // An object handed to the handler would have to exist before whatever raises.
        ValueId found = find(id);
        if (found.valid() && object_of_[found.index] != kNoObject)
          block_site(object_of_[found.index]);
        result.handler_args.push_back(found);
      }
      if (block.region.valid()) {
        // The exception may come before or after a change.
        result.handler = result.in;
        for (Record& r : result.handler) {
          Record* now = record(r.object);
          if (!now || !(*now == r) || objects_[r.object].touched_in == b) {
            r.status = Status::Conflict;
            r.items.clear();
          }
        }
      }
      prune();
      result.out = state_;
      result.body = std::move(body_);
      body_.clear();
      done_[b] = true;
    }
    // Loops: every way back must bring the record that the loop was entered with.
    for (std::uint32_t b : order_.blocks)
      for (const Predecessor& edge : order_.into(b)) {
        if (order_.number[edge.from] < order_.number[b]) continue;
        const State& back =
            edge.edge == kExceptional ? results_[edge.from].handler : results_[edge.from].out;
        std::size_t k = 0;
        for (const Record& r : results_[b].in) {
          while (k < back.size() && back[k].object < r.object) ++k;
          const bool same = k < back.size() && back[k] == r;
          if (!same && r.status != Status::Conflict) block_site(r.object);
        }
      }
    return !failed_;
  }

  /// The list with the items of known objects in their place; none() for what is not known.
  std::vector<ValueId> held(const std::vector<ValueId>& list) {
    std::vector<ValueId> work, out;
    ++mark_;
    for (ValueId raw : list) {
      work.push_back(raw);
      while (!work.empty()) {
        const ValueId id = find(work.back());
        work.pop_back();
        if (!id.valid() || object_of_[id.index] == kNoObject) {
          out.push_back(id);
          continue;
        }
        const std::uint32_t object = object_of_[id.index];
        if (objects_[object].mark == mark_) continue;
        objects_[object].mark = mark_;
        const Record* r = record(object);
        if (r && r->status == Status::Known)
          work.insert(work.end(), r->items.begin(), r->items.end());
        else
          out.push_back(r && r->status == Status::Escaped ? r->escaped : ValueId::none());
        copied_ += r ? r->items.size() : 0;
      }
    }
    if (copied_ > kBudget) over_budget_ = failed_ = true;
    return out;
  }

  void commit() {
    for (Change& change : changes_) lifted_.values[change.id.index] = change.value;
    for (std::uint32_t b : order_.blocks) {
      LiftedBlock& block = lifted_.blocks[b];
      BlockResult& result = results_[b];
      block.body = std::move(result.body);
      std::erase_if(block.body,
                    [&](ValueId id) { return virtual_site_[id.index] && !kept_[id.index]; });
      block.value = result.value;
      block.raise_args = lifted_.arena.copy(result.raise_args);
      for (int k = 0; k < 2; ++k) block.edges[k].args = lifted_.arena.copy(result.args[k]);
      block.handler_args = lifted_.arena.copy(result.handler_args);
      for (ValueId& id : block.stack_in) id = find(id);
      for (auto& [id, list] : result.held) lifted_.held[id.index] = std::move(list);
      if (b < lifted_.held_at_end.size()) lifted_.held_at_end[b] = std::move(result.held_at_end);
    }
    // The rest (results, operands of what has no block) goes through the plain replacements.
    for (Value& value : lifted_.values)
      for (ValueId& id : value.operands) id = find(id);
    std::sort(gone_.begin(), gone_.end());
    expand_held(lifted_,
                [&](ValueId id) { return std::binary_search(gone_.begin(), gone_.end(), id); });
  }
};

}  // namespace

void resolve_fresh_sequences(Lifted& lifted, Module& module, bool any_keyword) {
  Fresh fresh(lifted, module, any_keyword);
  if (fresh.anything_to_do()) fresh.run();
}

}  // namespace depyf::simplifying
