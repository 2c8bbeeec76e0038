#pragma once
// Names and statements of Dynamo's code as a person would write them.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ast/ast.h"

namespace depyf {

struct DynamoNaming {
  using Table = std::vector<std::pair<std::string, std::vector<std::string>>>;
  /// Of functions that are called by a global name. `f[]` are the values that the resume function f
  /// goes on with, `__nested_frame_values[0]` those of the caller of that number, and the row of no
  /// name holds words for parameters of the function itself, "" where one keeps its name.
  const Table* parameters = nullptr;
  const Table* results = nullptr;  // what graphs, called by a global name, call their outputs
  std::span<const std::string> own_locals;   // the program's, whatever they are named
  std::span<const std::string> kept_locals;  // and those that keep a value from its end
  std::uint32_t indentation = 4;
  /// Locals and globals that Dynamo named get other names, too: Ast::readable has them.
  bool renames = false;
};

/// For a body after rewrite(). Temporaries are named by where their values come from, or by what
/// they become; a value has one name; statements that only take results apart or delete are joined.
void name_values(Ast& ast, CodeId code, const DynamoNaming& naming);

/// Whether the body begins with `nonlocal`.
bool declares_nonlocals(const Ast& ast, CodeId code);

}  // namespace depyf
