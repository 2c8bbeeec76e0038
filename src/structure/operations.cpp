#include "structure/operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "ast/walk.h"
#include "opcode/op_set.h"
#include "simplify/simplify.h"
#include "support/error.h"

namespace depyf {
namespace {

// CPython puts literal sequences of at least this many constants into one constant
// (MIN_CONST_SEQUENCE_SIZE).
constexpr std::size_t kMinConstSequence = 3;
// Above this many stack entries CPython builds calls and displays step by step
// (STACK_USE_GUIDELINE).
constexpr std::size_t kStackGuideline = 30;
// A dict display is cut into pieces of so many pairs.
constexpr std::size_t kDictPiece = kStackGuideline / 2 + 2;

// Marks in Expr::op of List, Tuple, Set and Dict; nobody else reads them.
constexpr std::uint8_t kHasCapacity = 1;   // the storage of `kids` is std::bit_ceil(size) long
constexpr std::uint8_t kOneByOne = 32;     // {*(1, 2, 3)}: see one_by_one()
constexpr std::uint8_t kFromConstant = 2;  // the kids are the items of the constant `a`
constexpr std::uint8_t kFromList = 4;      // a tuple that grew as a list
constexpr std::uint8_t kWhole = 8;  // a display that one instruction built: up to 3.8, `{**a, **b}`
                                    // or `(*a, *b)` and no arguments of a call
constexpr std::uint8_t kKeyed =
    16;  // a dictionary out of a tuple of keys, which calls with very many keywords do not use

[[noreturn]] void no_source_form(const Value& v, std::string_view as) {
  throw Error("operation " + std::string(op_name(v.op)) + " at offset " + std::to_string(v.offset) +
              " has no source form as " + std::string(as) +
              " by itself; the structurer has to treat it together with its neighbours");
}

struct Maker {
  Ast& ast;
  const Lifted& lifted;
  const Value& v;
  std::span<const ExprId> kids;

  const Module& module() const { return *ast.module; }
  Origin origin() const { return {v.offset, v.line, lifted.code, v.columns}; }

  StrId slot_name(std::uint32_t slot) const {
    const CodeObject& code = module()[lifted.code];
    if (slot >= code.slots.size()) [[unlikely]]
      no_slot(slot, v.offset, code.slots.size());
    return code.slots[slot].name;
  }
  [[noreturn, gnu::noinline]] static void no_slot(std::uint32_t slot, std::uint32_t offset,
                                                  std::size_t count) {
    throw Error("variable slot " + std::to_string(slot) + " at offset " + std::to_string(offset) +
                " does not exist; the code object has " + std::to_string(count));
  }

  void need(std::size_t n) const {
    if (kids.size() < n) [[unlikely]]
      too_few(v, kids.size(), n);
  }
  [[noreturn, gnu::noinline]] static void too_few(const Value& v, std::size_t count,
                                                  std::size_t n) {
    throw Error("operation " + std::string(op_name(v.op)) + " at offset " +
                std::to_string(v.offset) + " has " + std::to_string(count) +
                " operands, expected at least " + std::to_string(n));
  }

  ExprId node(ExprKind kind, std::span<const ExprId> operands, std::uint32_t a = UINT32_MAX,
              std::uint8_t op = 0) {
    return ast.expr(kind, operands, a, op, origin());
  }
  /// How many there are is known to the compiler.
  template <std::size_t N>
  ExprId node(ExprKind kind, const ExprId (&operands)[N], std::uint32_t a = UINT32_MAX,
              std::uint8_t op = 0) {
    const std::span<ExprId> kids_of_node = ast.arena.array<ExprId>(N);
    std::copy(operands, operands + N, kids_of_node.begin());
    return ast.expr_over(kind, kids_of_node, a, op, origin());
  }
  ExprId leaf(ExprKind kind, std::uint32_t a = UINT32_MAX, std::uint8_t op = 0) {
    return ast.expr_over(kind, {}, a, op, origin());
  }
  /// It has no place of its own.
  ExprId item_of_constant(ConstId item) {
    return ast.constant(item, {v.offset, v.line, lifted.code, 0});
  }
  ExprId name(StrId id, NameScope scope) {
    return leaf(ExprKind::Name, id.index, static_cast<std::uint8_t>(scope));
  }

  const Const* constant(ExprId id) const {
    if (!id || ast[id].kind != ExprKind::Constant) return nullptr;
    return &module()[ConstId(ast[id].a)];
  }
  bool is_const(ExprId id, ConstKind kind) const {
    const Const* c = constant(id);
    return c && c->kind == kind;
  }
  const Const& names_tuple(ExprId id) const {
    const Const* c = constant(id);
    if (!c || c->kind != ConstKind::Tuple)
      throw Error("operation " + std::string(op_name(v.op)) + " at offset " +
                  std::to_string(v.offset) +
                  " expects a constant tuple of names or keys on top of the stack");
    return *c;
  }

  ExprId compare(CompareOp op) { return ast.compare(op, kids[0], kids[1], origin()); }

