// L5: the whole body as a dispatch loop over its blocks, for control flow that no statements
// express.
//
//   state = 0
//   while True:
//       try:
//           if state == 0: …; state = 3          one `if` for each block
//           …
//       except BaseException as exc:
//           if state in (0, 3): …; state = 7     the handler of the region that the block lies in
//           else: raise
//           while True: …                        the blocks of running handlers, likewise
//
// What CPython calls the exception state (sys.exc_info, the context of a new exception, a bare
// `raise`) is kept by the nesting: a block between a handler's entry and its POP_EXCEPT stands
// inside an `except` clause of this text. A block's depth is the number of handlers that run in it.
// States are numbered by depth, so that a smaller number than those of a loop leaves it. An
// exception for a handler of a smaller depth leaves the loops first and is then raised again in a
// state of its own. Values that cross blocks have temporaries, assigned where they are made;
// parameters are assigned on the way to their block.
#include <algorithm>
#include <map>

#include "ast/builtins.h"
#include "structure/build.h"
#include "structure/dispatch.h"
#include "structure/graph.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {
namespace {

constexpr int kUnknown = -1;
/// CPython allows 20 statically nested blocks; a loop and its `try` and `except` are three, and a
/// block holds up to three of its own.
constexpr int kMaxHandlers = 5;

class Dispatch {
 public:
  explicit Dispatch(StructureGraph& s, std::span<const BlockId> exits = {}, bool whole = true)
      : s_(s), ast_(s.ast), code_(s.module[s.lifted.code]), whole_(whole) {
    exit_of_.assign(s.nodes.size(), kNoExit);
    for (std::size_t i = 0; i < exits.size(); ++i)
      exit_of_[exits[i].index] = static_cast<std::uint32_t>(i);
  }

  std::vector<StmtId> run() {
    if (!(code_.flags & kOptimized)) scope_ = NameScope::Name;  // a class or module
    for (const LiftedBlock& block : s_.lifted.blocks)
      for (ValueId v : block.handler_args)
        if (v) ++s_.uses[s_.resolve(v).index];
    find_entry_values();
    find_unbound();
    find_depths();
    cut();
    number();
    std::vector<StmtId> body;
    if (whole_) make_iterator(body);
    if (!unbound_.empty()) assign(body, own("unbound"), call({builtin(ast_, "object")}));
    set_state(body, number_of(first_piece_[s_.entry.index]));
    for (int depth = max_depth_; depth >= 0; --depth) loop(depth);
    body.push_back(loops_[0]);
    if (whole_) forget_all(body);
    return body;
  }

  /// A class or module must not keep the names of this text.
  void forget_all(std::vector<StmtId>& out) {
    if (scope_ == NameScope::Name) forget_temporaries(out);
  }

  /// Did control leave by that exit?
  ExprId left_by(std::size_t exit) {
    return ast_.compare(CompareOp::Eq, state(), s_.literal(ConstKind::Int, state_of_exit(exit)));
  }

 private:
  /// A part of a block in which the same handlers run; or (stub) the place where an exception is
  /// raised again.
  struct Piece {
    BlockId block;
    std::size_t first = 0, last = 0;  // of the block's body
    bool ends_block = false, stub = false;
    int depth = 0;
    RegionId region;
    std::uint32_t state = 0;
  };

  // ---------------------------------------------------------------- small makers

  StmtId add(StmtKind kind) { return ast_.stmt(kind); }
  ExprId name(StrId id) {
    return ast_.expr(ExprKind::Name, {}, id.index, static_cast<std::uint8_t>(scope_));
  }
  ExprId temporary(ValueId v) { return name(s_.temporary_for(v)); }
  ExprId own(const std::string& what) {
    return name(s_.module.intern(std::string(s_.options.temp_prefix) + what));
  }
  ExprId fresh() { return own(std::to_string(s_.temporaries.count++)); }
  ExprId state() { return own("state"); }
  ExprId caught(int depth) { return own("exception_" + std::to_string(depth)); }
  ExprId raised() { return own("raised"); }
  ExprId attribute(ExprId value, std::string_view id) {
    return ast_.expr(ExprKind::Attribute, {value}, s_.module.intern(id).index);
  }
  ExprId call(std::vector<ExprId> kids) { return ast_.expr(ExprKind::Call, kids); }
  ExprId tuple(const std::vector<ExprId>& items) { return ast_.expr(ExprKind::Tuple, items); }
  void assign(std::vector<StmtId>& out, ExprId target, ExprId value, Origin origin = {}) {
    out.push_back(ast_.assign(target, value, origin));
  }
  void set_state(std::vector<StmtId>& out, std::int64_t number) {
    assign(out, state(), s_.literal(ConstKind::Int, number));
  }
  std::span<StmtId> list(const std::vector<StmtId>& items) { return ast_.arena.copy(items); }
  std::span<StmtId> list_or_pass(std::vector<StmtId> items) {
    if (items.empty()) items.push_back(add(StmtKind::Pass));
    return list(items);
  }
  StmtId clause(ExprId type, const std::vector<StmtId>& body) {
    const StmtId handler = add(StmtKind::Handler);
    ast_[handler].e[0] = type;
    ast_[handler].body = list_or_pass(body);
    return handler;
  }
  StmtId clause(std::string_view type, const std::vector<StmtId>& body) {
    return clause(builtin(ast_, type), body);
  }
  StmtId try_except(const std::vector<StmtId>& body, std::initializer_list<StmtId> clauses) {
    const StmtId st = add(StmtKind::Try);
    ast_[st].body = list(body);
    ast_[st].arms = ast_.arena.copy(clauses);
    return st;
  }
  StmtId raise(ExprId exception) {
    const StmtId st = add(StmtKind::Raise);
    ast_[st].e[0] = exception;
    return st;
  }
  Origin origin(const Value& v) const { return {v.offset, v.line, s_.lifted.code, v.columns}; }

