#include "verify/verify.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "bytecode/bound_names.h"
#include "bytecode/effect.h"
#include "bytecode/instr.h"
#include "bytecode/scan.h"
#include "flow/cfg.h"
#include "flow/gaps.h"
#include "lift/lifted.h"
#include "opcode/op_set.h"
#include "opcode/tables.h"
#include "pyc/identifier.h"
#include "pyc/pyc.h"
#include "simplify/simplify.h"
#include "support/error.h"
#include "verify/canon.h"
#include "verify/exact.h"
#include "verify/lifetimes.h"
#include "verify/lockstep.h"
#include "verify/promises.h"
#include "verify/raw_code.h"

namespace depyf {
namespace {

using namespace verify_detail;

constexpr const char* kTestsOther = "one side tests a value that is no bool";

/// tmp_3, graph_out_0 (torch/_dynamo/output_graph.py, new_var) or __temp_1.
bool is_made_up(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size()) return false;
  const std::string_view stem = name.substr(0, last + 1);
  return stem == "tmp_" || stem == "graph_out_" || stem == "random_values_" || stem == "__temp_";
}

/// `to = from`, or `to = value` after `from = value`, in the entry block, which runs once, where
/// both are bound once and not deleted: what `to` keeps, `from` keeps. From `to` to `from`, by
/// slot.
std::unordered_map<std::uint32_t, std::uint32_t> copies_of_slots(const Lifted& lifted,
                                                                 const Module& module) {
  std::unordered_map<std::uint32_t, std::uint32_t> found, changes;
  if (!lifted.entry.valid()) return found;
  for (const LiftedBlock& block : lifted.blocks)
    for (const Edge& edge : block.edges)
      if (edge.to == lifted.entry) return found;
  for (const Region& region : lifted.regions)
    if (region.handler == lifted.entry) return found;
  const std::size_t parameters = module[lifted.code].parameter_count();
  std::unordered_set<std::uint32_t> stored;
  std::unordered_map<std::uint32_t, std::uint32_t> holder;  // of a value: the first slot
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body) {
      const Value& value = lifted[id];
      if (value.kind != ValueKind::Operation) continue;
      if (value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR)
        changes[value.arg] += 2;
      const bool in_entry = &block == &lifted[lifted.entry];
      // what a slot gives before it is stored into, an argument, is not what it keeps
      if (value.op == Op::LOAD_FAST && in_entry && stored.count(value.arg))
        holder.emplace(id.index, value.arg);
      if (value.op != Op::STORE_FAST) continue;
      ++changes[value.arg];
      if (!in_entry) continue;
      const auto known = holder.emplace(value.operands[0].index, value.arg);
      if (!known.second && known.first->second != value.arg && value.arg >= parameters)
        found.emplace(value.arg, known.first->second);
      stored.insert(value.arg);
    }
  for (auto it = found.begin(); it != found.end();)
    it = changes[it->first] == 1 && changes[it->second] == 1 ? std::next(it) : found.erase(it);
  return found;
}

/// `slots` without copies of a local that is not among them: it keeps what they keep.
std::vector<bool> without_copies(const Lifted& lifted, const Module& module,
                                 std::vector<bool> slots) {
  const auto copies = copies_of_slots(lifted, module);
  for (const auto& [to, first] : copies) {
    std::uint32_t from = first;
    for (auto next = copies.find(from); from < slots.size() && slots[from] && next != copies.end();
         next = copies.find(from))
      from = next->second;
    if (to < slots.size() && from < slots.size() && !slots[from]) slots[to] = false;
  }
  return slots;
}

/// Does everything that is reached from the handler of `region` leave alone what lies below it on
/// the stack?
bool handler_stays_above(const Cfg& cfg, const Region& region) {
  std::vector<std::uint64_t> entry(cfg.size(), UINT64_MAX);
  std::vector<std::uint32_t> work;
  bool known = true;
  const auto enter = [&](BlockId to, std::uint64_t depth) {
    if (!to.valid()) return;
    if (entry[to.index] == UINT64_MAX) {
      entry[to.index] = depth;
      work.push_back(to.index);
    } else if (depth < entry[to.index]) {
      known = false;
    }
  };
  const auto raise_into =
      [&](const Region& handled) {  // nothing counts but what is pushed for the handler
        enter(handled.handler, handled.entry == HandlerEntry::Six ? 6u : handled.lasti ? 2u : 1u);
      };
  raise_into(region);
  while (!work.empty()) {
    const Block& block = cfg.blocks[work.back()];
    std::uint64_t depth = entry[work.back()], at_target = depth;
    work.pop_back();
    if (block.region.valid()) raise_into(cfg[block.region]);
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const StackEffect effect = stack_effect(cfg.instrs[i]);
      if (effect.pops > depth) return false;
      at_target = depth - effect.pops + effect.target_pushes;
      depth = depth - effect.pops + effect.pushes;
    }
    enter(block.next, depth);
    enter(block.target, at_target);
  }
  return known;
}

/// lift() reads stack slots by what they hold. Here their number: the stack stays within
/// co_stacksize, and wherever something may raise it is at least as deep as the handler wants it,
/// or else (as in the contexts that Dynamo puts around a call whose operands lie on the stack) what
/// the handler leads to never looks below its own values. False in code that no compiler makes,
/// which may do anything.
/// `handlers`: also what handlers want.
bool stack_is_sound(const CodeObject& code, const Cfg& cfg, bool handlers) {
  constexpr std::uint64_t kUnknown = UINT64_MAX;
  // Where KW_NAMES hands the names over, the constant that decode() puts before the call is not on
  // the stack.
  const VersionTable* table = version_table(code.version);
  const bool names_aside =
      table && std::any_of(table->opcodes.begin(), table->opcodes.end(),
                           [](const OpcodeInfo& info) { return info.name == "KW_NAMES"; });
  std::vector<std::uint64_t> entry(cfg.size(), kUnknown);
  std::vector<std::uint8_t> shallow(cfg.regions.size(),
                                    0);  // 1: may be entered with less on the stack, 2: may not
  std::vector<std::uint32_t> work{cfg.entry.index};
  entry[cfg.entry.index] = 0;
  const auto enter = [&](BlockId to, std::uint64_t depth) {
    if (!to.valid() || entry[to.index] != kUnknown) return;
    entry[to.index] = depth;
    work.push_back(to.index);
  };
  while (!work.empty()) {
    const Block& block = cfg.blocks[work.back()];
    std::uint64_t depth = entry[work.back()], at_target = depth;
    work.pop_back();
    const Region* region = block.region.valid() ? &cfg[block.region] : nullptr;
    if (region)
      enter(region->handler, region->depth + (region->entry == HandlerEntry::Six ? 6u
                                              : region->lasti                    ? 2u
                                                                                 : 1u));
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg.instrs[i];
      const StackEffect effect = stack_effect(instr);
      if (effect.pops > depth) return false;
      const std::uint64_t least = depth - effect.pops + std::min(effect.pops, effect.pushes);
      if (handlers && region && !cannot_raise(instr.op) && least < region->depth) {
        std::uint8_t& known = shallow[block.region.index];
        if (known == 0) known = handler_stays_above(cfg, *region) ? 1 : 2;
        if (known == 2) return false;
      }
      at_target = depth - effect.pops + effect.target_pushes;
      depth = depth - effect.pops + effect.pushes;
      // So is what RETURN_CONST returns, which decode() splits.
      const bool aside = i + 1 < block.end &&
                         ((names_aside && cfg.instrs[i + 1].op == Op::CALL_KW) ||
                          (instr.op == Op::LOAD_CONST && cfg.instrs[i + 1].op == Op::RETURN_VALUE &&
                           cfg.instrs[i + 1].offset == instr.offset));
      if (std::max(depth, at_target) > std::uint64_t{code.stacksize} + aside) return false;
    }
    enter(block.next, depth);
    enter(block.target, at_target);
  }
  return true;
}

