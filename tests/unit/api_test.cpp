#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "depyf/depyf.h"

namespace depyf {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes fixture(const char* version, const char* name) {
  const std::filesystem::path folder =
      std::filesystem::path(DEPYF_TEST_DATA_DIR) / "fixtures" / "bytecode" / version;
  std::ifstream file(folder / name, std::ios::binary);
  return Bytes((std::istreambuf_iterator<char>(file)), {});
}

TEST(Library, SourceComesWithItsLines) {
  const Bytes bytes = fixture("3.8", "core.pyc");
  const SourceText source = decompile_source({bytes});
  ASSERT_FALSE(source.text.empty());
  EXPECT_EQ(source.text.back(), '\n');
  EXPECT_TRUE(source.complete());
  EXPECT_TRUE(std::ranges::is_sorted(source.lines, {}, &SourceLine::line));
  EXPECT_TRUE(std::ranges::any_of(source.lines,
                                  [](const SourceLine& line) { return line.original_line > 0; }));
  for (const SourceLine& line : source.lines) {
    EXPECT_FALSE(line.offsets.empty());
    EXPECT_TRUE(std::ranges::is_sorted(line.offsets));
  }
}

TEST(Library, IndentationIsAsAskedForWithinItsBounds) {
  const Bytes bytes = fixture("3.8", "core.pyc");
  SourceOptions options;
  options.indentation = 2;
  const std::string two = decompile_source({bytes}, options).text;
  EXPECT_NE(two.find("\n  return "), std::string::npos);
  options.indentation = 0;
  const std::string one = decompile_source({bytes}, options).text;
  EXPECT_NE(one.find("\n return "), std::string::npos);
}

TEST(Library, MarshalDataIsAFileWithoutItsHeader) {
  const Bytes file = fixture("3.8", "core.pyc");
  const Bytes data(file.begin() + 16, file.end());
  EXPECT_EQ(decompile_source({data, 8}).text, decompile_source({file}).text);
  EXPECT_THROW(decompile_source({data, 300}), Error);
  EXPECT_THROW(decompile_source({data, -1}), Error);
  EXPECT_THROW(decompile_source({data}), Error);
}

TEST(Library, DamagedCodeIsFoundAndTheRestIsSource) {
  Bytes bytes = fixture("3.8", "core.pyc");
  // the first instruction of the module: an operation that no version has
  const auto code = std::find(bytes.begin() + 16, bytes.end(), std::uint8_t{'s'});
  ASSERT_NE(code, bytes.end());
  code[5] = 255;
  const SourceText source = decompile_source({bytes});
  EXPECT_FALSE(source.complete());
  const auto broken = std::ranges::find(source.findings, Finding::Kind::Broken, &Finding::kind);
  ASSERT_NE(broken, source.findings.end());
  EXPECT_FALSE(broken->message.empty());
  EXPECT_NE(source.text.find("raise "), std::string::npos);
}

TEST(Library, ADisassemblyHasEachCodeObject) {
  const Bytes bytes = fixture("3.11", "core.pyc");
  const std::string text = disassemble({bytes});
  EXPECT_NE(text.find("LOAD_NAME"), std::string::npos);
  EXPECT_NE(text.find("RETURN"), std::string::npos);
}

TEST(Library, TwoFilesAreComparedByWhatTheyDo) {
  const Bytes core = fixture("3.8", "core.pyc"), others = fixture("3.8", "operators.pyc");
  const Comparison same = compare_bytecode({core}, {core});
  EXPECT_EQ(same.likeness, Likeness::Identical);
  EXPECT_TRUE(same.proven());
  const Comparison other = compare_bytecode({core}, {others});
  EXPECT_FALSE(other.proven());
  EXPECT_FALSE(other.detail.empty());
}

TEST(Library, TheVersionsAreNamed) {
  const std::string versions = supported_python_versions();
  EXPECT_NE(versions.find("3.7"), std::string::npos);
  EXPECT_NE(versions.find("3.15"), std::string::npos);
}

}  // namespace
}  // namespace depyf
