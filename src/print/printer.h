#pragma once
// The machine behind print.h: an explicit stack of tasks for expressions and one of frames for
// statements, so that depth of input costs memory only. Inner header of print/.
#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "print/layout.h"
#include "print/literals.h"
#include "print/names.h"
#include "print/precedence.h"
#include "print/print.h"
#include "print/text.h"
#include "print/twins.h"

namespace depyf {

/// Rows of the parameters with defaults: row k begins with the (k * defaults / count)-th of them.
/// count 0: anywhere.
struct DefaultRows {
  std::uint32_t count = 0, defaults = 0;
  bool with_def = false;  // the first row is that of `def`
};

class Printer {
 public:
  Printer(const Ast& ast, const PrintOptions& options, Source& source);

  /// The body of a code object at the margin, as a module.
  void print_body(CodeId code);
  /// One code object as `def`.
  void print_def(CodeId code, std::string_view name);
  /// See Source::renamed.
  std::vector<std::pair<std::string, std::string>> renamed() const { return names_.renamed(); }

 private:
  // ---- expressions.cpp: one task of the expression machine
  enum class TaskKind : std::uint8_t {
    Expr,
    Compound,  // Compound: an expression that write_simple() does not take
    Constant,
    Text,
    Name,
    Literal,
    Pattern,
    OpenParen,
    CloseParen,  // a bracket character, counted
    OpenGroup,
    Part,
    CloseGroup,
    Twin,  // a code object begins here that may have a twin
    EnterField,
    LeaveField,  // the replacement field of an f-string: one line, quotes as planned
  };
  struct Task {
    TaskKind kind;
    Prec min = Prec::Test;
    std::uint8_t allow = 0;
    std::uint8_t flag = 0;  // Expr: TaskFlag; OpenGroup: Group; Literal: Quote | Braces << 2;
                            // brackets: the character
    std::uint32_t a = 0;
    std::string_view text{};
  };
  enum TaskFlag : std::uint8_t {
    kChain = 1,   // an inner link of a chain of operators
    kOneRow = 2,  // a target: its items stay together
    kPath = 4,    // a part of a path that may be broken in front of its dots
  };

  void run();
  void flush_sequence();
  // What a visit adds waits in sequence_ for the tasks added before it. As long as there are none,
  // it stands at the cursor and is written at once; so is an expression that takes no tasks.
  bool at_cursor() const { return sequence_.empty(); }
  void add_expr(ExprId id, Prec min, std::uint8_t allow = 0, std::uint8_t flag = 0) {
    TaskKind kind = TaskKind::Expr;
    if (at_cursor()) {
      if (write_simple(id, min)) return;
      kind = TaskKind::Compound;
    }
    sequence_.push_back({kind, min, allow, flag, id.index, {}});
  }
  void add_text(std::string_view text) {
    if (at_cursor())
      write(text);
    else
      sequence_.push_back({TaskKind::Text, Prec::Test, 0, 0, 0, text});
  }
  void add_name(StrId id) {
    if (at_cursor())
      write_name(id);
    else
      sequence_.push_back({TaskKind::Name, Prec::Test, 0, 0, id.index, {}});
  }
  void add_constant(ConstId id, Prec min, std::uint8_t allow = 0) {
    if (!at_cursor() || !write_simple_constant(id, min))
      sequence_.push_back({TaskKind::Constant, min, allow, 0, id.index, {}});
  }
  void add_open(char bracket, Group group, Row row = Row::Free) {
    if (at_cursor())
      open_bracket(bracket);
    else
      sequence_.push_back(
          {TaskKind::OpenParen, Prec::Test, 0, static_cast<std::uint8_t>(bracket), 0, {}});
    add_group(group, row);
  }
  void add_close(char bracket) {
    add_group_end();
    if (at_cursor())
      close_bracket(bracket);
    else
      sequence_.push_back(
          {TaskKind::CloseParen, Prec::Test, 0, static_cast<std::uint8_t>(bracket), 0, {}});
  }
  void add_group(Group group, Row row = Row::Free) {
    if (at_cursor())
      open_group(group, row);
    else
      sequence_.push_back({TaskKind::OpenGroup,
                           Prec::Test,
                           0,
                           static_cast<std::uint8_t>(group),
                           static_cast<std::uint32_t>(row),
                           {}});
  }
  void add_part(Row row = Row::Free) {
    if (at_cursor())
      part(row);
    else
      sequence_.push_back({TaskKind::Part, Prec::Test, 0, 0, static_cast<std::uint32_t>(row), {}});
  }
  void add_comma() {
    add_text(", ");
    add_part();
  }
  void add_group_end() {
    if (at_cursor())
      close_group();
    else
      sequence_.push_back({TaskKind::CloseGroup});
  }