/// How openly a local stands in its frame while it has a value.
enum class Exposure : std::uint8_t {
  None,   // nothing of the program runs
  Inner,  // code runs that only gets at it by walking through frames, or by an operator that is one
          // of the functions that show the caller's locals
  Call    // something is called that may show them: what is called may be such a function, under
          // any name
};

using Bits = std::vector<std::uint64_t>;

/// Follows a set of slots forwards from `entry`, until the sets where blocks begin grow no more
/// (union over the ways that lead there; a handler is entered after any operation).
/// `operation(value, now)` changes the set, `end(block, now)` sees it at the end of a block.
template <typename Operation, typename End>
void follow_slots(const Lifted& lifted, Bits entry, Operation&& operation, End&& end) {
  const std::size_t words = entry.size();
  if (words == 0) return;
  std::vector<Bits> in(lifted.blocks.size());
  std::vector<std::uint32_t> work;
  const auto enter = [&](BlockId to, const Bits& bits) {
    if (!to.valid()) return;
    Bits& at = in[to.index];
    bool changed = at.empty();
    at.resize(words);
    for (std::size_t w = 0; w < words; ++w) {
      changed |= (bits[w] & ~at[w]) != 0;
      at[w] |= bits[w];
    }
    if (changed) work.push_back(to.index);
  };
  enter(lifted.entry, entry);
  while (!work.empty()) {
    const LiftedBlock& block = lifted.blocks[work.back()];
    Bits now = in[work.back()], ever = now;
    work.pop_back();
    for (ValueId id : block.body) {
      if (lifted[id].kind != ValueKind::Operation) continue;
      operation(lifted[id], now);
      for (std::size_t w = 0; w < words; ++w) ever[w] |= now[w];
    }
    end(block, now);
    enter(block.edges[0].to, now);
    enter(block.edges[1].to, now);
    if (block.region.valid()) enter(lifted.regions[block.region.index].handler, ever);
  }
}

/// Exposure of each local, by slot.
std::vector<Exposure> exposure_of(const Lifted& lifted, const Module& module) {
  const std::size_t slots = module[lifted.code].slots.size(), words = (slots + 63) / 64;
  std::vector<Exposure> out(slots, Exposure::None);
  if (slots == 0) return out;
  if (words * lifted.blocks.size() > (std::size_t{1} << 20)) {
    out.assign(slots, Exposure::Call);
    return out;
  }
  const auto show = [&](const Bits& bits, Exposure how) {
    for (std::size_t w = 0; w < words; ++w)
      for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) {
        Exposure& slot = out[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
        slot = std::max(slot, how);
      }
  };
  const auto operation = [&](const Value& value, Bits& now) {
    // who sees the locals while the operation runs
    enum class Sees : std::uint8_t { Inner, Nothing, Bound, Unbound, Callee, Frame };
    static constexpr OpTable<Sees> kSees{
        {Sees::Bound, {Op::STORE_FAST}},
        {Sees::Unbound, {Op::DELETE_FAST, Op::LOAD_FAST_AND_CLEAR}},
        {Sees::Nothing,
         {Op::LOAD_CONST, Op::LOAD_COMMON, Op::LOAD_FAST, Op::LOAD_CLOSURE, Op::STORE_DEREF,
          Op::BUILD_TUPLE, Op::BUILD_LIST, Op::BUILD_SLICE, Op::LIST_APPEND, Op::LIST_TO_TUPLE,
          Op::MAKE_FUNCTION, Op::SET_FUNCTION_ATTRIBUTE, Op::IS, Op::POP_TOP, Op::POP_EXCEPT}},
        {Sees::Callee, {Op::CALL, Op::CALL_KW, Op::CALL_EX}},
        {Sees::Frame, {Op::LOAD_LOCALS, Op::IMPORT_STAR, Op::PRINT_EXPR}},
    };
    switch (kSees[value.op]) {
      case Sees::Bound:
        if (value.arg < slots) now[value.arg / 64] |= std::uint64_t{1} << (value.arg % 64);
        break;
      case Sees::Unbound:
        if (value.arg < slots) now[value.arg / 64] &= ~(std::uint64_t{1} << (value.arg % 64));
        break;
      case Sees::Nothing:
        break;
      case Sees::Callee:
        // A function that the code itself has just made has a frame of its own.
        show(now, lifted[value.operands[0]].op == Op::MAKE_FUNCTION &&
                          lifted[value.operands[0]].kind == ValueKind::Operation
                      ? Exposure::Inner
                      : Exposure::Call);
        break;
      case Sees::Frame:
        show(now, Exposure::Call);
        break;
      case Sees::Inner:
        show(now, Exposure::Inner);
        break;
    }
  };
  const auto end = [&](const LiftedBlock& block, const Bits& now) {
    if (block.term != TermKind::Return && block.term != TermKind::Jump) show(now, Exposure::Inner);
  };
  follow_slots(lifted, Bits(words, 0), operation, end);
  return out;
}

/// By slot: may control read or delete the local while it is unset? The error names it.
std::vector<bool> may_be_read_unset(const Lifted& lifted, const Module& module) {
  const CodeObject& code = module[lifted.code];
  const std::size_t slots = code.slots.size(), words = (slots + 63) / 64;
  std::vector<bool> out(slots, false);
  if (words * lifted.blocks.size() > (std::size_t{1} << 20)) {
    out.assign(slots, true);
    return out;
  }
  const auto bit = [](std::uint32_t i) { return std::uint64_t{1} << (i % 64); };
  Bits entry(words, ~std::uint64_t{0});
  const std::uint64_t arguments = code.parameter_count();
  for (std::uint32_t i = 0; i < arguments && i < slots; ++i) entry[i / 64] &= ~bit(i);
  const auto operation = [&](const Value& value, Bits& now) {
    if (value.arg >= slots) return;
    const bool unset = (now[value.arg / 64] & bit(value.arg)) != 0;
    if (value.op == Op::LOAD_FAST || value.op == Op::DELETE_FAST)
      out[value.arg] = out[value.arg] || unset;
    // An inlined comprehension gives its variable back as it was, unset or not.
    const bool gives_back = value.op == Op::STORE_FAST &&
                            lifted[value.operands[0]].op == Op::LOAD_FAST_AND_CLEAR &&
                            lifted[value.operands[0]].kind == ValueKind::Operation;
    if (value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR || gives_back)
      now[value.arg / 64] |= bit(value.arg);
    else if (value.op == Op::LOAD_FAST || value.op == Op::STORE_FAST)
      now[value.arg / 64] &= ~bit(value.arg);
  };
  follow_slots(lifted, std::move(entry), operation, [](const LiftedBlock&, const Bits&) {});
  return out;
}

