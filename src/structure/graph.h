#pragma once
// The graph that structure/ works on: the lifted blocks, merged and rewired until only statements'
// control flow is left.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast/ast.h"
#include "bytecode/lines.h"
#include "lift/lifted.h"
#include "structure/structure.h"
#include "support/checked_vector.h"
#include "support/flat_map.h"

namespace depyf {

/// What kind of statement a handler region is.
enum class RegionKind : std::uint8_t {
  Unclassified,
  Except,   // try/except, try/except*
  Finally,  // try/finally
  With,     // with: the handler calls the exit function
  Scope,    // not protected: the code of an Except region's handler, up to POP_EXCEPT
  Erased,   // implicit in the source: restores the exception state, or unbinds `except … as name`
};

/// Does the statement do something on every way out, which the compiler copies to each?
constexpr bool cleans_up(RegionKind kind) {
  return kind == RegionKind::Finally || kind == RegionKind::With;
}

struct StructRegion {
  RegionId parent;
  BlockId handler;
  RegionKind kind = RegionKind::Unclassified;
  BlockId entry;         // the protected block that control enters
  RegionId owner;        // Scope: the region whose handler it is
  RegionId scope;        // Except, Finally: the scope of its handler, if that has one
  ValueId with_enter;    // With: the WITH_ENTER, or the awaited ASYNC_WITH_ENTER, value
  bool async = false;    // With
  bool unbinds = false;  // Finally: only unbinds the name of `except … as name`
  BlockId unhandled;     // Except: of `except*`, the node after the last test: to what follows the
                         // statement, or raises what no clause took
  bool is_star() const { return static_cast<bool>(unhandled); }
  /// Does an exception in it reach its handler?
  bool catches() const {
    return handler && kind != RegionKind::Erased && kind != RegionKind::Scope;
  }
  bool is_written_finally() const { return kind == RegionKind::Finally && !unbinds; }
};

/// What a handler finds on the stack at its entry.
constexpr bool is_at_handler_entry(ValueKind kind) {
  return kind == ValueKind::Exception || kind == ValueKind::ExceptionType ||
         kind == ValueKind::Traceback || kind == ValueKind::Previous || kind == ValueKind::Lasti;
}

/// By TermKind.
inline constexpr std::uint8_t kEdgeCounts[] = {1, 2, 2, 2, 0, 0, 0, 0};
static_assert(static_cast<int>(TermKind::Jump) == 0 && static_cast<int>(TermKind::Send) == 3 &&
              static_cast<int>(TermKind::Unreachable) == 7);

struct Node {
  Node() = default;
  explicit Node(LiftedBlock&& block)
      : params(std::move(block.params)),
        body(std::move(block.body)),
        term(block.term),
        value(block.value),
        item(block.item),
        raise_args(block.raise_args),
        edges{block.edges[0], block.edges[1]},
        falls(block.falls),
        region(block.region),
        term_offset(block.term_offset),
        term_line(block.term_line),
        term_columns(block.term_columns),
        jump(block.jump) {}
  std::vector<ValueId> params;
  std::vector<ValueId> body;
  TermKind term = TermKind::Unreachable;
  ValueId value, item;
  std::span<ValueId> raise_args;
  Edge edges[2];
  std::uint8_t falls = 0;  // Branch: see LiftedBlock
  RegionId region;
  std::uint32_t pred_count = 0;  // normal edges
  std::uint32_t term_offset = 0;
  std::int32_t term_line = 0;
  std::uint32_t term_columns = 0;
  bool alive = true;
  /// Jump: what it was in the source.
  JumpRole jump = JumpRole::Plain;
  /// Jump, in the order of the source: forward, which `continue` never is.
  bool leads_ahead = false;
  /// Return: part of the statement that leads to it.
  bool in_place = false;
  /// Has the line and columns of a test that leads to it. No statement has those.
  bool at_test = false;
  /// Follows a copy of what a `finally` or `with` does on the way out.
  bool behind_copy = false;
  /// Where the values of a conditional expression meet that a statement drops.
  bool drops_choice = false;
  /// ForIter: of an `async for`.
  bool async_for = false;
  /// Branch: see read_threaded_tests.
  bool threaded = false;
  /// Tests one `case`, by its index in StructureGraph::cases: matched -> edges[0], else edges[1].
  std::uint32_t match = UINT32_MAX;
  int edge_count() const { return kEdgeCounts[static_cast<std::size_t>(term)]; }
  /// Decides by `value`, which the Branch of a `case` does not have.
  bool tests_value() const { return term == TermKind::Branch && match == UINT32_MAX; }
  /// No `break` or `continue`, and no `case` that always matches.
  bool is_plain_jump() const {
    return term == TermKind::Jump && jump == JumpRole::Plain && match == UINT32_MAX;
  }
  /// Where its end stands in the code and in the source.
  void take_position(const Node& end) {
    term_offset = end.term_offset;
    term_line = end.term_line;
    term_columns = end.term_columns;
  }
  /// Ends here: a plain jump takes the place of the terminator.
  void jump_to(BlockId to, std::span<ValueId> args = {}) {
    term = TermKind::Jump;
    jump = JumpRole::Plain;
    value = item = ValueId();
    raise_args = {};
    async_for = false;
    edges[0] = Edge{to, args};
  }
};

/// An expression with control flow inside. Its one operand is the tested value, `first`; the rest
/// is built already.
struct Select {
  enum Kind : std::uint8_t {
    And,
    Or,
    IfExp,
    Prebuilt,
    Subject,  // of a `match`: the operand itself
  } kind = And;
  /// And: `rest` is a comparison whose missing left side is the right side of `first`.
  bool chained = false;
  /// And, Or, IfExp: `not first`.
  bool negate_first = false;
  /// And, Or: the operands meet as one value, which another operation tests.
  bool merged = false;
  /// And, Or: `first` is the first operand of one in brackets, `(a and b) and c`.
  bool inner = false;
  ExprId rest, orelse;  // IfExp: `rest` is the body
  /// IfExp: the constant of `first or True`, `first and False`.
  ExprId decided;
};

/// One `case` of a `match` statement. Its node is empty but for the first one's, which evaluates
/// the subject; a Jump when nothing can fail to match.
struct MatchCase {
  ExprId pattern;
  bool first = false;     // begins the statement; the node's value is the subject
  bool never = false;     // has a constant guard: both edges lead to the next case
  std::int32_t line = 0;  // last line of the pattern
};

/// What is known of a value besides its uses: of most, nothing.
struct ValueFacts {
  std::uint32_t select = UINT32_MAX;  // index in StructureGraph::selects
  StrId named;                        // the temporary that holds it
  ExprId built;          // expression left for another block (iterators, context managers)
  bool chained = false;  // right side of a comparison that the next comparison takes up
};

/// The size of two pieces of code, or two constants, that are compared as copies: those that are
/// larger count as different.
constexpr std::size_t kMostCompared = 4096;

/// What follows each compound statement, as the bytecode tells it; mark_statement_ends() writes it.
struct StatementEnds {
  std::vector<BlockId> of_regions;  // by region
  std::vector<BlockId> of_loops;    // by index in lifted.loops
  /// By the offset where a written `else` begins: what follows it, if that is known.
  std::unordered_map<std::uint32_t, BlockId> of_elses;
};

/// The names that the decompiler gives to values.
struct Temporaries {
  std::uint32_t count = 0;
  bool made = false;           // also such as were taken back
  std::vector<ValueId> named;  // those that temporary_for() named, in order
};

/// The graph of one code object while its control flow becomes statements: nodes, the values that
/// their operations make and read, and how those are counted. What reads or changes it knowing what
/// a statement looks like is a function or class of its own; steps.h lists the steps.
class StructureGraph {
 public:
  StructureGraph(Lifted& lifted, Ast& ast, const StructureOptions& options);

