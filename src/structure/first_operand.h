#pragma once
// What a block evaluates first, where a test before it decides nothing.
#include "structure/graph.h"
#include "support/small_vector.h"

namespace depyf {

struct FirstOperand {
  struct Part {
    ValueId value;
    std::size_t length;  // so many operations of the block evaluate it
    std::uint32_t uses;  // behind them
  };
  SmallVector<Part, 8> parts;  // expressions that the block begins with, each holds the one before
  bool awaited = false;        // together with a value from before the block, or in the row of the
                               // test: no statement ends in between
};

/// `line`: of the test.
FirstOperand first_operand(StructureGraph& s, BlockId b, std::int32_t line);

}  // namespace depyf