  void open_bracket(char bracket) {
    out_ += bracket;
    deepest_ = std::max(deepest_, ++brackets_);
  }
  void close_bracket(char bracket) {
    out_ += bracket;
    --brackets_;
  }
  void open_group(Group group, Row row) {
    ++groups_;
    if (!fields_) layout_.open(group, row);
  }
  void part(Row row) {
    if (!fields_) layout_.part(row);
  }
  void close_group() {
    --groups_;
    if (!fields_) layout_.close();
  }
  void mark_twin(std::uint32_t code) {
    if (!fields_)
      layout_.twin(std::uint64_t{module_[CodeId(code)].parent.index} << 32 | twins_[code], code);
  }

  /// Writes an expression at the cursor if that takes no tasks: a name, an attribute of one, a
  /// constant that holds no others. False: nothing is done.
  bool write_simple(ExprId id, Prec min) {
    if (!id || ast_[id].kind != ExprKind::Name) return write_other_simple(id, min);
    const Expr& e = ast_[id];
    add_site(e);
    write_name(StrId(e.a));
    return true;
  }
  bool write_other_simple(ExprId id, Prec min);
  bool write_simple_constant(ConstId id, Prec min);
  void visit(const Task& task);  // Compound
  /// How an expression may part into rows.
  struct Around {
    bool soft;    // in a group of its own, where some bracket is open
    bool parts;   // at all
    bool parens;  // it stands in parentheses
    std::uint8_t allow;
    Prec prec;
    std::size_t held;  // operands of `and` or `or` on the first row
  };
  /// The expression without its parentheses.
  void visit_inside(const Task& task, const Expr& e, const Around& around);
  void visit_attribute(const Expr& e, std::uint8_t flag);
  void visit_keyword(const Expr& e);
  void visit_binary(const Expr& e, const Around& around);
  void visit_bool_op(const Expr& e, const Around& around);
  void visit_comparison(const Expr& e, const Around& around);
  void visit_conditional(const Expr& e, const Around& around);
  void visit_tuple(const Expr& e, const Task& task, const Around& around);
  void visit_dict(const Expr& e);
  void visit_lambda(const Expr& e);
  void visit_clause(const Expr& e, bool parts);
  void visit_constant_set(const Const& value);
  void visit_subscript(const Expr& e, std::uint8_t flag);
  void add_slice_call(const Expr& e);
  void visit_list(const Expr& e);
  void visit_yield(const Expr& e);
  void visit_conversion(const Expr& e);
  void visit_constant(const Task& task);
  void visit_call(const Expr& e, std::uint8_t flag);
  void visit_comprehension(const Expr& e);
  void visit_formatted_string(ExprId id, const Expr& e, Prec min);
  void visit_pattern(const Task& task);
  void add_pattern(ExprId id, std::uint8_t place);
  void add_pattern_value(ExprId id);
  void add_mapping_pattern(const Expr& e);
  void add_class_pattern(const Expr& e);
  void visit_raw(const Expr& e);
  void add_field(ExprId field, Quote quote, std::uint32_t level);
  void add_string_parts(const Expr& e, Quote quote, bool spec);
  void add_format_fallback(const Expr& e, Prec min);
  void add_items(std::span<const ExprId> kids, Prec min);
  void add_comprehensions(std::span<const ExprId> kids);
  void add_parameters(const Function& function, bool annotations, DefaultRows rows = {},
                      const Signature* given = nullptr);
  void add_signature(const Function& function, const Signature* given = nullptr);
  void add_type_parameters(const std::vector<TypeParam>& parameters);
  /// `lone_generator`: may a generator expression that is the only argument share the parentheses?
  /// That of a class may not.
  void add_arguments(std::span<const ExprId> kids, bool lone_generator = true);
  void add_slice(const Expr& e);
  bool is_constant_display(const Expr& e) const;
  /// Of a BoolOp: so many operands begin on the row of the first (see kOnSameRow), 0 where none has
  /// to.
  std::size_t operands_on_first_row(const Expr& e) const;
  /// Has a BoolOp such operands, or one that it begins with?
  bool holds_rows(const Expr& e) const;
  /// That begins with a name, most often, and goes on with attributes, keys and calls.
  bool is_path(const Expr& e) const;
  bool takes_optional_group(ExprId id) const;
  bool parenthesised(const Task& task, const Expr& e, Prec prec) const;
  bool has_starred(std::span<const ExprId> kids) const;

  // ---- quotes.cpp: the delimiters of f-strings
  struct QuotePlan {
    Quote outer = Quote::Single, nested = Quote::Single;
    bool outer_possible = true;
  };
  const QuotePlan& plan_quotes(ExprId id);
  std::uint8_t literals_of(const Expr& e, char& last) const;
  QuotePlan quote_plan(const Expr& e, std::uint8_t& mask) const;
  std::uint8_t constant_mask(ConstId id);
  /// Does a field of a t-string stand as its text in the file? That is part of the value
  /// (Interpolation.expression), but nothing says that it is the source of the field's value. It
  /// stands where it does what the value does: the same names, attributes, calls and subscripts in
  /// the same order. Otherwise the value stands there.
  bool keeps_text(ExprId id);
  std::string value_text(ExprId value);