  ExprId load() {
    Expr& e = depyf::append(ast.exprs);
    e.kind = v.op == Op::LOAD_CONST ? ExprKind::Constant : ExprKind::Name;
    e.origin = origin();
    e.a = v.arg;
    if (v.op == Op::LOAD_FAST || v.op == Op::LOAD_DEREF) {
      e.op = static_cast<std::uint8_t>(v.op == Op::LOAD_FAST ? NameScope::Fast : NameScope::Deref);
      e.a = slot_name(v.arg).index;
    } else if (v.op != Op::LOAD_CONST) {
      e.op =
          static_cast<std::uint8_t>(v.op == Op::LOAD_GLOBAL ? NameScope::Global : NameScope::Name);
    }
    return ExprId(static_cast<std::uint32_t>(ast.exprs.size() - 1));
  }

  // --- displays

  /// `display` with `added` at its end, as a further version in the same storage while there is
  /// room.
  ExprId grow(ExprId display, std::span<const ExprId> added) {
    Expr e = ast[display];
    if (e.op & kOneByOne) {  // what follows keeps the compiler from folding the constants
      e.kids = ast.arena.copy(std::span<const ExprId>(ast[ast[e.kids[0]].kids[0]].kids));
      e.op = 0;
    }
    if ((e.op & kFromConstant) &&
        (e.kind == ExprKind::Set || lifted.traits.folds_displays)) {  // {1, 2, 3, *more}
      e.a = UINT32_MAX;
      e.op = 0;
    } else if (e.op & kFromConstant) {  // the constant was not the whole display after all: [*(1,
                                        // 2, 3), …]
      e.kids = ast.arena.copy(std::initializer_list<ExprId>{
          node(ExprKind::Starred, {ast.constant(ConstId(e.a), e.origin)})});
      e.a = UINT32_MAX;
      e.op = 0;
    }
    const std::size_t size = e.kids.size(), wanted = size + added.size();
    std::span<ExprId> storage = e.kids;
    if (!(e.op & kHasCapacity) || wanted > std::bit_ceil(size)) {
      storage = ast.arena.array<ExprId>(std::bit_ceil(wanted));
      std::copy(e.kids.begin(), e.kids.end(), storage.begin());
    }
    std::copy(added.begin(), added.end(), storage.data() + size);
    e.kids = {storage.data(), wanted};
    e.op |= kHasCapacity;
    return ast.add(e);
  }
  ExprId grow(ExprId display, std::initializer_list<ExprId> added) {
    return grow(display, std::span<const ExprId>(added.begin(), added.size()));
  }

  /// A set of its items in their order. CPython 3.9 and later compile a display of three constants
  /// or more to an update with a frozenset, whose items come in another order than those of a set
  /// that got them one by one; `{*(a, b, c)}` adds them one by one.
  ExprId one_by_one() {
    const auto literal = [&](ExprId id) {
      const Const* c = constant(id);
      return c && c->kind != ConstKind::Object && c->kind != ConstKind::Code;
    };
    if (kids.size() < kMinConstSequence || !folds_set_displays(module()) ||
        !std::all_of(kids.begin(), kids.end(), literal))
      return node(ExprKind::Set, kids);
    const ExprId items = node(ExprKind::Tuple, kids);
    return node(ExprKind::Set, {node(ExprKind::Starred, {items})}, UINT32_MAX, kOneByOne);
  }

  std::vector<ExprId> items_of(const Const& c) {
    std::vector<ExprId> items;
    items.reserve(c.items.size());
    for (ConstId item : c.items) items.push_back(item_of_constant(item));
    return items;
  }

  ExprId extend(ExprId display, ExprId iterable, ConstKind literal) {
    const Const* c = constant(iterable);
    if (c && c->kind == literal && ast[display].kids.empty() && !c->items.empty()) {
      std::vector<ExprId> items = items_of(*c);
      // A set literal with equal items is shorter as a constant; the literal had at least three.
      if (literal == ConstKind::FrozenSet)
        while (items.size() < kMinConstSequence) items.push_back(items.back());
      if (items.size() >= kMinConstSequence)
        return node(ast[display].kind, items, ast[iterable].a, kFromConstant);
    }
    return grow(display, {node(ExprKind::Starred, {iterable})});
  }

  bool plain_pairs(ExprId id) const {
    const Expr& e = ast[id];
    if (e.kind != ExprKind::Dict || e.kids.empty()) return false;
    for (std::size_t i = 0; i < e.kids.size(); i += 2)
      if (!e.kids[i]) return false;
    return true;
  }

  /// Pairs that may be keyword arguments of a call.
  bool keyword_names(ExprId pairs) const {
    const std::span<ExprId> kids = ast[pairs].kids;
    for (std::size_t i = 0; i < kids.size(); i += 2)
      if (const Const* key = constant(kids[i]);
          !key || key->kind != ConstKind::Str || !identifier(key->text))
        return false;
    return true;
  }

  /// {…dict, **mapping}; a display that follows a `**` or a full piece was written as plain pairs.
  ExprId merge(ExprId dict, ExprId mapping, bool pieces) {
    if (plain_pairs(mapping)) {
      const std::span<ExprId> have = ast[dict].kids;
      std::size_t trailing = 0;
      for (std::size_t i = have.size(); i >= 2 && have[i - 2]; i -= 2) ++trailing;
      if (!have.empty() && (pieces || keyword_names(mapping)) &&
          (pieces ? trailing % kDictPiece == 0 : trailing == 0))
        return grow(dict, ast[mapping].kids);
    }
    return grow(dict, {ExprId::none(), mapping});
  }