  // ---- what the steps work on
  Lifted& lifted;
  Ast& ast;
  Module& module;
  const StructureOptions& options;
  CheckedVector<Node> nodes;
  CheckedVector<StructRegion> regions;
  BlockId entry;
  BlockId body_end;  // of a module or class with a loop: its end, which no statement holds
  CheckedVector<std::uint32_t> uses;  // by value
  CheckedVector<Select> selects;
  CheckedVector<MatchCase> cases;            // see Node::match
  CheckedVector<std::vector<StmtId>> parts;  // of values of kind Statements
  StatementEnds ends;
  Temporaries temporaries;
  /// Counts the changes of the graph: a step without effect waits until it grows.
  std::uint32_t changes = 0;
  /// The changes at which fold_expressions() last had nothing to do.
  std::uint32_t folded_at = UINT32_MAX;
  /// What is made here has these ids or later ones.
  std::uint32_t first_expr, first_stmt;

  Node& operator[](BlockId id) { return nodes[id.index]; }
  /// Not a module or a class, which no statement ends.
  bool is_function() const { return (module[lifted.code].flags & kOptimized) != 0; }
  /// Do rows and columns tell what a person wrote?
  bool source_layout_tells() const { return options.layout_tells && !options.made_by_dynamo; }
  /// Does Node::falls tell what was written? Up to 3.9 offsets tell more.
  bool falls_known() const { return !lifted.traits.source_order && !options.made_by_dynamo; }
  void diagnose(std::uint8_t level, std::uint32_t offset, std::string message);

