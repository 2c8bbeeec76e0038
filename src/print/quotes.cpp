// Before 3.12 an f-string is one token: its replacement fields hold neither its own quotes nor a
// backslash (PEP 701 lifted that). One pass from the leaves up gives every f-string of an
// expression its delimiter.
#include "ast/expression_text.h"
#include "print/printer.h"

namespace depyf {

std::uint8_t Printer::constant_mask(ConstId id) {
  std::uint8_t mask = 0;
  std::vector<ConstId> pending{id};
  while (!pending.empty()) {
    const Const& value = module_[pending.back()];
    pending.pop_back();
    if (value.kind == ConstKind::Str || value.kind == ConstKind::Bytes) {
      if (at_least(12)) {
        bool single = value.text.find('\'') == std::string_view::npos ||
                      value.text.find('"') != std::string_view::npos;
        mask |= single ? kSingle : kDouble;
        mask |= text_mask(value.text) & (kSingle | kDouble);
      } else {
        mask |= plain_string_mask(value.text, value.kind == ConstKind::Bytes);
      }
    }
    pending.insert(pending.end(), value.items.begin(), value.items.end());
  }
  return mask;
}

/// What the literal parts of an f-string have in them; `last`: the character that it ends with, 0
/// where that is none of theirs.
std::uint8_t Printer::literals_of(const Expr& e, char& last) const {
  std::uint8_t literals = 0;
  last = 0;
  auto look = [&](ExprId part, bool spec) {
    if (!part || ast_[part].kind != ExprKind::Constant) return false;
    std::string_view text = module_[ConstId(ast_[part].a)].text;
    literals |= text_mask(text);
    if (spec && text.find_first_of("{}") != std::string_view::npos) literals |= kBackslash;
    if (!text.empty()) last = text.back();
    return true;
  };
  for (ExprId kid : e.kids) {
    if (look(kid, false) || !kid) continue;
    last = 0;
    const Expr& field = ast_[kid];
    if (field.kids.size() < 2 || !field.kids[1]) continue;
    if (look(field.kids[1], true) || ast_[field.kids[1]].kind != ExprKind::JoinedStr) continue;
    for (ExprId part : ast_[field.kids[1]].kids) {
      if (look(part, true) || !part || ast_[part].kids.size() < 2) continue;
      ExprId inner = ast_[part].kids[1];  // the specification of a field in a specification
      if (!inner || look(inner, true) || ast_[inner].kind != ExprKind::JoinedStr) continue;
      for (ExprId literal : ast_[inner].kids) look(literal, true);
    }
    last = 0;
  }
  return literals;
}

/// Of an f-string whose fields have `mask` in them; it becomes that of the whole.
Printer::QuotePlan Printer::quote_plan(const Expr& e, std::uint8_t& mask) const {
  char last = 0;
  const std::uint8_t literals = literals_of(e, last);
  constexpr Quote quotes[] = {Quote::Single, Quote::Double, Quote::TripleSingle,
                              Quote::TripleDouble};
  auto ends_well = [&](Quote quote) {
    return !((quote == Quote::TripleSingle && last == '\'') ||
             (quote == Quote::TripleDouble && last == '"'));
  };
  QuotePlan plan;
  auto choose = [&](auto&& admits, Quote& quote) {
    for (Quote candidate : quotes)
      if (admits(candidate)) {
        quote = candidate;
        return true;
      }
    return false;
  };
  std::uint8_t plain_quotes = literals & (kSingle | kDouble | kTripleSingle | kTripleDouble);
  if (at_least(12)) {
    std::uint8_t inside = mask & (kSingle | kDouble | kTripleSingle | kTripleDouble);
    bool found =
        choose([&](Quote q) { return quote_admits(q, inside | plain_quotes); }, plan.outer) ||
        choose([&](Quote q) { return quote_admits(q, inside); }, plan.outer);
    if (!found) plan.outer = Quote::Single;
    plan.nested = plan.outer;
    mask = static_cast<std::uint8_t>(inside | plain_quotes | quote_mask(plan.nested));
  } else {
    plan.outer_possible =
        choose([&](Quote q) { return quote_admits(q, mask | plain_quotes); }, plan.outer) ||
        choose([&](Quote q) { return quote_admits(q, mask); }, plan.outer);
    bool nested = choose([&](Quote q) { return quote_admits(q, mask | literals) && ends_well(q); },
                         plan.nested);
    mask = nested ? static_cast<std::uint8_t>(mask | literals | quote_mask(plan.nested))
                  : static_cast<std::uint8_t>(kImpossible);
  }
  return plan;
}

const Printer::QuotePlan& Printer::plan_quotes(ExprId root) {
  if (auto found = quote_plans_.find(root.index); found != quote_plans_.end()) return found->second;
  struct Visit {
    ExprId id;
    std::uint32_t next;
    std::uint8_t fields;  // mask of the replacement fields, or of the whole expression
    bool spec;  // a format specification: its literal parts belong to the f-string around it
  };
  std::vector<Visit> visits{{root, 0, 0, false}};
  while (true) {
    Visit& at = visits.back();
    const Expr& e = ast_[at.id];
    bool joined = e.kind == ExprKind::JoinedStr || e.kind == ExprKind::TemplateStr;
    const bool recorded = keeps_text(at.id);
    ExprId child;
    if (at.next < e.kids.size()) {
      child = e.kids[at.next++];
      // Literal parts are no expressions; the recorded text of an interpolation stands for its
      // value.
      if (child && joined && ast_[child].kind == ExprKind::Constant) child = ExprId::none();
      if (recorded && at.next == 1) {
        at.fields |= text_mask(module_[ConstId(e.a)].text);
        child = ExprId::none();
      }
      bool spec =
          (e.kind == ExprKind::FormattedValue || e.kind == ExprKind::Interpolation) && at.next == 2;
      if (spec && child && ast_[child].kind == ExprKind::Constant) child = ExprId::none();
      if (at.spec && child && ast_[child].kind == ExprKind::Constant) child = ExprId::none();
      if (child) visits.push_back({child, 0, 0, spec && ast_[child].kind == ExprKind::JoinedStr});
      continue;
    }
    if (e.kind == ExprKind::Lambda && e.a < ast_.functions.size()) {
      const std::vector<Parameter>& parameters = ast_.functions[e.a].parameters;
      std::size_t parameter = at.next - e.kids.size();
      if (parameter < parameters.size()) {
        ++at.next;
        if (ExprId value = parameters[parameter].default_value)
          visits.push_back({value, 0, 0, false});
        continue;
      }
    }
    std::uint8_t mask = at.fields;
    if (e.kind == ExprKind::Constant) {
      mask = constant_mask(ConstId(e.a));
    } else if (joined && !at.spec) {
      quote_plans_[at.id.index] = quote_plan(e, mask);
    }
    visits.pop_back();
    if (visits.empty()) break;
    visits.back().fields |= mask;
  }
  return quote_plans_[root.index];
}

bool Printer::keeps_text(ExprId id) {
  const Expr& e = ast_[id];
  if (e.kind != ExprKind::Interpolation || prints_values_ || e.a >= module_.consts.size() ||
      module_[ConstId(e.a)].kind != ConstKind::Str)
    return false;
  if (const auto found = keeps_text_.find(id.index); found != keeps_text_.end())
    return found->second;
  const std::optional<std::string> acts =
      acts_of_text(module_[ConstId(e.a)].text, options_.grammar, TextPlace::Field);
  // A lambda stands in parentheses there.
  const std::string value = acts ? "(" + value_text(e.kids[0]) + ")" : std::string();
  const bool kept = acts && acts == acts_of_text(value, options_.grammar, TextPlace::Field);
  if (!kept)
    note("the text of a field of a t-string is not that of its value, which stands in its place");
  keeps_text_.emplace(id.index, kept);
  return kept;
}

std::string Printer::value_text(ExprId value) {
  if (!values_) {
    values_ = std::make_unique<Values>(Values{options_, {}, nullptr});
    values_->options.width = UINT32_MAX;
    values_->options.sites = false;
    values_->options.signature = nullptr;
    values_->printer = std::make_unique<Printer>(ast_, values_->options, values_->source);
    values_->printer->prints_values_ = true;
  }
  Printer& printer = *values_->printer;
  const std::size_t from = printer.out_.size();
  printer.code_ = code_;
  printer.begin(0);
  printer.write_expr(value, 0, false);
  printer.end();
  std::string text(printer.out_.view(from));
  printer.out_.shorten(from);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace depyf
