#pragma once
#include <vector>

#include "rewrite/rewriter.h"

namespace depyf {

struct Annotation {
  StrId name;  // as compiled, private names mangled
  ExprId value;
  std::uint32_t condition = UINT32_MAX;  // index in __conditional_annotations__
};

/// The annotations that an `__annotate__` function returns (3.14+), in their order.
std::vector<Annotation> annotations_of(Rewriter& r, CodeId annotate);

/// The annotation as it is printed: text where `from __future__ import annotations` made it a
/// string.
ExprId annotation_expression(Rewriter& r, ExprId value, bool from_text);

/// Gives the annotations of an `__annotate__` function of a class or module body back to the body's
/// statements.
void place_annotations(Rewriter& r, CodeId annotate);

/// A name that no variable of the code object has, for statements that never run.
StrId unused_name(const Rewriter& r);

}  // namespace depyf