  [[noreturn]] void no_form(const Value& v) const {
    throw UnusualCode("operation " + std::string(op_name(v.op)) + " at offset " +
                      std::to_string(v.offset) + " has no form in a dispatch loop");
  }

  // ---------------------------------------------------------------- depths and states

  bool pushes(BlockId handler) const { return pushes_[handler.index]; }

  void find_entry_values() {
    pushes_.assign(s_.nodes.size(), 0);
    entry_values_.resize(s_.nodes.size());
    for (std::uint32_t i = 0; i < s_.lifted.values.size(); ++i) {
      const Value& v = s_.lifted.values[i];
      if (!is_at_handler_entry(v.kind) || !v.block) continue;
      if (v.kind == ValueKind::Previous) pushes_[v.block.index] = 1;
      entry_values_[v.block.index].push_back(ValueId(i));
    }
  }

  /// How many handlers the operation leaves.
  bool leaves_handler(ValueId id) const {
    const Value& v = s_.at(id);
    if (v.kind != ValueKind::Operation) return false;
    if (v.op == Op::POP_EXCEPT) return true;
    return v.op == Op::END_ASYNC_FOR && v.block && pushes(v.block);
  }

  void find_depths() {
    depth_.assign(s_.nodes.size(), kUnknown);
    base_.assign(s_.regions.size(), kUnknown);
    std::vector<BlockId> work;
    auto reach = [&](BlockId b, int depth) {
      if (is_exit(b)) {
        if (depth != 0) throw UnusualCode("a part of the code is left from a running handler");
        return;
      }
      int& known = depth_[b.index];
      if (known == depth) return;
      if (known != kUnknown)
        throw UnusualCode(
            "a block is reached with different numbers of running exception handlers");
      known = depth;
      work.push_back(b);
    };
    reach(s_.entry, 0);
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      const Node& node = s_[b];
      int depth = depth_[b.index];
      for (RegionId r = node.region; r; r = s_.regions[r.index].parent) {
        if (base_[r.index] != kUnknown) {
          if (base_[r.index] > depth)
            throw UnusualCode("protected code is entered from a handler and from outside of it");
          continue;
        }
        base_[r.index] = depth;
      }
      for (RegionId r = node.region; r; r = s_.regions[r.index].parent)
        reach(s_.regions[r.index].handler, base_[r.index] + pushes(s_.regions[r.index].handler));
      for (ValueId v : node.body) depth -= leaves_handler(v);
      if (depth < 0) throw UnusualCode("more exception handlers end than begin");
      for (int k = 0; k < node.edge_count(); ++k) reach(node.edges[k].to, depth);
    }
  }