  /// ≤ 3.8: [*a, b, *c] from the pieces a, (b,), c.
  ExprId unpack_display(ExprKind kind, std::size_t count, std::uint8_t flags = 0) {
    need(count);
    std::vector<ExprId> items;
    bool starred = count == 1,
         joined = false;  // a lone piece was starred, else it would be a plain display
    for (std::size_t i = 0; i < count; ++i) {
      const Expr& e = ast[kids[i]];
      const Const* c = constant(kids[i]);
      const bool display = kind == ExprKind::Set
                               ? e.kind == ExprKind::Set
                               : e.kind == ExprKind::Tuple || (c && c->kind == ConstKind::Tuple);
      const bool empty = c ? c->items.empty() : e.kids.empty();
      const bool has_star = display && !c &&
                            std::any_of(e.kids.begin(), e.kids.end(),
                                        [&](ExprId k) { return ast[k].kind == ExprKind::Starred; });
      if (display && !empty && !has_star && !joined && !starred) {
        if (c) {
          for (ConstId item : c->items) items.push_back(item_of_constant(item));
        } else {
          items.insert(items.end(), e.kids.begin(), e.kids.end());
        }
        joined = true;
      } else {
        items.push_back(node(ExprKind::Starred, {kids[i]}));
        joined = false;
      }
    }
    return node(kind, items, UINT32_MAX, flags);
  }

  ExprId unpack_mappings(std::size_t count, std::uint8_t flags) {
    need(count);
    std::vector<ExprId> items;
    bool joined = count == 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (plain_pairs(kids[i]) && !joined && (flags == kWhole || keyword_names(kids[i]))) {
        const auto pairs = ast[kids[i]].kids;
        items.insert(items.end(), pairs.begin(), pairs.end());
        joined = true;
      } else {
        items.push_back(ExprId::none());
        items.push_back(kids[i]);
        joined = false;
      }
    }
    return node(ExprKind::Dict, items, UINT32_MAX, flags);
  }

  ExprId to_tuple(ExprId list) {
    const Expr& e = ast[list];
    if (e.kind != ExprKind::List) return node(ExprKind::Tuple, {node(ExprKind::Starred, {list})});
    if (e.op & kFromConstant)
      return node(ExprKind::Tuple,
                  {node(ExprKind::Starred, {ast.constant(ConstId(e.a), origin())})});
    return ast.expr_over(ExprKind::Tuple, e.kids, UINT32_MAX,
                         static_cast<std::uint8_t>(e.op | kFromList), origin());
  }

  // --- calls

  static bool identifier(std::string_view text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
    for (unsigned char ch : text)
      if (!(ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
            (ch >= '0' && ch <= '9') || ch >= 0x80))
        return false;
    return true;
  }

  ExprId keyword(ExprId key, ExprId value) {
    if (!key) return node(ExprKind::Keyword, {value});
    return node(ExprKind::Keyword, {value}, ast.module->intern(constant(key)->text).index);
  }

  ExprId call_with_names() {
    need(2);
    const Const& names = names_tuple(kids.back());
    const std::span<const ExprId> args = kids.first(kids.size() - 1);
    if (names.items.size() + 1 > args.size())
      throw Error("call at offset " + std::to_string(v.offset) +
                  " names more arguments than it has");
    ExprIds all;
    all.append(args.first(args.size() - names.items.size()));
    for (std::size_t i = 0; i < names.items.size(); ++i) {
      const Const& key = module()[names.items[i]];
      const ExprId value = args[args.size() - names.items.size() + i];
      if (key.kind != ConstKind::Str)
        throw Error("call at offset " + std::to_string(v.offset) +
                    " has a keyword that is no string");
      all.push_back(node(ExprKind::Keyword, {value}, ast.module->intern(key.text).index));
    }
    return node(ExprKind::Call, all);
  }

