#include "print/print.h"

#include "print/printer.h"

namespace depyf {

std::string object_name(std::uint32_t object) { return "__const_" + std::to_string(object) + "__"; }

Source print_module(const Ast& ast, const PrintOptions& options) {
  Source source;
  Printer printer(ast, options, source);
  printer.print_body(ast.module->root);
  source.renamed = printer.renamed();
  if (source.text.empty()) source.text = "\n";
  return source;
}

Source print_function(const Ast& ast, CodeId code, std::string_view name,
                      const PrintOptions& options) {
  Source source;
  Printer printer(ast, options, source);
  printer.print_def(code, name);
  source.renamed = printer.renamed();
  return source;
}

}  // namespace depyf
