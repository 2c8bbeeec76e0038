#pragma once
// What an operation does, in words for messages: "calls f(x)".
#include <string>

#include "lift/lifted.h"

namespace depyf::verify_detail {

class Words {
 public:
  Words(const Lifted& lifted, const Module& module) : lifted_(lifted), module_(module) {}

  /// A verb phrase: "stores f(x) into 'y'".
  std::string event(ValueId id) const;
  std::string terminator(const LiftedBlock& block) const;
  /// An expression of at most `depth` levels.
  std::string value(ValueId id, unsigned depth = 3) const;

 private:
  const Lifted& lifted_;
  const Module& module_;

  std::string name(std::uint32_t arg) const;
  std::string slot(std::uint32_t arg) const;
  std::string list(std::span<const ValueId> items, unsigned depth) const;
};

}  // namespace depyf::verify_detail
