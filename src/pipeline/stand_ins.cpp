// Definitions for stages that are not in this tree yet, so that the earlier ones can be built and dumped. CMake defines DEPYF_WITHOUT_… for
// each stage whose definition it finds in no source file.
#include "rewrite/rewrite.h"
#include "simplify/simplify.h"
#include "structure/structure.h"
#include "support/error.h"
#include "verify/verify.h"

namespace depyf {

#ifdef DEPYF_WITHOUT_SIMPLIFY
void simplify(Lifted&, Module&, const SimplifyOptions&) {}
#endif
#ifdef DEPYF_WITHOUT_STRUCTURE
void structure(Lifted&, Ast&, const StructureOptions&) { throw Error("this build has no structure stage"); }
#endif
#ifdef DEPYF_WITHOUT_REWRITE
void rewrite(Ast&, CodeId) {}
#endif
#ifdef DEPYF_WITHOUT_VERIFY
Verdict verify(Module&, CodeId, Module&, CodeId, const VerifyOptions&) { throw Error("this build has no verify stage"); }
#endif

}  // namespace depyf
