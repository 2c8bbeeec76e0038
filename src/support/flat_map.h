#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace depyf {

/// A map from indices (of names, values …) to T that keeps the order of insertion, for maps that
/// are made and dropped often: a few entries are looked through, more are found by open addressing.
template <class T>
class FlatMap {
 public:
  using Entry = std::pair<std::uint32_t, T>;

  /// The value at `key`, made if there is none.
  T& operator[](std::uint32_t key) {
    const T* found = at(key);
    return found ? const_cast<T&>(*found) : add(key);
  }
  /// None: null.
  const T* at(std::uint32_t key) const {
    if (places_.empty()) {
      for (const Entry& entry : entries_)
        if (entry.first == key) return &entry.second;
      return nullptr;
    }
    const std::uint32_t place = const_cast<FlatMap*>(this)->find(key);
    return place == kFree ? nullptr : &entries_[place].second;
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  static constexpr std::size_t kFew = 8;

  T& add(std::uint32_t key) {
    if (entries_.empty()) entries_.reserve(kFew);
    if (entries_.size() >= kFew) {
      if (2 * (entries_.size() + 1) > places_.size()) grow();
      find(key) = static_cast<std::uint32_t>(entries_.size());
    }
    return entries_.emplace_back(key, T()).second;
  }
  std::uint32_t& find(std::uint32_t key) {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = (key * 0x9E3779B9u >> 7) & mask;
    while (places_[at] != kFree && entries_[places_[at]].first != key) at = (at + 1) & mask;
    return places_[at];
  }
  void grow() {
    places_.assign(places_.empty() ? 32 : 2 * places_.size(), kFree);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) find(entries_[i].first) = i;
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_;  // where in entries_; a power of two of them
};

}  // namespace depyf
