#include "print/layout.h"

#include <algorithm>

#include "support/unicode.h"

namespace depyf {

void Layout::begin(std::uint32_t indent) {
  start_ = out_.size();
  indent_ = indent;
  static constexpr std::string_view kUsual = "                                ";
  indent <= kUsual.size() ? out_.append(kUsual.substr(0, indent)) : out_.append(indent, ' ');
  marks_.clear();
  open_ = 0;
  twins_.clear();
  rows_ = false;
  sites_.clear();
}

void Layout::open(Group group, Row row) {
  marks_.push_back({static_cast<std::uint32_t>(out_.size() - start_), MarkKind::Open, group, row,
                    open_, 0, 0, 0, false});
  open_ = static_cast<std::uint32_t>(marks_.size() - 1);
  rows_ |= row == Row::Next;
}

void Layout::part(Row row) {
  marks_.push_back({static_cast<std::uint32_t>(out_.size() - start_), MarkKind::Part, Group::Items,
                    row, 0, 0, 0, 0, false});
  rows_ |= row == Row::Next;
}

void Layout::close() {
  const std::uint32_t opened = open_;
  open_ = marks_[opened].partner;
  auto at = static_cast<std::uint32_t>(out_.size() - start_);
  if (marks_[opened].at == at) {  // nothing inside
    marks_.resize(opened);
    return;
  }
  marks_[opened].partner = static_cast<std::uint32_t>(marks_.size());
  marks_.push_back({at, MarkKind::Close, marks_[opened].group, Row::Free, opened, 0, 0, 0, false});
}

void Layout::end() {
  const bool placed = twins_.size() > 1 && place_twins();
  if (!marks_.empty() && (placed || rows_ || out_.size() - start_ > width_)) reflow();
  out_ += '\n';
  if (numbers_sites_) number_sites();
}

void Layout::number_sites() {
  std::size_t at = start_;
  for (Site& site : sites_) {
    const std::size_t place = start_ + site.line;
    for (; at < place; ++at) line_ += out_[at] == '\n';
    site.line = line_;
  }
  line_ += static_cast<std::uint32_t>(
      std::count(out_.view().begin() + static_cast<std::ptrdiff_t>(at), out_.view().end(), '\n'));
}

void Layout::blank_line() {
  out_ += '\n';
  ++line_;
}

namespace {

/// Parentheses appear when it is broken.
bool is_optional(Group group) {
  return group == Group::Optional || group == Group::OptionalTuple || group == Group::Path ||
         group == Group::Call;
}

/// While flat.
bool has_brackets(Group group) {
  return !is_optional(group) && group != Group::Soft && group != Group::Literal;
}

/// Bytes of the character or the escape at the beginning of the inside of a literal.
std::size_t unit_length(std::string_view text) {
  std::size_t length = 1;
  if (text[0] == '\\' && text.size() > 1) {
    const char kind = text[1];
    length = kind == 'x' ? 4 : kind == 'u' ? 6 : kind == 'U' ? 10 : 2;
  } else if (static_cast<std::uint8_t>(text[0]) >= 0x80) {
    length = decode_utf8(text, 0).length;
  }
  return std::min(length, text.size());
}

}  // namespace

/// Decides which groups must break, and which must not, so that twins are told apart. True when any
/// must.
bool Layout::place_twins() {
  std::stable_sort(twins_.begin(), twins_.end(),
                   [](const Twin& a, const Twin& b) { return a.kind < b.kind; });
  demands_.assign(marks_.size(), Demand::None);
  bool any = false, held = false;  // held: one of this kind stands twice on one line
  for (std::size_t k = 1; k < twins_.size(); ++k) {
    const Twin &first = twins_[k - 1], &second = twins_[k];
    if (first.kind != second.kind) {
      held = false;
      continue;
    }
    std::vector<std::uint32_t> common;  // groups around both, outermost first
    std::uint32_t alone = UINT32_MAX;   // the outermost group around the second one only
    for (std::uint32_t i = 0; i < marks_.size() && marks_[i].at <= second.at; ++i) {
      const Mark& mark = marks_[i];
      if (mark.kind != MarkKind::Open || marks_[mark.partner].at < second.at) continue;
      if (mark.at <= first.at) {
        common.push_back(i);
      } else if (alone == UINT32_MAX) {
        alone = i;
      }
    }
    bool parted = false;        // by the innermost of them
    std::uint32_t between = 0;  // the last part of it that begins between them
    if (!common.empty()) {
      std::uint32_t depth = 0;
      for (std::uint32_t i = common.back() + 1;
           i < marks_[common.back()].partner && marks_[i].at <= second.at; ++i) {
        if (marks_[i].kind == MarkKind::Open)
          ++depth;
        else if (marks_[i].kind == MarkKind::Close)
          --depth;
        else if (depth == 0 && marks_[i].at > first.at)
          parted = true, between = i;
      }
    }
    if (first.code == second.code) {
      if (parted && demands_[common.back()] == Demand::None) demands_[common.back()] = Demand::Hold;
      held = true;
      any = true;
      continue;
    }
    if (!parted && alone == UINT32_MAX) continue;
    for (std::uint32_t group : common)
      if (demands_[group] != Demand::Break) demands_[group] = Demand::Inside;
    if (parted && held && has_brackets(marks_[common.back()].group)) {
      demands_[between] = Demand::Break;
      continue;
    }
    demands_[parted ? common.back() : alone] = Demand::Break;
    if (parted) {  // operands need brackets around them
      auto brackets = std::find_if(common.rbegin(), common.rend(), [&](std::uint32_t group) {
        return marks_[group].group != Group::Soft;
      });
      if (brackets != common.rend() && !has_brackets(marks_[*brackets].group))
        demands_[*brackets] = Demand::Break;
    }
    any = true;
  }
  if (!any) demands_.clear();
  return any;
}

/// Where each item ends, what follows a group inside its item, which groups are around one that
/// begins a row, and which stand before an item of their row.
void Layout::measure() {
  const auto length = static_cast<std::uint32_t>(flat_.size());
  struct Context {
    std::uint32_t item_end, next_open, later;
    bool rows = false;
    bool same = false;  // an item after the mark is to stand on its row
  };
  std::vector<Context> contexts{{length, length, 0}};
  for (std::size_t i = marks_.size(); i-- > 0;) {
    Mark& mark = marks_[i];
    switch (mark.kind) {
      case MarkKind::Close:
        contexts.push_back({mark.at, mark.at, 0, false, contexts.back().same});
        break;
      case MarkKind::Part:
        mark.item_end = contexts.back().item_end;
        contexts.back() = {mark.at, mark.at, 0, contexts.back().rows || mark.row == Row::Next,
                           contexts.back().same || mark.row == Row::Same};
        break;
      case MarkKind::Open: {
        const bool rows = contexts.back().rows;
        if (rows && mark.group != Group::Rows) mark.row = Row::Next;
        contexts.pop_back();
        Context& context = contexts.back();
        context.rows |= rows || mark.row == Row::Next;
        mark.one_row = context.same && !rows && mark.row != Row::Next;
        mark.item_end = context.item_end;
        mark.next_open = context.next_open;
        mark.later = context.later;
        context.next_open = mark.at;
        context.later = std::max(context.later, marks_[mark.partner].at - mark.at);
        break;
      }
    }
  }
}

/// Writes the line again, in rows.
class Layout::Reflow {
 public:
  explicit Reflow(Layout& layout)
      : l_(layout), line_start_(layout.start_), line_indent_(layout.indent_) {}

