// What the bytecode says of its names against what the text would say.
#include <algorithm>

#include "bytecode/scan.h"
#include "opcode/op_set.h"
#include "scopes/scopes.h"

namespace depyf {
namespace {

enum Access : std::uint8_t {
  kLoadsName = 1,
  kStoresName = 2,
  kLoadsGlobal = 4,
  kStoresGlobal = 8,
  kStoresCell = 16,
  kLocal_ = 32,
  kCell_ = 64,
  kFree_ = 128,
};

/// Each variable of a code object.
FlatMap<std::uint8_t> variables_of(const CodeObject& code) {
  FlatMap<std::uint8_t> accesses;
  for (const Slot& slot : code.slots)
    accesses[slot.name.index] |= static_cast<std::uint8_t>(
        (slot.kind & (kLocal | kHidden) ? kLocal_ : 0) | (slot.kind & kCell ? kCell_ : 0) |
        (slot.kind & kFree ? kFree_ : 0));
  return accesses;
}

/// Adds how the instructions reach each variable and name. Code that control never takes counts,
/// too.
void add_instructions(const CodeObject& code, FlatMap<std::uint8_t>& accesses) {
  std::vector<std::uint8_t> by_name(code.names.size(), 0);
  scan_instructions(code, [&](const RawInstr& instr) {
    static constexpr OpTable<std::uint8_t> kAccess{
        {kLoadsName, {Op::LOAD_NAME, Op::LOAD_FROM_DICT_OR_GLOBALS}},
        {kStoresName, {Op::STORE_NAME, Op::DELETE_NAME}},
        {kLoadsGlobal, {Op::LOAD_GLOBAL}},
        {kStoresGlobal, {Op::STORE_GLOBAL, Op::DELETE_GLOBAL}},
        {kStoresCell, {Op::STORE_DEREF, Op::DELETE_DEREF}},
    };
    const std::uint8_t access = kAccess[instr.info.op];
    if (access == kStoresCell) {
      std::uint32_t slot = instr.operand;
      if (instr.info.action == Action::Deref)
        slot = slot < code.deref_slots.size() ? code.deref_slots[slot] : UINT32_MAX;
      if (slot < code.slots.size()) accesses[code.slots[slot].name.index] |= kStoresCell;
    } else if (access && instr.name() < by_name.size()) {
      by_name[instr.name()] |= access;
    }
  });
  for (std::size_t i = 0; i < by_name.size(); ++i)
    if (by_name[i]) accesses[code.names[i].index] |= by_name[i];
}

constexpr std::uint8_t kVariable = kLocal_ | kCell_ | kFree_;

/// What is wrong with a name, or null. `access`: 0 where the bytecode has no such name, which is
/// then one that the text needs for itself.
const char* mismatch(const Scope& scope, const Symbol& symbol, std::uint8_t access, bool bare) {
  const NamePlace place = symbol.place;
  const bool global = place == NamePlace::GlobalExplicit || place == NamePlace::GlobalImplicit;
  if ((symbol.flags & kMeantGlobal) && !global && !(bare && place == NamePlace::Local))
    return "is a global that a variable of the text hides";
  if (bare) {  // module or class: names by themselves
    if (place == NamePlace::Local && (access & kStoresGlobal) && !(access & kStoresName))
      return "is stored as a global, and local in the text";
    if (place == NamePlace::Local && (access & kFree_) && (access & kStoresCell))
      return "is stored outside of the class, and local in the text";
    if (place == NamePlace::GlobalExplicit && (access & kStoresName) &&
        scope.kind == ScopeKind::Class)
      return "is stored in the class, and global in the text";
    if (place == NamePlace::Free && !(access & kFree_))
      return "is taken from a function around it in the text alone";
    // A function inside takes it from outside whatever the class declares for itself.
    const bool own = place == NamePlace::GlobalImplicit || (symbol.flags & (kUsed | kBound));
    if (global && own && (access & kFree_) &&
        !(access & (kLoadsName | kLoadsGlobal | kStoresGlobal)))
      return "is taken from a function around it, and global in the text";
    return nullptr;
  }
  switch (place) {
    case NamePlace::Local:
    case NamePlace::Cell:
      if (scope.inlined) return nullptr;  // its variables may be named as those around it
      if (access & (kLocal_ | kCell_)) return nullptr;
      if (access & kFree_) return "is a free variable, and local in the text";
      return access ? "is global, and local in the text" : nullptr;
    case NamePlace::Free:
      if (access & kVariable & (scope.inlined ? kVariable : kFree_)) return nullptr;
      if (access & kVariable) return "is local, and a free variable in the text";
      if (access) return "is global, and a free variable in the text";
      return scope.inlined ? nullptr : "is a free variable in the text alone";
    case NamePlace::GlobalExplicit:
    case NamePlace::GlobalImplicit:
      if (scope.inlined || !(access & kVariable)) return nullptr;
      if (access & (kLoadsGlobal | kStoresGlobal)) return nullptr;
      return "is a variable, and global in the text";
  }
  return nullptr;
}

}  // namespace

std::vector<ScopeMismatch> compare_scopes(const Ast& ast, const ScopeTree& tree) {
  const Module& module = *ast.module;
  std::vector<ScopeMismatch> found;
  std::vector<std::uint8_t> seen(module.codes.size(), 0);
  FlatMap<std::uint8_t> accesses;
  CodeId last;           // whose they are
  bool scanned = false;  // its instructions, too
  for (const Scope& scope : tree.scopes) {
    if (!scope.code || !scope.checked || scope.code.index >= seen.size() || seen[scope.code.index])
      continue;
    const CodeObject& code = module[scope.code];
    const bool bare = !(code.flags & kOptimized);
    const auto report = [&](std::string what) {
      found.push_back({scope.code, "scopes: " + std::move(what)});
      seen[scope.code.index] = 1;
    };
    if (!scope.inlined &&
        bare != (scope.kind == ScopeKind::Class || scope.kind == ScopeKind::Module)) {
      report("the body of a " + std::string(bare ? "class is a function" : "function is a class") +
             " in the text");
      continue;
    }
    if (last != scope.code) {
      accesses = variables_of(code);
      scanned = false;
    }
    last = scope.code;
    const bool by_itself = bare && !scope.inlined;
    for (const auto& [name, symbol] : scope.symbols.entries()) {
      // Clang 14 and 15 cannot capture a structured binding itself.
      const auto access = [&accesses, &name = name]() -> std::uint8_t {
        const std::uint8_t* found = accesses.at(name);
        return found ? *found : 0;
      };
      const char* wrong = nullptr;
      // That a name is a variable says enough of most names in functions.
      const bool global =
          symbol.place == NamePlace::GlobalExplicit || symbol.place == NamePlace::GlobalImplicit;
      bool open = by_itself || (!global && access() == 0);
      if (!open) open = (wrong = mismatch(scope, symbol, access(), false)) != nullptr;
      if (open) {
        if (!scanned) add_instructions(code, accesses);
        scanned = true;
        wrong = mismatch(scope, symbol, access(), by_itself);
      }
      if (!wrong) continue;
      const std::string_view text = module[StrId(name)];
      if (text.starts_with('.') || text == "__class__" || text == "__classdict__") continue;
      report(std::string(text) + " " + wrong);
      break;
    }
  }
  return found;
}

}  // namespace depyf
