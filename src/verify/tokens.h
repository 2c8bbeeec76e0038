#pragma once
// What the prover knows about the values of one walk over both sides.
#include <cstdint>
#include <span>
#include <vector>

#include "verify/canon.h"

namespace depyf::verify_detail {

using TokenId = std::uint32_t;
constexpr TokenId kNoToken = kNone;

/// What is known about a runtime value during one walk.
enum class TokenKind : std::uint8_t {
  Leaf,      // some value; two values with one Leaf are the same on both sides
  Constant,  // a: number in Canon
  Nullary,   // a pure operation without operands: op, a
  Code,      // a code object: a = CodeId, of `side`
  Pure,      // op, a, b on items
  Object,  // built by `side` and not yet given away: op, items; LIST_APPEND and LIST_EXTEND: items
           // = {earlier version, more}
};

struct Token {
  TokenKind kind = TokenKind::Leaf;
  Which side = kA;
  Op op = Op::UNKNOWN;
  std::uint32_t a = 0, b = 0;
  std::uint32_t items_at = 0, items_count = 0;
  TokenId forward = kNoToken;
  std::uint32_t mark = 0, mark_class = 0;
};

/// Tokens of one walk; reset() between walks.
class Tokens {
 public:
  void reset() {
    tokens_.clear();
    items_.clear();
    for (std::uint32_t slot : used_) table_[slot] = kNoToken;
    used_.clear();
    if (table_.empty()) table_.assign(256, kNoToken);
  }

  TokenId find(TokenId id) {
    while (tokens_[id].forward != kNoToken) {
      const TokenId next = tokens_[id].forward;
      if (tokens_[next].forward != kNoToken) tokens_[id].forward = tokens_[next].forward;
      id = next;
    }
    return id;
  }
  Token& operator[](TokenId id) { return tokens_[id]; }
  std::size_t size() const { return tokens_.size(); }
  TokenId item(const Token& token, std::size_t i) const { return items_[token.items_at + i]; }

  TokenId leaf() {
    tokens_.emplace_back();
    return static_cast<TokenId>(tokens_.size() - 1);
  }

  TokenId object(Which side, Op op, std::span<const TokenId> items) {
    Token token;
    token.kind = TokenKind::Object;
    token.side = side;
    token.op = op;
    return append(token, items);
  }

  /// Equal tokens for equal arguments. Items must be found ones.
  TokenId consed(TokenKind kind, Op op, std::uint32_t a, std::uint32_t b,
                 std::span<const TokenId> items, Which side = kA) {
    if (used_.size() * 2 >= table_.size()) grow();
    Token token;
    token.kind = kind;
    token.side = side;
    token.op = op;
    token.a = a;
    token.b = b;
    std::uint32_t slot = static_cast<std::uint32_t>(hash(token, items) & (table_.size() - 1));
    for (; table_[slot] != kNoToken;
         slot = (slot + 1) & static_cast<std::uint32_t>(table_.size() - 1)) {
      const Token& other = tokens_[table_[slot]];
      if (other.kind == kind && other.op == op && other.a == a && other.b == b &&
          other.side == side && other.items_count == items.size() &&
          std::equal(items.begin(), items.end(), items_.begin() + other.items_at))
        return table_[slot];
    }
    const TokenId id = append(token, items);
    table_[slot] = id;
    used_.push_back(slot);
    return id;
  }

 private:
  std::vector<Token> tokens_;
  std::vector<TokenId> items_;
  std::vector<TokenId> table_;
  std::vector<std::uint32_t> used_;

  static std::uint64_t hash(const Token& token, std::span<const TokenId> items) {
    std::uint64_t h = (static_cast<std::uint64_t>(token.kind) << 16) ^
                      (static_cast<std::uint64_t>(token.op) << 8) ^ token.side;
    const auto mix = [&](std::uint64_t x) {
      h ^= x;
      h *= 0x9E3779B97F4A7C15u;
      h ^= h >> 29;
    };
    mix(token.a);
    mix(token.b);
    for (TokenId item : items) mix(item);
    return h;
  }

  TokenId append(Token token, std::span<const TokenId> items) {
    token.items_at = static_cast<std::uint32_t>(items_.size());
    token.items_count = static_cast<std::uint32_t>(items.size());
    items_.insert(items_.end(), items.begin(), items.end());
    tokens_.push_back(token);
    return static_cast<TokenId>(tokens_.size() - 1);
  }

  void grow() {
    std::vector<TokenId> ids;
    for (std::uint32_t slot : used_) ids.push_back(table_[slot]);
    table_.assign(table_.size() * 2, kNoToken);
    used_.clear();
    for (TokenId id : ids) {
      const Token& token = tokens_[id];
      auto slot = static_cast<std::uint32_t>(
          hash(token, {items_.data() + token.items_at, token.items_count}) & (table_.size() - 1));
      while (table_[slot] != kNoToken)
        slot = (slot + 1) & static_cast<std::uint32_t>(table_.size() - 1);
      table_[slot] = id;
      used_.push_back(slot);
    }
  }
};

}  // namespace depyf::verify_detail