  ExprId call_unpacked() {
    need(2);
    const ExprId args = kids[1];
    const ExprId mapping = kids.size() > 2 ? kids[2] : ExprId::none();
    std::vector<ExprId> all = {kids[0]};
    bool star = true;
    const Expr& e = ast[args];
    const Const* c = constant(args);
    // `f(*('a', b), k=v)`: no other dict is beside that of the keywords, and few are on the stack
    const auto has_keywords = [&](std::size_t items) {
      const auto is_joined = [](Op op) {
        return op == Op::DICT_MERGE || op == Op::BUILD_MAP_UNPACK;
      };
      return mapping && items != 0 && ast[mapping].kind == ExprKind::Dict &&
             !is_joined(lifted[v.operands.back()].op) &&
             items + ast[mapping].kids.size() <= kStackGuideline;
    };
    if (c && c->kind == ConstKind::Tuple) {
      if ((mapping && !has_keywords(c->items.size())) || c->items.size() > kStackGuideline) {
        for (ConstId item : c->items) all.push_back(item_of_constant(item));
        star = false;
      } else {
        all.push_back(node(ExprKind::Starred, {args}));
      }
    } else if (e.kind == ExprKind::Tuple) {
      bool has_star = false;
      for (ExprId k : e.kids) has_star = has_star || ast[k].kind == ExprKind::Starred;
      const bool written_out =
          (e.op & kWhole) ? false
          : has_star
              ? e.kids.size() > 1
              : (e.op & kFromList) ||
                    (mapping && (lifted.traits.source_order || !has_keywords(e.kids.size())));
      if (written_out) {
        all.insert(all.end(), e.kids.begin(), e.kids.end());
        star = has_star;
      } else {
        all.push_back(node(ExprKind::Starred, {args}));
      }
    } else {
      all.push_back(node(ExprKind::Starred, {args}));
    }
    if (mapping) {
      const Expr& m = ast[mapping];
      bool pairs = m.kind == ExprKind::Dict && !m.kids.empty() && !(m.op & kWhole), unpacks = false;
      bool unnamed = false;
      for (std::size_t i = 0; pairs && i < m.kids.size(); i += 2) {
        if (!m.kids[i]) {
          unpacks = true;
        } else if (const Const* key = constant(m.kids[i]); !key || key->kind != ConstKind::Str) {
          pairs = false;
        } else if (!identifier(key->text)) {
          unnamed = true;
        }
      }
      // A key that is no identifier stands in a dict of its own, `**{"a b": 1}`, where others are
      // unpacked beside it: one display would not refuse a name that comes twice.
      if (unnamed && !unpacks) pairs = false;
      // f(a, k=1) would be no unpacking call, unless it has too many arguments for the stack.
      const bool too_many = all.size() - 1 + m.kids.size() > kStackGuideline &&
                            (!(m.op & kKeyed) || m.kids.size() <= kStackGuideline);
      if (pairs && !unpacks && !star && !too_many) pairs = false;
      if (pairs) {
        const std::span<ExprId> entries = m.kids;
        for (std::size_t i = 0; i < entries.size(); i += 2)
          all.push_back(keyword(entries[i], entries[i + 1]));
      } else {
        all.push_back(node(ExprKind::Keyword, {mapping}));
      }
    }
    return node(ExprKind::Call, all);
  }

  /// An iterator that is a value of its own, as Dynamo makes them, and not what a loop or a
  /// comprehension runs over: no syntax has it, and `iter` may be rebound, so a placeholder stands
  /// for the function.
  void spell_iterators() {
    bool comprehension = false;
    if (v.op == Op::CALL && !v.operands.empty()) {
      const Value& callee = lifted[v.operands[0]];
      comprehension = callee.kind == ValueKind::Operation &&
                      (callee.op == Op::MAKE_FUNCTION || callee.op == Op::SET_FUNCTION_ATTRIBUTE);
    }
    if (comprehension) return;
    const auto is_iterator = [&](ValueId operand) {
      const Value& value = lifted[operand];
      return value.op == Op::GET_ITER && value.kind == ValueKind::Operation &&
             value.aux != kIteratorWritten;
    };
    const std::span<const ValueId> operands =
        v.operands.first(std::min(v.operands.size(), kids.size()));
    std::size_t i = v.op == Op::CALL;
    while (i < operands.size() && !is_iterator(operands[i])) ++i;
    if (i >= operands.size()) return;
    const std::span<ExprId> changed = ast.arena.copy(kids);
    for (; i < operands.size(); ++i)
      if (is_iterator(operands[i])) changed[i] = call_of_iter(ast, kids[i]);
    kids = changed;
  }

  // --- functions

  /// A function of a live code object, which must stay that very object: a call of the type of
  /// functions, in words that nobody can rebind.
  ExprId function_of(ExprId code, ExprId closure) {
    const auto raw = [&](const char* text) {
      return leaf(ExprKind::Raw, ast.module->intern(text).index);
    };
    const ExprId none = ast.constant(ast.module->add(Const()), origin());
    return node(ExprKind::Call, {raw("(lambda: 0).__class__"), code, raw("(lambda: 0).__globals__"),
                                 none, none, closure});
  }

  ExprId make_function() {
    static constexpr std::uint32_t order[] = {1, 2, 4, 8, 16};
    ExprId parts[5];
    std::size_t at = 0;
    for (std::size_t i = 0; i < 5; ++i)
      if (v.arg & order[i]) {
        need(at + 1);
        parts[i] = kids[at++];
      }
    need(at + 1);
    const Const* code = constant(kids[at]);
    if (code && code->kind == ConstKind::Object && v.arg == 8)
      return function_of(kids[at], parts[3]);
    if (!code || code->kind != ConstKind::Code)
      no_source_form(v, "a function, because its code is no constant: it");
    return node(ExprKind::FunctionValue, parts, code->code.index, static_cast<std::uint8_t>(v.arg));
  }

  ExprId set_function_attribute() {
    need(2);
    Expr e = ast[kids[1]];
    if (e.kind != ExprKind::FunctionValue) no_source_form(v, "an expression");
    e.kids = ast.arena.copy(e.kids);
    for (std::size_t i = 0; i < 5; ++i)
      if (v.arg & (1u << i)) e.kids[i] = kids[0];
    e.op |= static_cast<std::uint8_t>(v.arg);
    return ast.add(e);
  }

  ExprId super_attribute() {
    need(3);
    const Expr &cls = ast[kids[1]], &self = ast[kids[2]];
    const CodeObject& code = module()[lifted.code];
    const bool usual = !(v.aux & 2) && cls.kind == ExprKind::Name &&
                       module()[StrId(cls.a)] == "__class__" && self.kind == ExprKind::Name &&
                       code.argcount > 0 && !code.slots.empty() &&
                       code.slots[0].name == StrId(self.a);
    const ExprId call =
        usual ? node(ExprKind::Call, {kids[0]}) : node(ExprKind::Call, {kids[0], kids[1], kids[2]});
    return node(ExprKind::Attribute, {call}, v.arg);
  }

