#include "verify/variables.h"

#include <algorithm>
#include <unordered_map>

#include "bytecode/instr.h"
#include "pyc/identifier.h"
#include "simplify/simplify.h"

namespace depyf::verify_detail {
namespace {

/// Does an instruction use the local, by number of the name?
std::vector<bool> used_names(Comparison& with, Which side, CodeId id, const Cfg& cfg) {
  std::vector<bool> used(with.canon.str_count() + 1, false);
  for (const Instr& instr : cfg.instrs)
    if (arg_kind(instr.op) == ArgKind::Local || arg_kind(instr.op) == ArgKind::Deref) {
      const std::uint32_t name = with.canon.slot(side, id, instr.arg, false) / 4;
      if (name >= used.size()) used.resize(name + 1, false);
      used[name] = true;
    }
  return used;
}

/// Does one of both sides ask for its locals? What the text calls in place of names that no source
/// can hold, `eval(…, globals())`, does not: where the proof succeeds, it is those names' loads.
bool one_asks_for_locals(Comparison& with, CodeId x, const Cfg& cfg_a, const Cfg& cfg_b) {
  return asks_for_locals(with.a, cfg_a) ||
         (!(with.options.decompiled && has_odd_name(with.a, x)) && asks_for_locals(with.b, cfg_b));
}

/// The locals that `cfg` asks for by name.
void add_asked(Comparison& with, Which side, const Cfg& cfg, std::vector<std::string_view>& names) {
  const Module& module = with.canon.module(side);
  for (std::size_t i = 0; i < cfg.instrs.size(); ++i)
    if (const auto name = local_asked_for(module, cfg, i)) names.push_back(*name);
}

void say(std::string& ignored, std::string_view local) {
  const std::string name = quoted(local);
  if (ignored.find(name) != std::string::npos) return;
  ignored += (ignored.empty() ? "ignored: who walks through frames sees the local " : ", ") + name;
}

}  // namespace

bool has_odd_name(const Module& module, CodeId id) {
  return std::ranges::any_of(module[id].names, [&](StrId name) {
    return !(module.traits(name) & kWritableName) &&
           !is_writable_dotted_name(module[name], module.version);
  });
}

bool has_odd_local(const Module& module, CodeId id) {
  return std::ranges::any_of(module[id].slots, [&](const Slot& slot) {
    return slot.kind == kLocal && !(module.traits(slot.name) & kWritableName);
  });
}

bool has_unused_local(Comparison& with, Which side, CodeId id, const Cfg& cfg, CodeId other) {
  const Which others = side == kA ? kB : kA;
  const CodeObject& code = with.canon.module(side)[id];
  std::vector<bool> wanted(code.slots.size(), false);
  for (std::size_t i = code.parameter_count(); i < wanted.size(); ++i)
    wanted[i] = code.slots[i].kind == kLocal;
  for (const Instr& instr : cfg.instrs)
    if (arg_kind(instr.op) == ArgKind::Local && instr.arg < wanted.size())
      wanted[instr.arg] = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const std::uint32_t name = with.canon.str(side, code.slots[i].name);
    const std::span<const Slot> slots = with.canon.module(others)[other].slots;
    if (std::none_of(slots.begin(), slots.end(),
                     [&](const Slot& slot) { return with.canon.str(others, slot.name) == name; }))
      return true;
  }
  return false;
}

bool same_order_of_locals(Comparison& with, const CodeObject& x, const CodeObject& y) {
  std::unordered_map<std::uint32_t, std::size_t> places;
  for (std::size_t i = 0; i < y.slots.size(); ++i) places[with.canon.str(kB, y.slots[i].name)] = i;
  std::size_t last = 0;
  for (const Slot& slot : x.slots) {
    const auto found = places.find(with.canon.str(kA, slot.name));
    if (found == places.end()) continue;
    if (found->second < last) return false;
    last = found->second;
  }
  return true;
}

