#include "print/layout.h"

#include <algorithm>

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
                    open_, 0, 0, 0});
  open_ = static_cast<std::uint32_t>(marks_.size() - 1);
  rows_ |= row == Row::Next;
}

void Layout::part(Row row) {
  marks_.push_back({static_cast<std::uint32_t>(out_.size() - start_), MarkKind::Part, Group::Items,
                    row, 0, 0, 0, 0});
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
  marks_.push_back({at, MarkKind::Close, marks_[opened].group, Row::Free, opened, 0, 0, 0});
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
bool has_brackets(Group group) { return !is_optional(group) && group != Group::Soft; }

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

void Layout::reflow() {
  flat_ = out_.view(start_);
  auto length = static_cast<std::uint32_t>(flat_.size());

  // Backwards: where each item ends, what follows a group inside its item, and which groups are
  // around one that begins a row.
  struct Context {
    std::uint32_t item_end, next_open, later;
    bool rows = false;
  };
  std::vector<Context> contexts{{length, length, 0}};
  for (std::size_t i = marks_.size(); i-- > 0;) {
    Mark& mark = marks_[i];
    switch (mark.kind) {
      case MarkKind::Close:
        contexts.push_back({mark.at, mark.at, 0});
        break;
      case MarkKind::Part:
        mark.item_end = contexts.back().item_end;
        contexts.back() = {mark.at, mark.at, 0, contexts.back().rows};
        break;
      case MarkKind::Open: {
        if (contexts.back().rows && mark.group != Group::Rows) mark.row = Row::Next;
        contexts.pop_back();
        Context& context = contexts.back();
        context.rows |= mark.row == Row::Next;
        mark.item_end = context.item_end;
        mark.next_open = context.next_open;
        mark.later = context.later;
        context.next_open = mark.at;
        context.later = std::max(context.later, marks_[mark.partner].at - mark.at);
        break;
      }
    }
  }

  constexpr std::uint32_t kStep = 4;
  enum class Mode : std::uint8_t { Explode, Fill, Rows, Flat };
  struct Frame {
    Mode mode;
    std::uint32_t base, inner;
  };
  std::vector<Frame> frames;
  out_.shorten(start_);
  std::size_t line_start = start_;
  std::uint32_t line_indent = indent_, copied = 0;
  std::size_t site = 0;
  auto copy_to = [&](std::uint32_t at) {
    for (; site < sites_.size() && sites_[site].line < at; ++site)
      sites_[site].line =
          static_cast<std::uint32_t>(out_.size() - start_) + sites_[site].line - copied;
    out_.append(std::string_view(flat_).substr(copied, at - copied));
    copied = at;
  };
  auto column = [&] { return static_cast<std::uint32_t>(out_.size() - line_start); };
  auto newline = [&](std::uint32_t indent) {
    while (out_.back() == ' ') out_.pop_back();
    out_ += '\n';
    line_start = out_.size();
    out_.append(indent, ' ');
    line_indent = indent;
  };
  for (std::uint32_t i = 0; i < marks_.size(); ++i) {
    const Mark& mark = marks_[i];
    copy_to(mark.at);
    switch (mark.kind) {
      case MarkKind::Open: {
        std::uint32_t size = marks_[mark.partner].at - mark.at;
        bool fits = column() + (mark.item_end - mark.at) <= width_;
        bool later_breaks = mark.later >= size && column() + (mark.next_open - mark.at) <= width_;
        // Deep nesting leaves no room to break into: the rest stays on one line, and the text stays
        // linear in the input.
        bool too_deep = line_indent + kStep > width_ - width_ / 4;
        const Demand demand = demands_.empty() ? Demand::None : demands_[i];
        if (mark.group == Group::Rows && demands_.empty() && (rows_ || !fits)) {
          frames.push_back({Mode::Rows, line_indent, line_indent + 2 * kStep});
          break;
        }
        if (!frames.empty() && frames.back().mode == Mode::Rows) {
          i = mark.partner;
          copy_to(marks_[i].at);
          break;
        }
        const bool must_break = demand == Demand::Break || mark.row == Row::Next;
        if (demand == Demand::Inside && (fits || later_breaks || too_deep)) {
          frames.push_back({Mode::Flat, line_indent, line_indent + kStep});
          break;
        }
        if (demand == Demand::Hold || (!must_break && (fits || later_breaks || too_deep))) {
          i = mark.partner;
          copy_to(marks_[i].at);
          break;
        }
        if (mark.group == Group::Call && demand == Demand::None && !fits) {
          std::uint32_t last = mark.at;  // where the last bracket in it opens
          for (std::uint32_t k = i + 1; k < mark.partner; ++k)
            if (marks_[k].kind == MarkKind::Open) {
              last = marks_[k].at;
              k = marks_[k].partner;
            }
          if (last > mark.at && column() + (last - mark.at) <= width_) {
            frames.push_back({Mode::Flat, line_indent, line_indent + kStep});
            break;
          }
        }
        bool optional = is_optional(mark.group);
        std::uint32_t base = line_indent;
        if (mark.group == Group::Soft) {
          bool at_line_start = column() == line_indent;
          frames.push_back({Mode::Explode, base, at_line_start ? base : base + kStep});
          break;
        }
        std::uint32_t inner = base + kStep;
        if (optional) out_ += '(';
        newline(inner);
        if (inner + size <= width_ && demand == Demand::None && !must_break) {
          i = mark.partner;
          copy_to(marks_[i].at);
          newline(base);
          if (optional) out_ += ')';
          break;
        }
        const bool fills =
            mark.group == Group::Fill || mark.group == Group::Path || mark.group == Group::Call;
        frames.push_back({fills && !must_break ? Mode::Fill : Mode::Explode, base, inner});
        break;
      }
      case MarkKind::Part: {
        const Frame& frame = frames.back();
        if (frame.mode == Mode::Flat) {
          if (!demands_.empty() && demands_[i] == Demand::Break) newline(frame.inner);
          break;
        }
        if (frame.mode == Mode::Rows && mark.row != Row::Free) {
          if (mark.row == Row::Next) newline(frame.inner);
          break;
        }
        if (frame.mode == Mode::Explode || column() + (mark.item_end - mark.at) >= width_)
          newline(frame.inner);
        break;
      }
      case MarkKind::Close: {
        Frame frame = frames.back();
        frames.pop_back();
        if (mark.group == Group::Soft || frame.mode == Mode::Rows || frame.mode == Mode::Flat)
          break;
        bool comma = mark.group == Group::Items || mark.group == Group::Fill ||
                     mark.group == Group::OptionalTuple;
        if (comma && out_.back() != ',') out_ += ',';
        newline(frame.base);
        if (is_optional(mark.group)) out_ += ')';
        break;
      }
    }
  }
  copy_to(length);
  demands_.clear();
}

}  // namespace depyf
