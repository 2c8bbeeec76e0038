#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace depyf {

/// A typed index into one of the stores (Module, Cfg, Lifted, Ast). `none()` is the absent one.
template <class Tag>
struct Id {
  std::uint32_t index = UINT32_MAX;
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t i) : index(i) {}
  static constexpr Id none() { return Id(); }
  constexpr bool valid() const { return index != UINT32_MAX; }
  constexpr explicit operator bool() const { return valid(); }
  constexpr auto operator<=>(const Id&) const = default;
};

using ConstId = Id<struct ConstTag>;
using StrId = Id<struct StrTag>;
using CodeId = Id<struct CodeTag>;
using BlockId = Id<struct BlockTag>;
using RegionId = Id<struct RegionTag>;
using ValueId = Id<struct ValueTag>;
using ExprId = Id<struct ExprTag>;
using StmtId = Id<struct StmtTag>;

}  // namespace depyf

template <class Tag>
struct std::hash<depyf::Id<Tag>> {
  std::size_t operator()(depyf::Id<Tag> id) const noexcept { return id.index; }
};