  // --- subscripts

  /// Nothing, or a constant that the parser makes; `-1` is an operation.
  bool is_literal(ExprId e) const {
    const Const* c = e ? constant(e) : nullptr;
    if (!e) return true;
    return c && c->kind != ConstKind::Tuple &&
           !(c->kind == ConstKind::Int && (c->big ? c->text.starts_with('-') : c->integer < 0)) &&
           !(c->kind == ConstKind::Float && std::signbit(c->re)) && c->kind != ConstKind::Complex;
  }

  ExprId slice(ExprId lower, ExprId upper, ExprId step) {
    // From 3.14 on a slice of literals is a constant: one of these numbers was computed (`x[:60 *
    // 4]`), and a sign says so.
    if (lifted.traits.folds_displays && is_literal(lower) && is_literal(upper) && is_literal(step))
      for (ExprId* part : {&lower, &upper, &step}) {
        const Const* c = *part ? constant(*part) : nullptr;
        if (!c || (c->kind != ConstKind::Int && c->kind != ConstKind::Float)) continue;
        *part =
            node(ExprKind::Unary, {*part}, UINT32_MAX, static_cast<std::uint8_t>(UnaryOp::Plus));
        break;
      }
    if (is_const(lower, ConstKind::None)) lower = ExprId::none();
    if (is_const(upper, ConstKind::None)) upper = ExprId::none();
    return node(ExprKind::Slice, {lower, upper, step});
  }

  ExprId constant_slice(const Const& c) {
    ExprId parts[3];
    for (std::size_t i = 0; i < 3 && i < c.items.size(); ++i)
      if (module()[c.items[i]].kind != ConstKind::None) parts[i] = item_of_constant(c.items[i]);
    return node(ExprKind::Slice, parts);
  }

  /// Slices may be constants, and items of constant tuples; they are written out inside brackets
  /// only.
  ExprId index(ExprId id) {
    const Const* c = constant(id);
    if (!c) return id;
    if (c->kind == ConstKind::Slice) return constant_slice(*c);
    if (c->kind != ConstKind::Tuple) return id;
    bool any = false;
    for (ConstId item : c->items) any = any || module()[item].kind == ConstKind::Slice;
    if (!any) return id;
    std::vector<ExprId> items;
    for (ConstId item : c->items)
      items.push_back(module()[item].kind == ConstKind::Slice ? constant_slice(module()[item])
                                                              : item_of_constant(item));
    return node(ExprKind::Tuple, items);
  }

  // --- strings

  ExprId joined(ExprId spec) {
    if (ast[spec].kind == ExprKind::JoinedStr) return spec;
    return node(ExprKind::JoinedStr, {part(spec)});
  }
  ExprId part(ExprId id) {
    const Expr& e = ast[id];
    if (e.kind == ExprKind::FormattedValue || is_const(id, ConstKind::Str)) return id;
    return node(ExprKind::FormattedValue, {id, ExprId::none()});
  }

  ExprId format() {
    need(v.aux & 1 ? 2 : 1);
    ExprId value = kids[0];
    std::uint8_t conversion = static_cast<std::uint8_t>(v.arg);
    if (const Expr& e = ast[value];
        e.kind == ExprKind::FormattedValue && e.a != UINT32_MAX) {  // CONVERT
      conversion = e.op;
      value = e.kids[0];
    }
    const ExprId spec = v.aux & 1 ? joined(kids[1]) : ExprId::none();
    return node(ExprKind::FormattedValue, {value, spec}, UINT32_MAX, conversion);
  }

  ExprId template_string() {
    need(2);
    const Const& strings = names_tuple(kids[0]);
    std::vector<ExprId> parts;
    std::span<const ExprId> values;
    if (ast[kids[1]].kind == ExprKind::Tuple) {
      values = ast[kids[1]].kids;
    } else if (const Const* c = constant(kids[1]);
               !c || c->kind != ConstKind::Tuple || !c->items.empty()) {
      no_source_form(v, "a template string");
    }
    for (std::size_t i = 0; i < strings.items.size() || i < values.size(); ++i) {
      if (i < strings.items.size() && !module()[strings.items[i]].text.empty())
        parts.push_back(ast.constant(strings.items[i], origin()));
      if (i < values.size()) parts.push_back(values[i]);
    }
    return node(ExprKind::TemplateStr, parts);
  }

  ExprId expression();
  ExprId operation();
  ExprId display();
  ExprId call();
  ExprId target();
  StmtId statement();

  StmtId simple(StmtKind kind, ExprId e, std::uint8_t flag = 0, std::span<const ExprId> list = {}) {
    const StmtId id = ast.stmt(kind, origin());
    Stmt& s = ast[id];
    s.flag = flag;
    s.e[0] = e;
    s.list = ast.arena.copy(list);
    return id;
  }

  ExprId as_bool(ExprId value) {
    const auto no = static_cast<std::uint8_t>(UnaryOp::Not);
    return node(ExprKind::Unary, {node(ExprKind::Unary, {value}, UINT32_MAX, no)}, UINT32_MAX, no);
  }

  void grows(ExprKind kind) const {
    if (ast[kids[0]].kind != kind) no_source_form(v, "an expression");
  }

