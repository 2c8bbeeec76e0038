// Writer of the marshal format, for the same versions as the reader. Constants nest as deep as the
// input does: an explicit stack.
#include "pyc/marshal_writer.h"

#include <cstring>
#include <unordered_map>
#include <vector>

#include "support/error.h"

namespace depyf {
namespace {

constexpr char kFlagRef = static_cast<char>(0x80);

/// co_localspluskinds (Include/internal/pycore_code.h); the three of arguments since 3.14.
constexpr std::uint8_t kFastArgPos = 0x02, kFastArgKw = 0x04, kFastArgVar = 0x08,
                       kFastHidden = 0x10, kFastLocal = 0x20, kFastCell = 0x40, kFastFree = 0x80;

class Writer {
 public:
  explicit Writer(const Module& module) : module_(module), minor_(module.version.minor) {}

  std::string run(CodeId root) {
    open_code(root);
    while (!work_.empty()) {
      const Task task = work_.back();
      work_.pop_back();
      if (task.what == Task::Object) {
        object(ConstId(task.id));
      } else if (task.what == Task::CodeEnd) {
        close_code(CodeId(task.id));
      } else {
        out_ += '0';
      }
    }
    return std::move(out_);
  }

 private:
  struct Task {
    enum What : std::uint8_t { Object, CodeEnd, DictEnd } what;
    std::uint32_t id;
  };

  void u32(std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) out_ += static_cast<char>(value >> shift & 0xFF);
  }
  void f64(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    u32(static_cast<std::uint32_t>(bits));
    u32(static_cast<std::uint32_t>(bits >> 32));
  }
  /// The type of an object that later ones may refer to.
  void type(char code) {
    out_ += static_cast<char>(code | kFlagRef);
    ++refs_;
  }
  void sized(char code, std::string_view bytes) {
    type(code);
    u32(static_cast<std::uint32_t>(bytes.size()));
    out_ += bytes;
  }
  void reference(std::uint32_t index) {
    out_ += 'r';
    u32(index);
  }
  void bytes(std::span<const std::uint8_t> data) {
    sized('s', {reinterpret_cast<const char*>(data.data()), data.size()});
  }

  void name(StrId id) {
    const auto [at, fresh] = name_refs_.try_emplace(id.index, refs_);
    if (!fresh) return reference(at->second);
    sized('t', module_[id]);
  }
  template <class Range>
  void names(const Range& ids) {
    type('(');
    u32(static_cast<std::uint32_t>(ids.size()));
    for (StrId id : ids) name(id);
  }

