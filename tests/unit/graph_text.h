#pragma once
// Small graphs in a text notation, for the tests of structure/. One block a line:
//
//     NAME [in REGION]: ACTIONS [-> NEXT [OTHER]]
//
// ACTIONS, separated by commas:
//     f             the statement `f()`
//     iter xs       the iterator of the global `xs`, left on the stack
//     store x       stores the top of the stack in the local `x`
//     drop          takes it off
//     with m        enters the context manager `m`; its exit function stays on the stack
//     exit          calls that function with three times None
//     match s       the subject, left on the stack
//     caught        begins a handler; uncaught: ends it
// and at the end of a line one of:
//     if c -> YES NO         unless c -> NO YES      next -> BODY END
//     except E -> CLAUSE REST    swallows -> YES NO    case 1 -> BODY NEXT
//     return    return c    raise E    reraise
// The first of two is the one that the code falls into.
//
// A line `region NAME: HANDLER DEPTH` opens a protected region: where its handler begins and how
// many values the stack keeps. Each line of the text is a line of the source.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lifted_builder.h"
#include "print/print.h"
#include "structure/structure.h"
#include "support/error.h"

namespace depyf::test {

class GraphText {
 public:
  explicit GraphText(std::string_view text) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      rows.push_back(words(line));
      std::vector<std::string>& row = rows.back();
      if (row.empty()) continue;
      if (row[0] == "region")
        regions_.push_back(row[1]);
      else
        names_.push_back(row[0]);
    }
    for (const auto& row : rows)
      if (!row.empty() && row[0] == "region")
        b_.region(number(names_, row[2]), static_cast<std::uint32_t>(std::stoul(row[3])));
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].empty() && rows[i][0] != "region") block(rows[i], static_cast<int>(i) + 1);
  }

  Lifted lifted() {
    Lifted lifted = b_.lifted();
    b_.module.root = b_.code;
    b_.module[b_.code].version = {3, 11};
    const std::vector<std::uint8_t> bytes(2 * b_.cfg.instrs.size());
    b_.module[b_.code].code = b_.module.arena.copy(bytes);
    return lifted;
  }
  Module& module() { return b_.module; }

  /// The statements that structure() makes of it, as the body of `def f():`.
  std::string statements() {
    Lifted lifted = this->lifted();
    Ast ast;
    ast.module = &b_.module;
    structure(lifted, ast);
    PrintOptions options;
    options.grammar = {3, 11};
    return print_function(ast, b_.code, "f", options).text;
  }

 private:
  /// `a:` and `b,` end in a word of their own; so do `,` and `->`.
  static std::vector<std::string> words(std::string line) {
    std::string spaced;
    for (char c : line)
      if (c == ',')
        spaced += " , ";
      else if (c != ':')
        spaced += c;
    std::istringstream in(spaced);
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
  }
  static std::uint32_t number(const std::vector<std::string>& names, const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return static_cast<std::uint32_t>(i);
    throw Error("no line is called " + name);
  }

  void block(const std::vector<std::string>& row, int line) {
    std::size_t at = 1;
    RegionId region;
    if (row.size() > 2 && row[1] == "in") region = RegionId(number(regions_, row[2])), at = 3;
    std::vector<Instr> code;
    std::vector<std::string> action;
    for (; at < row.size() && row[at] != "->"; ++at) {
      if (row[at] != ",") {
        action.push_back(row[at]);
        continue;
      }
      add(action, code);
      action.clear();
    }
    if (!action.empty()) add(action, code);
    int to[2] = {-1, -1};
    for (int k = 0; k < 2 && ++at < row.size(); ++k)
      to[k] = static_cast<int>(number(names_, row[at]));
    if (to[0] >= 0 && to[1] < 0) code.push_back({Op::JUMP});
    const std::size_t first = b_.cfg.instrs.size();
    b_.block(code, to[0], to[1], region);
    for (std::size_t i = first; i < b_.cfg.instrs.size(); ++i) b_.cfg.instrs[i].line = line;
  }

  void add(const std::vector<std::string>& action, std::vector<Instr>& code) {
    const std::string& verb = action[0];
    const std::string operand = action.size() > 1 ? action[1] : "";
    const auto load = [&](const std::string& name) {
      code.push_back({Op::LOAD_GLOBAL, b_.str(name)});
    };
    if (verb == "iter") {
      load(operand);
      code.push_back({Op::GET_ITER});
    } else if (verb == "store") {
      code.push_back({Op::STORE_FAST, b_.slot(operand)});
    } else if (verb == "drop") {
      code.push_back({Op::POP_TOP});
    } else if (verb == "with") {
      load(operand);
      code.insert(code.end(), {{Op::WITH_ENTER}, {Op::POP_TOP}});
    } else if (verb == "exit") {
      const std::uint32_t none = b_.none();
      for (int i = 0; i < 3; ++i) code.push_back({Op::LOAD_CONST, none});
      code.insert(code.end(), {{Op::CALL, 3, kPlain}, {Op::POP_TOP}});
    } else if (verb == "match") {
      load(operand);
    } else if (verb == "case") {
      code.insert(code.end(), {{Op::COPY, 1},
                               {Op::LOAD_CONST, b_.integer(std::stoi(operand))},
                               {Op::COMPARE, static_cast<std::uint32_t>(CompareOp::Eq)},
                               {Op::BRANCH_FALSE}});
    } else if (verb == "caught") {
      code.push_back({Op::PUSH_EXC_INFO});
    } else if (verb == "uncaught") {
      code.push_back({Op::POP_EXCEPT, 1});
    } else if (verb == "except") {
      load(operand);
      code.insert(code.end(), {{Op::CHECK_EXC_MATCH}, {Op::BRANCH_FALSE}});
    } else if (verb == "swallows") {
      code.insert(code.end(), {{Op::WITH_EXCEPT_START, 3}, {Op::BRANCH_FALSE}});
    } else if (verb == "if") {
      load(operand);
      code.push_back({Op::BRANCH_FALSE});
    } else if (verb == "unless") {
      load(operand);
      code.push_back({Op::BRANCH_TRUE});
    } else if (verb == "next") {
      code.push_back({Op::FOR_ITER});
    } else if (verb == "return") {
      if (operand.empty())
        code.push_back({Op::LOAD_CONST, b_.none()});
      else
        load(operand);
      code.push_back({Op::RETURN_VALUE});
    } else if (verb == "raise") {
      load(operand);
      code.push_back({Op::RAISE, 1});
    } else if (verb == "reraise") {
      code.push_back({Op::RERAISE, 1});
    } else {
      load(verb);
      code.insert(code.end(), {{Op::CALL, 0, kPlain}, {Op::POP_TOP}});
    }
  }

  Builder b_;
  std::vector<std::string> names_, regions_;
};

}  // namespace depyf::test