  // ---- statements.cpp
  enum class Context : std::uint8_t { Module, Class, Function };
  struct Frame {
    enum What : std::uint8_t { Block, Compound } what = Block;
    std::span<const StmtId> stmts;  // Block
    std::uint32_t next = 0;         // Block: statement; Compound: phase or arm
    std::uint32_t depth = 0;
    Context context = Context::Module;
    bool starts_body = false;  // Block: a docstring may come first
    CodeId code;
    StmtId stmt;  // Compound
  };

  void print_frames();
  void print_statement(StmtId id, const Frame& at);
  void print_next_clause(Frame& compound);
  void print_function_def(const Stmt& s, const Frame& at);
  void print_class_def(const Stmt& s, const Frame& at);
  void print_decorators(std::span<const ExprId> decorators, const Frame& at);
  void print_comment(const Stmt& s, const Frame& at);
  void print_raw_statement(const Stmt& s);
  void write_simple(const Stmt& s);
  void write_assignment(const Stmt& s);
  void write_annotation(const Stmt& s);
  void write_with(const Stmt& s);
  void write_import_from(const Stmt& s);
  void separate(const Frame& at, StmtId id);
  void push_block(std::span<const StmtId> stmts, std::uint32_t depth, const Frame& outer);
  void push_body(std::span<const StmtId> stmts, std::uint32_t depth, Context context, CodeId code);
  void begin(std::uint32_t depth) { layout_.begin(indent_of(depth)); }
  void end_header();
  void end();
  std::uint32_t indent_of(std::uint32_t depth) const { return depth * options_.indentation; }
  void write(std::string_view text) { out_ += text; }
  /// Writes what `spell` appends to a string.
  template <class Spell>
  void write_spelt(Spell spell) {
    spelt_.clear();
    spell(spelt_);
    out_ += spelt_;
  }
  void write_name(StrId id) { out_ += names_.spell(id); }
  /// Where names are reached by builtins, no attribute `__debug__` that is bound comes here.
  std::string_view attribute_name(StrId id) {
    const bool plain = !options_.renames_keywords && id.index < module_.strings.size() &&
                       is_debug_name(module_[id]);
    return plain ? module_[id] : names_.spell(id);
  }
  /// Prints one expression at the cursor; `optional`: parentheses are added where the line is too
  /// wide.
  void write_expr(ExprId id, std::uint8_t allow = 0, bool optional = true);
  void write_import_names(std::span<const std::uint32_t> names);
  /// The operation at `origin` stands at the cursor.
  void add_site(const Origin& origin) {
    if (!options_.sites) return;
    layout_.site(static_cast<std::uint32_t>(source_.sites.size()));
    source_.sites.push_back({0, origin});
  }
  void add_site(const Stmt& s) {
    if (options_.sites && s.origin.offset != UINT32_MAX) add_sites(s);
  }
  void add_sites(const Stmt& s);
  void add_site(const Expr& e) {
    if (e.origin.offset != UINT32_MAX) add_site(e.origin);
  }
  /// The definition of `code` stands at the cursor.
  void add_twin(std::uint32_t code) {
    if (code >= twins_.size()) return;
    if (at_cursor())
      mark_twin(code);
    else
      sequence_.push_back({TaskKind::Twin, Prec::Test, 0, 0, code, {}});
  }
  void add_definition(CodeId code) { add_site(Origin{UINT32_MAX, 0, code}); }
  void note(std::string message);
  bool is_docstring(StmtId id) const;
  bool at_least(std::uint8_t minor) const { return options_.grammar >= PyVersion{3, minor}; }

  const Ast& ast_;
  const Module& module_;
  const PrintOptions& options_;
  Source& source_;
  Text out_;           // becomes Source::text
  std::string spelt_;  // see write_spelt
  Layout layout_;
  Names names_;
  std::vector<std::uint32_t> twins_;  // see group_twins
  CodeId code_;                       // whose body is being printed
  std::vector<Task> tasks_, sequence_;
  std::vector<Frame> frames_;
  std::unordered_map<std::uint32_t, QuotePlan> quote_plans_;
  std::deque<std::string>
      scratch_;  // texts of tasks that exist nowhere else, until the expression is printed
  std::uint32_t brackets_ = 0;  // open brackets
  std::uint32_t deepest_ = 0;
  std::uint32_t groups_ = 0;  // open groups: inside one, operands may part
  std::uint32_t fields_ = 0;  // open replacement fields
  bool noted_depth_ = false, noted_indent_ = false;

  /// Prints values of interpolations, each on one line.
  struct Values {
    PrintOptions options;
    Source source;
    std::unique_ptr<Printer> printer;
  };
  std::unique_ptr<Values> values_;
  bool prints_values_ = false;                          // is that printer: no text stands
  std::unordered_map<std::uint32_t, bool> keeps_text_;  // by Interpolation
};

}  // namespace depyf