  StmtId append(std::uint8_t flag) {
    need(2);
    std::vector<ExprId> items(kids.begin() + 1, kids.end());
    if (flag == 2 && items.size() == 2 && (v.aux & 1)) std::swap(items[0], items[1]);
    return simple(StmtKind::Append, kids[0], flag, items);
  }
};

/// Collections and strings that are made of parts, or grow by one.
ExprId Maker::display() {
  switch (v.op) {
    case Op::BUILD_TUPLE:
      return node(ExprKind::Tuple, kids);
    case Op::BUILD_LIST:
      return node(ExprKind::List, kids);
    case Op::BUILD_SET:
      return one_by_one();
    case Op::BUILD_MAP:
      return node(ExprKind::Dict, kids.first(kids.size() & ~std::size_t{1}));
    case Op::BUILD_CONST_KEY_MAP: {
      need(1);
      const Const& keys = names_tuple(kids.back());
      if (keys.items.size() + 1 != kids.size())
        throw Error("dictionary at offset " + std::to_string(v.offset) +
                    " has not one value for each key");
      std::vector<ExprId> pairs;
      for (std::size_t i = 0; i < keys.items.size(); ++i) {
        pairs.push_back(item_of_constant(keys.items[i]));
        pairs.push_back(kids[i]);
      }
      return node(ExprKind::Dict, pairs, UINT32_MAX, kKeyed);
    }
    case Op::BUILD_STRING: {
      std::vector<ExprId> parts;
      for (ExprId kid : kids) parts.push_back(part(kid));
      return node(ExprKind::JoinedStr, parts);
    }
    case Op::BUILD_SLICE:
      need(2);
      return slice(kids[0], kids[1], kids.size() > 2 ? kids[2] : ExprId::none());
    case Op::BUILD_TUPLE_UNPACK:
      return unpack_display(ExprKind::Tuple, kids.size(), v.aux == 0 ? kWhole : 0);
    case Op::BUILD_LIST_UNPACK:
      return unpack_display(ExprKind::List, kids.size());
    case Op::BUILD_SET_UNPACK:
      return unpack_display(ExprKind::Set, kids.size());
    case Op::BUILD_MAP_UNPACK:
      return unpack_mappings(kids.size(), v.aux == 0 ? kWhole : 0);
    case Op::LIST_APPEND:
      need(2);
      grows(ExprKind::List);
      return grow(kids[0], {kids[1]});
    case Op::SET_ADD:
      need(2);
      grows(ExprKind::Set);
      return grow(kids[0], {kids[1]});
    case Op::MAP_ADD: {
      need(3);
      grows(ExprKind::Dict);
      const bool value_first = v.aux & 1;
      return grow(kids[0], {kids[value_first ? 2 : 1], kids[value_first ? 1 : 2]});
    }
    case Op::LIST_EXTEND:
      need(2);
      grows(ExprKind::List);
      return extend(kids[0], kids[1], ConstKind::Tuple);
    case Op::SET_UPDATE:
      need(2);
      grows(ExprKind::Set);
      return extend(kids[0], kids[1], ConstKind::FrozenSet);
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE:
      need(2);
      grows(ExprKind::Dict);
      return merge(kids[0], kids[1], v.op == Op::DICT_UPDATE);
    case Op::LIST_TO_TUPLE:
      need(1);
      return to_tuple(kids[0]);
    case Op::FORMAT:
      return format();
    case Op::CONVERT:
      need(1);
      return node(ExprKind::FormattedValue, {kids[0], ExprId::none()}, 0,
                  static_cast<std::uint8_t>(v.arg));
    case Op::BUILD_INTERPOLATION: {
      need(2);
      const ExprId text = kids[1];
      const ExprId spec = (v.aux & 1) && kids.size() > 2 ? joined(kids[2]) : ExprId::none();
      if (!is_const(text, ConstKind::Str))
        no_source_form(v, "an interpolation, because its text is no constant: it");
      return node(ExprKind::Interpolation, {kids[0], spec}, ast[text].a,
                  static_cast<std::uint8_t>(v.arg));
    }
    case Op::BUILD_TEMPLATE:
      return template_string();
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~OP_DISPLAYS)
#include "opcode/op.def"
      break;
  }
  no_source_form(v, "an expression");
}

/// Calls, functions, and what the interpreter does by itself.
ExprId Maker::call() {
  switch (v.op) {
    case Op::CALL:
      need(1);
      return node(ExprKind::Call, kids);
    case Op::CALL_KW:
      return call_with_names();
    case Op::CALL_EX:
      return call_unpacked();
    case Op::MAKE_FUNCTION:
      return make_function();
    case Op::SET_FUNCTION_ATTRIBUTE:
      return set_function_attribute();
    case Op::INTRINSIC_1:
      need(1);
      switch (static_cast<Intrinsic1>(v.arg)) {
        case Intrinsic1::UnaryPositive:
          return node(ExprKind::Unary, {kids[0]}, UINT32_MAX,
                      static_cast<std::uint8_t>(UnaryOp::Plus));
        case Intrinsic1::ListToTuple:
          return to_tuple(kids[0]);
        case Intrinsic1::AsyncGenWrap:
          return kids[0];
        case Intrinsic1::Print:
        case Intrinsic1::ImportStar:
        case Intrinsic1::StopIterationError:
        case Intrinsic1::TypeVar:
        case Intrinsic1::ParamSpec:
        case Intrinsic1::TypeVarTuple:
        case Intrinsic1::SubscriptGeneric:
        case Intrinsic1::TypeAlias:
          break;
      }
      return node(ExprKind::Intrinsic, {kids[0]}, UINT32_MAX, static_cast<std::uint8_t>(v.arg));
    case Op::INTRINSIC_2:
      need(2);
      return node(ExprKind::Intrinsic, {kids[0], kids[1]}, UINT32_MAX,
                  static_cast<std::uint8_t>(64 + v.arg));
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~OP_CALLS)
#include "opcode/op.def"
      break;
  }
  no_source_form(v, "an expression");
}

