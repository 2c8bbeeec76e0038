#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ast/ast.h"
#include "lift/lifted.h"
#include "pipeline/pipeline.h"

namespace depyf {

/// First readings of neighbouring code objects, stage by stage: the machine code of one stage fits
/// the processor's first cache, that of all does not. What has no plain reading at once is left to
/// decompile_code(), and each is finished in its order, so that the text is the same.
class FirstReadings {
 public:
  /// `dynamos`: is_dynamos(), by code object.
  FirstReadings(Ast& ast, const DecompileOptions& options, std::span<const std::uint8_t> dynamos)
      : ast_(ast), options_(options), dynamos_(dynamos) {}

  /// Reads code objects from `begin` on, and at most up to `end`; the first that it leaves.
  std::uint32_t read(std::uint32_t begin, std::uint32_t end);

  /// Ends the reading of one of them; false where it has to begin again.
  bool finish(CodeId code);

 private:
  struct One {
    bool structured = false, dynamo = false;
    std::optional<Lifted> values;  // until they are structured
    std::vector<Diagnostic> notes;
  };

  void lift_one(One& one, CodeId code);
  void structure_one(One& one, CodeId code);

  static constexpr std::uint32_t kMost = 16;  // values of so many fit the second cache

  Ast& ast_;
  const DecompileOptions& options_;
  const std::span<const std::uint8_t> dynamos_;
  std::uint32_t begin_ = 0, count_ = 0;
  std::array<One, kMost> readings_;
};

}  // namespace depyf
