// A C++ program that uses depyf as a library: prints the source of a .pyc file.
#include <depyf/depyf.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " FILE.pyc\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  const depyf::Bytecode bytecode{
      {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}};
  try {
    const depyf::SourceText source = depyf::decompile_source(bytecode);
    std::cout << source.text;
    for (const depyf::Finding& finding : source.findings)
      std::cerr << finding.code << ": " << finding.message << "\n";
    return source.complete() ? 0 : 1;
  } catch (const depyf::Error& error) {
    std::cerr << argv[1] << ": " << error.what() << "\n";
    return 2;
  }
}