  void run() {
    l_.out_.shorten(l_.start_);
    for (; i_ < l_.marks_.size(); ++i_) {
      const Mark& mark = l_.marks_[i_];
      copy_to(mark.at);
      switch (mark.kind) {
        case MarkKind::Open:
          open(mark);
          break;
        case MarkKind::Part:
          part(mark);
          break;
        case MarkKind::Close:
          close(mark);
          break;
      }
    }
    copy_to(static_cast<std::uint32_t>(l_.flat_.size()));
  }

 private:
  static constexpr std::uint32_t kStep = 4;
  enum class Mode : std::uint8_t { Explode, Fill, Rows, Flat };
  struct Frame {
    Mode mode;
    std::uint32_t base, inner;
  };

  void copy_to(std::uint32_t at) {
    for (; site_ < l_.sites_.size() && l_.sites_[site_].line < at; ++site_)
      l_.sites_[site_].line =
          static_cast<std::uint32_t>(l_.out_.size() - l_.start_) + l_.sites_[site_].line - copied_;
    l_.out_.append(std::string_view(l_.flat_).substr(copied_, at - copied_));
    copied_ = at;
  }
  std::uint32_t column() const { return static_cast<std::uint32_t>(l_.out_.size() - line_start_); }
  void newline(std::uint32_t indent) {
    while (l_.out_.back() == ' ') l_.out_.pop_back();
    l_.out_ += '\n';
    line_start_ = l_.out_.size();
    l_.out_.append(indent, ' ');
    line_indent_ = indent;
  }
  /// The group stays on one row.
  void skip(const Mark& mark) {
    i_ = mark.partner;
    copy_to(l_.marks_[i_].at);
  }

