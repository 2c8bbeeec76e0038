#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace depyf {

/// Distinct strings, numbered in the order in which they came; open addressing. The text belongs to
/// who adds it.
class StringTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::size_t size() const { return texts_.size(); }
  std::string_view operator[](std::size_t number) const { return texts_[number]; }
  auto begin() const { return texts_.begin(); }
  auto end() const { return texts_.end(); }

  bool contains(std::string_view text) const {
    return !places_.empty() && places_[find(text, hash(text))] != kNone;
  }
  /// The number of `text`. Where it is not there yet, it is added as what store(text) gives, which
  /// has to last.
  template <class Store>
  std::uint32_t add(std::string_view text, Store&& store) {
    if (2 * (texts_.size() + 1) > places_.size()) [[unlikely]]
      grow();
    const std::uint32_t code = hash(text);
    const std::size_t place = find(text, code);
    if (places_[place] != kNone) return places_[place];
    const auto number = static_cast<std::uint32_t>(texts_.size());
    places_[place] = number;
    texts_.push_back(store(text));
    hashes_.push_back(code);
    return number;
  }

 private:
  static std::uint32_t hash(std::string_view text) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(text));
  }

  /// Where in places_ the number of `text` is, or has to be put.
  std::size_t find(std::string_view text, std::uint32_t code) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = code & mask;
    while (places_[at] != kNone && (hashes_[places_[at]] != code || texts_[places_[at]] != text))
      at = (at + 1) & mask;
    return at;
  }
  [[gnu::noinline]] void grow() {
    places_.assign(places_.empty() ? 128 : 2 * places_.size(), kNone);
    const std::size_t mask = places_.size() - 1;
    for (std::uint32_t number = 0; number < texts_.size(); ++number) {
      std::size_t at = hashes_[number] & mask;
      while (places_[at] != kNone) at = (at + 1) & mask;
      places_[at] = number;
    }
  }

  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint32_t> places_;  // a power of two of them
};

}  // namespace depyf
