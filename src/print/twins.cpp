#include "print/twins.h"

#include <algorithm>
#include <unordered_map>

namespace depyf {
namespace {

bool stands_in_an_expression(std::string_view name) {
  return name == "<lambda>" || name == "<listcomp>" || name == "<setcomp>" ||
         name == "<dictcomp>" || name == "<genexpr>";
}

class Grouping {
 public:
  explicit Grouping(const Module& module) : module_(module), groups_(module.codes.size(), 0) {}

  std::vector<std::uint32_t> run() {
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> siblings;
    for (std::uint32_t i = 0; i < module_.codes.size(); ++i) {  // inner ones first
      const CodeObject& code = module_.codes[i];
      if (!code.parent || !stands_in_an_expression(module_[code.name])) continue;
      std::uint64_t hash =
          (std::uint64_t{code.name.index} << 32 | code.flags) * 0x9E3779B97F4A7C15u +
          code.code.size();
      for (std::uint8_t byte : code.code) hash = (hash ^ byte) * 0x100000001B3u;
      std::vector<std::uint32_t>& alike = siblings[hash];
      for (std::uint32_t other : alike) {
        if (!equal(code, module_.codes[other])) continue;
        groups_[i] = groups_[other];
        break;
      }
      if (groups_[i] == 0) groups_[i] = ++count_;
      alike.push_back(i);
    }
    return std::move(groups_);
  }

 private:
  bool equal(const CodeObject& a, const CodeObject& b) const {
    auto same = [](const auto& x, const auto& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end());
    };
    auto same_slots = [&] {
      return std::equal(
          a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(),
          [](const Slot& x, const Slot& y) { return x.name == y.name && x.kind == y.kind; });
    };
    return a.name == b.name && a.argcount == b.argcount && a.posonlyargcount == b.posonlyargcount &&
           a.kwonlyargcount == b.kwonlyargcount && a.flags == b.flags && same(a.code, b.code) &&
           same(a.names, b.names) && same_slots() && same(a.exceptiontable, b.exceptiontable) &&
           same_constants(a.consts, b.consts);
  }

  bool same_constants(std::span<const ConstId> a, std::span<const ConstId> b) const {
    std::vector<std::pair<std::span<const ConstId>, std::span<const ConstId>>> work{{a, b}};
    for (std::size_t steps = 0; !work.empty(); ++steps) {
      const auto [x, y] = work.back();
      work.pop_back();
      if (x.size() != y.size() || steps > 1000) return false;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] == y[i]) continue;
        const Const &v = module_[x[i]], &w = module_[y[i]];
        // nested ones are grouped already
        if (v.kind == ConstKind::Code && w.kind == ConstKind::Code && groups_[v.code.index] != 0 &&
            groups_[v.code.index] == groups_[w.code.index])
          continue;
        if (v.kind == ConstKind::Code || v.kind != w.kind || v.big != w.big ||
            v.integer != w.integer || v.text != w.text || v.object != w.object)
          return false;
        if (!(v.re == w.re && v.im == w.im)) return false;
        if (!v.items.empty() || !w.items.empty()) work.push_back({v.items, w.items});
      }
    }
    return true;
  }

  const Module& module_;
  std::vector<std::uint32_t> groups_;
  std::uint32_t count_ = 0;
};

}  // namespace

std::vector<std::uint32_t> group_twins(const Module& module, PyVersion version) {
  const bool one_line_makes_equal = version < PyVersion{3, 11} || version == PyVersion{3, 12};
  return one_line_makes_equal ? Grouping(module).run() : std::vector<std::uint32_t>();
}

}  // namespace depyf
