#pragma once
#include "lift/lifted.h"

namespace depyf {

struct SimplifyOptions {
  /// Locals (by slot) whose loads and stores nobody else can see: promoted to SSA values. verify/ passes the temporaries that the other side lacks.
  std::vector<bool> promotable;
};

/// Semantics-preserving clean-up: fresh-list algebra, dead pure values. Every rule has its proof in a comment.
/// Order of effects never changes. `del` of a local stays.
void simplify(Lifted& lifted, Module& module, const SimplifyOptions& options = {});

}  // namespace depyf