ExprId Maker::operation() {
  switch (v.op) {
    case Op::UNARY:
      need(1);
      return node(ExprKind::Unary, {kids[0]}, UINT32_MAX, static_cast<std::uint8_t>(v.arg));
    case Op::BINARY:
    case Op::INPLACE:
      need(2);
      return node(ExprKind::Binary, {kids[0], kids[1]}, UINT32_MAX,
                  static_cast<std::uint8_t>(v.arg));
    case Op::COMPARE:
      need(2);
      // Its result is made a bool, and no test follows: `not not a < b`.
      return v.aux == 1 ? as_bool(compare(static_cast<CompareOp>(v.arg)))
                        : compare(static_cast<CompareOp>(v.arg));
    case Op::IS:
      need(2);
      return compare(v.arg ? CompareOp::IsNot : CompareOp::Is);
    case Op::CONTAINS:
      need(2);
      return compare(v.arg ? CompareOp::NotIn : CompareOp::In);
    case Op::TO_BOOL:  // where a test follows, lift() took it away
      need(1);
      return as_bool(kids[0]);
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~OP_OPERATORS)
#include "opcode/op.def"
      break;
  }
  no_source_form(v, "an expression");
}

ExprId Maker::expression() {
  if (v.kind != ValueKind::Operation) no_source_form(v, "an expression");
  spell_iterators();
  switch (v.op) {
    case Op::LOAD_CONST:
    case Op::LOAD_FAST:
    case Op::LOAD_DEREF:
    case Op::LOAD_GLOBAL:
    case Op::LOAD_NAME:
      return load();
    case Op::LOAD_COMMON:
      return leaf(ExprKind::Common, UINT32_MAX, static_cast<std::uint8_t>(v.arg));
    case Op::LOAD_BUILD_CLASS:
      return leaf(ExprKind::ClassBuilder);
    case Op::LOAD_FAST_AND_CLEAR:
      // No statement puts a variable aside that may be unbound.
      throw Error("structure: an inlined comprehension is no expression, at offset " +
                  std::to_string(v.offset));
    case Op::LOAD_CLASSDEREF:
      return name(slot_name(v.arg), NameScope::ClassDeref);
    case Op::LOAD_CLOSURE:
      return leaf(ExprKind::CellRef, slot_name(v.arg).index);
    case Op::LOAD_FROM_DICT_OR_GLOBALS:
      return name(StrId(v.arg), NameScope::Name);
    case Op::LOAD_LOCALS:
      return leaf(ExprKind::LocalsDict);
    case Op::LOAD_ATTR:
    case Op::LOAD_METHOD:
      need(1);
      return node(ExprKind::Attribute, {kids[0]}, v.arg);
    case Op::LOAD_SUPER_ATTR:
      return super_attribute();
    case Op::LOAD_SUBSCR:
      need(2);
      return node(ExprKind::Subscript, {kids[0], index(kids[1])});
    case Op::LOAD_SLICE:
      need(3);
      return node(ExprKind::Subscript, {kids[0], slice(kids[1], kids[2], ExprId::none())});
#define OP(name, ...) case Op::name:
#define OP_GROUPS OP_OPERATORS
#include "opcode/op.def"
      return operation();
#define OP(name, ...) case Op::name:
#define OP_GROUPS OP_DISPLAYS
#include "opcode/op.def"
      return display();
#define OP(name, ...) case Op::name:
#define OP_GROUPS OP_CALLS
#include "opcode/op.def"
      return call();
    case Op::GET_ITER:
    case Op::GET_YIELD_FROM_ITER:
    case Op::GET_AITER:
    case Op::GET_AWAITABLE:
      need(1);
      return kids[0];
    case Op::YIELD_VALUE:
      need(1);
      return node(ExprKind::Yield, {is_const(kids[0], ConstKind::None) ? ExprId::none() : kids[0]});
    case Op::YIELD_FROM: {
      need(1);
      const Value& operand = lifted[v.operands[0]];
      const bool awaited = operand.kind == ValueKind::Operation && operand.op == Op::GET_AWAITABLE;
      return node(awaited ? ExprKind::Await : ExprKind::YieldFrom, {kids[0]});
    }
    case Op::IMPORT_NAME:
      need(2);
      return node(ExprKind::ImportModule, {kids[0], kids[1]}, v.arg,
                  static_cast<std::uint8_t>(v.aux));
    case Op::IMPORT_FROM:
      need(1);
      return node(ExprKind::ImportedName, {kids[0]}, v.arg);

    // No expression by themselves: shuffles and control (gone after lift), stores (statements), and
    // parts of for, with, try and match.
    case Op::GET_ANEXT:
    case Op::END_SEND:
    case Op::CLEANUP_THROW:
    case Op::UNPACK_SEQUENCE:
    case Op::UNPACK_EX:
    case Op::IMPORT_STAR:
#define OP(name, ...) case Op::name:
#define OP_GROUPS                                                                               \
  (OP_STACK | OP_STORES | OP_MANAGERS | OP_EXCEPTIONS | OP_MODULES | OP_PATTERNS | OP_CONTROL | \
   OP_MARKERS)
#include "opcode/op.def"
      break;
  }
  no_source_form(v, "an expression");
}