/// May an operation give a value that nothing else holds, so that somebody sees it freed?
bool makes_values(const Lifted& lifted) {
  static constexpr OpSet makers{
      Op::CALL,        Op::CALL_KW,         Op::CALL_EX,     Op::BINARY,     Op::INPLACE,
      Op::UNARY,       Op::COMPARE,         Op::LOAD_SUBSCR, Op::LOAD_SLICE, Op::LOAD_ATTR,
      Op::LOAD_METHOD, Op::LOAD_SUPER_ATTR, Op::YIELD_VALUE, Op::YIELD_FROM, Op::IMPORT_NAME,
      Op::STORE_FAST,  Op::DELETE_FAST,     Op::GET_ITER,    Op::FORMAT};
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body)
      if (lifted[id].kind == ValueKind::Operation && makers[lifted[id].op]) return true;
  return false;
}

class Verifier {
 public:
  Verifier(Module& a, Module& b, const VerifyOptions& options)
      : a_(a), b_(b), options_(options), canon_(a, b, options.live) {}

  Verdict run(CodeId root_a, CodeId root_b) {
    pairs_.many(root_a, root_b);
    Verdict out;
    out.kind = VerdictKind::Identical;
    // Pairs of nested code objects are added while their parents are compared.
    std::size_t i = 0;
    for (; i < pairs_.list().size() && (i == 0 || options_.nested); ++i) {
      const auto [x, y] = pairs_.list()[i];
      const Verdict one = i && std::ranges::find(options_.rebuilt, x) != options_.rebuilt.end()
                              ? compare_rebuilt(x, y)
                              : compare(x, y, i == 0);
      out.kind = std::max(out.kind, one.kind);
      if (!is_proof(one.kind)) {
        if (out.codes.empty()) out.detail = (i ? "in " + path(x) + ": " : "") + one.detail;
        out.codes.push_back(x);
        continue;
      }
      if (one.detail.empty() || !ignored_.insert(one.detail).second) continue;
      if (out.codes.empty()) out.detail += (out.detail.empty() ? "" : "; ") + one.detail;
    }
    if (is_proof(out.kind)) add(out.detail, taken_for_granted());
    // Functions that only dead code makes decide no more than whether the two are identical.
    if (options_.nested && out.kind == VerdictKind::Identical) {
      adopt(dead_);
      for (; i < pairs_.list().size() && out.kind == VerdictKind::Identical; ++i) {
        const auto [x, y] = pairs_.list()[i];
        if (compare(x, y, false).kind != VerdictKind::Identical) out.kind = VerdictKind::Exact;
        adopt(dead_);
      }
    }
    return out;
  }

 private:
  Module &a_, &b_;
  bool iterates_once_ = false;  // equivalent() leaves out the second `iter` of a comprehension
  const VerifyOptions& options_;
  Canon canon_;
  Pairs pairs_, dead_;
  bool tests_format_[2] = {false, false};  // StackProblems::tests_format, of the last unsound()
  bool locals_order_differs_ = false;      // of the last pair, whose code asks for its locals
  bool unused_locals_differ_ = false;      // of the last pair
  std::set<std::string> ignored_;
  std::set<std::string> builtins_;  // that the text calls and the bytecode does not
  std::optional<std::string> binds_by_;
  std::optional<bool> replaces_import_;
  std::optional<PlainClasses> plain_classes_;

