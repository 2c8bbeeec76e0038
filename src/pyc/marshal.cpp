// Reader of the marshal format (Python/marshal.c), versions 0 … 6. Works with an explicit stack,
// because nesting comes from the input.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "pyc/pyc.h"
#include "support/append.h"
#include "support/error.h"

namespace depyf {
namespace {

constexpr std::size_t kMaxDepth =
    2000;  // MAX_MARSHAL_STACK_DEPTH of Python/marshal.c: CPython writes and reads nothing deeper
constexpr std::uint32_t kUntilNull = UINT32_MAX;
constexpr std::uint8_t kFlagRef = 0x80;

/// co_localspluskinds (Include/internal/pycore_code.h).
constexpr std::uint8_t kFastHidden = 0x10, kFastLocal = 0x20, kFastCell = 0x40, kFastFree = 0x80;

/// True when `text` is UTF-8 in which lone surrogates may stand as three bytes, as marshal writes
/// str ("surrogatepass").
bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
    const std::uint8_t lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                               : (lead & 0xF0) == 0xE0       ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || length > text.size() - i) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    const std::uint8_t second = byte(i + 1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second >= 0x90))
      return false;
    i += length;
  }
  return true;
}

bool is_ascii(std::string_view text) {
  std::uint64_t all = 0;  // of the bytes, eight at a time
  std::size_t i = 0;
  for (; text.size() - i >= sizeof all; i += sizeof all) {
    std::uint64_t bytes;
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    all |= bytes;
  }
  for (; i < text.size(); ++i) all |= static_cast<std::uint8_t>(text[i]);
  return (all & 0x8080808080808080u) == 0;
}

enum class Shape : std::uint8_t { Tuple, List, Set, FrozenSet, Dict, Slice, Code };

struct Frame {
  Shape shape;
  std::uint32_t remaining;  // objects still to read; kUntilNull for a dict
  std::uint32_t base;       // where its objects start in Reader::values_
  std::uint32_t ref;        // its place in Reader::refs_, or UINT32_MAX
};

/// The integers of a code object whose objects are still being read.
struct CodeHead {
  std::uint32_t argcount, posonlyargcount, kwonlyargcount, nlocals, stacksize, flags, firstlineno;
};

class Reader {
 public:
  Reader(Module& module, std::span<const std::uint8_t> bytes)
      : module_(module),
        at_(bytes.data()),
        begin_(bytes.data()),
        end_(bytes.data() + bytes.size()) {
    wide_ = module.version.minor >= 11;
  }

