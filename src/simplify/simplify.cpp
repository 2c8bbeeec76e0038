#include "simplify/simplify.h"

#include <algorithm>

#include "simplify/rules.h"

namespace depyf {

namespace {

/// `stem` and a number.
bool is_numbered(std::string_view name, std::string_view stem) {
  return name.starts_with(stem) && name.size() > stem.size() &&
         name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

/// A name of what shows a frame's locals, in quotes; else "".
std::string_view quoted_if_shows(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "'locals'",   "'vars'",      "'dir'",          "'eval'",      "'exec'",
      "'f_locals'", "'_getframe'", "'currentframe'", "'tb_frame'",  "'gi_frame'",
      "'cr_frame'", "'ag_frame'",  "'breakpoint'",   "'set_trace'", "'f_back'"};
  const auto found = std::ranges::find_if(
      kNames, [&](std::string_view quoted) { return quoted.substr(1, quoted.size() - 2) == name; });
  return found == std::end(kNames) ? std::string_view() : *found;
}

/// What shows a frame's locals, if the operation names it or takes it from the constants; else "".
std::string_view shows_locals(const Module& module, Op op, std::uint32_t arg) {
  if (arg_kind(op) == ArgKind::Str && !binds_or_deletes(op))
    return quoted_if_shows(module[StrId(arg)]);
  if (op != Op::LOAD_CONST) return {};
  const Const& value = module[ConstId(arg)];
  if (value.kind == ConstKind::Object && value.integer == -1) return "such a function";
  return value.kind == ConstKind::Str ? quoted_if_shows(value.text) : std::string_view();
}

/// A literal whose identity nothing tells: a second one in the same code object is the same object.
bool is_plain_literal(const Module& module, const Value& value) {
  if (value.kind != ValueKind::Operation || value.op != Op::LOAD_CONST) return false;
  constexpr ConstKind kPlain[] = {ConstKind::None,     ConstKind::True, ConstKind::False,
                                  ConstKind::Ellipsis, ConstKind::Int,  ConstKind::Str,
                                  ConstKind::Bytes};
  return std::ranges::find(kPlain, module[ConstId(value.arg)].kind) != std::end(kPlain);
}

// Rule "unread temporary": a local of Dynamo's own naming, tmp_N, that is stored and deleted but
// never loaded, is promoted, and so is one in which one literal is stored alone. Dynamo makes one
// for every import and index that it may need again; reading it is the only thing it is for, and
// promote_slots() checks its premises. Not where the code may ask for its locals, and not a local
// that has this name in the program.
void mark_unread_temporaries(const Lifted& lifted, const Module& module,
                             std::span<const std::string> own_locals,
                             std::vector<bool>& promotable) {
  const CodeObject& code = module[lifted.code];
  promotable.resize(code.slots.size());
  for (const Value& value : lifted.values)
    if (value.kind == ValueKind::Operation && !shows_locals(module, value.op, value.arg).empty())
      return;
  std::vector<bool> read(code.slots.size(), false), stored(code.slots.size(), false);
  std::vector<ValueId> literal(code.slots.size());  // the first value stored
  std::vector<bool> varies(code.slots.size(), false);
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body) {
      const Value& value = lifted[id];
      if (value.arg >= read.size()) continue;
      if (value.op == Op::LOAD_FAST || value.op == Op::LOAD_FAST_AND_CLEAR) read[value.arg] = true;
      if (value.op != Op::STORE_FAST) continue;
      if (!stored[value.arg]) literal[value.arg] = value.operands[0];
      stored[value.arg] = true;
      const Value& first = lifted[literal[value.arg]];
      const Value& now = lifted[value.operands[0]];
      if (!is_plain_literal(module, first) || !is_plain_literal(module, now) ||
          first.arg != now.arg)
        varies[value.arg] = true;
    }
  for (std::size_t i = 0; i < read.size(); ++i)
    if (stored[i] && (!read[i] || !varies[i]) && code.slots[i].name.valid() &&
        is_numbered(module[code.slots[i].name], "tmp_") &&
        std::find(own_locals.begin(), own_locals.end(), module[code.slots[i].name]) ==
            own_locals.end())
      promotable[i] = true;
}

/// The stack at a block's entry names only what still is.
void forget_removed(Lifted& lifted) {
  std::vector<bool> stands(lifted.values.size(), false);
  for (const LiftedBlock& block : lifted.blocks) {
    for (ValueId id : block.body) stands[id.index] = true;
    for (ValueId id : block.params) stands[id.index] = true;
  }
  for (LiftedBlock& block : lifted.blocks)
    for (ValueId& id : block.stack_in) {
      if (!id.valid()) continue;
      const Value& value = lifted[id];
      const ValueId home =
          value.kind == ValueKind::Result && value.op != Op::FOR_ITER ? value.operands[0] : id;
      const ValueKind kind = lifted[home].kind;
      if ((kind == ValueKind::Operation || kind == ValueKind::Param) && !stands[home.index])
        id = ValueId::none();
    }
}

}  // namespace