  // ---- values
  const Value& at(ValueId v) const { return lifted.values[v.index]; }
  const ValueFacts& known(ValueId v) const {
    static constexpr ValueFacts nothing;
    const ValueFacts* const found = facts_.at(v.index);
    return found ? *found : nothing;
  }
  ValueFacts& note(ValueId v) { return facts_[v.index]; }
  bool is_op(ValueId v, Op op) const {
    return v && at(v).kind == ValueKind::Operation && at(v).op == op;
  }
  bool is_const(ValueId v) const { return is_op(v, Op::LOAD_CONST); }
  const Const& constant(ValueId load) const { return module[ConstId(at(load).arg)]; }
  bool is_none(ValueId v) const { return is_const(v) && constant(v).kind == ConstKind::None; }
  /// Is it the compiler's own store of `__static_attributes__` at the end of a class body?
  bool lists_attributes(const Value& store) const;
  /// Part of no statement: loads a constant, or drops a value, as a `return` does with iterators.
  bool is_quiet(ValueId v) const { return is_const(v) || is_op(v, Op::POP_TOP); }
  bool are_quiet(std::span<const ValueId> operations) const {
    return std::ranges::all_of(operations, [&](ValueId v) { return is_quiet(v); });
  }
  bool are_constants(std::span<const ValueId> operations) const {
    return std::ranges::all_of(operations, [&](ValueId v) { return is_const(v); });
  }
  /// The first operation that is no constant, or none.
  ValueId first_effect(const Node& node) const {
    const auto first = std::ranges::find_if_not(node.body, [&](ValueId v) { return is_const(v); });
    return first == node.body.end() ? ValueId() : *first;
  }
  /// What the handler caught, or its type.
  bool is_exception_of(ValueId v, BlockId handler) const {
    return v && (at(v).kind == ValueKind::Exception || at(v).kind == ValueKind::ExceptionType) &&
           at(v).block == handler;
  }
  Origin origin(ValueId v) const { return {at(v).offset, at(v).line, lifted.code, at(v).columns}; }
  ValueId add_value(const Value& value);
  /// `None`, loaded in the block; where it stands among its operations is the caller's.
  ValueId add_none(BlockId block);
  /// A parameter of the block, which the caller puts among its others.
  ValueId add_param(BlockId block);
  /// An expression that stands nowhere in the source.
  ExprId literal(ConstKind kind, std::int64_t integer = 0);
  std::vector<ValueId> results_of(ValueId op) const;
  /// From here on `v` stands for the parameter.
  void replace_by(ValueId parameter, ValueId v) {
    forward_[parameter.index] = v;
    Value& value = lifted.values[v.index];
    value.dropped |= value.kind == ValueKind::Select && lifted.values[parameter.index].dropped;
    if (known(parameter).chained) note(v).chained = true;
    forwarded_since_count_ = true;
  }
  /// What stands for the value now.
  ValueId resolve(ValueId v) { return v && forward_[v.index] ? end_of_forwards(v) : v; }
  /// Does something else stand for it?
  bool is_replaced(ValueId v) const { return static_cast<bool>(forward_[v.index]); }
  /// May an operation of a node read a value that something else stands for?
  bool forwarded_since_count() const { return forwarded_since_count_; }
  StrId temporary_for(ValueId v);
  /// Takes back the names of temporaries.named[kept …], when nothing that uses them is kept;
  /// `count` is what temporaries.count was then.
  void forget_temporaries(std::size_t kept, std::uint32_t count);

