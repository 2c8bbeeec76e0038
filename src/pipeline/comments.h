#pragma once
// What the text says about itself: comments above bodies that do not look as they were written.
#include <string>
#include <string_view>

#include "ast/ast.h"
#include "pipeline/pipeline.h"

namespace depyf {

/// The place of a code object that no stage could bring to statements: a body that raises, and says
/// why.
void place_failure(Ast& ast, CodeId code, const std::string& reason);

/// Says at the top of a body why it does not look as it was written.
void place_comment(Ast& ast, CodeId code, const std::string& text);

/// Says at the top of each body that is printed which of its names the source had not. Only the
/// finished tree knows: most that were made are gone when the body becomes an expression. None of
/// the module's first `given` strings is such a name.
void tell_own_names(Ast& ast, std::string_view temporaries, const DecompileOptions& options,
                    std::size_t given);

}  // namespace depyf