Cfg cells_as_locals(Comparison& with, Which side, CodeId id, Cfg cfg) {
  const Module& module = with.canon.module(side);
  const CodeObject& code = module[id];
  std::vector<bool>& local = with.canon.bare[side];
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

std::vector<bool> temporaries(Comparison& with, Which side, CodeId mine, const Cfg& cfg,
                              CodeId other, const Cfg& other_cfg,
                              const std::vector<Exposure>& exposed, bool dynamo,
                              std::string& ignored) {
  const Module& module = with.canon.module(side);
  const CodeObject& code = module[mine];
  std::vector<bool> out(code.slots.size(), false);
  const bool is_a = side == kA;
  if (one_asks_for_locals(with, is_a ? mine : other, is_a ? cfg : other_cfg,
                          is_a ? other_cfg : cfg))
    return out;
  std::vector<std::string_view> asked;
  add_asked(with, side, cfg, asked);
  add_asked(with, is_a ? kB : kA, other_cfg, asked);
  const std::vector<bool> used = used_names(with, side == kA ? kB : kA, other, other_cfg);
  std::vector<bool> read(out.size(), false);
  for (const Instr& instr : cfg.instrs)
    if (instr.op == Op::LOAD_FAST && instr.arg < out.size()) read[instr.arg] = true;
  for (std::size_t i = code.parameter_count(); i < out.size(); ++i) {
    const Slot& slot = code.slots[i];
    const std::uint32_t name =
        with.canon.slot(side, mine, static_cast<std::uint32_t>(i), false) / 4;
    if (slot.kind != kLocal || (name < used.size() && used[name])) continue;
    const std::string_view text = module[slot.name];
    if (std::ranges::find(asked, text) != asked.end()) continue;
    const bool made_up = is_made_up(text) &&
                         std::find(with.options.own_locals.begin(), with.options.own_locals.end(),
                                   text) == with.options.own_locals.end();
    if (exposed[i] == Exposure::None)
      out[i] = true;
    else if (with.options.decompiled)
      out[i] = side == kB ? read[i] || made_up : made_up && (dynamo || read[i]);
    else if (dynamo && made_up)
      out[i] = read[i] || exposed[i] == Exposure::Inner;
    else
      out[i] = side == kB && read[i] && exposed[i] == Exposure::Inner;
    if (out[i] && exposed[i] != Exposure::None && !with.options.decompiled) say(ignored, text);
  }
  return out;
}

bool rename_locals(Comparison& with, CodeId x, const Cfg& cfg_a,
                   const std::vector<Exposure>& exposed_a, CodeId y, const Cfg& cfg_b,
                   const std::vector<Exposure>& exposed_b, std::string& ignored) {
  with.canon.renamed.clear();
  if (one_asks_for_locals(with, x, cfg_a, cfg_b)) return false;
  std::vector<std::string_view> asked;
  add_asked(with, kA, cfg_a, asked);
  add_asked(with, kB, cfg_b, asked);
  const std::vector<bool> used_a = used_names(with, kA, x, cfg_a),
                          used_b = used_names(with, kB, y, cfg_b);
  // Where B was decompiled from A, only those are meant that have a name which no source can hold.
  const bool decompiled = with.options.decompiled;
  const auto meant = [&](Which side, StrId name) {
    return !decompiled ||
           (side == kA ? !(with.a.traits(name) & kWritableName) : !is_made_up(with.b[name]));
  };
  const auto only = [&](Which side, CodeId id, const std::vector<bool>& mine,
                        const std::vector<bool>& others, const std::vector<Exposure>& exposed,
                        bool& hidden) {
    std::vector<std::uint32_t> names;
    const CodeObject& code = with.canon.module(side)[id];
    for (std::size_t i = code.parameter_count(); i < code.slots.size(); ++i) {
      const std::uint32_t name = with.canon.str(side, code.slots[i].name);
      const auto has = [&](const std::vector<bool>& set) { return name < set.size() && set[name]; };
      if (code.slots[i].kind != kLocal || !has(mine) || has(others) ||
          !meant(side, code.slots[i].name))
        continue;
      names.push_back(name);
      hidden &=
          std::ranges::find(asked, with.canon.module(side)[code.slots[i].name]) == asked.end();
      hidden &= exposed[i] != Exposure::Call || decompiled;
      if (exposed[i] != Exposure::None) say(ignored, with.canon.module(side)[code.slots[i].name]);
    }
    return names;
  };
  bool hidden = true;
  const std::vector<std::uint32_t> a = only(kA, x, used_a, used_b, exposed_a, hidden),
                                   b = only(kB, y, used_b, used_a, exposed_b, hidden);
  if (!hidden || a.empty() || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) with.canon.renamed.emplace(b[i], a[i]);
  return true;
}

std::string renamed_unset(Comparison& with, Which side_a, const Lifted& lifted_a, Which side_b,
                          const Lifted& lifted_b) {
  std::string names;
  const auto look = [&](Which side, const Lifted& lifted, auto&& renamed) {
    const Module& module = with.canon.module(side);
    const std::vector<bool> unset = may_be_read_unset(lifted, module);
    const CodeObject& code = module[lifted.code];
    for (std::size_t i = 0; i < unset.size(); ++i)
      if (unset[i] && code.slots[i].kind == kLocal &&
          renamed(with.canon.str(side, code.slots[i].name)))
        names += (names.empty() ? "" : ", ") + quoted(module[code.slots[i].name]);
  };
  look(side_a, lifted_a, [&](std::uint32_t name) {
    return std::ranges::any_of(with.canon.renamed,
                               [&](const auto& row) { return row.second == name; });
  });
  look(side_b, lifted_b, [&](std::uint32_t name) { return with.canon.renamed.contains(name); });
  return names.empty() ? names : "ignored: the error about an unset local names " + names;
}

}  // namespace depyf::verify_detail
