#include "verify/canon.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <set>

#include "bytecode/class_end.h"

namespace depyf::verify_detail {

bool is_nan(const Const& value) {
  return (value.kind == ConstKind::Float || value.kind == ConstKind::Complex) &&
         (value.re != value.re || (value.kind == ConstKind::Complex && value.im != value.im));
}

bool stores_own_line(const Module& module, CodeId code, Op op, std::uint32_t arg, ConstId value) {
  const CodeObject& body = module[code];
  if (!body.version.has_class_lines() || (body.flags & (kOptimized | kNewLocals)) != 0 ||
      module[body.name] == "<module>")
    return false;
  if (stored_name(module, code, op, arg) != "__firstlineno__" ||
      value.index >= module.consts.size())
    return false;
  const Const& line = module[value];
  return line.kind == ConstKind::Int && !line.big && line.integer == body.firstlineno;
}

namespace {

template <class T>
void append_bytes(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Does the hash of such a constant depend on the process: texts, and what has the hash of its
/// address?
bool hash_is_random(ConstKind kind) {
  return kind == ConstKind::Str || kind == ConstKind::Bytes || kind == ConstKind::None ||
         kind == ConstKind::Ellipsis || kind == ConstKind::Tuple || kind == ConstKind::Code;
}

/// Does what marshal writes of such a constant alone depend on how often the process uses it? It
/// marks what is used more than once (w_ref in Python/marshal.c).
bool counts_uses(const Const& value) {
  if (value.kind == ConstKind::Int)
    return value.big || value.integer < -5 || value.integer > 256;  // small ones are there once
  return value.kind != ConstKind::None && value.kind != ConstKind::True &&
         value.kind != ConstKind::False && value.kind != ConstKind::Ellipsis;
}

bool is_mutable(ConstKind kind) {
  return kind == ConstKind::List || kind == ConstKind::Set || kind == ConstKind::Dict;
}

}  // namespace

std::uint32_t Canon::str(std::string_view text) {
  return strings_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()))
      .first->second;
}

std::uint32_t Canon::str(Which side, StrId id) {
  if (!id.valid()) return kNone;
  std::vector<std::uint32_t>& memo = string_memo_[side];
  if (id.index >= memo.size())
    memo.resize(std::max<std::size_t>(module(side).strings.size(), id.index + 1), kNone);
  if (memo[id.index] == kNone) memo[id.index] = str(module(side)[id]);
  return memo[id.index];
}

std::uint32_t Canon::number(const std::string& key, const Literal& literal,
                            std::span<const std::uint32_t> items) {
  const auto [found, fresh] =
      numbers_.try_emplace(key, static_cast<std::uint32_t>(literals_.size()));
  if (fresh) {
    literals_.push_back(literal);
    literals_.back().items_at = static_cast<std::uint32_t>(items_.size());
    literals_.back().items_count = static_cast<std::uint32_t>(items.size());
    items_.insert(items_.end(), items.begin(), items.end());
  }
  return found->second;
}

std::uint32_t Canon::sequence(ConstKind kind, std::span<const std::uint32_t> items) {
  const std::vector<std::uint32_t> copy(
      items.begin(), items.end());  // `items` may lie in items_, which number() grows
  std::string key(1, static_cast<char>(kind));
  Literal literal;
  literal.kind = kind;
  literal.plain = kind != ConstKind::Slice;  // before 3.12 a slice has no hash
  literal.empty = copy.empty();
  for (std::uint32_t item : copy) {
    append_bytes(key, item);
    literal.plain &= literals_[item].plain;
    if (literals_[item].nan) {
      literal.nan = true;
      literal.side = literals_[item].side;
    }
  }
  return number(key, literal, copy);
}

std::uint32_t Canon::singleton(ConstKind kind) {
  Literal literal;
  literal.kind = kind;
  literal.plain = true;
  return number(std::string(1, static_cast<char>(literal.kind)), literal, {});
}