  void open(const Mark& mark) {
    std::uint32_t size = l_.marks_[mark.partner].at - mark.at;
    bool fits = column() + (mark.item_end - mark.at) <= l_.width_;
    bool later_breaks = mark.later >= size && column() + (mark.next_open - mark.at) <= l_.width_;
    // Deep nesting leaves no room to break into: the rest stays on one line, and the text stays
    // linear in the input.
    bool too_deep = line_indent_ + kStep > l_.width_ - l_.width_ / 4;
    const Demand demand = l_.demands_.empty() ? Demand::None : l_.demands_[i_];
    if (mark.one_row && l_.demands_.empty()) {
      skip(mark);
      return;
    }
    if (mark.group == Group::Rows && l_.demands_.empty() && (l_.rows_ || !fits)) {
      frames_.push_back({Mode::Rows, line_indent_, line_indent_ + 2 * kStep});
      return;
    }
    if (!frames_.empty() && frames_.back().mode == Mode::Rows) {
      if (mark.group == Group::Soft && mark.row == Row::Next)
        frames_.push_back(frames_.back());  // one of its operands begins a row
      else
        skip(mark);
      return;
    }
    // A comma may come after it that the flat text does not have.
    if (mark.group == Group::Literal && !too_deep &&
        column() + (mark.item_end - mark.at) >= l_.width_) {
      literal(mark);
      return;
    }
    const bool must_break = demand == Demand::Break || mark.row == Row::Next;
    if (demand == Demand::Inside && (fits || later_breaks || too_deep)) {
      frames_.push_back({Mode::Flat, line_indent_, line_indent_ + kStep});
      return;
    }
    if (demand == Demand::Hold || (!must_break && (fits || later_breaks || too_deep))) {
      skip(mark);
      return;
    }
    if (mark.group == Group::Call && demand == Demand::None && !fits) {
      std::uint32_t last = mark.at;  // where the last bracket in it opens
      for (std::uint32_t k = i_ + 1; k < mark.partner; ++k)
        if (l_.marks_[k].kind == MarkKind::Open) {
          last = l_.marks_[k].at;
          k = l_.marks_[k].partner;
        }
      if (last > mark.at && column() + (last - mark.at) <= l_.width_) {
        frames_.push_back({Mode::Flat, line_indent_, line_indent_ + kStep});
        return;
      }
    }
    bool optional = is_optional(mark.group);
    std::uint32_t base = line_indent_;
    if (mark.group == Group::Soft) {
      bool at_line_start = column() == line_indent_;
      frames_.push_back({Mode::Explode, base, at_line_start ? base : base + kStep});
      return;
    }
    std::uint32_t inner = base + kStep;
    if (optional) l_.out_ += '(';
    newline(inner);
    // A literal decides for itself, with room for a comma. (A group that holds something has a mark
    // after its own: at least that of its end.)
    const bool literal = l_.marks_[i_ + 1].group == Group::Literal;
    if (inner + size + literal <= l_.width_ && demand == Demand::None && !must_break) {
      skip(mark);
      newline(base);
      if (optional) l_.out_ += ')';
      return;
    }
    const bool fills =
        mark.group == Group::Fill || mark.group == Group::Path || mark.group == Group::Call;
    frames_.push_back({fills && !must_break ? Mode::Fill : Mode::Explode, base, inner});
  }

