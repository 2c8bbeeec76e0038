#include "pipeline/line_map.h"

#include <algorithm>
#include <unordered_map>

#include "bytecode/places.h"

namespace depyf {

namespace {

class Mapper {
 public:
  Mapper(const Module& module, const Source& source)
      : module_(module), start_(module.codes.size(), 0), sites_(module.codes.size()) {
    for (const Site& site : source.sites) {
      const std::uint32_t code = site.origin.code.index;
      if (site.line == 0 || code >= sites_.size()) continue;
      if (site.origin.offset != UINT32_MAX)
        sites_[code].push_back({site.origin.offset, site.line});
      else if (start_[code] == 0)
        start_[code] = site.line;
    }
  }

  LineMap run() {
    // Outermost first: where a code object is made tells where it lies when nothing of it is
    // printed.
    for (std::size_t id = module_.codes.size(); id-- > 0;)
      map_code(CodeId(static_cast<std::uint32_t>(id)));
    std::stable_sort(map_.lines.begin(), map_.lines.end(),
                     [](const LineOrigin& a, const LineOrigin& b) { return a.line < b.line; });
    return std::move(map_);
  }

 private:
  struct OnLine {
    std::uint32_t offset, line;
  };

  void map_code(CodeId code) {
    const std::vector<InstrPlace> places = instruction_places(module_, code);
    const auto count = static_cast<std::uint32_t>(places.size());
    lines_.assign(count, 0);
    place_sites(places, sites_[code.index]);
    spread(places, start_[code.index]);
    for (std::uint32_t i = 0; i < count; ++i)
      if (places[i].made && start_[places[i].made.index] == 0)
        start_[places[i].made.index] = lines_[i];
    add_lines(code, places);
  }

  /// The first site in the text is the one that counts.
  void place_sites(const std::vector<InstrPlace>& places, std::vector<OnLine>& sites) {
    std::stable_sort(sites.begin(), sites.end(),
                     [](const OnLine& a, const OnLine& b) { return a.offset < b.offset; });
    std::size_t i = 0;
    for (const OnLine& site : sites) {
      while (i < places.size() && places[i].start < site.offset) ++i;
      for (std::size_t k = i; k < places.size() && places[k].start == site.offset && lines_[k] == 0;
           ++k)
        lines_[k] = site.line;
    }
  }

  void spread(const std::vector<InstrPlace>& places, std::uint32_t start) {
    const auto count = static_cast<std::uint32_t>(places.size());
    // A line of output stands for the original line of its first instruction: what a `return`
    // inside `with` does at the end of the `with` has that statement's line, and must not draw the
    // rest of it along.
    original_.clear();
    for (std::uint32_t i = 0; i < count; ++i)
      if (lines_[i] && places[i].line) original_.emplace(lines_[i], places[i].line);
    // The same holds for an implicit `return` after a loop, which has the loop's line: lines with
    // few of its instructions do not count.
    std::unordered_map<std::uint32_t, std::uint32_t> weight;
    std::unordered_map<std::int32_t, std::uint32_t> heaviest;
    auto stands_for_its_own = [&](std::uint32_t i) {
      return lines_[i] && places[i].line && original_.at(lines_[i]) == places[i].line;
    };
    for (std::uint32_t i = 0; i < count; ++i)
      if (stands_for_its_own(i)) {
        std::uint32_t& most = heaviest[places[i].line];
        most = std::max(most, ++weight[lines_[i]]);
      }
    std::unordered_map<std::int32_t, std::vector<std::uint32_t>> placed;
    for (std::uint32_t i = 0; i < count; ++i)
      if (stands_for_its_own(i) && 3 * weight[lines_[i]] >= heaviest[places[i].line])
        placed[places[i].line].push_back(i);
    std::uint32_t before = 0;
    found_ = lines_;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (lines_[i]) {
        before = lines_[i];
        continue;
      }
      auto same = placed.find(places[i].line);
      if (same != placed.end()) {
        const std::vector<std::uint32_t>& at = same->second;
        auto next = std::lower_bound(at.begin(), at.end(), i);
        const bool back = next == at.end() || (next != at.begin() && i - next[-1] <= *next - i);
        found_[i] = lines_[back ? next[-1] : *next];
      } else if (before) {
        found_[i] = before;
      } else {
        continue;
      }
      before = found_[i];
    }
    if (start == 0) {  // a module has no line of its own
      auto first =
          std::find_if(found_.begin(), found_.end(), [](std::uint32_t line) { return line != 0; });
      start = first == found_.end() ? 1 : *first;
    }
    std::replace(found_.begin(), found_.end(), std::uint32_t{0}, start);
    lines_.swap(found_);
  }

  void add_lines(CodeId code, const std::vector<InstrPlace>& places) {
    order_.resize(places.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return lines_[a] < lines_[b]; });
    for (std::uint32_t i : order_) {
      if (map_.lines.empty() || map_.lines.back().line != lines_[i] ||
          map_.lines.back().code != code) {
        auto known = original_.find(lines_[i]);
        const std::int32_t original = known == original_.end() ? places[i].line : known->second;
        map_.lines.push_back(
            {lines_[i], code, original, static_cast<std::uint32_t>(map_.offsets.size()), 0});
      }
      LineOrigin& line = map_.lines.back();
      map_.offsets.push_back(places[i].offset);
      ++line.count;
    }
  }

  const Module& module_;
  LineMap map_;
  std::vector<std::uint32_t> start_;        // of each code object: the line of its definition
  std::vector<std::vector<OnLine>> sites_;  // of each code object
  std::unordered_map<std::uint32_t, std::int32_t>
      original_;  // of the code object at hand: line of output to original line
  std::vector<std::uint32_t> lines_, found_, order_;
};

}  // namespace

LineMap map_lines(const Module& module, const Source& source) {
  return Mapper(module, source).run();
}

}  // namespace depyf
