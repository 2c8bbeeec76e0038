// Decodes every code object of the given .pyc files and prints what it found, for
// scripts/check_decode to compare with `dis`.
//   decode_check --text FILE…     the table that `depyf dis` shows
//   decode_check --json FILE…     one line of JSON a code object
//   decode_check FILE…            totals only; exit status 1 on errors or unknown opcodes
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "bytecode/instr.h"
#include "bytecode/text.h"
#include "pyc/pyc.h"
#include "support/error.h"

namespace {

using namespace depyf;

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code >= 0x7F) {  // bytes as Latin-1; the reader turns them back
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", code);
      out += buffer;
    } else {
      out += c;
    }
  }
  out += '"';
}

void print_json(const Module& module, CodeId id, const InstrList& list) {
  const CodeObject& code = module[id];
  std::string out = "{\"name\":";
  append_string(out, module[code.name]);
  out += ",\"line\":" + std::to_string(code.firstlineno) + ",\"slots\":[";
  for (std::size_t i = 0; i < code.slots.size(); ++i) {
    if (i > 0) out += ',';
    append_string(out, module[code.slots[i].name]);
  }
  out += "],\"instrs\":[";
  for (std::size_t i = 0; i < list.instrs.size(); ++i) {
    const Instr& instr = list.instrs[i];
    if (i > 0) out += ',';
    out += "[\"" + std::string(op_name(instr.op)) + "\"," + std::to_string(instr.arg) + "," +
           std::to_string(instr.aux) + "," +
           (instr.target == kNoTarget ? "null" : std::to_string(instr.target)) + "," +
           std::to_string(instr.offset) + "," + std::to_string(instr.line) + ",";
    append_string(out, operand_text(instr, module, code));
    out += "]";
  }
  out += "],\"rows\":[";
  for (std::size_t i = 0; i < list.rows.size(); ++i) {
    const ExceptionRow& row = list.rows[i];
    if (i > 0) out += ',';
    out += "[" + std::to_string(row.begin) + "," + std::to_string(row.end) + "," +
           std::to_string(row.target) + "," + std::to_string(row.depth) + "," +
           (row.lasti ? "true" : "false") + "]";
  }
  out += "]}\n";
  std::fwrite(out.data(), 1, out.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool text = false, json = false;
  std::size_t files = 0, codes = 0, instrs = 0, errors = 0, unknown = 0, unfolded = 0;
  std::chrono::nanoseconds reading{0}, decoding{0};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--text") == 0) {
      text = true;
      continue;
    }
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    ++files;
    try {
      const auto start = std::chrono::steady_clock::now();
      Module module = read_pyc({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      const auto read = std::chrono::steady_clock::now();
      reading += read - start;
      for (std::uint32_t k = 0; k < module.codes.size(); ++k) {
        try {
          const InstrList list = decode(module, CodeId(k));
          ++codes;
          instrs += list.instrs.size();
          for (const Instr& instr : list.instrs) {
            unknown += instr.op == Op::UNKNOWN;
            unfolded += instr.op == Op::SEND || instr.op == Op::END_SEND ||
                        instr.op == Op::CLEANUP_THROW || instr.op == Op::END_FOR ||
                        instr.op == Op::LOAD_SPECIAL;
          }
          if (text) std::fputs((to_text(list, module, CodeId(k)) + "\n").c_str(), stdout);
          if (json) print_json(module, CodeId(k), list);
        } catch (const Error& error) {
          ++errors;
          std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
          if (json) std::puts("{}");
        }
      }
      decoding += std::chrono::steady_clock::now() - read;
    } catch (const Error& error) {
      ++errors;
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
    }
  }
  std::fprintf(stderr,
               "files %zu, code objects %zu, instructions %zu, errors %zu, unknown %zu, unfolded "
               "%zu; read %.1f ms, decode%s %.1f ms\n",
               files, codes, instrs, errors, unknown, unfolded,
               static_cast<double>(reading.count()) / 1e6, text || json ? " and print" : "",
               static_cast<double>(decoding.count()) / 1e6);
  return errors != 0 || unknown != 0 ? 1 : 0;
}