  /// One string as several, in parentheses where no brackets around it hold it alone.
  void literal(const Mark& mark) {
    const bool alone = i_ != 0 && column() == line_indent_ && is_alone(i_);
    const std::uint32_t base = line_indent_, inner = alone ? base : base + kStep;
    if (!alone) {
      l_.out_ += '(';
      newline(inner);
    }
    for (; site_ < l_.sites_.size() && l_.sites_[site_].line == mark.at; ++site_)
      l_.sites_[site_].line = static_cast<std::uint32_t>(l_.out_.size() - l_.start_);
    i_ = mark.partner;
    const std::uint32_t end = l_.marks_[i_].at;
    break_literal(std::string_view(l_.flat_).substr(mark.at, end - mark.at), inner);
    copied_ = end;
    if (!alone) {
      newline(base);
      l_.out_ += ')';
    }
  }
  /// The group around the one of this mark, which was broken before, holds nothing else.
  bool is_alone(std::uint32_t opened) const {
    const Mark &mark = l_.marks_[opened], &around = l_.marks_[opened - 1];
    return around.kind == MarkKind::Open && around.at == mark.at &&
           around.partner == mark.partner + 1 &&
           l_.marks_[around.partner].at == l_.marks_[mark.partner].at;
  }
  /// Writes a literal (`'…'`, `b"…"`) as adjacent ones, each on a line of its own: cut after a
  /// space where there is one, and never inside an escape.
  void break_literal(std::string_view literal, std::uint32_t indent) {
    const std::size_t prefix = literal[0] == 'b' ? 1 : 0;
    const std::string_view begin = literal.substr(0, prefix + 1), end = literal.substr(prefix, 1);
    std::string_view rest = literal.substr(prefix + 1, literal.size() - prefix - 2);
    const std::size_t taken = indent + begin.size() + end.size() + 1;  // a comma
    const std::size_t room = l_.width_ > taken ? l_.width_ - taken : 1;
    while (true) {
      std::size_t size = 0, after_space = 0;
      while (size < rest.size()) {
        const std::size_t unit = unit_length(rest.substr(size));
        if (size != 0 && size + unit > room) break;
        size += unit;
        if (rest[size - 1] == ' ') after_space = size;
      }
      if (size < rest.size() && after_space != 0) size = after_space;
      l_.out_.append(begin);
      l_.out_.append(rest.substr(0, size));
      l_.out_.append(end);
      rest.remove_prefix(size);
      if (rest.empty()) return;
      newline(indent);
    }
  }

  void part(const Mark& mark) {
    const Frame& frame = frames_.back();
    if (frame.mode == Mode::Flat) {
      if (!l_.demands_.empty() && l_.demands_[i_] == Demand::Break) newline(frame.inner);
      return;
    }
    if (frame.mode == Mode::Rows && mark.row != Row::Free) {
      if (mark.row == Row::Next) newline(frame.inner);
      return;
    }
    if (frame.mode == Mode::Explode || column() + (mark.item_end - mark.at) >= l_.width_)
      newline(frame.inner);
  }

  void close(const Mark& mark) {
    Frame frame = frames_.back();
    frames_.pop_back();
    if (mark.group == Group::Soft || frame.mode == Mode::Rows || frame.mode == Mode::Flat) return;
    bool comma = mark.group == Group::Items || mark.group == Group::Fill ||
                 mark.group == Group::OptionalTuple;
    if (comma && l_.out_.back() != ',') l_.out_ += ',';
    newline(frame.base);
    if (is_optional(mark.group)) l_.out_ += ')';
  }

  Layout& l_;
  std::vector<Frame> frames_;
  std::size_t line_start_, site_ = 0;
  std::uint32_t line_indent_, copied_ = 0, i_ = 0;
};

void Layout::reflow() {
  flat_ = out_.view(start_);
  measure();
  Reflow(*this).run();
  demands_.clear();
}

}  // namespace depyf
