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
    module.codes = {};
    module.codes.push_back(object);
    code = CodeId(0);
  }
  /// Offsets are 2 × index.
  static InstrList list(const std::vector<Instr>& instrs,
                        const std::vector<ExceptionRow>& rows = {}) {
    InstrList result{instrs, rows};
    for (std::size_t i = 0; i < instrs.size(); ++i)
      result.instrs[i].offset = static_cast<std::uint32_t>(2 * i);
    return result;
  }
  static Instr op(Op op, std::uint32_t arg = 0, std::uint32_t aux = 0) {
    return {op, arg, aux, kNoTarget, 0, 1};
  }
  static Instr to(Op op, std::uint32_t target, std::uint32_t aux = 0) {
    return {op, 0, aux, target, 0, 1};
  }
};

TEST_F(FlowTest, RowsWithOneHandlerAreOneRegionAndTheHandlersOwnRegionEnclosesIt) {
  version(11);
  const Cfg cfg = build_cfg(
      module, code,
      list({/*0*/ op(Op::LOAD_GLOBAL), op(Op::CALL), to(Op::BRANCH_FALSE, 5),
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
  const Cfg cfg = build_cfg(module, code,
                            list({op(Op::LOAD_CONST), op(Op::RETURN_VALUE), op(Op::LOAD_GLOBAL),
                                  op(Op::RETURN_VALUE), op(Op::RERAISE, 1)},
                                 {{2, 3, 4, 0, false}}));
  EXPECT_EQ(cfg.size(), 1u);
  EXPECT_TRUE(cfg.regions.empty());
}

TEST_F(FlowTest, AHandlerThatProtectsItselfKeepsItsRegionWithoutAParent) {
  version(11);
  const Cfg cfg = build_cfg(module, code,
                            list({op(Op::LOAD_CONST), op(Op::RETURN_VALUE), op(Op::RERAISE, 1)},
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
  EXPECT_THROW(build_cfg(module, code,
                         list({op(Op::LOAD_CONST), op(Op::RETURN_VALUE)}, {{0, 3, 0, 0, false}})),
               Error);
}

// What is executed on the way that always falls through or takes branches as `taken` says, as "OP
// OP …".
std::string trace(const Cfg& cfg, BlockId at, std::vector<bool> taken = {}) {
  std::string out;
  std::size_t branch = 0;
  for (int steps = 0; at && steps < 100; ++steps) {
    const Block& block = cfg[at];
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg.instrs[i];
      if (instr.op == Op::JUMP) continue;
      out += (out.empty() ? "" : " ") + std::string(op_name(instr.op));
      if (instr.op == Op::COPY || instr.op == Op::SWAP || instr.op == Op::ROT ||
          instr.op == Op::LOAD_FAST)
        out += std::to_string(instr.arg);
    }
    at = block.target && branch < taken.size() && taken[branch++] ? block.target : block.next;
  }
  return out;
}

TEST_F(FlowTest, BlockStackOfThreeNineBecomesRegions) {
  version(9);
  // with LOAD_FAST 0: LOAD_FAST 1
  const Cfg cfg = build_cfg(module, code,
                            list({/*0*/ op(Op::LOAD_FAST, 0),
                                  to(Op::SETUP_WITH, 11),
                                  op(Op::POP_TOP),
                                  op(Op::LOAD_FAST, 1),
                                  op(Op::POP_TOP),
                                  op(Op::POP_BLOCK),
                                  /*6*/ op(Op::LOAD_CONST),
                                  op(Op::COPY, 1),
                                  op(Op::COPY, 1),
                                  op(Op::CALL, 3),
                                  to(Op::JUMP, 20),
                                  /*11*/ op(Op::WITH_EXCEPT_START, 7),
                                  to(Op::BRANCH_TRUE, 14),
                                  op(Op::RERAISE, 3),
                                  /*14*/ op(Op::POP_TOP),
                                  op(Op::POP_TOP),
                                  op(Op::POP_TOP),
                                  op(Op::POP_EXCEPT, 3),
                                  op(Op::POP_TOP),
                                  to(Op::JUMP, 21),
                                  /*20*/ op(Op::POP_TOP),
                                  /*21*/ op(Op::LOAD_CONST),
                                  op(Op::RETURN_VALUE)}));
  ASSERT_EQ(cfg.regions.size(), 1u);
  EXPECT_EQ(cfg.regions[0].depth, 1u);
  EXPECT_EQ(cfg.regions[0].entry, HandlerEntry::Six);
  EXPECT_FALSE(cfg[cfg.entry].region.valid());
  EXPECT_EQ(cfg[cfg[cfg.entry].next].region, RegionId(0));
  EXPECT_EQ(trace(cfg, cfg.entry),
            "LOAD_FAST0 WITH_ENTER POP_TOP LOAD_FAST1 POP_TOP LOAD_CONST COPY1 COPY1 CALL POP_TOP "
            "LOAD_CONST RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions[0].handler, {true}),
            "WITH_EXCEPT_START BRANCH_TRUE POP_TOP POP_TOP POP_TOP POP_EXCEPT POP_TOP LOAD_CONST "
            "RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions[0].handler, {false}), "WITH_EXCEPT_START BRANCH_TRUE RERAISE");
  EXPECT_EQ(cfg.instrs.size(), 22u)
      << "nothing is copied, SETUP_WITH became WITH_ENTER, POP_BLOCK is gone, the jumps stay";
}

TEST_F(FlowTest, FinallyOfThreeEightIsCopiedForEachEntry) {
  version(8);
  // try: (if LOAD_FAST 0: return LOAD_FAST 1) finally: LOAD_FAST 2
  const Cfg cfg =
      build_cfg(module, code,
                list({/*0*/ to(Op::SETUP_FINALLY, 9), op(Op::LOAD_FAST, 0), to(Op::BRANCH_FALSE, 7),
                      /*3*/ op(Op::LOAD_FAST, 1), op(Op::POP_BLOCK), to(Op::CALL_FINALLY, 9),
                      op(Op::RETURN_VALUE),
                      /*7*/ op(Op::POP_BLOCK), op(Op::BEGIN_FINALLY),
                      /*9*/ op(Op::LOAD_FAST, 2), op(Op::POP_TOP), op(Op::END_FINALLY),
                      op(Op::LOAD_CONST), op(Op::RETURN_VALUE)}));
  ASSERT_EQ(cfg.regions.size(), 1u);
  EXPECT_EQ(trace(cfg, cfg.entry, {false}),
            "LOAD_FAST0 BRANCH_FALSE LOAD_FAST1 LOAD_FAST2 POP_TOP RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.entry, {true}),
            "LOAD_FAST0 BRANCH_FALSE LOAD_FAST2 POP_TOP LOAD_CONST RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions[0].handler), "LOAD_FAST2 POP_TOP RERAISE");
}

TEST_F(FlowTest, PopFinallyLeavesTheHandlerWithTheValueKept) {
  version(8);
  // try: LOAD_FAST 0 finally: return LOAD_FAST 1
  const Cfg cfg =
      build_cfg(module, code,
                list({/*0*/ to(Op::SETUP_FINALLY, 5), op(Op::LOAD_FAST, 0), op(Op::POP_TOP),
                      op(Op::POP_BLOCK), op(Op::BEGIN_FINALLY),
                      /*5*/ op(Op::LOAD_FAST, 1), op(Op::POP_FINALLY, 1), op(Op::RETURN_VALUE)}));
  EXPECT_EQ(trace(cfg, cfg.entry), "LOAD_FAST0 POP_TOP LOAD_FAST1 RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions.at(0).handler),
            "LOAD_FAST1 ROT4 POP_TOP POP_TOP POP_TOP ROT4 POP_EXCEPT RETURN_VALUE");
}

TEST_F(FlowTest, WithOfThreeEightLooksLikeThreeNine) {
  version(8);
  const Cfg cfg = build_cfg(module, code,
                            list({/*0*/ op(Op::LOAD_FAST, 0), to(Op::SETUP_WITH, 5),
                                  op(Op::POP_TOP), op(Op::POP_BLOCK), op(Op::BEGIN_FINALLY),
                                  /*5*/ op(Op::WITH_CLEANUP_START), op(Op::WITH_CLEANUP_FINISH),
                                  op(Op::END_FINALLY), op(Op::LOAD_CONST), op(Op::RETURN_VALUE)}));
  EXPECT_EQ(
      trace(cfg, cfg.entry),
      "LOAD_FAST0 WITH_ENTER POP_TOP LOAD_CONST COPY1 COPY1 CALL POP_TOP LOAD_CONST RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions.at(0).handler, {true}),
            "WITH_EXCEPT_START BRANCH_TRUE POP_TOP POP_TOP POP_TOP POP_EXCEPT POP_TOP LOAD_CONST "
            "RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions[0].handler, {false}), "WITH_EXCEPT_START BRANCH_TRUE RERAISE");
}

TEST_F(FlowTest, ReturnOfThreeSevenRunsTheFinallyBodiesAroundIt) {
  version(7);
  // for …: try: with LOAD_FAST 0: return LOAD_FAST 1  finally: LOAD_FAST 2
  const Cfg cfg = build_cfg(module, code,
                            list({/*0*/ to(Op::SETUP_LOOP, 22),
                                  op(Op::LOAD_FAST, 9),
                                  to(Op::FOR_ITER, 21),
                                  op(Op::POP_TOP),
                                  to(Op::SETUP_FINALLY, 17),
                                  /*5*/ op(Op::LOAD_FAST, 0),
                                  to(Op::SETUP_WITH, 12),
                                  op(Op::POP_TOP),
                                  op(Op::LOAD_FAST, 1),
                                  op(Op::RETURN_VALUE),
                                  /*10*/ op(Op::POP_BLOCK),
                                  op(Op::LOAD_CONST),
                                  /*12*/ op(Op::WITH_CLEANUP_START),
                                  op(Op::WITH_CLEANUP_FINISH),
                                  op(Op::END_FINALLY),
                                  /*15*/ op(Op::POP_BLOCK),
                                  op(Op::LOAD_CONST),
                                  /*17*/ op(Op::LOAD_FAST, 2),
                                  op(Op::POP_TOP),
                                  op(Op::END_FINALLY),
                                  to(Op::JUMP, 2),
                                  /*21*/ op(Op::POP_BLOCK),
                                  /*22*/ op(Op::LOAD_CONST),
                                  op(Op::RETURN_VALUE)}));
  EXPECT_EQ(trace(cfg, cfg.entry, {false}),
            "LOAD_FAST9 FOR_ITER POP_TOP LOAD_FAST0 WITH_ENTER POP_TOP LOAD_FAST1 SWAP2 LOAD_CONST "
            "COPY1 COPY1 CALL POP_TOP LOAD_FAST2 POP_TOP "
            "RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.entry, {true}), "LOAD_FAST9 FOR_ITER LOAD_CONST RETURN_VALUE");
}

TEST_F(FlowTest, BreakAndContinueOfThreeSevenLeaveTheirBlocks) {
  version(7);
  // while True: try: (if LOAD_FAST 0: break; continue) finally: LOAD_FAST 1
  const Cfg cfg = build_cfg(
      module, code,
      list({/*0*/ to(Op::SETUP_LOOP, 12), to(Op::SETUP_FINALLY, 8), op(Op::LOAD_FAST, 0),
            to(Op::BRANCH_FALSE, 5), op(Op::BREAK_LOOP),
            /*5*/ to(Op::CONTINUE_LOOP, 1), op(Op::POP_BLOCK), op(Op::LOAD_CONST),
            /*8*/ op(Op::LOAD_FAST, 1), op(Op::POP_TOP), op(Op::END_FINALLY), to(Op::JUMP, 1),
            /*12*/ op(Op::LOAD_CONST), op(Op::RETURN_VALUE)}));
  EXPECT_EQ(trace(cfg, cfg.entry, {false}),
            "LOAD_FAST0 BRANCH_FALSE LOAD_FAST1 POP_TOP LOAD_CONST RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.entry, {true, false}),
            "LOAD_FAST0 BRANCH_FALSE LOAD_FAST1 POP_TOP LOAD_FAST0 BRANCH_FALSE LOAD_FAST1 POP_TOP "
            "LOAD_CONST RETURN_VALUE");
  EXPECT_EQ(trace(cfg, cfg.regions.at(0).handler), "LOAD_FAST1 POP_TOP RERAISE");
}

TEST_F(FlowTest, ReturnOfThreeSevenLeavesTheExceptionHandlerFirst) {
  version(7);
  const Cfg cfg = build_cfg(module, code,
                            list({/*0*/ to(Op::SETUP_FINALLY, 4, 1), op(Op::POP_BLOCK),
                                  op(Op::LOAD_CONST), op(Op::RETURN_VALUE),
                                  /*4*/ op(Op::POP_TOP), op(Op::POP_TOP), op(Op::POP_TOP),
                                  op(Op::LOAD_FAST, 0), op(Op::RETURN_VALUE)}));
  EXPECT_TRUE(cfg.regions.empty()) << "nothing is protected";
  const Cfg with_body =
      build_cfg(module, code,
                list({/*0*/ to(Op::SETUP_FINALLY, 6, 1), op(Op::LOAD_FAST, 1), op(Op::POP_TOP),
                      op(Op::POP_BLOCK), op(Op::LOAD_CONST), op(Op::RETURN_VALUE),
                      /*6*/ op(Op::POP_TOP), op(Op::POP_TOP), op(Op::POP_TOP), op(Op::LOAD_FAST, 0),
                      op(Op::RETURN_VALUE)}));
  EXPECT_EQ(trace(with_body, with_body.regions.at(0).handler),
            "POP_TOP POP_TOP POP_TOP LOAD_FAST0 ROT4 POP_EXCEPT RETURN_VALUE");
}

TEST_F(FlowTest, CodeBehindARaiseIsKeptOnRequest) {
  version(8);
  const InstrList dead =
      list({op(Op::LOAD_FAST, 0), op(Op::RAISE, 1), op(Op::LOAD_FAST, 1), op(Op::RETURN_VALUE)});
  EXPECT_EQ(trace(build_cfg(module, code, dead), BlockId(0)), "LOAD_FAST0 RAISE");
  const Cfg kept = build_cfg(module, code, dead, true);
  EXPECT_EQ(trace(kept, kept.entry), "LOAD_FAST0 RAISE LOAD_FAST1 RETURN_VALUE");
  EXPECT_TRUE(kept.unreached);
  const Cfg reached =
      build_cfg(module, code,
                list({op(Op::LOAD_FAST, 0), to(Op::BRANCH_FALSE, 4), op(Op::LOAD_FAST, 0),
                      op(Op::RAISE, 1), op(Op::LOAD_FAST, 1), op(Op::RETURN_VALUE)}),
                true);
  EXPECT_FALSE(reached.unreached);
  const Cfg damaged = build_cfg(
      module, code,
      list({op(Op::LOAD_FAST, 0), op(Op::RAISE, 1), op(Op::POP_TOP), op(Op::RETURN_VALUE)}), true);
  EXPECT_FALSE(damaged.unreached) << "what never runs may be anything";
}

TEST_F(FlowTest, BlocksThatDoNotFitAndBlowUpsAreErrors) {
  version(9);
  EXPECT_THROW(
      build_cfg(module, code, list({op(Op::POP_BLOCK), op(Op::LOAD_CONST), op(Op::RETURN_VALUE)})),
      Error);
  EXPECT_THROW(build_cfg(module, code,
                         list({op(Op::POP_EXCEPT, 3), op(Op::LOAD_CONST), op(Op::RETURN_VALUE)})),
               Error);
  EXPECT_THROW(build_cfg(module, code,
                         list({to(Op::SETUP_FINALLY, 2), to(Op::JUMP, 0), op(Op::RERAISE, 3)})),
               Error);
  EXPECT_THROW(build_cfg(module, code, list({op(Op::LOAD_CONST), to(Op::JUMP, 0)})), Error)
      << "the stack grows without end";
  version(8);
  EXPECT_THROW(build_cfg(module, code,
                         list({op(Op::END_FINALLY), op(Op::LOAD_CONST), op(Op::RETURN_VALUE)})),
               Error);
  EXPECT_THROW(build_cfg(module, code, list({op(Op::BEGIN_FINALLY), to(Op::JUMP, 0)})), Error);
}

TEST_F(FlowTest, AReversedJumpInsideATryBelongsToIt) {
  version(12);
  // try: for …: if …: continue; …      with the JUMP of `continue` outside of the rows
  const std::vector<Instr> instrs{/*0*/ op(Op::LOAD_GLOBAL), op(Op::GET_ITER),
                                  to(Op::FOR_ITER, 9),       to(Op::BRANCH_FALSE, 5),
                                  to(Op::JUMP, 2),
                                  /*5*/ op(Op::LOAD_GLOBAL), op(Op::POP_TOP),
                                  to(Op::JUMP, 2),           op(Op::RERAISE, 1),
                                  /*9*/ op(Op::LOAD_CONST),  op(Op::RETURN_VALUE)};
  const Cfg cfg = build_cfg(module, code, list(instrs, {{0, 4, 8, 0, false}, {5, 8, 8, 0, false}}));
  const Block& loop = cfg[cfg[cfg.entry].next];
  const Block& branch = cfg[loop.next];
  EXPECT_EQ(cfg[branch.next].region, RegionId(0)) << "the jump back";
  EXPECT_FALSE(cfg[loop.target].region.valid()) << "the exit";
}

TEST_F(FlowTest, AJumpBackToTheStartOfATryStaysTheLoopAroundIt) {
  version(12);
  // while True: try: … except: pass
  const Cfg cfg = build_cfg(module, code,
                            list({op(Op::LOAD_GLOBAL), op(Op::POP_TOP), to(Op::JUMP, 0),
                                  op(Op::POP_TOP), to(Op::JUMP, 0)},
                                 {{0, 2, 3, 0, false}}));
  EXPECT_EQ(cfg[cfg.entry].region, RegionId(0));
  EXPECT_FALSE(cfg[cfg[cfg.entry].next].region.valid());
}

TEST_F(FlowTest, WhatMayRaiseOrUseTheStackIsNoGap) {
  version(12);
  for (const Instr& middle : {op(Op::LOAD_GLOBAL), op(Op::TO_BOOL), op(Op::POP_TOP)}) {
    const bool pushes = middle.op == Op::LOAD_GLOBAL;
    const Cfg cfg =
        build_cfg(module, code,
                  list({op(Op::LOAD_GLOBAL), to(Op::BRANCH_FALSE, 6), op(Op::LOAD_CONST), middle,
                        pushes ? op(Op::POP_TOP) : op(Op::LOAD_CONST), to(Op::JUMP, 6),
                        /*6*/ op(Op::LOAD_GLOBAL), op(Op::RETURN_VALUE), op(Op::RERAISE, 1)},
                       {{0, 2, 8, 0, false}, {6, 7, 8, 0, false}}));
    const bool inert = middle.op == Op::POP_TOP;  // it pops what the block itself pushed
    EXPECT_EQ(cfg[cfg[cfg.entry].next].region.valid(), inert) << op_name(middle.op);
  }
}

TEST_F(FlowTest, ABranchOutsideOfTheRowsJoinsItsCondition) {
  version(13);
  const std::vector<Instr> instrs{/*0*/ op(Op::LOAD_GLOBAL), op(Op::TO_BOOL),
                                  to(Op::BRANCH_TRUE, 4),    to(Op::JUMP, 0),
                                  /*4*/ op(Op::LOAD_CONST),  op(Op::RETURN_VALUE),
                                  op(Op::POP_TOP),           to(Op::JUMP, 0)};
  const Cfg cfg = build_cfg(module, code, list(instrs, {{0, 2, 6, 0, false}}));
  EXPECT_EQ(cfg.instrs[cfg[cfg.entry].end - 1].op, Op::BRANCH_TRUE) << "one block";
  version(12);  // BRANCH_TRUE may call __bool__ there
  const Cfg before = build_cfg(module, code, list(instrs, {{0, 2, 6, 0, false}}));
  EXPECT_EQ(before.instrs[before[before.entry].end - 1].op, Op::TO_BOOL);
}

TEST_F(FlowTest, AsyncForOfThreeSevenIsBroughtToEndAsyncFor) {
  version(7);
  std::vector<Instr> instrs{/*0*/ op(Op::LOAD_FAST, 0),
                            op(Op::GET_AITER),
                            to(Op::SETUP_FINALLY, 9, 1),
                            op(Op::GET_ANEXT),
                            op(Op::LOAD_CONST),
                            op(Op::YIELD_FROM),
                            /*6*/ op(Op::STORE_FAST, 1),
                            op(Op::POP_BLOCK),
                            to(Op::JUMP, 14),
                            /*9*/ op(Op::COPY, 1),
                            op(Op::LOAD_GLOBAL, module.intern("StopAsyncIteration").index),
                            op(Op::EXC_MATCH),
                            to(Op::BRANCH_TRUE, 15),
                            /*13*/ op(Op::END_FINALLY),
                            /*14*/ to(Op::JUMP, 2),
                            /*15*/ op(Op::POP_TOP),
                            op(Op::POP_TOP),
                            op(Op::POP_TOP),
                            op(Op::POP_EXCEPT, 3),
                            op(Op::POP_TOP),
                            /*20*/ op(Op::LOAD_CONST),
                            op(Op::RETURN_VALUE)};
  const Cfg cfg = build_cfg(module, code, list(instrs));
  ASSERT_EQ(cfg.regions.size(), 1u);
  EXPECT_EQ(trace(cfg, cfg.regions[0].handler), "END_ASYNC_FOR LOAD_CONST RETURN_VALUE");
  const Block& next = cfg[cfg[cfg.entry].next];
  EXPECT_EQ(next.region, RegionId(0));
  EXPECT_EQ(cfg.instrs[next.end - 1].op, Op::YIELD_FROM);
  EXPECT_FALSE(cfg[next.next].region.valid()) << "the store";
  instrs[10].arg = module.intern("StopIteration").index;  // not what `async for` gives
  const Cfg other = build_cfg(module, code, list(instrs));
  EXPECT_EQ(trace(other, other.regions[0].handler, {true}).substr(0, 5), "COPY1");
}

class CleanupTest : public FlowTest {
 protected:
  /// try: LOAD_GLOBAL except: `body`     at 3: the handler, its cleanup follows it
  InstrList handler(const std::vector<Instr>& body, std::uint32_t uncovered = 0) {
    std::vector<Instr> instrs{op(Op::LOAD_GLOBAL), op(Op::POP_TOP), to(Op::JUMP, 0),
                              op(Op::PUSH_EXC_INFO), op(Op::POP_TOP)};
    instrs.insert(instrs.end(), body.begin(), body.end());
    const auto end = static_cast<std::uint32_t>(instrs.size());
    for (const Instr& instr :
         {op(Op::POP_EXCEPT, 1), to(Op::JUMP, end + 5), op(Op::COPY, 3), op(Op::POP_EXCEPT, 1),
          op(Op::RERAISE, 1, 1), op(Op::LOAD_CONST), op(Op::RETURN_VALUE)})
      instrs.push_back(instr);
    instrs[2].target = end + 5;
    return list(instrs, {{0, 2, 3, 0, false}, {3, end - uncovered, end + 2, 1, true}});
  }
};

TEST_F(CleanupTest, TheRegionThatOnlyRestoresTheExceptionStateIsDropped) {
  version(11);
  const Cfg cfg = build_cfg(module, code, handler({op(Op::LOAD_GLOBAL), op(Op::POP_TOP)}));
  ASSERT_EQ(cfg.regions.size(), 1u);
  EXPECT_FALSE(cfg.regions[0].parent.valid());
  EXPECT_FALSE(cfg[cfg.regions[0].handler].region.valid());
  EXPECT_EQ(trace(cfg, cfg.regions[0].handler),
            "PUSH_EXC_INFO POP_TOP LOAD_GLOBAL POP_TOP POP_EXCEPT LOAD_CONST RETURN_VALUE");
  EXPECT_EQ(cfg[cfg.regions[0].handler].end - cfg[cfg.regions[0].handler].first, 6u)
      << "one block, jump included";
  for (const Instr& instr : cfg.instrs) EXPECT_NE(instr.op, Op::RERAISE);
}

TEST_F(CleanupTest, ItStaysWhereItDoesNotCoverTheWholeHandler) {
  version(11);
  EXPECT_EQ(
      build_cfg(module, code, handler({op(Op::LOAD_GLOBAL), op(Op::POP_TOP)}, 2)).regions.size(),
      1u + 1u);
  EXPECT_EQ(
      build_cfg(module, code, handler({op(Op::LOAD_CONST), op(Op::POP_TOP)}, 2)).regions.size(), 1u)
      << "what is left out cannot raise";
}

TEST_F(CleanupTest, ItStaysWhereAnotherStateWouldBeRestored) {
  version(11);
  // The saved state is exchanged for another value before something can raise, and back.
  EXPECT_EQ(build_cfg(module, code,
                      handler({op(Op::LOAD_CONST), op(Op::SWAP, 2), op(Op::LOAD_GLOBAL),
                               op(Op::POP_TOP), op(Op::SWAP, 2), op(Op::POP_TOP)}))
                .regions.size(),
            2u);
  // An exception of the handler's own is saved on top.
  EXPECT_EQ(build_cfg(module, code,
                      handler({op(Op::LOAD_CONST), op(Op::PUSH_EXC_INFO), op(Op::LOAD_GLOBAL),
                               op(Op::POP_TOP), op(Op::POP_TOP), op(Op::POP_EXCEPT, 1)}))
                .regions.size(),
            2u);
}

TEST_F(FlowTest, AReturnOfWhatATryComputedBelongsToIt) {
  version(9);
  const Cfg cfg = build_cfg(module, code,
                            list({to(Op::SETUP_FINALLY, 4), op(Op::LOAD_GLOBAL), op(Op::POP_BLOCK),
                                  op(Op::RETURN_VALUE), op(Op::RERAISE, 3)}));
  EXPECT_EQ(cfg.size(), 2u);
  EXPECT_EQ(cfg[cfg.entry].region, RegionId(0));
  // The value lies below the region here: nothing to bring together.
  const Cfg below = build_cfg(
      module, code,
      list({op(Op::LOAD_CONST), to(Op::SETUP_FINALLY, 6), op(Op::LOAD_GLOBAL), op(Op::POP_TOP),
            op(Op::POP_BLOCK), op(Op::RETURN_VALUE), op(Op::RERAISE, 3)}));
  EXPECT_EQ(below.size(), 4u);
}

TEST_F(FlowTest, ReturnInAFinallyBodyOfThreeEightStaysWithItsCopy) {
  version(8);
  const Cfg cfg =
      build_cfg(module, code,
                list({/*0*/ op(Op::LOAD_CONST), to(Op::SETUP_FINALLY, 6), op(Op::LOAD_FAST, 0),
                      op(Op::POP_TOP), op(Op::POP_BLOCK), op(Op::BEGIN_FINALLY),
                      /*6*/ op(Op::LOAD_FAST, 1), op(Op::POP_FINALLY, 1), op(Op::SWAP, 2),
                      op(Op::POP_TOP), op(Op::RETURN_VALUE)}));
  int returns = 0;
  for (const Instr& instr : cfg.instrs) returns += instr.op == Op::RETURN_VALUE;
  EXPECT_EQ(returns, 2);
}

TEST_F(FlowTest, ReturnOutOfTwoFinallyBodiesOfThreeEightStaysWithEachCopy) {
  version(8);
  const Cfg cfg = build_cfg(module, code,
                            list({/*0*/ op(Op::LOAD_CONST),
                                  to(Op::SETUP_FINALLY, 6),
                                  op(Op::LOAD_FAST, 0),
                                  op(Op::POP_TOP),
                                  op(Op::POP_BLOCK),
                                  op(Op::BEGIN_FINALLY),
                                  /*6*/ op(Op::LOAD_CONST),
                                  to(Op::SETUP_FINALLY, 12),
                                  op(Op::LOAD_FAST, 0),
                                  op(Op::POP_TOP),
                                  op(Op::POP_BLOCK),
                                  op(Op::BEGIN_FINALLY),
                                  /*12*/ op(Op::LOAD_FAST, 1),
                                  op(Op::POP_FINALLY, 1),
                                  op(Op::SWAP, 2),
                                  op(Op::POP_TOP),
                                  op(Op::POP_FINALLY, 1),
                                  op(Op::SWAP, 2),
                                  op(Op::POP_TOP),
                                  op(Op::RETURN_VALUE)}));
  int returns = 0;
  for (const Instr& instr : cfg.instrs) returns += instr.op == Op::RETURN_VALUE;
  EXPECT_EQ(returns, 4);  // each body is entered with an exception and without
}

TEST_F(FlowTest, TextShowsRegionsBlocksAndEdges) {
  version(9);
  const Instr name = op(Op::LOAD_GLOBAL, module.intern("spam").index);
  const Cfg cfg = build_cfg(module, code,
                            list({to(Op::SETUP_FINALLY, 4), name, op(Op::POP_BLOCK),
                                  op(Op::RETURN_VALUE), op(Op::RERAISE, 3)}));
  const std::string text = to_text(cfg, module, code);
  EXPECT_NE(text.find("region r0: handler b1, depth 0, six values"), std::string::npos) << text;
  EXPECT_NE(text.find("block b0 in r0 (entry):"), std::string::npos) << text;
  EXPECT_NE(text.find("2  LOAD_GLOBAL spam"), std::string::npos) << text;
}

}  // namespace
}  // namespace depyf