std::string_view what_asks_for_locals(const Module& module, const Cfg& cfg) {
  for (std::size_t i = 0; i < cfg.instrs.size(); ++i)
    if (const std::string_view found = shows_locals(module, cfg.instrs[i].op, cfg.instrs[i].arg);
        !found.empty() && !local_asked_for(module, cfg, i))
      return found;
  return {};
}

std::optional<std::string_view> local_asked_for(const Module& module, const Cfg& cfg,
                                                std::size_t at) {
  const auto near = [&](int by) {  // NULLs for calls not counted
    const std::size_t step = by < 0 ? std::size_t(-1) : 1;
    std::size_t i = at;
    for (; by != 0; by += by < 0 ? 1 : -1) {
      do {
        i += step;
      } while (i < cfg.instrs.size() && cfg.instrs[i].op == Op::PUSH_NULL);
      if (i >= cfg.instrs.size()) return Instr();
    }
    return cfg.instrs[i];
  };
  const Instr asked = near(0);
  if ((asked.op != Op::LOAD_ATTR && asked.op != Op::LOAD_METHOD) ||
      module[StrId(asked.arg)] != "locals" || near(-1).op != Op::LOAD_GLOBAL ||
      near(1).op != Op::CALL || near(1).arg != 0 || near(2).op != Op::CONTAINS)
    return std::nullopt;
  const Instr text = near(-2);
  if (text.op != Op::LOAD_CONST || module[ConstId(text.arg)].kind != ConstKind::Str)
    return std::nullopt;
  return module[ConstId(text.arg)].text;
}

bool asks_for_locals(const Module& module, const Cfg& cfg) {
  return !what_asks_for_locals(module, cfg).empty();
}

bool named_like_dynamos(std::string_view local) {  // torch/_dynamo/output_graph.py, new_var
  for (std::string_view stem : {"tmp_", "graph_out_", "random_values_"})
    if (is_numbered(local, stem)) return true;
  return false;
}

bool made_by_dynamo(const Module& module, CodeId id) {
  const CodeObject& code = module[id];
  for (StrId name : code.names) {
    std::string_view text = module[name];
    if (text.starts_with("__") && installed_by_dynamo(module, name) &&
        !text.starts_with("__import_"))
      return true;
  }
  for (const Slot& slot : code.slots) {
    std::string_view text = slot.name.valid() ? module[slot.name] : std::string_view();
    if (text.starts_with('g') && is_numbered(text, "graph_out_")) return true;
    if (!text.starts_with("__")) continue;
    if (text == "__nested_resume_fns" || text == "__nested_frame_values" ||
        text == "__is_tracing_resume_prologue" || text.starts_with("___stack"))
      return true;
  }
  return false;
}

void simplify(Lifted& lifted, Module& module, const SimplifyOptions& options) {
  std::vector<bool> promotable = options.promotable;
  const bool dynamo = options.dynamo.value_or(made_by_dynamo(module, lifted.code));
  const bool drop_unread = dynamo && options.drop_dead && options.unread_temporaries;
  simplifying::take_decided_branches(lifted, module);
  if (drop_unread) mark_unread_temporaries(lifted, module, options.own_locals, promotable);
  simplifying::promote_slots(lifted, module, std::move(promotable));
  simplifying::remove_trivial_params(lifted);
  simplifying::name_functions_of_code(lifted, module, options.iter_object);
  if (options.odd_names) simplifying::read_odd_names(lifted, module, options);
  if (options.slices) simplifying::write_out_slices(lifted);
  if (options.displays) simplifying::write_out_displays(lifted, module);
  if (options.fresh_sequences) {
    simplifying::resolve_fresh_sequences(lifted, module, options.displays);
    // Where a cell was `(lambda: x).__closure__[0]`, only now is it known to be one.
    simplifying::name_functions_of_code(lifted, module, options.iter_object);
  }
  if (options.drop_dead) simplifying::drop_dead(lifted, module, dynamo);
  if (drop_unread) {
    // What read a temporary may have been dead: it is as if nobody had ever read it.
    std::vector<bool> unread;
    mark_unread_temporaries(lifted, module, options.own_locals, unread);
    if (std::find(unread.begin(), unread.end(), true) != unread.end()) {
      simplifying::promote_slots(lifted, module, std::move(unread));
      simplifying::remove_trivial_params(lifted);
      simplifying::drop_dead(lifted, module, dynamo);
    }
  }
  simplifying::remove_trivial_params(lifted);
  simplifying::forget_names_of_called(lifted, module);
  if (options.late_loads) simplifying::sink_loads(lifted, module, dynamo);
  if (options.order_stores) simplifying::order_local_stores(lifted, module, dynamo);
  forget_removed(lifted);
#ifndef NDEBUG
  check(lifted);
#endif
}

}  // namespace depyf