std::uint32_t Canon::integer(std::int64_t value) {
  std::string key(1, static_cast<char>(ConstKind::Int));
  append_bytes(key, value);
  Literal literal;
  literal.kind = ConstKind::Int;
  literal.plain = literal.small = true;
  literal.integer = value;
  literal.empty = value == 0;
  return number(key, literal, {});
}

/// Equal for equal constants; `literal` learns what it is. `items`: the numbers of what it holds,
/// in the order that counts.
std::string Canon::key_of(Which side, ConstId id, std::vector<std::uint32_t>& items,
                          Literal& literal) {
  const Module& from = module(side);
  const Const& value = from[id];
  std::string key(1, static_cast<char>(value.kind));
  switch (value.kind) {
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
      break;
    case ConstKind::Int:
      if (value.big) {
        key += '#';
        key += value.text;
      } else {
        append_bytes(key, value.integer);
        literal.small = true;
        literal.integer = value.integer;
        literal.empty = value.integer == 0;
      }
      break;
    case ConstKind::Float:
    case ConstKind::Complex:
      append_bytes(key, std::bit_cast<std::uint64_t>(value.re));
      append_bytes(key, std::bit_cast<std::uint64_t>(value.im));
      if (is_nan(value)) {
        literal.nan = true;
        literal.side = side;
        // Of live code the object is known; in a file each constant is one.
        literal.object = value.live ? value.object : id.index;
        literal.re_bits = std::bit_cast<std::uint64_t>(value.re);
        literal.im_bits = std::bit_cast<std::uint64_t>(value.im);
        append_bytes(key, side);
        append_bytes(key, literal.object);
      }
      break;
    case ConstKind::Str:
    case ConstKind::Bytes:
      key += value.text;
      literal.empty = value.text.empty();
      break;
    case ConstKind::FrozenSet:
    case ConstKind::Set: {
      literal.empty = items.empty();
      if (value.kind == ConstKind::Set) literal.plain = false;
      const bool given_by_chance =
          !live_ && from.version.sets_follow_hash_seed() &&
          std::any_of(value.items.begin(), value.items.end(),
                      [&](ConstId item) { return hash_is_random(from[item].kind); });
      std::vector<std::uint32_t> sorted = items;
      std::sort(sorted.begin(), sorted.end());
      sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
      std::string sorted_key = "any order";
      for (std::uint32_t item : sorted) append_bytes(sorted_key, item);
      literal.any_order = number(sorted_key, literal, sorted);
      const bool sorted_by_marks =
          !live_ && !from.version.sets_follow_hash_seed() &&
          std::any_of(value.items.begin(), value.items.end(),
                      [&](ConstId item) { return counts_uses(from[item]); });
      if (sorted_by_marks) {
        const auto [first, fresh] = written_orders_.try_emplace(literal.any_order, items);
        written_orders_differ |= !fresh && first->second != items;
      }
      if (given_by_chance || sorted_by_marks) items = std::move(sorted);
      for (std::uint32_t item : items) append_bytes(key, item);
      break;
    }
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Dict:
    case ConstKind::Slice:
      for (std::uint32_t item : items) append_bytes(key, item);
      literal.empty = items.empty();
      if (value.kind != ConstKind::Tuple) literal.plain = false;
      break;
    case ConstKind::Code:
      append_bytes(key, side);
      append_bytes(key, value.code.index);
      literal.plain = false;
      literal.side = side;
      literal.code = value.code;
      break;
    case ConstKind::Object:
      append_bytes(key, value.object);
      literal.plain = false;
      break;
  }
  return key;
}

