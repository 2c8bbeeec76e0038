#pragma once
// Lines of output. A logical line is first written flat, with marks where brackets open, items part
// and brackets close; a line that is too wide is then broken at its marks, outermost brackets
// first, in linear time.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "print/text.h"

namespace depyf {

/// How a group of items may be broken.
enum class Group : std::uint8_t {
  Items,          // brackets; one item a line, a comma after the last one
  NoComma,        // brackets; one item a line, no comma after the last one
  Fill,           // brackets; as many items a line as fit, a comma after the last one
  Optional,       // no brackets while flat, parentheses when broken, no comma: `return (…)`
  OptionalTuple,  // the same with a comma after the last item
  Rows,  // brackets; broken where a Row says so and otherwise as in Fill, after the bracket never;
         // no comma after the last item
  Path,  // `a.b['c'].d`: as Optional; where that is not enough, as many parts a line as fit
  Call,  // `a.b(c)`: as Path, but only where its last bracket opens beyond the width
  Soft,  // no brackets at all: operands inside brackets that are there anyway
  Literal,  // one string; broken into adjacent literals in parentheses
};

/// Where an item begins, whatever its width.
enum class Row : std::uint8_t { Free, Same, Next };

class Layout {
 public:
  /// `sites`: site() will be called.
  Layout(Text& out, std::uint32_t width, bool sites)
      : out_(out), width_(width), numbers_sites_(sites) {}

  /// Starts a logical line at this indentation.
  void begin(std::uint32_t indent);
  /// Marks; only between begin() and end(). open() stands after a bracket, close() before it,
  /// part() after ", " or before an operator. An item that follows a bracket, or in a group of Rows
  /// any item, may be told its row.
  void open(Group group, Row row = Row::Free);
  void part(Row row = Row::Free);
  void close();
  /// Ends the line: breaks it where it is too wide, and adds the newline.
  void end();
  void blank_line();

  /// A code object begins at the cursor that the compiler takes for another of the same `kind` (see
  /// twins.h) on the same line: different ones must come to stand on different lines, and one that
  /// is written twice on one line.
  void twin(std::uint64_t kind, std::uint32_t code) {
    twins_.push_back({static_cast<std::uint32_t>(out_.size() - start_), code, kind});
  }

  /// Remembers where the cursor is in the line that begin() started, under this key …
  void site(std::uint32_t key) {
    sites_.push_back({static_cast<std::uint32_t>(out_.size() - start_), key});
  }
  /// … and after end() tells the 1-based number of the line that each place has come to lie on.
  struct Site {
    std::uint32_t line, key;
  };
  std::span<const Site> sites() const { return sites_; }

 private:
  enum class MarkKind : std::uint8_t { Open, Part, Close };
  struct Mark {
    std::uint32_t at;  // offset from the line's start
    MarkKind kind;
    Group group;
    Row row;
    std::uint32_t
        partner;  // Open: index of its Close, before that of the Open around it; Close: of its Open
    std::uint32_t item_end;  // Open: where the item ends of which this group is a part; Part: where
                             // the item after it ends
    std::uint32_t later;     // Open: width of the widest group after it in the same item
    std::uint32_t next_open;  // Open: where the next group of the same item opens
    bool one_row;             // Open: an item after it is to stand on its row
  };

  struct Twin {
    std::uint32_t at, code;
    std::uint64_t kind;
  };
  /// What a group of marks must do whatever its width.
  enum class Demand : std::uint8_t {
    None,
    Inside,
    Break,
    Hold
  };  // Inside: some group in it must break

  bool place_twins();
  void reflow();
  void measure();
  class Reflow;
  void number_sites();

  Text& out_;
  std::uint32_t width_;
  bool numbers_sites_;
  std::size_t start_ = 0;
  std::uint32_t indent_ = 0;
  std::uint32_t line_ = 1;
  std::vector<Mark> marks_;
  std::uint32_t open_ = 0;  // the innermost Open that is not closed
  std::vector<Twin> twins_;
  bool rows_ = false;            // an item is to begin a row
  std::vector<Demand> demands_;  // by mark; empty when there are none
  std::vector<Site> sites_;      // `line` is an offset from the line's start until end()
  std::string flat_;
};

}  // namespace depyf