  // ---- expressions with control flow inside
  /// Of a value of kind Select.
  const Select& select_of(ValueId v) const { return selects[known(v).select]; }
  /// Is it a value of `and` or `or` that is tested once more?
  bool is_merged(ValueId v) const { return at(v).kind == ValueKind::Select && select_of(v).merged; }
  /// A Select in `block` on `operand`, in the place of `replaced`; where it stands among the
  /// block's operations is the caller's.
  ValueId add_select(const Select& select, BlockId block, ValueId operand, ValueId replaced);
  /// Does it nest deeper than the parser takes?
  bool is_deep(ExprId e) { return nesting(e) / kBracket > lifted.traits.brackets; }
  /// How deep an expression's operands nest: those that may be printed in brackets count
  /// `kBracket`, and those that the parser merely goes down into 1.
  std::uint32_t nesting(ExprId e) {
    Expr& tree = ast[e];
    if (tree.nesting == 0 && tree.kids.size() < kLongDisplay)
      tree.nesting = nesting_by_operands(tree, 0, 1);
    return tree.nesting != 0 ? tree.nesting : nesting_of_tree(e);
  }

  // ---- copies of code
  bool same_const(ConstId a, ConstId b) const;
  /// Two loads of one constant?
  bool same_constants(ValueId a, ValueId b) const {
    return is_const(a) && is_const(b) && same_const(ConstId(at(a).arg), ConstId(at(b).arg));
  }
  bool same_tree(ExprId a, ExprId b);
  /// The columns that every copy of an operation has, else 0: two loads or stores of locals can be
  /// one instruction, with the place of the first (flowgraph.c, insert_superinstructions), and
  /// stand apart in a copy of the same code.
  static std::uint32_t columns_of_copies(const Value& value) {
    return value.op == Op::LOAD_FAST || value.op == Op::STORE_FAST ? 0 : value.columns;
  }
  /// The same operation, whatever its operands are.
  bool same_operation(const Value& a, const Value& b) const;
  /// The same operation of one place in the source, whatever its operands are: two copies that the
  /// compiler made.
  bool copied_operation(const Value& a, const Value& b) const {
    // A call with many keywords adds each to a dict, at the place of the keyword's value.
    return (a.op == Op::MAP_ADD ||
            (a.line == b.line && columns_of_copies(a) == columns_of_copies(b))) &&
           same_operation(a, b);
  }
  /// Of two values of kind Select, the same but for their operands.
  bool same_select(ValueId a, ValueId b);
  /// `a and b` and `not a or not b`, of one `a`, or of two of which one says the opposite?
  bool negated_select(ValueId a, ValueId b, bool first_negated);
  /// Is the test `a` true where `b` is false, by the same operations in the same order?
  bool opposite_tests(ExprId a, ExprId b);

  // ---- counts
  void add_edge_uses(const Edge& edge, int delta);
  void count_uses();
  void count_preds();
  /// Both.
  void recount();
  bool counted() const { return changes == counted_at_; }