  void cut() {
    first_piece_.assign(s_.nodes.size(), UINT32_MAX);
    for (BlockId b : s_.reverse_postorder_blocks()) {
      if (depth_[b.index] == kUnknown || is_exit(b)) continue;
      const Node& node = s_[b];
      first_piece_[b.index] = static_cast<std::uint32_t>(pieces_.size());
      Piece piece;
      piece.block = b;
      piece.depth = depth_[b.index];
      piece.region = node.region;
      for (std::size_t i = 0; i < node.body.size(); ++i) {
        if (!leaves_handler(node.body[i])) continue;
        piece.last = i + 1;
        pieces_.push_back(piece);
        piece.first = i + 1;
        if (--piece.depth < 0) throw UnusualCode("more exception handlers end than begin");
      }
      piece.last = node.body.size();
      piece.ends_block = true;
      pieces_.push_back(piece);
    }
    // The region's handler runs less deep than the code that raises.
    stub_.assign(s_.regions.size(), UINT32_MAX);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece p = pieces_[i];
      max_depth_ = std::max(max_depth_, p.depth);
      if (!p.region || p.depth <= base_[p.region.index] || stub_[p.region.index] != UINT32_MAX)
        continue;
      if (p.depth < base_[p.region.index])
        throw UnusualCode("protected code continues after the handler around it has ended");
      Piece stub;
      stub.stub = true;
      stub.region = p.region;
      stub.depth = base_[p.region.index];
      stub_[p.region.index] = static_cast<std::uint32_t>(pieces_.size());
      pieces_.push_back(stub);
    }
    if (max_depth_ > kMaxHandlers)
      throw UnusualCode("more than " + std::to_string(kMaxHandlers) +
                        " exception handlers run inside each other");
  }

  void number() {
    std::uint32_t next = 0;
    for (int depth = 0; depth <= max_depth_; ++depth) {
      first_state_.push_back(next);
      for (Piece& p : pieces_)
        if (p.depth == depth) p.state = next++;
    }
    loops_.resize(static_cast<std::size_t>(max_depth_) + 1);
  }

  std::uint32_t number_of(std::uint32_t piece) const { return pieces_[piece].state; }

  bool is_exit(BlockId b) const { return exit_of_[b.index] != kNoExit; }
  static std::int64_t state_of_exit(std::size_t exit) {
    return -2 - static_cast<std::int64_t>(exit);
  }

  // ---------------------------------------------------------------- text

  /// A comprehension's argument is an iterator; the text of its caller leaves it to the loop to
  /// make one.
  void make_iterator(std::vector<StmtId>& out) {
    if (code_.argcount != 1 || code_.slots.empty() || s_.module[code_.slots[0].name] != ".0")
      return;
    bool async = false;
    for (BlockId b : s_.reverse_postorder_blocks()) {
      const Node& node = s_[b];
      async = std::any_of(node.body.begin(), node.body.end(),
                          [&](ValueId v) { return s_.is_op(v, Op::GET_ANEXT); });
      if (async || node.term == TermKind::ForIter) break;
    }
    const ExprId variable = ast_.expr(ExprKind::Name, {}, code_.slots[0].name.index,
                                      static_cast<std::uint8_t>(NameScope::Fast));
    assign(out, variable,
           async ? async_iterator(variable) : call({builtin(ast_, "iter"), variable}));
  }

  /// Up to 3.9 nothing but the method says it, which is then looked up on the object itself.
  ExprId async_iterator(ExprId of) {
    if (s_.module.version.has_async_iter()) return call({builtin(ast_, "aiter"), of});
    return call({attribute(of, "__aiter__")});
  }

  void loop(int depth) {
    std::vector<StmtId> blocks;
    bool protects = false;
    for (const Piece& p : pieces_) {
      if (p.depth != depth) continue;
      protects |= p.region.valid();
      const StmtId st = add(StmtKind::If);
      ast_[st].e[0] = ast_.compare(CompareOp::Eq, state(), s_.literal(ConstKind::Int, p.state));
      std::vector<StmtId> body;
      p.stub ? raise_again(body, raised()) : piece(p, body);
      ast_[st].body = list_or_pass(body);
      blocks.push_back(st);
    }
    if (protects) {
      const StmtId handler = clause("BaseException", handlers(depth));
      ast_[handler].a = ast_[caught(depth)].a;
      ast_[handler].flag = static_cast<std::uint8_t>(scope_);
      blocks = {try_except(blocks, {handler})};
    }
    const StmtId st = add(StmtKind::While);
    ast_[st].e[0] = s_.literal(ConstKind::True);
    ast_[st].body = list(blocks);
    loops_[static_cast<std::size_t>(depth)] = st;
  }

  /// The `except` clause of the loop at `depth`: which handler, then the loop over the blocks of
  /// running handlers.
  std::vector<StmtId> handlers(int depth) {
    struct Group {
      std::vector<const Piece*> pieces;
      std::vector<ValueId> params, args;
    };
    std::vector<Group> groups;
    std::map<std::uint32_t, std::size_t> plain;  // region -> its group without arguments
    for (const Piece& p : pieces_) {
      if (p.depth != depth || !p.region) continue;
      Group group;
      if (!p.stub) {
        const Node& handler = s_[s_.regions[p.region.index].handler];
        const std::span<const ValueId> args = s_.lifted.blocks[p.block.index].handler_args;
        for (std::size_t i = 0; i < handler.params.size() && i < args.size(); ++i) {
          if (!args[i] || s_.uses[handler.params[i].index] == 0) continue;
          group.params.push_back(handler.params[i]);
          group.args.push_back(s_.resolve(args[i]));
        }
      }
      if (group.params.empty()) {
        const auto [at, made] = plain.try_emplace(p.region.index, groups.size());
        if (!made) {
          groups[at->second].pieces.push_back(&p);
          continue;
        }
      }
      group.pieces.push_back(&p);
      groups.push_back(std::move(group));
    }
    bool nested = false;
    std::vector<StmtId> otherwise = {add(StmtKind::Raise)};
    for (std::size_t g = groups.size(); g-- > 0;) {
      const Group& group = groups[g];
      const RegionId region = group.pieces[0]->region;
      const BlockId handler = s_.regions[region.index].handler;
      std::vector<StmtId> body;
      assign_all(body, group.params, group.args);
      if (base_[region.index] < depth) {
        assign(body, raised(), caught(depth));
        set_state(body, number_of(stub_[region.index]));
        body.push_back(add(StmtKind::Break));
      } else {
        for (ValueId v : entry_values_[handler.index]) {
          const ValueKind kind = s_.at(v).kind;
          if (kind != ValueKind::Exception && s_.uses[v.index] == 0) continue;
          assign(body, temporary(v),
                 kind == ValueKind::Exception       ? caught(depth)
                 : kind == ValueKind::ExceptionType ? attribute(caught(depth), "__class__")
                 : kind == ValueKind::Traceback     ? attribute(caught(depth), "__traceback__")
                                                    : s_.literal(ConstKind::None));
        }
        set_state(body, number_of(first_piece_[handler.index]));
        if (pushes(handler))
          nested = true;
        else
          body.push_back(add(StmtKind::Continue));
      }
      const StmtId st = add(StmtKind::If);
      ast_[st].e[0] = in_states(group.pieces);
      ast_[st].body = list(body);
      ast_[st].orelse = list(otherwise);
      otherwise = {st};
    }
    if (nested) {
      otherwise.push_back(loops_[static_cast<std::size_t>(depth) + 1]);
      if (depth > 0 || scope_ == NameScope::Name) {
        const StmtId leave = add(StmtKind::If);
        ast_[leave].e[0] =
            ast_.compare(CompareOp::Lt, state(),
                         s_.literal(ConstKind::Int, first_state_[static_cast<std::size_t>(depth)]));
        ast_[leave].body = list({add(StmtKind::Break)});
        otherwise.push_back(leave);
      }
    }
    return otherwise;
  }

  ExprId in_states(const std::vector<const Piece*>& pieces) {
    if (pieces.size() == 1)
      return ast_.compare(CompareOp::Eq, state(), s_.literal(ConstKind::Int, pieces[0]->state));
    std::vector<ExprId> items;
    for (const Piece* p : pieces) items.push_back(s_.literal(ConstKind::Int, p->state));
    return ast_.compare(CompareOp::In, state(), tuple(items));
  }

  void assign_all(std::vector<StmtId>& out, const std::vector<ValueId>& params,
                  const std::vector<ValueId>& args) {
    std::vector<ExprId> targets, values;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i] == args[i]) continue;
      targets.push_back(temporary(params[i]));
      values.push_back(value(args[i]));
    }
    if (targets.empty()) return;
    if (targets.size() == 1)
      assign(out, targets[0], values[0]);
    else
      assign(out, tuple(targets), tuple(values));
  }

  /// A value that an earlier statement holds.
  ExprId value(ValueId v) {
    if (s_.is_const(v)) return ast_.constant(ConstId(s_.at(v).arg));
    if (s_.at(v).kind == ValueKind::Null) return s_.literal(ConstKind::None);
    return temporary(v);
  }

  void go(const Piece& from, int k, std::vector<StmtId>& out) {
    const Edge& edge = s_[from.block].edges[k];
    const Node& to = s_[edge.to];
    std::vector<ValueId> params, args;
    for (std::size_t i = 0; i < to.params.size() && i < edge.args.size(); ++i) {
      if (s_.uses[to.params[i].index] == 0) continue;
      params.push_back(to.params[i]);
      args.push_back(s_.resolve(edge.args[i]));
    }
    assign_all(out, params, args);
    if (!is_exit(edge.to)) return set_state(out, number_of(first_piece_[edge.to.index]));
    set_state(out, state_of_exit(exit_of_[edge.to.index]));
    out.push_back(add(StmtKind::Break));
  }

  /// Raises an exception as it is: its context stays what it was.
  void raise_again(std::vector<StmtId>& out, ExprId exception) {
    const ExprId context = fresh();
    assign(out, context, attribute(exception, "__context__"));
    const StmtId again = raise(exception);
    std::vector<StmtId> restore;
    assign(restore, attribute(exception, "__context__"), context);
    const StmtId st = add(StmtKind::Try);
    ast_[st].body = list({again});
    ast_[st].final = list(restore);
    out.push_back(st);
  }

  /// The exception that an operation names by its value or (≤ 3.10) by its type.
  ExprId exception(ValueId v) {
    const Value& at = s_.at(v);
    if (at.kind == ValueKind::ExceptionType || at.kind == ValueKind::Traceback)
      for (ValueId sibling : entry_values_[at.block.index])
        if (s_.at(sibling).kind == ValueKind::Exception) return temporary(sibling);
    return value(v);
  }

  void flush(BlockBuilder& builder, std::vector<StmtId>& out) {
    out.insert(out.end(), builder.out.begin(), builder.out.end());
    builder.out.clear();
  }

  /// Gives all that is still pending a name.
  void close(BlockBuilder& builder, std::vector<StmtId>& out) {
    builder.finish_all();
    flush(builder, out);
  }

  void piece(const Piece& p, std::vector<StmtId>& out) {
    const Node& node = s_[p.block];
    std::vector<ValueId> plain;
    for (std::size_t i = p.first; i < p.last; ++i) {
      const ValueId v = node.body[i];
      if (!is_special(v)) {
        plain.push_back(v);
        continue;
      }
      BlockBuilder builder(s_, false);
      builder.run(plain);
      plain.clear();
      std::vector<ValueId> operands(s_.at(v).operands.begin(), s_.at(v).operands.end());
      BlockBuilder::Operands kids = builder.take_all(operands);
      close(builder, out);
      for (ExprId& kid : kids) {  // each is used where it stands, perhaps more than once
        if (!kid || ast_[kid].kind == ExprKind::Name || ast_[kid].kind == ExprKind::Constant)
          continue;
        const ExprId held = fresh();
        assign(out, held, kid, origin(s_.at(v)));
        kid = held;
      }
      special(v, kids, out);
    }
    BlockBuilder builder(s_, false);
    builder.run(plain);
    if (p.ends_block) return end(p, builder, out);
    close(builder, out);
    set_state(out, number_of(static_cast<std::uint32_t>(&p - pieces_.data()) + 1));
    out.push_back(add(StmtKind::Break));
  }

  /// The end of a block, whose last operations `builder` has.
  void end(const Piece& p, BlockBuilder& builder, std::vector<StmtId>& out) {
    const Node& node = s_[p.block];
    const auto statement = [&](StmtKind kind) {
      const StmtId st = add(kind);
      ast_[st].origin = {node.term_offset, node.term_line, s_.lifted.code, node.term_columns};
      return st;
    };
    switch (node.term) {
      case TermKind::Jump:
        close(builder, out);
        return go(p, 0, out);
      case TermKind::Branch: {
        const ExprId test = builder.take(node.value);
        close(builder, out);
        const StmtId st = statement(StmtKind::If);
        std::vector<StmtId> yes, no;
        go(p, 0, yes);
        go(p, 1, no);
        ast_[st].e[0] = test;
        ast_[st].body = list(yes);
        ast_[st].orelse = list(no);
        out.push_back(st);
        return;
      }
      case TermKind::ForIter: {
        const ExprId iterator = builder.take(node.value);
        close(builder, out);
        return next_item(p, statement(StmtKind::For), iterator, out);
      }
      case TermKind::Return: {
        const ExprId result = builder.take(node.value);
        close(builder, out);
        const bool none = ast_[result].kind == ExprKind::Constant &&
                          s_.module[ConstId(ast_[result].a)].kind == ConstKind::None;
        if (scope_ == NameScope::Name) {
          if (!none) throw UnusualCode("a class or module body returns a value");
          set_state(out, -1);
          out.push_back(add(StmtKind::Break));
          return;
        }
        const StmtId st = statement(StmtKind::Return);
        if (!(none && (code_.flags & kAsyncGenerator))) ast_[st].e[0] = result;
        out.push_back(st);
        return;
      }
      case TermKind::Raise: {
        BlockBuilder::Operands args = builder.take_all(node.raise_args);
        close(builder, out);
        const StmtId st = statement(StmtKind::Raise);
        for (std::size_t i = 0; i < args.size() && i < 2; ++i) ast_[st].e[i] = args[i];
        out.push_back(st);
        return;
      }
      case TermKind::Reraise:
        close(builder, out);
        return raise_again(out, exception(s_.resolve(node.value)));
      case TermKind::Send:
        throw UnusualCode("SEND at offset " + std::to_string(node.term_offset) +
                          " stands outside of `await` and `yield from`");
      case TermKind::Unreachable:
        throw UnusualCode("a block at offset " + std::to_string(node.term_offset) + " has no end");
    }
  }

  /// `for item in iterator: …; break`, with the way after the loop in its `else`.
  void next_item(const Piece& p, StmtId st, ExprId iterator, std::vector<StmtId>& out) {
    const Node& node = s_[p.block];
    std::vector<StmtId> next, done;
    go(p, 0, next);
    const bool leaves = is_exit(node.edges[0].to);
    if (!leaves) next.push_back(add(StmtKind::Break));
    go(p, 1, done);
    const ExprId item = temporary(node.item);
    ast_[st].e[0] = item;
    ast_[st].e[1] = iterator;
    ast_[st].body = list(next);
    ast_[st].orelse = list(done);
    out.push_back(st);
    if (!leaves) return;
    const StmtId leave = add(StmtKind::If);
    ast_[leave].e[0] = left_by(exit_of_[node.edges[0].to.index]);
    ast_[leave].body = list({add(StmtKind::Break)});
    out.push_back(leave);
  }

  bool is_special(ValueId id) const {
    const Value& v = s_.at(id);
    if (v.kind != ValueKind::Operation) return false;
    if (v.op == Op::BUILD_SET) return v.operands.empty();  // no display is an empty set
    if (v.op == Op::STORE_FAST) return maybe_unbound(v.operands[0]);
    if (kAdds[v.op]) return !(v.aux & kInPlace);
    return v.op == Op::WITH_ENTER || v.op == Op::ASYNC_WITH_ENTER ||
           v.op == Op::WITH_EXCEPT_START || v.op == Op::EXC_MATCH || v.op == Op::POP_EXCEPT ||
           v.op == Op::END_ASYNC_FOR || v.op == Op::GET_ANEXT || v.op == Op::GET_AITER ||
           v.op == Op::GET_AWAITABLE || v.op == Op::YIELD_FROM || v.op == Op::GET_YIELD_FROM_ITER ||
           v.op == Op::GET_ITER || v.op == Op::GET_LEN || v.op == Op::POP_TOP ||
           v.op == Op::LOAD_FAST_AND_CLEAR || is_match(v.op);
  }

  static bool is_match(Op op) {
    return op == Op::MATCH_SEQUENCE || op == Op::MATCH_MAPPING || op == Op::MATCH_KEYS ||
           op == Op::MATCH_CLASS || op == Op::COPY_DICT_WITHOUT_KEYS;
  }

  bool maybe_unbound(ValueId v) const { return !unbound_.empty() && unbound_[v.index]; }

  /// Values that are NULL where LOAD_FAST_AND_CLEAR found the variable unbound.
  void find_unbound() {
    std::vector<ValueId> work;
    for (std::uint32_t i = 0; i < s_.lifted.values.size(); ++i)
      if (s_.is_op(ValueId(i), Op::LOAD_FAST_AND_CLEAR)) work.push_back(ValueId(i));
    if (work.empty()) return;
    std::vector<std::vector<ValueId>> passed_to(s_.lifted.values.size());
    for (const Node& node : s_.nodes)
      for (int k = 0; k < node.edge_count(); ++k) {
        const std::vector<ValueId>& params = s_[node.edges[k].to].params;
        for (std::size_t i = 0; i < params.size() && i < node.edges[k].args.size(); ++i)
          if (node.edges[k].args[i]) passed_to[node.edges[k].args[i].index].push_back(params[i]);
      }
    for (std::size_t b = 0; b < s_.lifted.blocks.size(); ++b) {
      const LiftedBlock& block = s_.lifted.blocks[b];
      if (!block.region) continue;
      const std::vector<ValueId>& params = s_[s_.regions[block.region.index].handler].params;
      for (std::size_t i = 0; i < params.size() && i < block.handler_args.size(); ++i)
        if (block.handler_args[i]) passed_to[block.handler_args[i].index].push_back(params[i]);
    }
    unbound_.assign(s_.lifted.values.size(), 0);
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      if (unbound_[v.index]) continue;
      unbound_[v.index] = 1;
      work.insert(work.end(), passed_to[v.index].begin(), passed_to[v.index].end());
    }
  }

  ExprId variable(std::uint32_t slot, const Value& v) {
    // Closures keep the cleared cell; a class or module has such a variable only in its stack
    // frame.
    if (slot >= code_.slots.size() || (code_.slots[slot].kind & (kCell | kFree | kHidden)))
      no_form(v);
    return ast_.expr(ExprKind::Name, {}, code_.slots[slot].name.index,
                     static_cast<std::uint8_t>(scope_));
  }

  StmtId forget(ExprId variable) {
    const StmtId st = add(StmtKind::Delete);
    ast_[st].list = ast_.arena.copy(std::initializer_list<ExprId>{variable});
    return st;
  }

  StmtId unless_unbound(const std::vector<StmtId>& body, const std::vector<StmtId>& otherwise) {
    return try_except(body, {clause("NameError", otherwise)});
  }

  ExprId result(ValueId op, std::uint32_t which) {
    for (ValueId v : s_.results_of(op))
      if (s_.at(v).arg == which) return temporary(v);
    return fresh();
  }

  /// The methods of `with`, in the order in which the interpreter looks them up.
  void enter(ValueId id, ExprId manager, std::vector<StmtId>& out) {
    const Value v = s_.at(id);
    const bool async = v.op == Op::ASYNC_WITH_ENTER;
    const ExprId exit = attribute(manager, async ? "__aexit__" : "__exit__");
    const ExprId enter = attribute(manager, async ? "__aenter__" : "__enter__");
    const ExprId leaves = result(id, 0), entered = result(id, 1);
    if (s_.module.version.looks_up_exit_first(async)) {
      assign(out, leaves, exit, origin(v));
      assign(out, entered, call({enter}), origin(v));
      return;
    }
    assign(out, entered, enter, origin(v));
    assign(out, leaves, exit, origin(v));
    assign(out, entered, call({name(StrId(ast_[entered].a))}), origin(v));
  }

  /// Operations that statements imply, written out.
  void special(ValueId id, std::span<const ExprId> kids, std::vector<StmtId>& out) {
    const Value v = s_.at(id);
    const Op op = v.op;
    if (op == Op::POP_EXCEPT || op == Op::POP_TOP) return;
    if (op == Op::BUILD_SET)
      return assign(out, temporary(id), call({builtin(ast_, "set")}), origin(v));
    if (op == Op::LOAD_FAST_AND_CLEAR) {
      std::vector<StmtId> body, otherwise;
      assign(body, temporary(id), variable(v.arg, v), origin(v));
      body.push_back(forget(variable(v.arg, v)));
      assign(otherwise, temporary(id), own("unbound"));
      out.push_back(unless_unbound(body, otherwise));
      return;
    }
    if (op == Op::STORE_FAST) {
      std::vector<StmtId> bound;
      assign(bound, variable(v.arg, v), kids[0], origin(v));
      const StmtId st = add(StmtKind::If);
      ast_[st].e[0] = ast_.compare(CompareOp::Is, kids[0], own("unbound"));
      ast_[st].body = list({unless_unbound({forget(variable(v.arg, v))}, {})});
      ast_[st].orelse = list(bound);
      out.push_back(st);
      return;
    }
    if (kids.empty() || std::find(kids.begin(), kids.end(), ExprId::none()) != kids.end())
      no_form(v);
    if (op == Op::WITH_ENTER || op == Op::ASYNC_WITH_ENTER) {
      enter(id, kids[0], out);
    } else if (op == Op::WITH_EXCEPT_START) {
      const ExprId e = exception(s_.resolve(v.operands[1]));
      assign(out, temporary(id),
             call({kids[0], attribute(e, "__class__"), e, attribute(e, "__traceback__")}),
             origin(v));
    } else if (op == Op::EXC_MATCH) {
      match_exception(exception(s_.resolve(v.operands[0])), kids[1], temporary(id), origin(v), out);
    } else if (op == Op::END_ASYNC_FOR) {
      std::vector<StmtId> body;
      raise_again(body, exception(s_.resolve(v.operands[1])));
      out.push_back(try_except(body, {clause("StopAsyncIteration", {})}));
    } else if (op == Op::GET_ANEXT) {
      const bool known = s_.module.version.has_async_iter();
      assign(
          out, temporary(id),
          known ? call({builtin(ast_, "anext"), kids[0]}) : call({attribute(kids[0], "__anext__")}),
          origin(v));
    } else if (op == Op::GET_AITER) {
      assign(out, temporary(id), async_iterator(kids[0]), origin(v));
    } else if (op == Op::GET_AWAITABLE || op == Op::GET_YIELD_FROM_ITER) {
      assign(out, temporary(id), kids[0], origin(v));
    } else if (op == Op::GET_ITER) {
      assign(out, temporary(id), call({builtin(ast_, "iter"), kids[0]}), origin(v));
    } else if (op == Op::GET_LEN) {
      assign(out, temporary(id), call({builtin(ast_, "len"), kids[0]}), origin(v));
    } else if (op == Op::DICT_MERGE) {  // a key that is there already is an error
      assign(out, temporary(id),
             call({builtin(ast_, "dict"), ast_.expr(ExprKind::Keyword, {kids[0]}),
                   ast_.expr(ExprKind::Keyword, {kids[1]})}),
             origin(v));
    } else if (kAdds[op]) {
      Value effect = v;
      effect.aux |= kInPlace;
      out.push_back(make_statement(ast_, s_.lifted, s_.add_value(effect), kids));
      assign(out, temporary(id), kids[0], origin(v));
    } else if (op == Op::YIELD_FROM) {
      const bool async = code_.flags & (kCoroutine | kAsyncGenerator);
      assign(out, temporary(id),
             ast_.expr(async ? ExprKind::Await : ExprKind::YieldFrom, {kids[0]}), origin(v));
    } else if (is_match(op)) {
      match_operation(id, kids, out);
    } else {
      no_form(v);
    }
  }

  /// What one operation of a pattern finds out, by a `match` with that pattern alone.
  void match_operation(ValueId id, std::span<const ExprId> kids, std::vector<StmtId>& out) {
    const Value v = s_.at(id);
    if (v.op == Op::MATCH_SEQUENCE || v.op == Op::MATCH_MAPPING) {
      const ExprId pattern =
          v.op == Op::MATCH_SEQUENCE
              ? ast_.expr(ExprKind::MatchSequence, {ast_.expr(ExprKind::MatchStar, {})})
              : ast_.expr(ExprKind::MatchMapping, {});
      match_one(kids[0], pattern,
                {{temporary(id), s_.literal(ConstKind::True), s_.literal(ConstKind::False)}}, out);
      return;
    }
    const std::size_t listed = v.op == Op::MATCH_CLASS ? 2 : 1;
    const Expr& names = ast_[kids[listed]];
    if (names.kind != ExprKind::Constant || s_.module[ConstId(names.a)].kind != ConstKind::Tuple)
      no_form(v);
    const std::vector<ConstId> items(s_.module[ConstId(names.a)].items.begin(),
                                     s_.module[ConstId(names.a)].items.end());
    if (v.op == Op::COPY_DICT_WITHOUT_KEYS) {
      assign(out, temporary(id), call({builtin(ast_, "dict"), kids[0]}), origin(v));
      for (ConstId item : items)
        out.push_back(forget(ast_.expr(ExprKind::Subscript, {temporary(id), ast_.constant(item)})));
      return;
    }
    std::vector<ExprId> parts, captured;
    std::vector<std::uint32_t> keywords;
    const std::size_t positional = v.op == Op::MATCH_CLASS ? v.arg : 0;
    if (positional > s_.module.consts.size() + s_.lifted.values.size()) no_form(v);
    ExprId type = kids[1];
    if (v.op == Op::MATCH_CLASS) {
      if (ast_[type].kind != ExprKind::Name) {
        type = fresh();
        assign(out, type, kids[1], origin(v));
      }
      parts.push_back(type);
    }
    for (std::size_t i = 0; i < positional + items.size(); ++i) {
      const ExprId variable = fresh();
      captured.push_back(variable);
      if (v.op == Op::MATCH_KEYS) {
        const ConstKind kind = s_.module[items[i]].kind;
        if (kind == ConstKind::Tuple || kind == ConstKind::FrozenSet ||
            kind == ConstKind::Ellipsis || kind == ConstKind::Code)
          no_form(v);
        parts.push_back(ast_.constant(items[i]));
      } else if (i >= positional) {
        if (s_.module[items[i - positional]].kind != ConstKind::Str) no_form(v);
        keywords.push_back(s_.module.intern(s_.module[items[i - positional]].text).index);
      }
      parts.push_back(ast_.expr(ExprKind::MatchAs, {}, ast_[variable].a, ast_[variable].op));
    }
    const ExprId pattern =
        ast_.expr(v.op == Op::MATCH_CLASS ? ExprKind::MatchClass : ExprKind::MatchMapping, parts);
    ast_[pattern].extra = ast_.arena.copy(keywords);
    std::vector<Outcome> outcomes;
    if (v.aux == 1) {
      outcomes.push_back({result(id, 0), tuple(captured), s_.literal(ConstKind::None)});
      outcomes.push_back(
          {result(id, 1), s_.literal(ConstKind::True), s_.literal(ConstKind::False)});
    } else {
      outcomes.push_back({temporary(id), tuple(captured), s_.literal(ConstKind::None)});
    }
    match_one(kids[0], pattern, outcomes, out);
  }

  struct Outcome {
    ExprId target, matched, otherwise;
  };

  void match_one(ExprId subject, ExprId pattern, const std::vector<Outcome>& outcomes,
                 std::vector<StmtId>& out) {
    std::vector<StmtId> matched, otherwise;
    for (const Outcome& one : outcomes) {
      assign(matched, one.target, one.matched);
      assign(otherwise, one.target, one.otherwise);
    }
    const StmtId cases[] = {add(StmtKind::Case), add(StmtKind::Case)};
    ast_[cases[0]].e[0] = pattern;
    ast_[cases[0]].body = list(matched);
    ast_[cases[1]].e[0] = ast_.expr(ExprKind::MatchAs, {});
    ast_[cases[1]].body = list(otherwise);
    const StmtId st = add(StmtKind::Match);
    ast_[st].e[0] = subject;
    ast_[st].arms = ast_.arena.copy(cases);
    out.push_back(st);
  }

  /// An `except` clause's own test: by class, without __instancecheck__, and with its error for
  /// what is no exception class.
  void match_exception(ExprId exception, ExprId type, ExprId target, Origin origin,
                       std::vector<StmtId>& out) {
    const auto finds = [&](ConstKind found) {
      std::vector<StmtId> body;
      assign(body, target, s_.literal(found));
      return body;
    };
    const StmtId st = try_except(
        {raise(exception)},
        {clause(type, finds(ConstKind::True)), clause("BaseException", finds(ConstKind::False))});
    ast_[st].origin = origin;
    out.push_back(st);
  }

  void forget_temporaries(std::vector<StmtId>& out) {
    std::string prefix;
    if (code_.parent || s_.module[code_.name] != "<module>") {
      std::string_view owner = s_.module[code_.name];
      while (owner.starts_with('_')) owner.remove_prefix(1);
      if (!owner.empty()) prefix = "_" + std::string(owner);
    }
    std::vector<std::string> names = {"state", "raised", "unbound"};
    for (std::uint32_t i = 0; i < s_.temporaries.count; ++i) names.push_back(std::to_string(i));
    std::vector<ExprId> keys, nones;
    keys.reserve(names.size());
    nones.reserve(names.size());
    for (const std::string& end : names) {
      std::string whole = std::string(s_.options.temp_prefix) + end;
      if (whole.starts_with("__") && !whole.ends_with("__")) whole = prefix + whole;
      Const text;
      text.kind = ConstKind::Str;
      text.text = s_.module.arena.copy_string(whole);
      keys.push_back(ast_.constant(s_.module.add(text)));
      nones.push_back(s_.literal(ConstKind::None));
    }
    const StmtId st = add(StmtKind::Expr);
    ast_[st].e[0] =
        call({builtin(ast_, "list"),
              call({builtin(ast_, "map"), attribute(call({builtin(ast_, "locals")}), "pop"),
                    tuple(keys), tuple(nones)})});
    out.push_back(st);
  }

  static constexpr std::uint32_t kNoExit = UINT32_MAX;

  StructureGraph& s_;
  Ast& ast_;
  const CodeObject& code_;
  const bool whole_;
  std::vector<std::uint32_t> exit_of_;  // by block: the place after the part, which one
  NameScope scope_ = NameScope::Fast;
  int max_depth_ = 0;
  std::vector<std::uint8_t> pushes_;  // by block: a handler that saves the exception state
  std::vector<std::vector<ValueId>>
      entry_values_;                   // by block: exception, type … that a handler gets
  std::vector<std::uint8_t> unbound_;  // by value; empty: none
  std::vector<int> depth_;             // by block, at its entry
  std::vector<int> base_;              // by region: the depth at which it is entered
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> first_piece_;  // by block
  std::vector<std::uint32_t> stub_;         // by region
  std::vector<std::uint32_t> first_state_;  // by depth
  std::vector<StmtId> loops_;               // by depth
};

}  // namespace

void structure_as_dispatch(Lifted& lifted, Ast& ast, const StructureOptions& options,
                           const std::string& reason) {
  StructureGraph s(lifted, ast, options);
  s.recount();
  ast.bodies[lifted.code.index].stmts = ast.arena.copy(Dispatch(s).run());
  s.diagnose(5, 0, reason);
}

DispatchedPart dispatch_part(StructureGraph& s, std::span<const BlockId> exits) {
  s.recount();
  Dispatch dispatch(s, exits, false);
  DispatchedPart part;
  part.statements = dispatch.run();
  for (std::size_t i = 0; i < exits.size(); ++i) {
    part.left_by.push_back(dispatch.left_by(i));
    dispatch.forget_all(part.forget.emplace_back());
  }
  return part;
}

}  // namespace depyf