  void read_root() {
    const ConstId root = read_object();
    const Const& value = module_[root];
    if (value.kind != ConstKind::Code) fail("the marshal data holds no code object");
    module_.root = value.code;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("corrupt marshal data at byte " + std::to_string(at_ - begin_) + ": " + what +
                " (read as CPython 3." + std::to_string(module_.version.minor) +
                "); is the file truncated, or from another version?");
  }

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  std::uint8_t byte() {
    if (at_ == end_) fail("the data ends in the middle of an object");
    return *at_++;
  }
  std::uint32_t u32() {
    if (left() < 4) [[unlikely]]
      fail_number();
    const std::uint32_t value =
        at_[0] | at_[1] << 8 | at_[2] << 16 | static_cast<std::uint32_t>(at_[3]) << 24;
    at_ += 4;
    return value;
  }
  [[noreturn]] void fail_depth() const {
    fail("objects nested more than " + std::to_string(kMaxDepth) +
         " deep, which CPython does not read either");
  }
  [[noreturn]] void fail_number() const { fail("the data ends in the middle of a number"); }
  [[noreturn]] void fail_length(std::uint32_t n) const {
    fail("a length of " + std::to_string(n) + " where " + std::to_string(left()) +
         " bytes are left");
  }
  std::uint64_t u64() {
    const std::uint64_t low = u32();
    return low | static_cast<std::uint64_t>(u32()) << 32;
  }
  double f64() {
    const std::uint64_t bits = u64();
    double value;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  /// A count of things that take at least one byte each.
  std::uint32_t count(std::uint32_t n) const {
    if (n > left()) [[unlikely]]
      fail_length(n);
    return n;
  }
  std::uint32_t natural(const char* what) {
    const std::uint32_t value = u32();
    if (value > INT32_MAX) fail(std::string(what) + " is negative");
    return value;
  }
  std::string_view text(std::uint32_t n) {
    count(n);
    const char* start = reinterpret_cast<const char*>(at_);
    at_ += n;
    return {start, n};
  }
  double float_text() {
    const std::string_view digits = text(byte());
    double value = 0;
    const char* end = digits.data() + digits.size();
    if (auto [ptr, error] = std::from_chars(digits.data(), end, value);
        error == std::errc::invalid_argument || ptr != end) {
      fail("a float that is no number");
    }
    return value;
  }

  void long_int(Const& value) {
    const std::int32_t signed_count = static_cast<std::int32_t>(u32());
    const bool negative = signed_count < 0;
    const std::uint64_t digits = negative ? -static_cast<std::int64_t>(signed_count) : signed_count;
    if (digits * 2 > left())
      fail("an int of " + std::to_string(digits) + " digits where " + std::to_string(left()) +
           " bytes are left");
    const auto digit = [&](std::uint64_t i) -> std::uint32_t {
      return at_[2 * i] | at_[2 * i + 1] << 8;
    };
    for (std::uint64_t i = 0; i < digits; ++i) {
      if (digit(i) >= 1U << 15) fail("an int with a digit of more than 15 bits");
    }
    if (digits <= 4) {
      std::int64_t small = 0;
      for (std::uint64_t i = digits; i-- > 0;) small = small << 15 | digit(i);
      value.integer = negative ? -small : small;
    } else {
      // 15-bit digits to 4-bit ones, from the lowest.
      std::string hex;
      hex.reserve(static_cast<std::size_t>(digits) * 15 / 4 + 2);
      std::uint32_t pending = 0, bits = 0;
      for (std::uint64_t i = 0; i < digits; ++i) {
        pending |= digit(i) << bits;
        for (bits += 15; bits >= 4; bits -= 4, pending >>= 4)
          hex += "0123456789abcdef"[pending & 15];
      }
      if (bits > 0) hex += "0123456789abcdef"[pending & 15];
      while (hex.size() > 1 && hex.back() == '0') hex.pop_back();
      std::uint64_t magnitude = 0;
      if (hex.size() <= 16) {
        for (std::size_t i = hex.size(); i-- > 0;)
          magnitude = magnitude << 4 |
                      static_cast<std::uint64_t>(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
      }
      if (hex.size() <= 16 && magnitude <= static_cast<std::uint64_t>(INT64_MAX) + negative) {
        value.integer = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
      } else {
        if (negative) hex += '-';
        value.big = true;
        value.text = module_.arena.copy_string(std::string(hex.rbegin(), hex.rend()));
      }
    }
    at_ += digits * 2;
  }

  ConstId string(std::string_view bytes, bool latin1, bool flagged) {
    const ConstId id = keep(ConstKind::Str, flagged);
    last().text = is_ascii(bytes) ? bytes : other_text(bytes, latin1);
    return id;
  }
  /// UTF-8 of what is not ASCII.
  [[gnu::noinline]] std::string_view other_text(std::string_view bytes, bool latin1) {
    if (latin1) {
      std::string wide;
      for (char c : bytes) {
        const auto code = static_cast<std::uint8_t>(c);
        if (code < 0x80) {
          wide += c;
        } else {
          wide += static_cast<char>(0xC0 | code >> 6);
          wide += static_cast<char>(0x80 | (code & 0x3F));
        }
      }
      return module_.arena.copy_string(wide);
    }
    if (!is_utf8(bytes)) fail("a str that is not UTF-8");
    return bytes;
  }

  /// Reads objects until the outermost one is complete.
  ConstId read_object() {
    for (;;) {
      ConstId id = begin_object();
      // The object may complete the containers around it.
      for (;;) {
        if (id.valid()) {
          if (frames_.empty()) return id;
          append(values_, id);
          if (frames_.back().remaining != kUntilNull) --frames_.back().remaining;
        }
        Frame& frame = frames_.back();
        if (frame.shape == Shape::Code && frame.remaining == (wide_ ? 2U : 1U) && id.valid())
          heads_.back().firstlineno = u32();
        if (frame.remaining != 0) break;
        id = finish();
      }
    }
  }

  static ConstKind singleton_kind(int code) {
    return code == 'N'   ? ConstKind::None
           : code == 'T' ? ConstKind::True
           : code == 'F' ? ConstKind::False
           : code == '.' ? ConstKind::Ellipsis
                         : ConstKind::StopIteration;
  }

  ConstId reference() {
    const std::uint32_t index = u32();
    if (index >= refs_.size())
      fail("a reference to object " + std::to_string(index) + " of " +
           std::to_string(refs_.size()));
    if (!refs_[index]) fail("an object that contains itself");
    return refs_[index];
  }

  /// Reads one object, or the beginning of a container: then there is none yet.
  [[gnu::always_inline]] ConstId begin_object() {
    const std::uint8_t code = byte();
    const bool flagged = (code & kFlagRef) != 0;
    ConstId id;
    switch (code & ~kFlagRef) {
      case '0':
        if (frames_.empty() || frames_.back().remaining != kUntilNull ||
            (values_.size() - frames_.back().base) % 2 != 0) {
          fail("a NULL object outside a dict");
        }
        id = finish();
        break;
      case 'N':
      case 'T':
      case 'F':
      case '.':
      case 'S':
        id = singleton(singleton_kind(code & ~kFlagRef), flagged);
        break;
      case 'i':
        id = keep(ConstKind::Int, flagged);
        last().integer = static_cast<std::int32_t>(u32());
        break;
      case 'I':
        id = keep(ConstKind::Int, flagged);
        last().integer = static_cast<std::int64_t>(u64());
        break;
      case 'l':
        id = keep(ConstKind::Int, flagged);
        long_int(last());
        break;
      case 'f':
        id = keep(ConstKind::Float, flagged);
        last().re = float_text();
        break;
      case 'g':
        id = keep(ConstKind::Float, flagged);
        last().re = f64();
        break;
      case 'x':
        id = keep(ConstKind::Complex, flagged);
        last().re = float_text();
        last().im = float_text();
        break;
      case 'y':
        id = keep(ConstKind::Complex, flagged);
        last().re = f64();
        last().im = f64();
        break;
      case 's':
        id = keep(ConstKind::Bytes, flagged);
        last().text = text(u32());
        break;
      case 't':
      case 'u':
        id = string(text(u32()), false, flagged);
        break;
      case 'a':
      case 'A':
        id = string(text(u32()), true, flagged);
        break;
      case 'z':
      case 'Z':
        id = string(text(byte()), true, flagged);
        break;
      case 'r':
        id = reference();
        break;
      case '(':
        open(Shape::Tuple, count(u32()), flagged);
        break;
      case ')':
        open(Shape::Tuple, count(byte()), flagged);
        break;
      case '[':
        open(Shape::List, count(u32()), flagged);
        break;
      case '<':
        open(Shape::Set, count(u32()), flagged);
        break;
      case '>':
        open(Shape::FrozenSet, count(u32()), flagged);
        break;
      case '{':
      case '}':
        open(Shape::Dict, kUntilNull, flagged);
        break;
      case ':':
        open(Shape::Slice, 3, flagged);
        break;
      case 'c':
        open(Shape::Code, wide_ ? 10 : 9, flagged);
        heads_.push_back(read_head());
        break;
      default:  // a character, not an enumerator
        --at_;
        fail("an object of unknown type " + std::to_string(code & ~kFlagRef));
    }
    return id;
  }

  /// A constant that last() is then.
  ConstId keep(ConstKind kind, bool flagged) {
    Const value;
    value.kind = kind;
    const ConstId id = module_.add(value);
    if (flagged) append(refs_, id);
    return id;
  }
  Const& last() { return module_.consts[module_.consts.size() - 1]; }
  ConstId singleton(ConstKind kind, bool flagged) {
    ConstId& id = singletons_[static_cast<std::size_t>(kind)];
    if (!id) {
      Const value;
      value.kind = kind;
      id = module_.add(value);
    }
    if (flagged) refs_.push_back(id);
    return id;
  }
  void open(Shape shape, std::uint32_t remaining, bool flagged) {
    if (frames_.size() >= kMaxDepth) [[unlikely]]
      fail_depth();
    append(frames_,
           Frame{shape, remaining, static_cast<std::uint32_t>(values_.size()), UINT32_MAX});
    if (flagged) {
      frames_.back().ref = static_cast<std::uint32_t>(refs_.size());
      refs_.emplace_back();
    }
  }

  CodeHead read_head() {
    CodeHead head{};
    head.argcount = natural("co_argcount");
    if (module_.version.minor >= 8) head.posonlyargcount = natural("co_posonlyargcount");
    head.kwonlyargcount = natural("co_kwonlyargcount");
    if (!wide_) head.nlocals = natural("co_nlocals");
    head.stacksize = natural("co_stacksize");
    head.flags = u32();
    return head;
  }

  /// Closes the innermost container.
  ConstId finish() {
    const Frame frame = frames_.back();
    const std::span<const ConstId> items(values_.data() + frame.base, values_.size() - frame.base);
    ConstId id;
    if (frame.shape == Shape::Code) {
      id = finish_code(items);
    } else {
      Const value;
      switch (frame.shape) {
        case Shape::Tuple:
          value.kind = ConstKind::Tuple;
          break;
        case Shape::List:
          value.kind = ConstKind::List;
          break;
        case Shape::Set:
          value.kind = ConstKind::Set;
          break;
        case Shape::FrozenSet:
          value.kind = ConstKind::FrozenSet;
          break;
        case Shape::Dict:
          value.kind = ConstKind::Dict;
          break;
        case Shape::Slice:
          value.kind = ConstKind::Slice;
          break;
        case Shape::Code:
          break;
      }
      value.items = module_.arena.copy(items);
      id = module_.add(value);
    }
    values_.resize(frame.base);
    if (frame.ref != UINT32_MAX) refs_[frame.ref] = id;
    frames_.pop_back();
    return id;
  }

  const Const& expect(ConstId id, ConstKind kind, const char* field, const char* type) const {
    const Const& value = module_[id];
    if (value.kind != kind) fail(std::string(field) + " is no " + type);
    return value;
  }
  std::span<const std::uint8_t> bytes(ConstId id, const char* field) const {
    const std::string_view text = expect(id, ConstKind::Bytes, field, "bytes").text;
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }
  StrId name(ConstId id, const char* field) {
    if (id.index >= str_ids_.size())
      str_ids_.resize(std::max<std::size_t>(module_.consts.size(), 64) * 2);
    StrId& known = str_ids_[id.index];
    if (!known) known = module_.intern_constant(expect(id, ConstKind::Str, field, "str").text);
    return known;
  }
  std::span<StrId> name_tuple(ConstId id, const char* field) {
    const std::span<const ConstId> items = expect(id, ConstKind::Tuple, field, "tuple").items;
    const std::span<StrId> out = module_.arena.array<StrId>(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) out[i] = name(items[i], field);
    return out;
  }

  ConstId finish_code(std::span<const ConstId> items) {
    const CodeHead head = heads_.back();
    heads_.pop_back();
    CodeObject code;
    code.version = module_.version;
    code.argcount = head.argcount;
    code.posonlyargcount = head.posonlyargcount;
    code.kwonlyargcount = head.kwonlyargcount;
    code.stacksize = head.stacksize;
    code.flags = head.flags;
    code.firstlineno = head.firstlineno;
    code.code = bytes(items[0], "co_code");
    code.consts = expect(items[1], ConstKind::Tuple, "co_consts", "tuple").items;
    code.names = name_tuple(items[2], "co_names");
    if (wide_) {
      const std::span<const StrId> names = name_tuple(items[3], "co_localsplusnames");
      const std::span<const std::uint8_t> kinds = bytes(items[4], "co_localspluskinds");
      if (names.size() != kinds.size())
        fail("co_localsplusnames and co_localspluskinds differ in length");
      const std::span<Slot> slots = module_.arena.array<Slot>(names.size());
      bool free = false;
      for (std::size_t i = 0; i < names.size(); ++i) {
        // CPython counts a variable that is free and something else as the latter alone
        // (get_localsplus_counts), but reads it as free elsewhere, and takes free ones to be last.
        if ((kinds[i] & kFastFree) != 0 && (kinds[i] & (kFastLocal | kFastCell)) != 0)
          fail("a free variable that is also a local or a cell in co_localspluskinds");
        if (free && (kinds[i] & (kFastLocal | kFastCell)) != 0)
          fail("a local or a cell behind a free variable in co_localspluskinds");
        free |= (kinds[i] & kFastFree) != 0;
        slots[i].name = names[i];
        slots[i].kind = static_cast<std::uint8_t>(
            (kinds[i] & kFastLocal ? kLocal : 0) | (kinds[i] & kFastCell ? kCell : 0) |
            (kinds[i] & kFastFree ? kFree : 0) | (kinds[i] & kFastHidden ? kHidden : 0));
        if (kinds[i] & kFastLocal) {
          if (code.nlocals != i) fail("a local variable behind a cell in co_localspluskinds");
          ++code.nlocals;
        }
      }
      code.slots = slots;
      code.filename = name(items[5], "co_filename");
      code.name = name(items[6], "co_name");
      code.qualname = name(items[7], "co_qualname");
      code.linetable = bytes(items[8], "co_linetable");
      code.exceptiontable = bytes(items[9], "co_exceptiontable");
    } else {
      const std::span<StrId> varnames = name_tuple(items[3], "co_varnames");
      const std::span<StrId> freevars = name_tuple(items[4], "co_freevars");
      const std::span<StrId> cellvars = name_tuple(items[5], "co_cellvars");
      if (varnames.size() != head.nlocals) fail("co_nlocals and co_varnames differ");
      lay_out_slots(module_, code, varnames, cellvars, freevars);
      code.filename = name(items[6], "co_filename");
      code.name = name(items[7], "co_name");
      code.linetable = bytes(items[8], "co_lnotab");
    }
    const std::uint64_t arguments = code.parameter_count();
    if (arguments > code.nlocals) {
      fail("a code object with " + std::to_string(arguments) + " arguments and " +
           std::to_string(code.nlocals) + " local variables");
    }
    if (code.posonlyargcount > code.argcount)
      fail("co_posonlyargcount is greater than co_argcount");

    const CodeId id(static_cast<std::uint32_t>(module_.codes.size()));
    for (ConstId item : code.consts) {
      if (module_[item].kind == ConstKind::Code) {
        if (CodeObject& child = module_[module_[item].code]; !child.parent) child.parent = id;
      }
    }
    module_.codes.push_back(code);
    Const value;
    value.kind = ConstKind::Code;
    value.code = id;
    return module_.add(value);
  }

  Module& module_;
  const std::uint8_t* at_;
  const std::uint8_t* begin_;
  const std::uint8_t* end_;
  bool wide_;  // 3.11+: co_localsplus, co_qualname, co_exceptiontable
  std::vector<Frame> frames_;
  std::vector<CodeHead> heads_;
  std::vector<ConstId> values_;
  std::vector<ConstId> refs_;
  std::vector<StrId> str_ids_;  // by ConstId
  ConstId singletons_[5];       // None … StopIteration
};

}  // namespace

void lay_out_slots(Module& module, CodeObject& code, std::span<const StrId> varnames,
                   std::span<const StrId> cellvars, std::span<const StrId> freevars) {
  const std::size_t shared = code.version.minor >= 11
                                 ? varnames.size()
                                 : std::min<std::size_t>(varnames.size(), code.parameter_count());
  std::unordered_map<StrId, std::uint32_t> by_name;
  if (!cellvars.empty()) {
    for (std::size_t i = 0; i < shared; ++i)
      by_name.emplace(varnames[i], static_cast<std::uint32_t>(i));
  }
  const std::span<Slot> slots =
      module.arena.array<Slot>(varnames.size() + cellvars.size() + freevars.size());
  const std::span<std::uint32_t> derefs =
      module.arena.array<std::uint32_t>(cellvars.size() + freevars.size());
  std::uint32_t used = 0, deref = 0;
  for (StrId name : varnames) slots[used++] = {name, kLocal};
  for (StrId name : cellvars) {
    if (auto found = by_name.find(name); found != by_name.end()) {
      slots[found->second].kind |= kCell;
      derefs[deref++] = found->second;
    } else {
      slots[used] = {name, kCell};
      derefs[deref++] = used++;
    }
  }
  for (StrId name : freevars) {
    slots[used] = {name, kFree};
    derefs[deref++] = used++;
  }
  code.slots = slots.first(used);
  if (code.version.minor <= 10) code.deref_slots = derefs;
  code.nlocals = static_cast<std::uint32_t>(varnames.size());
}

Module read_marshal(std::span<const std::uint8_t> bytes, PyVersion version, bool lasting) {
  if (!is_supported(version)) {
    throw Error("cannot read code of Python " + std::to_string(version.major) + "." +
                std::to_string(version.minor) + ": supported are " + supported_versions());
  }
  Module module;
  module.version = version;
  Reader(module, lasting ? bytes : module.arena.copy(bytes)).read_root();
  return module;
}

}  // namespace depyf
