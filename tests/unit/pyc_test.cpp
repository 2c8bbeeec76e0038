#include "pyc/pyc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bytecode/instr.h"
#include "bytecode/text.h"
#include "support/error.h"

namespace depyf {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string error_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void append_u32(Bytes& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<std::uint8_t>(value >> shift));
}
Bytes bytes_of(std::string_view text) { return Bytes(text.begin(), text.end()); }
Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}
Bytes sized(char type, std::string_view text) {
  Bytes out{static_cast<std::uint8_t>(type)};
  append_u32(out, static_cast<std::uint32_t>(text.size()));
  for (char c : text) out.push_back(static_cast<std::uint8_t>(c));
  return out;
}
Bytes small_tuple(std::initializer_list<Bytes> items) {
  Bytes out{')', static_cast<std::uint8_t>(items.size())};
  for (const Bytes& item : items) out.insert(out.end(), item.begin(), item.end());
  return out;
}
/// `return None` of 3.8 whose constants are `consts`.
Bytes code38(const Bytes& consts, std::uint32_t nlocals = 0, const Bytes& varnames = {')', 0},
             const Bytes& cellvars = {')', 0}, const Bytes& freevars = {')', 0},
             std::uint32_t argcount = 0) {
  Bytes out{'c'};
  for (const std::uint32_t value : {argcount, 0U, 0U, nlocals, 1U, 0U}) append_u32(out, value);
  const Bytes tail = joined({sized('s', std::string_view("d\0S\0", 4)),
                             consts,
                             {')', 0},
                             varnames,
                             freevars,
                             cellvars,
                             sized('u', "x.py"),
                             sized('u', "f")});
  out.insert(out.end(), tail.begin(), tail.end());
  append_u32(out, 1);
  const Bytes lines = sized('s', "");
  out.insert(out.end(), lines.begin(), lines.end());
  return out;
}
Module read38(const Bytes& consts) { return read_marshal(code38(consts), {3, 8}); }
const Const& first_const(const Module& module) { return module[module[module.root].consts[0]]; }
Const value_of(const Bytes& object, Module& keep) {
  keep = read38(small_tuple({object}));
  return first_const(keep);
}

TEST(Pyc, RefusesWhatIsNoPyc) {
  const auto message = [](const Bytes& bytes) { return error_of([&] { read_pyc(bytes); }); };
  EXPECT_NE(message({}).find("truncated"), std::string::npos);
  EXPECT_NE(message(bytes_of("PK\x03\x04 a zip file")).find("magic"), std::string::npos);
  EXPECT_NE(message({0x33, 0x0d, '\r', '\n', 0, 0, 0, 0}).find("3.6 or earlier"),
            std::string::npos);  // 3379, 3.6
  EXPECT_NE(message({0x03, 0xf3, '\r', '\n', 0, 0, 0, 0}).find("3.6 or earlier"),
            std::string::npos);  // 62211, 2.7
  EXPECT_NE(message({0xff, 0xff, '\r', '\n', 0, 0, 0, 0}).find("no CPython release has it"),
            std::string::npos);  // 65535
  EXPECT_NE(message({0x75, 0x0e, '\r', '\n', 0, 0, 0, 0}).find("3.16"), std::string::npos);  // 3701
  EXPECT_NE(message({0xac, 0x0d, '\r', '\n', 0, 0, 0, 0}).find("pre-release of CPython 3.12"),
            std::string::npos);  // 3500
  EXPECT_NE(message({0x50, 0x01, '\r', '\n', 0, 0, 0, 0}).find("unknown .pyc magic number 336"),
            std::string::npos);  // PyPy
  EXPECT_NE(message({0xa7, 0x0d, '\r', '\n', 0, 0, 0, 0}).find("header takes 16"),
            std::string::npos);
  EXPECT_NE(
      message({0xa7, 0x0d, '\r', '\n', 0xe3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}).find("header"),
      std::string::npos);
  EXPECT_NE(error_of([] { read_marshal({}, {3, 6}); }).find("3.7 to 3.15"), std::string::npos);
  EXPECT_NE(error_of([] { read_marshal({}, {3, 16}); }).find("3.7 to 3.15"), std::string::npos);
}

TEST(Pyc, KnowsTheMagicOfEveryRelease) {
  const std::uint16_t magics[] = {3394, 3413, 3425, 3439, 3495, 3531, 3571, 3627, 3666};
  for (std::uint8_t i = 0; i < 9; ++i) {
    ASSERT_TRUE(version_of_magic(magics[i]).has_value());
    EXPECT_EQ(*version_of_magic(magics[i]), (PyVersion{3, static_cast<std::uint8_t>(7 + i)}));
    EXPECT_FALSE(version_of_magic(static_cast<std::uint16_t>(magics[i] + 1)).has_value());
  }
}

