#include <string>
#include <vector>

#include "cli/command.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  return depyf::run_command(arguments, {}, argc > 0 ? argv[0] : "depyf");
}