  std::string path(CodeId id) const {
    std::vector<std::string_view> names;
    for (; id.valid(); id = a_[id].parent) names.push_back(a_[a_[id].name]);
    std::string out;
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      if (!out.empty()) out += '/';
      out += *name;
    }
    return out;
  }

  static Verdict different(const Difference& difference) {
    Verdict out;
    out.kind = difference.distinguishes ? VerdictKind::Different : VerdictKind::Unproven;
    if (difference.has_offsets)
      out.detail = "at offset " + std::to_string(difference.offset_a) + " / " +
                   std::to_string(difference.offset_b) + ": ";
    out.detail += difference.text;
    return out;
  }

  /// The names that a class body of 3.13 and later stores as `__static_attributes__` at its end.
  static std::vector<std::string_view> static_attributes(Module& module, CodeId code) {
    std::vector<std::string_view> names;
    const InstrList list = decode(module, code);
    for (std::size_t i = 1; i < list.instrs.size(); ++i) {
      const Instr &store = list.instrs[i], &load = list.instrs[i - 1];
      if (store.op != Op::STORE_NAME || load.op != Op::LOAD_CONST ||
          module[StrId(store.arg)] != "__static_attributes__")
        continue;
      for (ConstId item : module[ConstId(load.arg)].items) names.push_back(module[item].text);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// No list of what binds names is complete: `pickle.loads` may do all that is said in a text.
  std::string taken_for_granted() const {
    if (builtins_.empty()) return {};
    std::string names;
    for (const std::string& name : builtins_) names += (names.empty() ? "" : ", ") + name;
    return "taken for granted: nothing replaces the builtins that the text calls and the bytecode "
           "does not: " +
           names;
  }

  Verdict compare_rebuilt(CodeId x, CodeId y) {
    Verdict out;
    try {
      // The class statement around the bytes stores its own after them.
      if (static_attributes(a_, x) != static_attributes(b_, y)) {
        out.kind = VerdictKind::Unproven;
        out.detail = "__static_attributes__ of the class is lost";
        return out;
      }
    } catch (const Error&) {
      // damaged code has none
    }
    std::optional<std::string> difference = arguments_difference(x, y, 0);
    if (!difference) difference = docstring_difference(x, y);
    if (difference) {
      out.detail = *difference;
      return out;
    }
    // The function around the bytes is the kind of generator that the flags say.
    if (std::string problem = generator_problem(x); !problem.empty()) {
      out.kind = VerdictKind::Unproven;
      out.detail = std::move(problem);
      return out;
    }
    if (std::string problem = rebuilding_problem(x); !problem.empty()) {
      out.kind = VerdictKind::Unproven;
      out.detail = std::move(problem);
      return out;
    }
    out.kind = VerdictKind::Equivalent;
    out.detail = rebuilding_ignores(x);
    // The statement around the bytes has a name of its own where no source can hold the code's.
    if (canon_.str(kA, a_[x].name) != canon_.str(kB, b_[y].name) ||
        canon_.str(kA, a_[x].qualname) != canon_.str(kB, b_[y].qualname))
      out.detail += "; " + name(a_, a_[x].qualname.valid() ? a_[x].qualname : a_[x].name) +
                    " is named " + name(b_, b_[y].qualname.valid() ? b_[y].qualname : b_[y].name);
    return out;
  }

  /// What a caller may tell code that runs the bytes from the code itself by.
  std::string rebuilding_ignores(CodeId id) {
    const CodeObject& code = a_[id];
    std::string said =
        "ignored: functions that are rebuilt from their bytes run one frame deeper, so that "
        "recursion meets its limit at half the depth, have another __code__ and constants "
        "of their own at each call, and keep their arguments alive until they return";
    if (code.flags & kAsyncGenerator)
      said +=
          "; that an async generator among them is made by a plain function "
          "(inspect.isasyncgenfunction)";
    else if (code.flags & (kGenerator | kCoroutine))
      said +=
          "; that a generator or coroutine among them runs inside another one, which is what its "
          "frame shows (gi_frame, gi_yieldfrom)";
    if (has_given_namespace(a_, id, plain_classes_))
      said +=
          "; that the namespace of a class with bases or keywords, if it is no dict, sees "
          "__module__ and __qualname__ stored twice";
    if (!binds_by().empty())
      said += "; that the module, which binds names with " + binds_by() +
              ", may so bind __import__, which they call";
    builtins_.insert("__import__");
    const bool by_class =  // exec() takes no cells there
        !code.version.has_exception_table() && !free_variables(code).empty();
    if (code.flags & kOptimized) {
      if (calls_more(code)) builtins_.insert("iter");
    } else {
      builtins_.insert({by_class ? "__build_class__" : "exec", "locals"});
    }
    return said;
  }

  /// Is more called than __import__ to run the bytes?
  bool calls_more(const CodeObject& code) const {
    return !(code.flags & kOptimized) ||
           (!code.slots.empty() && a_[code.slots[0].name].starts_with('.'));
  }

  /// Why code that runs the bytes may do something else than the code itself: what it calls for
  /// that (rewrite/rebuilt.cpp), and the NaNs, each of which equals nothing but itself.
  std::string rebuilding_problem(CodeId id) {
    if (!replaces_import_) replaces_import_ = may_replace(a_, "__import__");
    if (*replaces_import_)
      return "code that is rebuilt from its bytes calls __import__, which the module may replace";
    if (calls_more(a_[id]) && !binds_by().empty())
      return "code that is rebuilt from its bytes calls builtins, which the module may bind with " +
             binds_by();
    if (holds_nan(id)) return "code that is rebuilt from its bytes has another NaN at each call";
    return {};
  }

  bool holds_nan(CodeId id) const {
    std::vector<ConstId> work(a_[id].consts.begin(), a_[id].consts.end());
    std::set<std::uint32_t> seen;
    while (!work.empty()) {
      const ConstId at = work.back();
      work.pop_back();
      if (!seen.insert(at.index).second) continue;
      const Const& value = a_[at];
      if (is_nan(value)) return true;
      work.insert(work.end(), value.items.begin(), value.items.end());
      if (value.kind == ConstKind::Code)
        work.insert(work.end(), a_[value.code].consts.begin(), a_[value.code].consts.end());
    }
    return false;
  }

  /// binds_dynamically() of what `b` was decompiled from.
  const std::string& binds_by() {
    if (!binds_by_) binds_by_ = binds_dynamically(a_);
    return *binds_by_;
  }

  /// Does the code use a name of an attribute or a variable that no source can hold?
  bool has_odd_name(CodeId id) const {
    return std::ranges::any_of(a_[id].names, [&](StrId name) {
      return !(a_.traits(name) & kWritableName) && !is_writable_dotted_name(a_[name], a_.version);
    });
  }

  std::string generator_problem(CodeId id) {
    try {
      return broken_generator(a_[id], decode(a_, id));
    } catch (const Error&) {
      return {};  // damaged: it raises
    }
  }

  Verdict compare(CodeId x, CodeId y, bool root) {
    Verdict out;
    if (std::optional<std::string> header = header_difference(x, y, root, out.kind)) {
      out.detail = *header;
      return out;
    }
    InstrList list_a, list_b;
    Cfg cfg_a, cfg_b;
    try {
      list_a = decode(a_, x);
      list_b = decode(b_, y);
      mark_own_cells(a_[x], list_a);
      mark_own_cells(b_[y], list_b);
      cfg_a = build_cfg(a_, x, list_a);
      cfg_b = build_cfg(b_, y, list_b);
    } catch (const Error& error) {
      // What cannot be read does something else for all that is known; CPython may read on.
      out.kind = VerdictKind::Unproven;
      out.detail = error.what();
      return out;
    }
    const auto refuse = [&](std::string why) {
      out.kind = VerdictKind::Unproven;
      out.detail = std::move(why);
      return out;
    };
    // What is said about the instructions holds for code of which decode() understands all. Two
    // copies of one code do the same whatever that is.
    std::string problem = broken_promise(a_[x]);
    if (problem.empty()) problem = broken_promise(b_[y]);
    if (problem.empty()) problem = broken_generator(a_[x], list_a);
    if (problem.empty()) problem = broken_generator(b_[y], list_b);
    if (problem.empty()) problem = reads_unset(a_, x, cfg_a);
    if (problem.empty()) problem = reads_unset(b_, y, cfg_b);
    if (!problem.empty() && !same_bytes(a_[x], b_[y])) return refuse(problem);
    if (dropped_handlers(a_[x], list_a) != dropped_handlers(b_[y], list_b))
      return refuse(
          "a StopIteration that leaves the generator becomes a RuntimeError on one side only");
    const Canon::NanPairs nan_pairs = canon_.nan_pairs;
    Pairs nested;
    canon_.renamed.clear();
    canon_.orders_differ = canon_.nan_objects_differ = canon_.lines_differ = false;
    look_at_variables(x, cfg_a, y, cfg_b, root);
    const std::optional<Difference> first =
        exact_difference(canon_, x, cfg_a, y, cfg_b, options_.compare_names, nested);
    if (!first) {
      const bool sequence =
          same_sequence(canon_, x, list_a, y, list_b, options_.compare_names, dead_) &&
          same_instructions(a_[x], b_[y]);
      if (sequence) problem.clear();  // the same, whatever that is
      if (!sequence || a_[x].stacksize != b_[y].stacksize) {
        if (problem.empty()) problem = unsound(kA, x, list_a, cfg_a);
        if (problem.empty()) problem = unsound(kB, y, list_b, cfg_b);
        if (!problem.empty()) return refuse(problem);
      }
      out.kind = sequence ? VerdictKind::Identical : VerdictKind::Exact;
      if (leaves_out()) out.kind = VerdictKind::Equivalent;
      add_left_out(out.detail);
      adopt(nested);
      return out;
    }
    if (!problem.empty()) return refuse(problem);
    const auto part = [&](const char* why) {
      Verdict unproven = different(*first);
      unproven.kind = VerdictKind::Unproven;
      unproven.detail += why;
      return unproven;
    };
    // On either side, or on both: nothing can be said about code that does so.
    problem = unsound(kA, x, list_a, cfg_a, true);
    if (problem.empty()) problem = unsound(kB, y, list_b, cfg_b, true);
    if (problem.empty() && tests_format_[kA] != tests_format_[kB]) problem = kTestsOther;
    if (!problem.empty()) return part((" (and " + problem + ")").c_str());

    const bool dynamo = root && options_.dynamo;
    const bool live = root && options_.lifetimes;
    canon_.bare = {};
    const Cfg locals_a = live ? std::move(cfg_a) : cells_as_locals(kA, x, std::move(cfg_a));
    const Cfg locals_b = live ? std::move(cfg_b) : cells_as_locals(kB, y, std::move(cfg_b));
    for (const bool rename : {false, true}) {
      canon_.nan_pairs = nan_pairs;
      canon_.orders_differ = canon_.nan_objects_differ = canon_.lines_differ = false;
      Pairs lifted_nested;
      std::string what;
      std::optional<Verdict> refused =
          equivalent(x, y, locals_a, locals_b, dynamo, rename, *first, lifted_nested, what);
      if (!refused) {
        canon_.renamed.clear();
        adopt(lifted_nested);
        out.kind = VerdictKind::Equivalent;
        out.detail = what;
        add_left_out(out.detail);
        return out;
      }
      if (!rename) out = *refused;
      if (options_.decompiled) break;
    }
    canon_.renamed.clear();
    return out;
  }

  /// What the comparison of constants passed over.
  void add_left_out(std::string& detail) const {
    if (canon_.orders_differ) add(detail, kOrder);
    if (canon_.written_orders_differ) add(detail, kWrittenOrder);
    if (canon_.nan_objects_differ) add(detail, kNans);
    if (canon_.lines_differ) add(detail, kLines);
    if (locals_order_differs_) add(detail, kLocals);
    if (unused_locals_differ_) add(detail, kUnusedLocals);
  }

  void look_at_variables(CodeId x, const Cfg& cfg_a, CodeId y, const Cfg& cfg_b, bool root) {
    locals_order_differs_ = asks_for_locals(a_, cfg_a) && !same_order_of_locals(a_[x], b_[y]);
    unused_locals_differ_ = !(root && options_.dynamo) && (has_unused_local(kA, x, cfg_a, y) ||
                                                           has_unused_local(kB, y, cfg_b, x));
  }

  bool leaves_out() const {
    return canon_.orders_differ || canon_.written_orders_differ || locals_order_differs_ ||
           unused_locals_differ_;
  }

  /// Has the code a variable that the other has not and that none of its own instructions uses?
  /// Code that the compiler removed names it (`if 0: b = 1`).
  bool has_unused_local(Which side, CodeId id, const Cfg& cfg, CodeId other) {
    const Which others = side == kA ? kB : kA;
    const CodeObject& code = canon_.module(side)[id];
    std::vector<bool> wanted(code.slots.size(), false);
    for (std::size_t i = code.parameter_count(); i < wanted.size(); ++i)
      wanted[i] = code.slots[i].kind == kLocal;
    for (const Instr& instr : cfg.instrs)
      if (arg_kind(instr.op) == ArgKind::Local && instr.arg < wanted.size())
        wanted[instr.arg] = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      const std::uint32_t name = canon_.str(side, code.slots[i].name);
      const std::span<const Slot> slots = canon_.module(others)[other].slots;
      if (std::none_of(slots.begin(), slots.end(),
                       [&](const Slot& slot) { return canon_.str(others, slot.name) == name; }))
        return true;
    }
    return false;
  }

  /// Do the variables that both have come in one order? That of a variable which code that the
  /// compiler removed names first is lost with that code.
  bool same_order_of_locals(const CodeObject& x, const CodeObject& y) {
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (std::size_t i = 0; i < y.slots.size(); ++i) places[canon_.str(kB, y.slots[i].name)] = i;
    std::size_t last = 0;
    for (const Slot& slot : x.slots) {
      const auto found = places.find(canon_.str(kA, slot.name));
      if (found == places.end()) continue;
      if (found->second < last) return false;
      last = found->second;
    }
    return true;
  }

  /// Why nothing can be said about the code, which no compiler makes: CPython believes what the
  /// code says about its stack. Empty where it may. `tests`: lift() counts on what tests take.
  std::string unsound(Which side, CodeId id, const InstrList& list, const Cfg& cfg,
                      bool tests = false) {
    Module& module = side == kA ? a_ : b_;
    const CodeObject& code = module[id];
    if (cfg.misplaced != kNoOffset)
      return "the instruction at offset " + std::to_string(cfg.misplaced) +
             " does not find on the stack what handlers and `finally` bodies keep there";
    if (std::string problem = uninterruptible_loop(code, cfg); !problem.empty()) return problem;
    // As CPython runs it: build_cfg() takes out handlers that no source says.
    const bool handles = !cfg.regions.empty() || !list.rows.empty();
    std::optional<Cfg> as_written;
    if (handles) as_written = build_cfg_by_table(module, id, list);
    const Cfg& run = handles ? *as_written : cfg;
    const StackProblems problems = broken_stacks(module, id, run);
    if (!problems.handlers.empty()) return problems.handlers;
    tests_format_[side] = problems.tests_format;
    if (tests && problems.tests_other) return kTestsOther;
    if (handles && waits_at_other_depth(code, problems))
      return "a handler of `await` or `yield from` cuts the stack at another depth";
    const bool iterators = iterators_take_two(code.version);
    const std::uint64_t least = dropped_handlers(code, list) > 0 ? 2 : 0;
    // Those that only restore the state find less than they want in Dynamo's contexts.
    const bool sound = code.stacksize >= std::max(least, iterators ? problems.deepest : 0) &&
                       stack_is_sound(code, cfg, true) &&
                       (!handles || stack_is_sound(code, run, false));
    return sound ? std::string() : "one side leaves its stack";
  }

  /// The same code, byte by byte, and the same variables.
  bool same_bytes(const CodeObject& x, const CodeObject& y) {
    return std::ranges::equal(x.code, y.code) &&
           std::ranges::equal(x.exceptiontable, y.exceptiontable) &&
           std::equal(x.slots.begin(), x.slots.end(), y.slots.begin(), y.slots.end(),
                      [&](const Slot& p, const Slot& q) {
                        return p.kind == q.kind && canon_.str(kA, p.name) == canon_.str(kB, q.name);
                      });
  }

  void adopt(const Pairs& nested) {
    for (const auto& [x, y] : nested.list()) pairs_.many(x, y);
  }

  /// A cell that no function captures is a local of its function: what reads, stores or deletes the
  /// one does so with the other, and raises the same where it is unset. Not where the code asks for
  /// its locals, whose order differs.
  Cfg cells_as_locals(Which side, CodeId id, Cfg cfg) {
    const Module& module = canon_.module(side);
    const CodeObject& code = module[id];
    std::vector<bool>& local = canon_.bare[side];
    local.clear();
    if (!(code.flags & kOptimized) || asks_for_locals(module, cfg)) return cfg;
    local.resize(code.slots.size(), false);
    for (std::size_t i = 0; i < local.size(); ++i)
      local[i] = (code.slots[i].kind & kCell) != 0 && (code.slots[i].kind & kFree) == 0;
    const auto fast = [](Op op) {
      return op == Op::LOAD_DEREF     ? Op::LOAD_FAST
             : op == Op::STORE_DEREF  ? Op::STORE_FAST
             : op == Op::DELETE_DEREF ? Op::DELETE_FAST
                                      : op;
    };
    for (const Instr& instr : cfg.instrs) {
      const ArgKind kind = arg_kind(instr.op);
      if ((kind == ArgKind::Local || kind == ArgKind::Deref) && fast(instr.op) == instr.op &&
          instr.arg < local.size())
        local[instr.arg] = false;
    }
    for (Instr& instr : cfg.instrs)
      if (fast(instr.op) != instr.op && instr.arg < local.size() && local[instr.arg])
        instr.op = fast(instr.op);
    return cfg;
  }

  /// Nothing when the two are equivalent. `dynamo`: torch wrote the first of them. `rename`: locals
  /// may have other names. `ignored`: what counted for nothing.
  std::optional<Verdict> equivalent(CodeId x, CodeId y, const Cfg& cfg_a, const Cfg& cfg_b,
                                    bool dynamo, bool rename, const Difference& first,
                                    Pairs& nested, std::string& ignored) {
    std::string what = ignored;
    Pairs functions = nested;
    const std::optional<Verdict> found =
        equivalent_form(x, y, cfg_a, cfg_b, dynamo, rename, first, nested, ignored);
    if (!found || !a_.version.may_iterate_twice()) return found;
    iterates_once_ = true;
    const bool same = !equivalent_form(x, y, cfg_a, cfg_b, dynamo, rename, first, functions, what);
    iterates_once_ = false;
    if (!same) return found;
    nested = std::move(functions);
    add(ignored = what, kIterates);
    return std::nullopt;
  }

  Lifted lifted(Module& module, CodeId code, const Cfg& cfg, bool held = false) {
    Lifted out = lift(module, code, cfg, held);
    if (iterates_once_) drop_second_iter(out, module);
    return out;
  }

  std::optional<Verdict> equivalent_form(CodeId x, CodeId y, const Cfg& cfg_a, const Cfg& cfg_b,
                                         bool dynamo, bool rename, const Difference& first,
                                         Pairs& nested, std::string& ignored) {
    try {
      Lifted lifted_a = lifted(a_, x, cfg_a), lifted_b = lifted(b_, y, cfg_b);
      const std::vector<Exposure> exposed_a = exposure_of(lifted_a, a_),
                                  exposed_b = exposure_of(lifted_b, b_);
      if (rename && !rename_locals(x, cfg_a, exposed_a, y, cfg_b, exposed_b, ignored))
        return different(first);
      SimplifyOptions simplify_a, simplify_b;
      simplify_a.promotable = temporaries(kA, x, cfg_a, y, cfg_b, exposed_a, dynamo, ignored);
      simplify_b.promotable = temporaries(kB, y, cfg_b, x, cfg_a, exposed_b, dynamo, ignored);
      const bool lifetimes =
          options_.lifetimes && x == pairs_.list()[0].first && y == pairs_.list()[0].second;
      std::string outlives;
      const bool frees = !lifetimes && (makes_values(lifted_a) || makes_values(lifted_b));
      if (!lifetimes) {
        for (std::string_view name : outliving(lifted_b, b_, simplify_b.promotable))
          outlives += (outlives.empty() ? "" : ", ") + quoted(name);
        if (!outlives.empty())
          outlives = "ignored: values stay in " + outlives + " when nothing reads them any more";
      }
      if (rename) add(outlives, renamed_unset(kA, lifted_a, kB, lifted_b));
      if (lifetimes) {
        if (const auto held = held_too_long(
                lifted_b, b_, without_copies(lifted_b, b_, simplify_b.promotable), kB))
          return different(*held);
        if (const auto held = held_too_long(
                lifted_a, a_, without_copies(lifted_a, a_, simplify_a.promotable), kA))
          return different(*held);
      }
      simplify_a.iter_object = simplify_b.iter_object = options_.iter_object;
      simplify_a.order_stores = simplify_b.order_stores = dynamo;
      simplify_a.dynamo = simplify_b.dynamo = dynamo;
      simplify_a.own_locals = simplify_b.own_locals = options_.own_locals;
      // Which locals go is for temporaries() to say, so that their lifetimes are looked at.
      simplify_a.unread_temporaries = simplify_b.unread_temporaries = false;
      simplify_a.slices = simplify_b.slices = true;
      // What stands for such a name calls builtins, which must be the builtins.
      const bool odd_names = options_.decompiled && has_odd_name(x);
      const bool bound = odd_names && !options_.live && !binds_by().empty();
      simplify_a.odd_names = simplify_b.odd_names = odd_names && !options_.live && !bound;
      std::set<std::string> builtins;
      simplify_a.builtins = simplify_b.builtins = &builtins;
      simplify_a.displays = simplify_b.displays = true;
      simplify(lifted_a, a_, simplify_a);
      simplify(lifted_b, b_, simplify_b);
      std::optional<Difference> difference =
          lockstep_difference(canon_, lifted_a, lifted_b, options_.compare_names, dynamo, nested,
                              lifetimes ? options_.calls : nullptr);
      // Once more, with what the stack holds at each effect.
      const auto held_difference = [&](Pairs& functions) {
        lifted_a = lifted(a_, x, cfg_a, true);
        lifted_b = lifted(b_, y, cfg_b, true);
        simplify(lifted_a, a_, simplify_a);
        simplify(lifted_b, b_, simplify_b);
        return lockstep_difference(canon_, lifted_a, lifted_b, options_.compare_names, dynamo,
                                   functions);
      };
      if (!difference && lifetimes) difference = held_difference(nested);
      if (!difference && frees) {
        bool same = false;
        try {
          Pairs functions;
          same = !held_difference(functions);
        } catch (const Error&) {
          same = false;  // too large to compare
        }
        if (!same) add(outlives, kDeaths);
      }
      if (!difference) {
        add(ignored, outlives);
        builtins_.merge(builtins);
        return std::nullopt;
      }
      Verdict out = different(*difference);
      // Perhaps by the name alone, which the builtins may well reach.
      if (odd_names && !simplify_a.odd_names) out.kind = VerdictKind::Unproven;
      if (bound)
        out.detail +=
            " (a name that no source can hold is reached by builtins, which the module "
            "may bind with " +
            binds_by() + ")";
      return out;
    } catch (const Error& error) {
      Verdict out = different(first);
      out.kind = VerdictKind::Unproven;
      out.detail += std::string(" (and no more can be proven: ") + error.what() + ")";
      return out;
    }
  }

  /// Does an instruction use the local, by number of the name?
  std::vector<bool> used_names(Which side, CodeId id, const Cfg& cfg) {
    std::vector<bool> used(canon_.str_count() + 1, false);
    for (const Instr& instr : cfg.instrs)
      if (arg_kind(instr.op) == ArgKind::Local || arg_kind(instr.op) == ArgKind::Deref) {
        const std::uint32_t name = canon_.slot(side, id, instr.arg, false) / 4;
        if (name >= used.size()) used.resize(name + 1, false);
        used[name] = true;
      }
    return used;
  }

  /// Slots of `mine` that may be promoted: plain locals, no arguments, which the other side does
  /// not use.
  ///
  /// Who can see that such a local is not there? Only what looks at the frame's locals while it has
  /// a value, or what waits for the value to be freed. locals(), vars(), dir(), eval() and exec()
  /// look at the frame of Python code that calls them; any value that is called may be one of them.
  /// Everything else must walk there through frames (sys._getframe, tracebacks, debuggers), or make
  /// an operator of one of the five, which counts for nothing. So:
  /// · Where the code asks for its locals by name, nothing is promoted.
  /// · A local that has a value only where nothing of the program runs is seen by nobody.
  /// · Of what stands in for the original (B), a local that is read again is a value that the other
  ///   side keeps on its stack, as long as nothing is called while it has a value.
  /// · Where B was decompiled from A, the decompiler made up that name, and a call counts for
  ///   nothing: the caller knows of no alias of the five in the code's globals (recompile.py). In
  ///   Dynamo's code the same goes for the names that Dynamo makes up, unless the program has them
  ///   too: what it calls are compiled graphs, resume functions, and what the program calls by its
  ///   own name. Of other code (A) a local that somebody named stays: leaving it out frees its
  ///   value earlier.
  std::vector<bool> temporaries(Which side, CodeId mine, const Cfg& cfg, CodeId other,
                                const Cfg& other_cfg, const std::vector<Exposure>& exposed,
                                bool dynamo, std::string& ignored) {
    const Module& module = canon_.module(side);
    const CodeObject& code = module[mine];
    std::vector<bool> out(code.slots.size(), false);
    if (asks_for_locals(module, cfg) ||
        asks_for_locals(canon_.module(side == kA ? kB : kA), other_cfg))
      return out;
    const std::vector<bool> used = used_names(side == kA ? kB : kA, other, other_cfg);
    std::vector<bool> read(out.size(), false);
    for (const Instr& instr : cfg.instrs)
      if (instr.op == Op::LOAD_FAST && instr.arg < out.size()) read[instr.arg] = true;
    for (std::size_t i = code.parameter_count(); i < out.size(); ++i) {
      const Slot& slot = code.slots[i];
      const std::uint32_t name = canon_.slot(side, mine, static_cast<std::uint32_t>(i), false) / 4;
      if (slot.kind != kLocal || (name < used.size() && used[name])) continue;
      const std::string_view text = module[slot.name];
      const bool made_up =
          is_made_up(text) && std::find(options_.own_locals.begin(), options_.own_locals.end(),
                                        text) == options_.own_locals.end();
      if (exposed[i] == Exposure::None)
        out[i] = true;
      else if (options_.decompiled)
        out[i] = side == kB ? read[i] || made_up : made_up && (dynamo || read[i]);
      else if (dynamo && made_up)
        out[i] = read[i] || exposed[i] == Exposure::Inner;
      else
        out[i] = side == kB && read[i] && exposed[i] == Exposure::Inner;
      if (out[i] && exposed[i] != Exposure::None && !options_.decompiled) say(ignored, text);
    }
    return out;
  }

  static constexpr std::string_view kOrder =
      "ignored: the order in which `in` asks the items of a set of constants";
  static constexpr std::string_view kWrittenOrder =
      "ignored: the order of a set of constants in the file, which the compiler leaves to chance";
  static constexpr std::string_view kNans =
      "ignored: NaN constants of the two are not the same objects";
  static constexpr std::string_view kLines =
      "ignored: the line numbers that classes have in `__firstlineno__`";
  static constexpr std::string_view kLocals =
      "ignored: the order in which `locals()` has the variables";
  static constexpr std::string_view kUnusedLocals =
      "ignored: variables in `co_varnames` that only removed code names";
  static constexpr std::string_view kIterates =
      "ignored: a second call of `iter` in comprehensions, which some releases of 3.13 make";
  static constexpr std::string_view kDeaths =
      "ignored: when values that no variable holds are freed";

  static void add(std::string& detail, std::string_view what) {
    if (!what.empty()) (detail += detail.empty() ? "" : "; ") += what;
  }

  static std::string reads_unset(const Module& module, CodeId id, const Cfg& cfg) {
    const std::string local = unchecked_local(module, id, cfg);
    if (local.empty()) return {};
    return "the code reads the local " + quoted(local) + " unset, without looking";
  }

  static void say(std::string& ignored, std::string_view local) {
    const std::string name = quoted(local);
    if (ignored.find(name) != std::string::npos) return;
    ignored +=
        (ignored.empty() ? "ignored: who walks through frames sees the local " : ", ") + name;
  }

  /// Locals of B that stand for those of A with other names, in order, where both have as many that
  /// the other lacks. False where there are none, or where a call might see the names.
  bool rename_locals(CodeId x, const Cfg& cfg_a, const std::vector<Exposure>& exposed_a, CodeId y,
                     const Cfg& cfg_b, const std::vector<Exposure>& exposed_b,
                     std::string& ignored) {
    canon_.renamed.clear();
    if (asks_for_locals(a_, cfg_a) || asks_for_locals(b_, cfg_b)) return false;
    const std::vector<bool> used_a = used_names(kA, x, cfg_a), used_b = used_names(kB, y, cfg_b);
    const auto only = [&](Which side, CodeId id, const std::vector<bool>& mine,
                          const std::vector<bool>& others, const std::vector<Exposure>& exposed,
                          bool& hidden) {
      std::vector<std::uint32_t> names;
      const CodeObject& code = canon_.module(side)[id];
      for (std::size_t i = code.parameter_count(); i < code.slots.size(); ++i) {
        const std::uint32_t name = canon_.str(side, code.slots[i].name);
        const auto has = [&](const std::vector<bool>& set) {
          return name < set.size() && set[name];
        };
        if (code.slots[i].kind != kLocal || !has(mine) || has(others)) continue;
        names.push_back(name);
        hidden &= exposed[i] != Exposure::Call;
        if (exposed[i] != Exposure::None) say(ignored, canon_.module(side)[code.slots[i].name]);
      }
      return names;
    };
    bool hidden = true;
    const std::vector<std::uint32_t> a = only(kA, x, used_a, used_b, exposed_a, hidden),
                                     b = only(kB, y, used_b, used_a, exposed_b, hidden);
    if (!hidden || a.empty() || a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) canon_.renamed.emplace(b[i], a[i]);
    return true;
  }

  /// What errors about unset locals say of those that have other names.
  std::string renamed_unset(Which side_a, const Lifted& lifted_a, Which side_b,
                            const Lifted& lifted_b) {
    std::string names;
    const auto look = [&](Which side, const Lifted& lifted, auto&& renamed) {
      const Module& module = canon_.module(side);
      const std::vector<bool> unset = may_be_read_unset(lifted, module);
      const CodeObject& code = module[lifted.code];
      for (std::size_t i = 0; i < unset.size(); ++i)
        if (unset[i] && code.slots[i].kind == kLocal &&
            renamed(canon_.str(side, code.slots[i].name)))
          names += (names.empty() ? "" : ", ") + quoted(module[code.slots[i].name]);
    };
    look(side_a, lifted_a, [&](std::uint32_t name) {
      return std::ranges::any_of(canon_.renamed,
                                 [&](const auto& row) { return row.second == name; });
    });
    look(side_b, lifted_b, [&](std::uint32_t name) { return canon_.renamed.contains(name); });
    return names.empty() ? names : "ignored: the error about an unset local names " + names;
  }

  // ---------------------------------------------------------------- headers

  /// `flags`: those that count besides the ones of arguments.
  std::optional<std::string> arguments_difference(CodeId id_a, CodeId id_b, std::uint32_t flags) {
    const CodeObject &x = a_[id_a], &y = b_[id_b];
    const auto numbers = [](std::string_view what, std::uint64_t p, std::uint64_t q) {
      return std::string(what) + " " + std::to_string(p) + ", but the other has " +
             std::to_string(q);
    };
    if (x.version != y.version)
      return "the versions differ: 3." + std::to_string(x.version.minor) + " and 3." +
             std::to_string(y.version.minor);
    if (x.argcount != y.argcount) return numbers("argument count", x.argcount, y.argcount);
    if (x.posonlyargcount != y.posonlyargcount)
      return numbers("number of positional-only arguments", x.posonlyargcount, y.posonlyargcount);
    if (x.kwonlyargcount != y.kwonlyargcount)
      return numbers("number of keyword-only arguments", x.kwonlyargcount, y.kwonlyargcount);
    flags |= kVarArgs | kVarKeywords;
    if ((x.flags & flags) != (y.flags & flags)) return numbers("flags", x.flags, y.flags);
    const std::size_t arguments = x.parameter_count();
    for (std::size_t i = 0; i < arguments; ++i) {
      const StrId p = i < x.slots.size() ? x.slots[i].name : StrId(),
                  q = i < y.slots.size() ? y.slots[i].name : StrId();
      if (canon_.str(kA, p) != canon_.str(kB, q))
        return "argument " + std::to_string(i) + " is named " + name(a_, p) +
               ", but the other's is " + name(b_, q);
    }
    return std::nullopt;
  }

  std::optional<std::string> docstring_difference(CodeId id_a, CodeId id_b) const {
    const ConstId p = docstring(a_, id_a), q = docstring(b_, id_b);
    if (p.valid() == q.valid() && (!p.valid() || a_[p].text == b_[q].text)) return std::nullopt;
    return "docstring " + (p.valid() ? describe_const(a_, p) : "missing") +
           ", but the other's is " + (q.valid() ? describe_const(b_, q) : "missing");
  }

  std::optional<std::string> header_difference(CodeId id_a, CodeId id_b, bool root,
                                               VerdictKind& kind) {
    kind = VerdictKind::Different;
    const CodeObject &x = a_[id_a], &y = b_[id_b];
    // Where the function stands, and its docstring, are names of the root.
    // Whether there are cells is said by the slots.
    const std::uint32_t ignored =
        (root && options_.lifetimes ? 0u : kNoFree) |
        (options_.compare_names || !root ? 0u : kNested | kNoFree | kHasDocstring | kMethod);
    if (auto difference = arguments_difference(id_a, id_b, ~ignored)) return difference;
    kind = VerdictKind::Unproven;
    // A function is made with one cell for each free variable, in this order.
    const std::vector<StrId> free_a = free_variables(x), free_b = free_variables(y);
    const auto names = [](const Module& module, const std::vector<StrId>& list) {
      std::string out = "(";
      for (StrId id : list) (out += out.size() > 1 ? ", " : "") += module[id];
      return out + ")";
    };
    if (!std::equal(free_a.begin(), free_a.end(), free_b.begin(), free_b.end(),
                    [&](StrId p, StrId q) { return a_[p] == b_[q]; }))
      return "free variables " + names(a_, free_a) + ", but the other has " + names(b_, free_b);
    kind = VerdictKind::Different;
    if (options_.compare_names || !root) {
      if (canon_.str(kA, x.name) != canon_.str(kB, y.name))
        return "named " + name(a_, x.name) + ", but the other is " + name(b_, y.name);
      if (auto difference = docstring_difference(id_a, id_b)) return difference;
    }
    if (options_.compare_names && canon_.str(kA, x.qualname) != canon_.str(kB, y.qualname))
      return "qualified name " + name(a_, x.qualname) + ", but the other's is " +
             name(b_, y.qualname);
    return std::nullopt;
  }

  static std::string name(const Module& module, StrId id) {
    return id.valid() ? quoted(module[id]) : "nothing";
  }

  static std::vector<StrId> free_variables(const CodeObject& code) {
    std::vector<StrId> out;
    for (const Slot& slot : code.slots)
      if (slot.kind & kFree) out.push_back(slot.name);
    return out;
  }
};

}  // namespace