std::uint32_t Canon::constant(Which side, CodeId code, ConstId root) {
  const Module& from = module(side);
  std::vector<std::uint32_t>& memo = const_memo_[side];
  if (memo.size() < from.consts.size()) memo.resize(from.consts.size(), kNone);
  if (root.index >= memo.size()) return number("?", Literal{}, {});
  // Post-order over nested tuples with an explicit stack: nesting in the input costs no C++ stack.
  struct Frame {
    ConstId id;
    std::size_t next = 0;  // item to look at
  };
  std::vector<Frame> work;
  if (memo[root.index] == kNone) work.push_back({root});
  std::vector<std::uint32_t> items;
  while (!work.empty()) {
    const ConstId id = work.back().id;
    const Const& value = from[id];
    std::size_t& next = work.back().next;
    while (next < value.items.size() &&
           (value.items[next].index >= memo.size() || memo[value.items[next].index] != kNone))
      ++next;
    if (next < value.items.size()) {
      // Deeper than there are constants: the container holds itself, so it is an object of its own.
      if (work.size() > memo.size())
        memo[value.items[next].index] =
            number("self" + std::to_string(side) + "." + std::to_string(id.index), Literal{}, {});
      else
        work.push_back({value.items[next]});
      continue;
    }
    work.pop_back();
    Literal literal;
    literal.kind = value.kind;
    items.clear();
    literal.plain = true;
    for (ConstId item : value.items) {
      items.push_back(item.index < memo.size() ? memo[item.index] : 0);
      literal.plain &= item.index < memo.size() && literals_[memo[item.index]].plain;
      literal.nan |= item.index < memo.size() && literals_[memo[item.index]].nan;
    }
    if (literal.nan) literal.side = side;
    memo[id.index] = number(key_of(side, id, items, literal), literal, items);
  }
  if (!is_mutable(from[root].kind) || !code.valid()) return memo[root.index];
  const std::span<const ConstId> table = from[code].consts;
  const auto place =
      static_cast<std::uint32_t>(std::find(table.begin(), table.end(), root) - table.begin());
  std::string key = "@";
  append_bytes(key, memo[root.index]);
  append_bytes(key, place);
  Literal literal;
  literal.kind = from[root].kind;
  return number(key, literal, {});
}

bool Canon::same_constant(std::uint32_t a, std::uint32_t b) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> work{{a, b}};
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // containers share what they hold
  while (!work.empty()) {
    const auto [p, q] = work.back();
    work.pop_back();
    if (p == q) continue;  // of one side too: what holds a NaN has a number for each side
    const Literal x = literals_[p], y = literals_[q];
    if (!x.nan || !y.nan || x.kind != y.kind || x.items_count != y.items_count || x.side == y.side)
      return false;
    if (x.kind != ConstKind::Float && x.kind != ConstKind::Complex) {
      if (!seen.emplace(p, q).second) continue;
      for (std::uint32_t i = 0; i < x.items_count; ++i)
        work.emplace_back(items_[x.items_at + i], items_[y.items_at + i]);
      continue;
    }
    if (x.re_bits != y.re_bits || x.im_bits != y.im_bits) return false;
    if (!may_pair(x, y)) return false;
    const auto [forward, fresh_x] = nan_pairs.to[x.side].try_emplace(x.object, y.object);
    const auto [backward, fresh_y] = nan_pairs.to[y.side].try_emplace(y.object, x.object);
    if (forward->second != y.object || backward->second != x.object) return false;
    nan_objects_differ |= live_ && x.object != y.object;
  }
  return true;
}

/// Of live code: an object that both sides hold stands for itself.
bool Canon::may_pair(const Literal& x, const Literal& y) {
  if (!live_ || x.object == y.object) return true;
  if (!has_live_nans_) {
    has_live_nans_ = true;
    for (Which side : {kA, kB})
      for (std::size_t i = 0; i < modules_[side]->consts.size(); ++i)
        if (const Const& value = modules_[side]->consts[i]; value.live && is_nan(value))
          live_nans_[side].insert(value.object);
  }
  return !live_nans_[y.side].contains(x.object) && !live_nans_[x.side].contains(y.object);
}

bool Canon::same_collection(std::uint32_t a, std::uint32_t b) {
  if (same_constant(a, b)) return true;
  const std::uint32_t p = literals_[a].any_order, q = literals_[b].any_order;
  const bool same_items = p != kNone && p == q;
  orders_differ |= same_items;
  return same_items;
}