  void integer(const Const& value) {
    if (!value.big && value.integer >= INT32_MIN && value.integer <= INT32_MAX) {
      type('i');
      u32(static_cast<std::uint32_t>(static_cast<std::int32_t>(value.integer)));
      return;
    }
    bool negative = value.integer < 0;
    std::vector<std::uint16_t> digits;  // of 15 bits, lowest first
    if (value.big) {
      std::string_view hex = value.text;
      negative = hex.starts_with('-');
      if (negative) hex.remove_prefix(1);
      std::uint32_t pending = 0, bits = 0;
      for (std::size_t i = hex.size(); i-- > 0;) {
        const char c = hex[i];
        pending |= static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10) << bits;
        for (bits += 4; bits >= 15; bits -= 15, pending >>= 15) digits.push_back(pending & 0x7FFF);
      }
      if (bits > 0) digits.push_back(static_cast<std::uint16_t>(pending));
    } else {
      std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value.integer)
                                         : static_cast<std::uint64_t>(value.integer);
      for (; magnitude > 0; magnitude >>= 15) digits.push_back(magnitude & 0x7FFF);
    }
    while (!digits.empty() && digits.back() == 0) digits.pop_back();
    type('l');
    const auto count = static_cast<std::int32_t>(digits.size());
    u32(static_cast<std::uint32_t>(negative ? -count : count));
    for (std::uint16_t digit : digits) {
      out_ += static_cast<char>(digit & 0xFF);
      out_ += static_cast<char>(digit >> 8);
    }
  }

  void sequence(char code, const Const& value, bool counted) {
    type(code);
    if (counted) u32(static_cast<std::uint32_t>(value.items.size()));
    if (code == '{' || code == '}') work_.push_back({Task::DictEnd, 0});
    for (std::size_t i = value.items.size(); i-- > 0;)
      work_.push_back({Task::Object, value.items[i].index});
  }

  void object(ConstId id) {
    const Const& value = module_[id];
    switch (value.kind) {
      case ConstKind::None:
        out_ += 'N';
        return;
      case ConstKind::True:
        out_ += 'T';
        return;
      case ConstKind::False:
        out_ += 'F';
        return;
      case ConstKind::Ellipsis:
        out_ += '.';
        return;
      case ConstKind::StopIteration:
        out_ += 'S';
        return;
      case ConstKind::Object:
        throw Error(
            "a constant is a live object of the running interpreter, which cannot be marshalled: "
            "pass the code object itself, and "
            "keep the placeholder " +
            std::to_string(value.object) + " of it");
      case ConstKind::Int:
      case ConstKind::Float:
      case ConstKind::Complex:
      case ConstKind::Str:
      case ConstKind::Bytes:
      case ConstKind::Tuple:
      case ConstKind::List:
      case ConstKind::Set:
      case ConstKind::FrozenSet:
      case ConstKind::Dict:
      case ConstKind::Slice:
      case ConstKind::Code:
        break;
    }
    const auto [at, fresh] = const_refs_.try_emplace(id.index, refs_);
    if (!fresh) return reference(at->second);
    switch (value.kind) {
      case ConstKind::Int:
        integer(value);
        break;
      case ConstKind::Float:
        type('g');
        f64(value.re);
        break;
      case ConstKind::Complex:
        type('y');
        f64(value.re);
        f64(value.im);
        break;
      case ConstKind::Str:
        sized('u', value.text);
        break;
      case ConstKind::Bytes:
        sized('s', value.text);
        break;
      case ConstKind::Tuple:
        sequence('(', value, true);
        break;
      case ConstKind::List:
        sequence('[', value, true);
        break;
      case ConstKind::Set:
        sequence('<', value, true);
        break;
      case ConstKind::FrozenSet:
        sequence('>', value, true);
        break;
      case ConstKind::Dict:
        sequence(minor_ >= 15 ? '}' : '{', value, false);
        break;
      case ConstKind::Slice:
        sequence(':', value, false);
        break;
      case ConstKind::Code:
        open_code(value.code);
        break;
      case ConstKind::None:
      case ConstKind::True:
      case ConstKind::False:
      case ConstKind::Ellipsis:
      case ConstKind::StopIteration:
      case ConstKind::Object:
        break;
    }
  }

  void open_code(CodeId id) {
    const CodeObject& code = module_[id];
    type('c');
    u32(code.argcount);
    if (minor_ >= 8) u32(code.posonlyargcount);
    u32(code.kwonlyargcount);
    if (minor_ < 11) u32(code.nlocals);
    u32(code.stacksize);
    u32(code.flags);
    bytes(code.code);
    type('(');
    u32(static_cast<std::uint32_t>(code.consts.size()));
    work_.push_back({Task::CodeEnd, id.index});
    for (std::size_t i = code.consts.size(); i-- > 0;)
      work_.push_back({Task::Object, code.consts[i].index});
  }

  void close_code(CodeId id) {
    const CodeObject& code = module_[id];
    names(code.names);
    std::vector<StrId> ids;
    if (minor_ >= 11) {
      for (const Slot& slot : code.slots) ids.push_back(slot.name);
      names(ids);
      bytes(slot_kinds(code));
      name(code.filename);
      name(code.name);
      name(code.qualname ? code.qualname : code.name);
      u32(code.firstlineno);
      bytes(code.linetable);
      bytes(code.exceptiontable);
      return;
    }
    for (std::size_t i = 0; i < code.nlocals; ++i) ids.push_back(code.slots[i].name);
    names(ids);
    std::vector<StrId> cells, frees;
    for (std::uint32_t slot : code.deref_slots)
      (code.slots[slot].kind & kFree ? frees : cells).push_back(code.slots[slot].name);
    names(frees);
    names(cells);
    name(code.filename);
    name(code.name);
    u32(code.firstlineno);
    bytes(code.linetable);
  }

  std::vector<std::uint8_t> slot_kinds(const CodeObject& code) const {
    std::vector<std::uint8_t> kinds;
    kinds.reserve(code.slots.size());
    for (const Slot& slot : code.slots)
      kinds.push_back(static_cast<std::uint8_t>(
          (slot.kind & kLocal ? kFastLocal : 0) | (slot.kind & kCell ? kFastCell : 0) |
          (slot.kind & kFree ? kFastFree : 0) | (slot.kind & kHidden ? kFastHidden : 0)));
    if (minor_ < 14) return kinds;
    std::size_t at = 0;
    auto mark = [&](std::uint32_t count, std::uint8_t bits) {
      for (; count > 0 && at < kinds.size(); --count) kinds[at++] |= bits;
    };
    mark(code.posonlyargcount, kFastArgPos);
    mark(code.argcount - code.posonlyargcount, kFastArgPos | kFastArgKw);
    mark(code.kwonlyargcount, kFastArgKw);
    mark((code.flags & kVarArgs) != 0, kFastArgPos | kFastArgVar);
    mark((code.flags & kVarKeywords) != 0, kFastArgKw | kFastArgVar);
    return kinds;
  }

  const Module& module_;
  const std::uint8_t minor_;
  std::string out_;
  std::uint32_t refs_ = 0;
  std::vector<Task> work_;
  std::unordered_map<std::uint32_t, std::uint32_t> const_refs_,
      name_refs_;  // what has been written -> its number
};

}  // namespace

std::string write_marshal(const Module& module, CodeId code) { return Writer(module).run(code); }

}  // namespace depyf
