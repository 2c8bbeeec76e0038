// What statements small graphs become; graph_text.h explains the notation.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "graph_text.h"
#include "structure/check.h"
#include "structure/steps.h"

namespace depyf {
namespace {

/// The body of the function, without its indentation.
std::string statements(std::string_view graph) {
  std::istringstream lines(test::GraphText(graph).statements());
  std::string out, line;
  std::getline(lines, line);
  EXPECT_EQ(line, "def f():");
  while (std::getline(lines, line)) out += line.substr(4) + "\n";
  return out;
}

TEST(Structure, Branches) {
  EXPECT_EQ(statements("a: if c -> b d\n"
                       "b: f -> e\n"
                       "d: g -> e\n"
                       "e: h, return r\n"),
            "if c:\n    f()\nelse:\n    g()\nh()\nreturn r\n");
}

TEST(Structure, ConditionOfTwoTests) {
  EXPECT_EQ(statements("a: if c -> b e\n"
                       "b: if d -> x e\n"
                       "x: f -> e\n"
                       "e: h, return r\n"),
            "if c and d:\n    f()\nh()\nreturn r\n");
}

TEST(Structure, For) {
  EXPECT_EQ(statements("a: iter xs -> top\n"
                       "top: next -> body end\n"
                       "body: store x, f -> top\n"
                       "end: g, return r\n"),
            "for x in xs:\n    f()\ng()\nreturn r\n");
}

TEST(Structure, ForWithElse) {
  EXPECT_EQ(statements("a: iter xs -> top\n"
                       "top: next -> body otherwise\n"
                       "body: store x, if c -> out top\n"
                       "out: f, drop -> end\n"
                       "otherwise: g -> end\n"
                       "end: h, return r\n"),
            "for x in xs:\n    if c:\n        f()\n        break\nelse:\n    g()\nh()\nreturn r\n");
}

TEST(Structure, While) {
  EXPECT_EQ(statements("a: f -> top\n"
                       "top: if c -> body end\n"
                       "body: g -> top\n"
                       "end: h, return r\n"),
            "f()\nwhile c:\n    g()\nh()\nreturn r\n");
}

TEST(Structure, EndlessLoop) {
  EXPECT_EQ(statements("a: f -> top\n"
                       "top: g, unless c -> end top\n"
                       "end: h, return r\n"),
            "f()\nwhile True:\n    g()\n    if not c:\n        break\nh()\nreturn r\n");
}

TEST(Structure, LoopInLoop) {
  EXPECT_EQ(statements("a: iter xs -> outer\n"
                       "outer: next -> start end\n"
                       "start: store x -> inner\n"
                       "inner: if c -> body outer\n"
                       "body: f -> inner\n"
                       "end: g, return r\n"),
            "for x in xs:\n    while c:\n        f()\ng()\nreturn r\n");
}

TEST(Structure, TryExcept) {
  EXPECT_EQ(statements("region t: handler 0\n"
                       "a: f -> body\n"
                       "body in t: g -> end\n"
                       "handler: caught, except E -> clause rest\n"
                       "clause: drop, h, uncaught -> end\n"
                       "end: i, return r\n"
                       "rest: reraise\n"),
            "f()\ntry:\n    g()\nexcept E:\n    h()\ni()\nreturn r\n");
}

TEST(Structure, TryElse) {
  EXPECT_EQ(statements("region t: handler 0\n"
                       "a: f -> body\n"
                       "body in t: g -> otherwise\n"
                       "otherwise: j -> end\n"
                       "handler: caught, except E -> clause rest\n"
                       "clause: drop, h, uncaught -> end\n"
                       "end: i, return r\n"
                       "rest: reraise\n"),
            "f()\ntry:\n    g()\nexcept E:\n    h()\nelse:\n    j()\ni()\nreturn r\n");
}

TEST(Structure, TryFinally) {
  EXPECT_EQ(statements("region t: handler 0\n"
                       "a: f -> body\n"
                       "body in t: g -> copy\n"
                       "copy: h -> end\n"
                       "end: i, return r\n"
                       "handler: caught, h, reraise\n"),
            "f()\ntry:\n    g()\nfinally:\n    h()\ni()\nreturn r\n");
}

TEST(Structure, With) {
  EXPECT_EQ(statements("region w: handler 1\n"
                       "a: with m -> body\n"
                       "body in w: f -> leave\n"
                       "leave: exit -> end\n"
                       "handler: caught, swallows -> quiet loud\n"
                       "quiet: drop, uncaught, drop -> end\n"
                       "end: g, return r\n"
                       "loud: reraise\n"),
            "with m:\n    f()\ng()\nreturn r\n");
}

TEST(Structure, Match) {
  EXPECT_EQ(statements("a: match s -> one\n"
                       "one: case 1 -> first two\n"
                       "first: drop, f -> end\n"
                       "two: case 2 -> second none\n"
                       "second: drop, g -> end\n"
                       "none: drop -> end\n"
                       "end: h, return r\n"),
            "match s:\n    case 1:\n        f()\n    case 2:\n        g()\nh()\nreturn r\n");
}

/// Two loops that share a body have no plain structure: the pipeline's ladder takes them.
TEST(Structure, IrreducibleFlowIsRefused) {
  EXPECT_THROW(statements("a: if c -> b d\n"
                          "b: f -> d\n"
                          "d: g, if e -> b x\n"
                          "x: return r\n"),
               Error);
}

/// What holds between steps: a body that is no function's, with two ways to its end.
class BetweenSteps : public testing::Test {
 protected:
  BetweenSteps() {
    graph_.module()[lifted_.code].flags = 0;
    steps_.recount();
  }
  void expect_wrong(const std::string& what) {
    try {
      check_graph(steps_, "this one");
      FAIL() << "nothing is wrong";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("after the step this one"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  }

  test::GraphText graph_{
      "a: if c -> b d\n"
      "b: f, return\n"
      "d: g, return\n"};
  Lifted lifted_ = graph_.lifted();
  Ast ast_;
  StructureOptions options_;
  StructureGraph steps_{lifted_, with_module(), options_};

 private:
  Ast& with_module() {
    ast_.module = &graph_.module();
    return ast_;
  }
};

TEST_F(BetweenSteps, EndsOfAModuleBecomeOne) {
  check_graph(steps_, "none");
  join_module_ends(steps_);
  check_graph(steps_, "module-ends");
  EXPECT_EQ(
      std::count_if(steps_.nodes.begin(), steps_.nodes.end(),
                    [](const Node& node) { return node.alive && node.term == TermKind::Return; }),
      1);
}

TEST_F(BetweenSteps, OperationOfAnotherBlock) {
  lifted_.values[steps_.nodes[1].body.front().index].block = BlockId(2);
  expect_wrong("has an operation of another block");
}

TEST_F(BetweenSteps, OperationTwice) {
  steps_.nodes[1].body.push_back(steps_.nodes[1].body.front());
  expect_wrong("has an operation that another place has, too");
}

TEST_F(BetweenSteps, WayThatIsNotCounted) {
  steps_.nodes[0].edges[1].to = BlockId(1);
  expect_wrong("has another number of ways in than was counted");
}

TEST_F(BetweenSteps, RemovedBlock) {
  steps_.nodes[2].alive = false;
  expect_wrong("is reached, and was removed");
}

}  // namespace
}  // namespace depyf