std::uint32_t Canon::slot(Which side, CodeId code, std::uint32_t index, bool deref) {
  const std::span<const Slot> slots = module(side)[code].slots;
  if (index >= slots.size()) return kNone;
  std::uint32_t name = str(side, slots[index].name);
  if (!deref) {
    if (side == kB && !renamed.empty() && slots[index].kind == kLocal)
      if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
    return name * 4;
  }
  return name * 4 + ((slots[index].kind & kFree) ? 2 : 1);
}

std::uint32_t Canon::content(Which side, CodeId code, std::uint32_t index) {
  const std::span<const Slot> slots = module(side)[code].slots;
  const bool cell = index < slots.size() && (slots[index].kind & (kCell | kFree)) != 0;
  return slot(side, code, index, cell && !(index < bare[side].size() && bare[side][index]));
}

std::uint32_t canonical_arg(Canon& canon, Which side, CodeId code, Op op, std::uint32_t arg) {
  switch (arg_kind(op)) {
    case ArgKind::Plain:
      return arg;
    case ArgKind::Const:
      return canon.constant(side, code, ConstId(arg));
    case ArgKind::Str:
      return canon.str(side, StrId(arg));
    case ArgKind::Local:
      return canon.slot(side, code, arg, false);
    case ArgKind::Deref:
      return canon.slot(side, code, arg, true);
  }
  return arg;
}

bool Pairs::one_to_one(CodeId a, CodeId b) {
  const auto [forward, fresh_a] = a_to_b_.try_emplace(a.index, b.index);
  const auto [backward, fresh_b] = b_to_a_.try_emplace(b.index, a.index);
  if (forward->second != b.index || backward->second != a.index) return false;
  if (fresh_a) list_.emplace_back(a, b);
  return true;
}

void Pairs::many(CodeId a, CodeId b) {
  if (known_.try_emplace((std::uint64_t{a.index} << 32) | b.index, true).second)
    list_.emplace_back(a, b);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "'";
  for (char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (c == '\'' || c == '\\')
      (out += '\\') += c;
    else if (byte < 32)
      out += '?';
    else
      out += c;
  }
  if (text.size() > kShown) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80)
      out.pop_back();  // a cut UTF-8 sequence
    out += "…";
  }
  return out + "'";
}

std::string describe_const(const Module& module, ConstId id, unsigned depth) {
  if (id.index >= module.consts.size()) return "a constant out of range";
  const Const& value = module[id];
  const auto number = [](double x) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
    std::string out(buffer, end);
    if (out.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
    return out;
  };
  switch (value.kind) {
    case ConstKind::None:
      return "None";
    case ConstKind::True:
      return "True";
    case ConstKind::False:
      return "False";
    case ConstKind::Ellipsis:
      return "...";
    case ConstKind::StopIteration:
      return "StopIteration";
    case ConstKind::Int:
      return value.big ? "a large integer" : std::to_string(value.integer);
    case ConstKind::Float:
      return number(value.re);
    case ConstKind::Complex:
      return "complex(" + number(value.re) + ", " + number(value.im) + ")";
    case ConstKind::Str:
      return quoted(value.text);
    case ConstKind::Bytes:
      return "b" + quoted(value.text);
    case ConstKind::Code:
      return "the code of " + quoted(module[module[value.code].name]);
    case ConstKind::Object:
      return "object " + std::to_string(value.object);
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
      break;
  }
  std::string out = value.kind == ConstKind::Tuple       ? "("
                    : value.kind == ConstKind::FrozenSet ? "frozenset("
                    : value.kind == ConstKind::Slice     ? "slice("
                                                         : "container(";
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i) out += ", ";
    if (i == 4) return out + "…)";
    const bool nested =
        value.items[i].index < module.consts.size() && !module[value.items[i]].items.empty();
    out += nested && depth == 0 ? "…" : describe_const(module, value.items[i], depth - nested);
  }
  const bool single = value.kind == ConstKind::Tuple && value.items.size() == 1;
  return out + (single ? ",)" : ")");
}

}  // namespace depyf::verify_detail
