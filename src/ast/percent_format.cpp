#include "ast/percent_format.h"

#include <string_view>

namespace depyf {
namespace {

/// `>10.5` is what `%10.5s` becomes, `10.5` what `%-10.5s` does. False where a specification has no
/// such origin.
bool append_specification(std::string_view spec, std::string& out) {
  constexpr std::size_t kMaxDigits = 2;
  std::size_t at = 0;
  auto digits = [&] {
    const std::size_t begin = at;
    while (at < spec.size() && spec[at] >= '0' && spec[at] <= '9') ++at;
    return spec.substr(begin, at - begin);
  };
  const bool right = !spec.empty() && spec[0] == '>';
  if (right) ++at;
  const std::string_view width = digits();
  if (width.size() > kMaxDigits || (width.empty() ? right : width[0] == '0')) return false;
  if (!right && !width.empty()) out += '-';
  out += width;
  if (at < spec.size() && spec[at] == '.') {
    ++at;
    const std::string_view precision = digits();
    if (precision.empty() || precision.size() > kMaxDigits ||
        (precision.size() > 1 && precision[0] == '0'))
      return false;
    out += '.';
    out += precision;
  }
  return at == spec.size();
}

}  // namespace

std::optional<std::string> percent_format(const Ast& ast, const Expr& joined) {
  const Module& module = *ast.module;
  const auto text_of = [&](ExprId id) -> const std::string_view* {
    const Expr& e = ast[id];
    if (e.kind != ExprKind::Constant || module[ConstId(e.a)].kind != ConstKind::Str) return nullptr;
    return &module[ConstId(e.a)].text;
  };
  std::string format;
  std::size_t fields = 0;
  for (ExprId kid : joined.kids) {
    const Expr& part = ast[kid];
    if (const std::string_view* text = text_of(kid)) {
      for (char c : *text) format.append(c == '%' ? 2 : 1, c);
      continue;
    }
    if (part.kind != ExprKind::FormattedValue || part.op == 0) return {};
    ++fields;
    format += '%';
    if (part.kids.size() > 1 && part.kids[1]) {
      ExprId spec = part.kids[1];
      if (ast[spec].kind == ExprKind::JoinedStr && ast[spec].kids.size() == 1)
        spec = ast[spec].kids[0];
      const std::string_view* text = text_of(spec);
      if (!text || text->empty() || !append_specification(*text, format)) return {};
    }
    format += part.op == 1 ? 's' : part.op == 2 ? 'r' : 'a';
  }
  if (fields == 0) return {};
  return format;
}

}  // namespace depyf