ExprId Maker::target() {
  switch (v.op) {
    case Op::STORE_FAST:
    case Op::DELETE_FAST:
      return name(slot_name(v.arg), NameScope::Fast);
    case Op::STORE_DEREF:
    case Op::DELETE_DEREF:
      return name(slot_name(v.arg), NameScope::Deref);
    case Op::STORE_GLOBAL:
    case Op::DELETE_GLOBAL:
      return name(StrId(v.arg), NameScope::Global);
    case Op::STORE_NAME:
    case Op::DELETE_NAME:
      return name(StrId(v.arg), NameScope::Name);
    case Op::STORE_ATTR:
    case Op::DELETE_ATTR:
      need(1);
      return node(ExprKind::Attribute, {kids[0]}, v.arg);
    case Op::STORE_SUBSCR:
    case Op::DELETE_SUBSCR:
      need(2);
      return node(ExprKind::Subscript, {kids[0], index(kids[1])});
    case Op::STORE_SLICE:
      need(3);
      return node(ExprKind::Subscript, {kids[0], slice(kids[1], kids[2], ExprId::none())});
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~OP_STORES)
#include "opcode/op.def"
      break;
  }
  no_source_form(v, "an assignment target");
}

StmtId Maker::statement() {
  static constexpr OpSet deletes{Op::DELETE_FAST, Op::DELETE_DEREF, Op::DELETE_GLOBAL,
                                 Op::DELETE_NAME, Op::DELETE_ATTR,  Op::DELETE_SUBSCR};
  // by the flag of Append
  static constexpr Op appends[] = {Op::LIST_APPEND, Op::SET_ADD,    Op::MAP_ADD,
                                   Op::LIST_EXTEND, Op::SET_UPDATE, Op::DICT_UPDATE};
  if (deletes[v.op]) {
    const ExprId deleted[] = {target()};
    return simple(StmtKind::Delete, ExprId::none(), 0, deleted);
  }
  if ((v.aux & kInPlace) && kAdds[v.op]) {
    const Op adds = v.op == Op::DICT_MERGE ? Op::DICT_UPDATE : v.op;
    return append(static_cast<std::uint8_t>(
        std::find(std::begin(appends), std::end(appends), adds) - std::begin(appends)));
  }
  if (v.op == Op::SETUP_ANNOTATIONS)
    return simple(StmtKind::Pass, ExprId::none(), kSetupAnnotations);
  const bool intrinsic = v.op == Op::INTRINSIC_1;
  if (v.op == Op::IMPORT_STAR ||
      (intrinsic && static_cast<Intrinsic1>(v.arg) == Intrinsic1::ImportStar)) {
    need(1);
    return simple(StmtKind::ImportStar, kids[0]);
  }
  if (v.op == Op::PRINT_EXPR ||
      (intrinsic && static_cast<Intrinsic1>(v.arg) == Intrinsic1::Print)) {
    need(1);
    return simple(StmtKind::Expr, kids[0]);
  }
  if (v.op == Op::RETURN_VALUE) {  // with code after it
    need(1);
    return simple(StmtKind::Return, kids[0]);
  }
  if (v.op == Op::RAISE) {  // with code after it
    const StmtId id = simple(StmtKind::Raise, ExprId::none());
    for (std::size_t i = 0; i < kids.size() && i < 2; ++i) ast[id].e[i] = kids[i];
    return id;
  }
  if (v.op == Op::GET_ITER) {  // a loop or comprehension implies it; alone it has to be written
    need(1);
    const ExprId iter = name(ast.module->intern("iter"), NameScope::Global);
    return simple(StmtKind::Expr, node(ExprKind::Call, {iter, kids[0]}));
  }
  return simple(StmtKind::Expr, expression());
}

}  // namespace

ExprId call_of_iter(Ast& ast, ExprId iterable) {
  const Origin origin = ast[iterable].origin;
  return ast.expr(
      ExprKind::Call,
      {ast.expr(ExprKind::Raw, {}, ast.module->intern(kIterPlaceholder).index, 0, origin),
       iterable},
      UINT32_MAX, 0, origin);
}

ExprId make_expression(Ast& ast, const Lifted& lifted, ValueId value,
                       std::span<const ExprId> kids) {
  return Maker{ast, lifted, lifted[value], kids}.expression();
}

ExprId make_load(Ast& ast, const Lifted& lifted, ValueId value) {
  return Maker{ast, lifted, lifted[value], {}}.load();
}

StmtId make_statement(Ast& ast, const Lifted& lifted, ValueId value, std::span<const ExprId> kids) {
  return Maker{ast, lifted, lifted[value], kids}.statement();
}

ExprId make_target(Ast& ast, const Lifted& lifted, ValueId store, std::span<const ExprId> kids) {
  return Maker{ast, lifted, lifted[store], kids}.target();
}

}  // namespace depyf