TEST(Marshal, Integers) {
  Module keep;
  EXPECT_EQ(value_of({'i', 0xff, 0xff, 0xff, 0xff}, keep).integer, -1);
  EXPECT_EQ(value_of({'I', 0, 0, 0, 0, 0, 0, 0, 0x80}, keep).integer, INT64_MIN);
  // 15-bit digits: 1 << 60, the largest and smallest int64, then one more of each
  const auto digits = [](bool negative, std::initializer_list<std::uint16_t> values) {
    Bytes out{'l'};
    append_u32(out, negative ? 0U - static_cast<std::uint32_t>(values.size())
                             : static_cast<std::uint32_t>(values.size()));
    for (std::uint16_t value : values) {
      out.push_back(static_cast<std::uint8_t>(value));
      out.push_back(static_cast<std::uint8_t>(value >> 8));
    }
    return out;
  };
  EXPECT_EQ(value_of(digits(false, {0, 0, 0, 0, 1}), keep).integer, std::int64_t{1} << 60);
  EXPECT_EQ(value_of(digits(false, {0x7fff, 0x7fff, 0x7fff, 0x7fff, 7}), keep).integer, INT64_MAX);
  EXPECT_EQ(value_of(digits(true, {0, 0, 0, 0, 8}), keep).integer, INT64_MIN);
  Const big = value_of(digits(false, {0, 0, 0, 0, 8}), keep);
  EXPECT_TRUE(big.big);
  EXPECT_EQ(big.text, "8000000000000000");
  big = value_of(digits(true, {1, 0, 0, 0, 8}), keep);
  EXPECT_EQ(big.text, "-8000000000000001");
  big = value_of(digits(false, {0x1234, 0x7abc, 0, 1, 0x7fff, 0x10}), keep);
  EXPECT_EQ(big.text, "87fff00020003d5e1234");
  EXPECT_NE(error_of([&] { value_of(digits(false, {0x8000}), keep); }), "");
}

TEST(Marshal, FloatsByTheirBits) {
  Module keep;
  EXPECT_TRUE(std::signbit(value_of({'g', 0, 0, 0, 0, 0, 0, 0, 0x80}, keep).re));
  EXPECT_TRUE(std::isnan(value_of({'g', 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, keep).re));
  const Const complex =
      value_of({'y', 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, keep);
  EXPECT_TRUE(std::signbit(complex.re));
  EXPECT_EQ(complex.im, 1.0);
  EXPECT_EQ(value_of({'f', 3, '1', 'e', '3'}, keep).re, 1000.0);
}

TEST(Marshal, Strings) {
  Module keep;
  EXPECT_EQ(value_of(sized('u', "\xed\xa0\x80"), keep).text, "\xed\xa0\x80");  // a lone surrogate
  EXPECT_EQ(value_of({'z', 1, 0xe9}, keep).text, "\xc3\xa9");                  // Latin-1
  EXPECT_EQ(value_of(sized('s', "\xff"), keep).kind, ConstKind::Bytes);
  for (const char* bad : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xc3"}) {
    EXPECT_NE(error_of([&] { value_of(sized('u', bad), keep); }).find("UTF-8"), std::string::npos)
        << bad;
  }
}

TEST(Marshal, Containers) {
  Module keep;
  const Bytes one{'i', 1, 0, 0, 0};
  Const value = value_of(joined({{'{'}, one, {'N'}, {'0'}}), keep);
  EXPECT_EQ(value.kind, ConstKind::Dict);
  EXPECT_EQ(value.items.size(), 2U);
  value = value_of(joined({{'}'}, one, {'N'}, {'0'}}), keep);  // 3.15's frozendict
  EXPECT_EQ(value.kind, ConstKind::Dict);
  value = value_of(joined({{':'}, one, {'N'}, {'N'}}), keep);
  EXPECT_EQ(value.kind, ConstKind::Slice);
  EXPECT_EQ(value.items.size(), 3U);
  value = value_of({'>', 0, 0, 0, 0}, keep);
  EXPECT_EQ(value.kind, ConstKind::FrozenSet);
  EXPECT_TRUE(value.items.empty());
}

TEST(Marshal, References) {
  // (x, x) where the second is a reference to the first, and one to what is not read yet
  Module keep;
  const Const value =
      value_of(joined({{')', 2}, {'i' | 0x80, 7, 0, 0, 0}, {'r', 0, 0, 0, 0}}), keep);
  EXPECT_EQ(value.items[0], value.items[1]);
  EXPECT_NE(error_of([&] { value_of({'r', 9, 0, 0, 0}, keep); }).find("reference"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { value_of({')' | 0x80, 1, 'r', 0, 0, 0, 0}, keep); }).find("contains itself"),
      std::string::npos);
}

TEST(Marshal, BoundsWhatTheInputClaims) {
  Module keep;
  const auto message = [&](const Bytes& object) {
    return error_of([&] { value_of(object, keep); });
  };
  EXPECT_NE(message({'(', 0xff, 0xff, 0xff, 0x7f}), "");
  EXPECT_NE(message({'(', 0xff, 0xff, 0xff, 0xff}), "");
  EXPECT_NE(message({'s', 0xff, 0xff, 0xff, 0xff}), "");
  EXPECT_NE(message({'l', 0xff, 0xff, 0xff, 0x7f}), "");
  EXPECT_NE(message({'l', 0x00, 0x00, 0x00, 0x80}), "");
  EXPECT_NE(message({'?'}), "");
  EXPECT_NE(message({'0'}), "");
  Bytes deep;
  for (int i = 0; i < 100000; ++i) deep.insert(deep.end(), {')', 1});
  deep.push_back('N');
  EXPECT_NE(message(deep).find("nested"), std::string::npos);
  EXPECT_NE(error_of([] { read_marshal(Bytes{'N'}, {3, 8}); }).find("no code object"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              read_marshal(code38({')', 0}, 0, {')', 0}, {')', 0}, {')', 0}, 3), {3, 8});
            }).find("arguments"),
            std::string::npos);
}

TEST(Marshal, SlotsBefore311) {
  // def f(a): b; cells a and c; free d. a is one slot with both kinds.
  const auto name = [](const char* text) { return sized('u', text); };
  Module module =
      read_marshal(code38({')', 0}, 2, small_tuple({name("a"), name("b")}),
                          small_tuple({name("a"), name("c")}), small_tuple({name("d")}), 1),
                   {3, 8});
  const CodeObject& code = module[module.root];
  ASSERT_EQ(code.slots.size(), 4U);
  EXPECT_EQ(code.slots[0].kind, kLocal | kCell);
  EXPECT_EQ(code.slots[1].kind, kLocal);
  EXPECT_EQ(code.slots[2].kind, kCell);
  EXPECT_EQ(code.slots[3].kind, kFree);
  EXPECT_EQ((std::vector<std::uint32_t>(code.deref_slots.begin(), code.deref_slots.end())),
            (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(code.nlocals, 2U);
}

// ---------------------------------------------------------------- committed fixtures of every
// version
std::vector<std::filesystem::path> fixtures() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(DEPYF_TEST_DATA_DIR) / "fixtures" / "bytecode")) {
    if (entry.path().extension() == ".pyc") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}
Bytes contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes((std::istreambuf_iterator<char>(file)), {});
}