std::string_view verdict_word(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::Identical:
      return "identical";
    case VerdictKind::Exact:
      return "exact";
    case VerdictKind::Equivalent:
      return "equivalent";
    case VerdictKind::Unproven:
      return "unproven";
    case VerdictKind::Different:
      break;
  }
  return "different";
}

std::vector<std::string> kept_temporaries(Module& module, CodeId id) {
  std::vector<std::string> out;
  try {
    const CodeObject& code = module[id];
    std::vector<bool> slots(code.slots.size(), false);
    for (std::size_t i = code.parameter_count(); i < slots.size(); ++i)
      slots[i] = code.slots[i].kind == kLocal && is_made_up(module[code.slots[i].name]);
    if (std::find(slots.begin(), slots.end(), true) == slots.end()) return out;
    const Lifted lifted = lift(module, id, build_cfg(module, id, decode(module, id)));
    for (std::string_view name : outliving(lifted, module, slots)) out.emplace_back(name);
    std::unordered_set<std::string> copies;
    for (const auto& [to, from] : copies_of_slots(lifted, module)) {
      const std::string from_name(module[code.slots[from].name]);
      if (std::find(out.begin(), out.end(), from_name) != out.end())
        copies.emplace(module[code.slots[to].name]);
    }
    std::erase_if(out, [&](const std::string& name) { return copies.count(name) != 0; });
  } catch (const Error&) {
    out.clear();  // what cannot be lifted is not decompiled either
  }
  return out;
}

Verdict verify(Module& a, CodeId code_a, Module& b, CodeId code_b, const VerifyOptions& options) {
  return Verifier(a, b, options).run(code_a, code_b);
}

}  // namespace depyf
