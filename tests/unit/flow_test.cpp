// Control-flow graphs from hand-assembled instruction lists.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "flow/cfg.h"
#include "flow/dominators.h"
#include "support/error.h"

namespace depyf {
namespace {

Graph graph_of(const std::vector<std::vector<std::uint32_t>>& successors) {
  Graph graph;
  graph.offsets.push_back(0);
  for (const auto& list : successors) {
    graph.edges.insert(graph.edges.end(), list.begin(), list.end());
    graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  return graph;
}

/// Nodes reachable from `entry` without passing `without`.
std::vector<bool> reachable(const Graph& graph, std::uint32_t entry, std::uint32_t without) {
  std::vector<bool> seen(graph.size(), false);
  if (entry == without) return seen;
  std::vector<std::uint32_t> work{entry};
  seen[entry] = true;
  while (!work.empty()) {
    const std::uint32_t node = work.back();
    work.pop_back();
    for (std::uint32_t next : graph.successors(node))
      if (next != without && !seen[next]) {
        seen[next] = true;
        work.push_back(next);
      }
  }
  return seen;
}

TEST(Dominators, AgreeWithTheDefinitionOnRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t n = 1 + random() % 14;
    std::vector<std::vector<std::uint32_t>> successors(n);
    for (auto& list : successors)
      for (std::uint32_t k = random() % 3; k-- > 0;) list.push_back(random() % n);
    const Graph graph = graph_of(successors);
    const Dominators dom = dominators(graph, 0);
    const std::vector<bool> all = reachable(graph, 0, UINT32_MAX);
    for (std::uint32_t a = 0; a < n; ++a) {
      EXPECT_EQ(dom.number[a] != UINT32_MAX, all[a]);
      if (!all[a]) continue;
      const std::vector<bool> without = reachable(graph, 0, a);
      for (std::uint32_t b = 0; b < n; ++b)
        EXPECT_TRUE(!all[b] || dom.dominates(a, b) == !without[b]) << a << " " << b;
    }
  }
}

TEST(Dominators, ReversePostorderVisitsTheFirstSuccessorFirst) {
  const Graph graph = graph_of({{1, 2}, {3}, {3}, {}});
  EXPECT_EQ(reverse_postorder(graph, 0), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(Dominators, TwoEntriesIntoALoopAreIrreducible) {
  const Graph loop = graph_of({{1}, {2}, {1, 3}, {}});
  EXPECT_TRUE(is_reducible(loop, dominators(loop, 0)));
  const Graph two = graph_of({{1, 2}, {2}, {1, 3}, {}});
  EXPECT_FALSE(is_reducible(two, dominators(two, 0)));
}

TEST(Dominators, ALongChainTakesNoRecursionAndNoQuadraticTime) {
  std::vector<std::vector<std::uint32_t>> successors;
  const std::uint32_t n = 200000;  // a `match` with n cases: every case leaves to the same block
  for (std::uint32_t i = 0; i < n; ++i) successors.push_back({i + 1, n + 1});
  successors.push_back({n + 1});
  successors.push_back({});
  const Graph graph = graph_of(successors);
  const Dominators dom = dominators(graph, 0);
  EXPECT_EQ(dom.idom[n + 1], 0u);
  EXPECT_TRUE(is_reducible(graph, dom));
}

class FlowTest : public testing::Test {
 protected:
  Module module;
  CodeId code;
  ConstId none;

  void version(std::uint8_t minor) {
    module.version = {3, minor};
    none = module.add(Const{});
    CodeObject object;
    object.version = module.version;
    object.name = module.intern("f");
    module.codes.push_back(object);
    code = CodeId(0);
  }
  /// Offsets are 2 × index.
  static InstrList list(const std::vector<Instr>& instrs, const std::vector<ExceptionRow>& rows = {}) {
    InstrList result{instrs, rows};
    for (std::size_t i = 0; i < instrs.size(); ++i) result.instrs[i].offset = static_cast<std::uint32_t>(2 * i);
    return result;
  }
  static Instr op(Op op, std::uint32_t arg = 0, std::uint32_t aux = 0) { return {op, arg, aux, kNoTarget, 0, 1}; }
  static Instr to(Op op, std::uint32_t target, std::uint32_t aux = 0) { return {op, 0, aux, target, 0, 1}; }
  std::string text(const InstrList& list) { return to_text(build_cfg(module, code, list), module); }
};

TEST_F(FlowTest, RowsWithOneHandlerAreOneRegionAndTheHandlersOwnRegionEnclosesIt) {
  version(11);
  const Cfg cfg = build_cfg(module, code, list({
      /*0*/ op(Op::LOAD_GLOBAL), op(Op::CALL), to(Op::BRANCH_FALSE, 5),
      /*3*/ op(Op::LOAD_CONST), op(Op::RETURN_VALUE),
      /*5*/ op(Op::LOAD_GLOBAL), op(Op::POP_TOP), to(Op::JUMP, 14),
      /*8*/ op(Op::PUSH_EXC_INFO), op(Op::POP_TOP), op(Op::POP_EXCEPT, 1), to(Op::JUMP, 14),
      /*12*/ op(Op::COPY, 3), op(Op::RERAISE, 1, 1),
      /*14*/ op(Op::LOAD_CONST), op(Op::RETURN_VALUE)},
      {{0, 3, 8, 0, false}, {5, 7, 8, 0, false}, {8, 10, 12, 1, true}}));
  ASSERT_EQ(cfg.regions.size(), 2u);
  EXPECT_EQ(cfg.regions[0].depth, 1u);
  EXPECT_TRUE(cfg.regions[0].lasti);
  EXPECT_EQ(cfg.regions[1].parent, RegionId(0));
  const Block& entry = cfg[cfg.entry];
  EXPECT_EQ(entry.region, RegionId(1));
  EXPECT_EQ(cfg[entry.target].region, RegionId(1));
  EXPECT_FALSE(cfg[entry.next].region.valid());
  EXPECT_EQ(cfg[cfg.regions[1].handler].region, RegionId(0));
}

TEST_F(FlowTest, UnreachableBlocksAndTheirRegionsAreDropped) {
  version(11);
  const Cfg cfg = build_cfg(module, code, list({op(Op::LOAD_CONST), op(Op::RETURN_VALUE), op(Op::LOAD_GLOBAL), op(Op::RETURN_VALUE),
                                                op(Op::RERAISE, 1)}, {{2, 3, 4, 0, false}}));
  EXPECT_EQ(cfg.size(), 1u);
  EXPECT_TRUE(cfg.regions.empty());
}

TEST_F(FlowTest, AHandlerThatProtectsItselfKeepsItsRegionWithoutAParent) {
  version(11);
  const Cfg cfg = build_cfg(module, code, list({op(Op::LOAD_CONST), op(Op::RETURN_VALUE), op(Op::RERAISE, 1)},
                                               {{0, 1, 2, 0, false}, {2, 3, 2, 0, false}}));
  ASSERT_EQ(cfg.regions.size(), 1u);
  EXPECT_FALSE(cfg.regions[0].parent.valid());
  EXPECT_EQ(cfg[cfg.regions[0].handler].region, RegionId(0));
}

TEST_F(FlowTest, TargetsOutOfRangeAndCodeWithoutEndAreErrors) {
  version(11);
  EXPECT_THROW(build_cfg(module, code, list({})), Error);
  EXPECT_THROW(build_cfg(module, code, list({to(Op::JUMP, 9)})), Error);
  EXPECT_THROW(build_cfg(module, code, list({op(Op::LOAD_CONST)})), Error);
  EXPECT_THROW(build_cfg(module, code, list({op(Op::LOAD_CONST), op(Op::RETURN_VALUE)}, {{0, 3, 0, 0, false}})), Error);
}

}  // namespace
}  // namespace depyf