TEST(Fixtures, EveryVersionIsThere) {
  std::vector<int> versions(16, 0);
  for (const auto& path : fixtures()) ++versions[read_pyc(contents(path)).version.minor];
  for (int minor = 7; minor <= 15; ++minor)
    EXPECT_GT(versions[static_cast<std::size_t>(minor)], 0) << "3." << minor;
}

TEST(Fixtures, NestedCodeObjectsComeFirst) {
  for (const auto& path : fixtures()) {
    const Module module = read_pyc(contents(path));
    EXPECT_EQ(module.root.index, module.codes.size() - 1);
    for (std::uint32_t i = 0; i < module.codes.size(); ++i) {
      if (CodeId(i) == module.root) {
        EXPECT_FALSE(module.codes[i].parent.valid());
      } else {
        ASSERT_TRUE(module.codes[i].parent.valid());
        EXPECT_GT(module.codes[i].parent.index, i);
      }
    }
  }
}

/// Decodes and prints everything; Error is a fine answer for damaged input, anything else is a
/// crash.
void decode_all(const Bytes& bytes) {
  try {
    Module module = read_pyc(bytes);
    for (std::uint32_t i = 0; i < module.codes.size(); ++i) {
      try {
        const InstrList list = decode(module, CodeId(i));
        EXPECT_FALSE(to_text(list, module, CodeId(i)).empty());
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
}

TEST(Fixtures, TruncatedFilesAreErrors) {
  for (const auto& path : fixtures()) {
    const Bytes bytes = contents(path);
    for (std::size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 41) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_NE(error_of([&] { read_pyc(cut); }), "") << path << " " << size;
    }
  }
}

TEST(Fixtures, DamagedFilesDoNotCrash) {
  std::uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525U + 1013904223U; };
  for (const auto& path : fixtures()) {
    const Bytes bytes = contents(path);
    for (int round = 0; round < 120; ++round) {
      Bytes damaged = bytes;
      for (std::uint32_t flips = 1 + next() % 4; flips > 0; --flips)
        damaged[16 + (next() >> 8) % (damaged.size() - 16)] =
            static_cast<std::uint8_t>(next() >> 16);
      decode_all(damaged);
    }
  }
}

}  // namespace
}  // namespace depyf
