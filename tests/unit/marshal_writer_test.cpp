// What the writer writes, the reader reads back; equality under each interpreter is tested by
// running rebuilt code (test_totality.py).
#include <gtest/gtest.h>

#include "pyc/marshal_writer.h"
#include "pyc/pyc.h"
#include "support/error.h"

namespace depyf {
namespace {

Module module_with(std::initializer_list<Const> consts, std::uint8_t minor) {
  Module module;
  module.version = {3, minor};
  CodeObject code;
  code.version = module.version;
  code.name = code.filename = code.qualname = module.intern("f");
  code.firstlineno = 7;
  std::vector<ConstId> ids;
  for (const Const& value : consts) ids.push_back(module.add(value));
  ids.push_back(ids[0]);  // shared
  code.consts = module.arena.copy(ids);
  module.codes.push_back(code);
  module.root = CodeId(0);
  return module;
}

Const integer(std::int64_t value) {
  Const c;
  c.kind = ConstKind::Int;
  c.integer = value;
  return c;
}

TEST(MarshalWriter, ReadsBackInEveryVersion) {
  Const big;
  big.kind = ConstKind::Int;
  big.big = true;
  big.text = "-123456789abcdef0123456789";
  Const text;
  text.kind = ConstKind::Str;
  text.text = "caf\xC3\xA9";
  const std::int64_t numbers[] = {
      0, -1, INT32_MIN, INT32_MAX, std::int64_t{INT32_MAX} + 1, INT64_MIN, INT64_MAX};
  for (std::uint8_t minor = 7; minor <= 15; ++minor) {
    const Module module = module_with(
        {integer(numbers[0]), integer(numbers[1]), integer(numbers[2]), integer(numbers[3]),
         integer(numbers[4]), integer(numbers[5]), integer(numbers[6]), big, text},
        minor);
    const std::string bytes = write_marshal(module, module.root);
    const Module again = read_marshal(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, module.version);
    const CodeObject& code = again[again.root];
    ASSERT_EQ(code.consts.size(), 10U);
    for (std::size_t i = 0; i < 7; ++i)
      EXPECT_EQ(again[code.consts[i]].integer, numbers[i]) << "3." << int{minor};
    EXPECT_EQ(again[code.consts[7]].text, big.text);
    EXPECT_EQ(again[code.consts[8]].text, text.text);
    EXPECT_EQ(code.consts[9], code.consts[0]);
    EXPECT_EQ(code.firstlineno, 7U);
    EXPECT_EQ(again[code.name], "f");
  }
}

TEST(MarshalWriter, DeepTuplesNeedNoStack) {
  Module module = module_with({integer(1)}, 11);
  ConstId inner = module[module.root].consts[0];
  for (int depth = 0; depth < 200000; ++depth) {
    Const tuple;
    tuple.kind = ConstKind::Tuple;
    const ConstId items[] = {inner};
    tuple.items = module.arena.copy(items);
    inner = module.add(tuple);
  }
  const ConstId consts[] = {inner};
  module[module.root].consts = module.arena.copy(consts);
  EXPECT_GT(write_marshal(module, module.root).size(), 200000U);
}

TEST(MarshalWriter, RefusesLiveObjects) {
  Const object;
  object.kind = ConstKind::Object;
  const Module module = module_with({object}, 11);
  EXPECT_THROW(write_marshal(module, module.root), Error);
}

}  // namespace
}  // namespace depyf