  // ---- control flow
  /// Where a block begins, as far as its operations are left.
  std::uint32_t first_offset(BlockId b) const {
    const Node& node = nodes[b.index];
    return node.body.empty() ? node.term_offset : at(node.body.front()).offset;
  }
  /// The operations in its body are its own from then on.
  BlockId add_node(Node node) {
    const BlockId id(static_cast<std::uint32_t>(nodes.size()));
    for (ValueId v : node.body) lifted.values[v.index].block = id;
    nodes.push_back(std::move(node));
    return id;
  }
  /// Node::jump_to, handing over one value.
  void jump_with(Node& node, BlockId to, ValueId v) {
    node.jump_to(to, lifted.arena.copy(std::initializer_list<ValueId>{v}));
  }
  bool is_ancestor(RegionId outer,
                   RegionId inner) const;  // outer == inner counts; none is everybody's ancestor
  std::vector<BlockId> reverse_postorder_blocks();
  /// By block: its position in `order`, UINT32_MAX where it is not there.
  std::vector<std::uint32_t> positions(std::span<const BlockId> order) const;
  /// By block: those of `order` that lead there, once for each edge.
  std::vector<std::vector<BlockId>> predecessors(std::span<const BlockId> order) const;
  /// Does an edge lead to a node that comes no later? Each loop has one, in whatever order its
  /// nodes are.
  bool any_edge_back() const;
  std::vector<std::uint8_t> reached(bool with_exceptions) const {
    return reached(with_exceptions, entry, BlockId());
  }
  /// Past no `barrier`.
  std::vector<std::uint8_t> reached(bool with_exceptions, BlockId from, BlockId barrier) const;
  /// Only raises AssertionError, as a failed `assert` does.
  bool fails_assertion(BlockId b);
  bool is_written_break(const Node& node) const;
  bool is_written_continue(const Node& node) const;
  /// The same of a jump behind a statement. Where a loop's end repeats its test (3.10 on), the jump
  /// has the row of the test, which lies before.
  bool is_continue_behind(const Node& node) const;
  /// `merge(a, b)`: a jumps to b, its only successor; b's only predecessor is a.
  bool can_merge(BlockId a) const;
  void merge(BlockId a);
  /// True where one of the two changed anything.
  bool tidy_jumps();
  bool thread_empty_blocks();
  bool merge_straight_lines();
  /// How many operations at the end of a block make up its condition; 0 when the block ends in
  /// none.
  std::size_t test_length(BlockId b);
  /// The last `length` operations of block `b` and its branch as a block of their own; `b` itself
  /// when there is nothing before them.
  BlockId split_test(BlockId b, std::size_t length);
  /// What block `b` does from operation `from` on, and its end, as a block of their own.
  BlockId split_off(BlockId b, std::size_t from);

 private:
  static constexpr std::uint32_t kBracket = 16;
  static constexpr std::size_t kLongDisplay = 32;
  struct Nested {
    std::size_t size;
    std::uint32_t deepest;
  };

  CheckedVector<ValueId> forward_;  // parameter -> the value that replaced it, see replace_by
  bool forwarded_since_count_ = false;
  std::uint32_t counted_at_ = UINT32_MAX;  // the changes at the end of the last recount()
  FlatMap<ValueFacts> facts_;              // by value
  mutable std::optional<std::vector<std::uint32_t>> attribute_lists_;  // see lists_attributes()
  std::unordered_map<const ExprId*, Nested>
      displays_;  // by their items: what nesting() found of so many

  void forget_layout();  // see StructureOptions::layout_tells
  bool is_written(const Node& node, std::string_view keyword) const;
  /// Has the jump of a node another row than what stands before it in the node?
  bool has_row_of_its_own(const Node& node) const;
  ValueId end_of_forwards(ValueId v);
  std::vector<ExprId> all_operands(const Expr& whole) const;
  std::uint32_t nesting_of_tree(ExprId e);
  /// Of a node with its operands from `first` on; 0 where it is not known of one of them.
  std::uint16_t nesting_by_operands(const Expr& tree, std::size_t first,
                                    std::uint32_t deepest) const {
    // a chain to the left has no brackets: `a.b(c).d`, `a + b + c`
    constexpr NodeKinds kToTheLeft = {
        .exprs = mask(ExprKind::Attribute) | mask(ExprKind::Subscript) | mask(ExprKind::Call) |
                 mask(ExprKind::Binary) | mask(ExprKind::Keyword) | mask(ExprKind::Unary) |
                 mask(ExprKind::Await) | mask(ExprKind::FormattedValue)};
    std::uint32_t cost = kToTheLeft.has(tree.kind) && first == 0 ? 0 : kBracket;
    // and one to the right: `a if b else c if d else e`, `a ** b ** c`
    const bool to_the_right =
        tree.kind == ExprKind::IfExp ||
        (tree.kind == ExprKind::Binary && static_cast<BinaryOp>(tree.op) == BinaryOp::Power);
    for (std::size_t i = first; i < tree.kids.size(); ++i) {
      if (const ExprId kid = tree.kids[i]) {
        const Expr& operand = ast[kid];
        const std::uint32_t inside = operand.kids.empty() ? 1 : operand.nesting;
        if (inside == 0) return 0;
        const bool last = to_the_right && i + 1 == tree.kids.size() && operand.kind == tree.kind &&
                          operand.op == tree.op;
        deepest = std::max(deepest, inside + (last ? 1 : cost));
      }
      cost = kBracket;
    }
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(deepest, UINT16_MAX));
  }
};

}  // namespace depyf
