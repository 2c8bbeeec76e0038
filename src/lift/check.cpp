#include <string>

#include "flow/dominators.h"
#include "lift/lifted.h"
#include "support/error.h"

namespace depyf {
namespace {

class Checker {
 public:
  explicit Checker(const Lifted& lifted) : lifted_(lifted) {}

  void run() {
    const std::uint32_t n = static_cast<std::uint32_t>(lifted_.blocks.size());
    Graph graph;
    graph.offsets.push_back(0);
    for (const LiftedBlock& block : lifted_.blocks) {
      for (const Edge& edge : block.edges)
        if (edge.to.valid()) graph.edges.push_back(edge.to.index);
      if (block.region.valid())
        graph.edges.push_back(lifted_.regions[block.region.index].handler.index);
      graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
    dominators_ = dominators(graph, lifted_.entry.index);
    // Positions: 0 at a block's entry, i + 1 after body[i].
    position_.assign(lifted_.values.size(), kNowhere);
    for (std::uint32_t b = 0; b < n; ++b) {
      const LiftedBlock& block = lifted_.blocks[b];
      for (ValueId param : block.params) {
        known(param, b);
        if (lifted_[param].kind != ValueKind::Param)
          fail(b, "its parameter " + name(param) + " is none");
        place(param, b, 0);
      }
      for (std::size_t i = 0; i < block.body.size(); ++i) {
        known(block.body[i], b);
        if (lifted_[block.body[i]].kind != ValueKind::Operation)
          fail(b, name(block.body[i]) + " in its body is no operation");
        place(block.body[i], b, static_cast<std::uint32_t>(i) + 1);
      }
    }
    for (std::uint32_t b = 0; b < n; ++b)
      if (dominators_.number[b] != UINT32_MAX) block(b);
  }

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  const Lifted& lifted_;
  Dominators dominators_;
  std::vector<std::uint32_t> position_;

  [[noreturn]] static void fail(std::uint32_t b, const std::string& what) {
    throw Error("the graph of block " + std::to_string(b) + " is inconsistent: " + what +
                "; this is a bug in depyf");
  }
  static std::string name(ValueId id) { return "v" + std::to_string(id.index); }

  void known(ValueId id, std::uint32_t b) const {
    if (id.index >= lifted_.values.size()) fail(b, "it names a value that does not exist");
  }

  void place(ValueId id, std::uint32_t b, std::uint32_t position) {
    if (position_[id.index] != kNowhere) fail(b, name(id) + " is defined twice");
    if (lifted_[id].block.index != b)
      fail(b,
           name(id) + " says that it belongs to block " + std::to_string(lifted_[id].block.index));
    position_[id.index] = position;
  }

  /// `id` is used in block b after `position` operations.
  void use(ValueId id, std::uint32_t b, std::uint32_t position) const {
    known(id, b);
    const Value* value = &lifted_[id];
    ValueId definition = id;
    bool item = false;
    if (value->kind == ValueKind::Null) return;
    if (value->kind == ValueKind::Result) {
      if (value->operands.size() != 1) fail(b, "the result " + name(id) + " has no operation");
      if (value->op == Op::FOR_ITER) {
        item = true;
      } else {
        definition = value->operands[0];
        known(definition, b);
        value = &lifted_[definition];
        if (value->kind != ValueKind::Operation)
          fail(b, "the result " + name(id) + " is of no operation");
      }
    }
    std::uint32_t at = position_[definition.index];
    if (item) {
      if (lifted_.blocks[value->block.index].item != id)
        fail(b, name(id) + " is the item of no loop");
      at = static_cast<std::uint32_t>(lifted_.blocks[value->block.index].body.size()) + 1;
    } else if (value->kind != ValueKind::Operation && value->kind != ValueKind::Param) {
      at = 0;
    }
    if (at == kNowhere) fail(b, name(id) + " is used but stands in no block");
    const std::uint32_t home = value->block.index;
    if (home == b ? at > position : !dominators_.dominates(home, b))
      fail(b, name(id) + " is used before its definition in block " + std::to_string(home));
  }

  void arguments(std::span<const ValueId> args, BlockId to, std::uint32_t b, std::uint32_t position,
                 bool exceptional) const {
    if (to.index >= lifted_.blocks.size()) fail(b, "an edge leaves the graph");
    const LiftedBlock& target = lifted_.blocks[to.index];
    if (args.size() != target.params.size())
      fail(b, "its edge to block " + std::to_string(to.index) + " has " +
                  std::to_string(args.size()) + " arguments for " +
                  std::to_string(target.params.size()) + " parameters");
    for (ValueId id : args)
      if (id.valid())
        use(id, b,
            exceptional ? static_cast<std::uint32_t>(lifted_.blocks[b].body.size()) : position);
  }

  void block(std::uint32_t b) const {
    const LiftedBlock& block = lifted_.blocks[b];
    for (std::size_t i = 0; i < block.body.size(); ++i)
      for (ValueId operand : lifted_[block.body[i]].operands)
        use(operand, b, static_cast<std::uint32_t>(i));
    const std::uint32_t end = static_cast<std::uint32_t>(block.body.size());
    if (block.value.valid()) use(block.value, b, end);
    for (ValueId id : block.raise_args) use(id, b, end);
    bool one = false, two = false, value = true;
    switch (block.term) {
      case TermKind::Jump:
        one = true;
        value = false;
        break;
      case TermKind::Branch:
      case TermKind::ForIter:
      case TermKind::Send:
        one = two = true;
        break;
      case TermKind::Return:
      case TermKind::Reraise:
        break;
      case TermKind::Raise:
      case TermKind::Unreachable:
        value = false;
        break;
    }
    if (one != block.edges[0].to.valid() || two != block.edges[1].to.valid())
      fail(b, "its edges do not fit its end");
    if (value != block.value.valid()) fail(b, "its value does not fit its end");
    if (one)
      arguments(block.edges[0].args, block.edges[0].to, b, end + (block.term == TermKind::ForIter),
                false);
    if (two) arguments(block.edges[1].args, block.edges[1].to, b, end, false);
    if (block.region.valid()) {
      if (block.region.index >= lifted_.regions.size()) fail(b, "its region does not exist");
      arguments(block.handler_args, lifted_.regions[block.region.index].handler, b, end, true);
    }
  }
};

}  // namespace

void check(const Lifted& lifted) { Checker(lifted).run(); }

}  // namespace depyf
