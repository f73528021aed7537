// Special tokens, found in a text: at every place the longest. src/treetok/special_token_search.py is the specification.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "utf8.h"

namespace treetok {

// A part of a text that stands for a special token.
struct SpecialToken {
  std::string text;
  std::uint32_t id;
};

class SpecialTokens {
 public:
  SpecialTokens() = default;
  // None of them is empty.
  SpecialTokens(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(),
              [](const SpecialToken& a, const SpecialToken& b) { return a.text < b.text; });
    // Those that a token begins with are before it, the longest last.
    std::vector<std::uint32_t> beginnings;
    for (std::uint32_t number = 0; number < tokens_.size(); ++number) {
      const std::string& text = tokens_[number].text;
      while (!beginnings.empty() && text.compare(0, tokens_[beginnings.back()].text.size(),
                                                 tokens_[beginnings.back()].text) != 0) {
        beginnings.pop_back();
      }
      shorter_.push_back(beginnings.empty() ? NONE : beginnings.back());
      beginnings.push_back(number);
      ++behind_[Byte(text[0])];
    }
    for (std::size_t byte = 1; byte < behind_.size(); ++byte) behind_[byte] += behind_[byte - 1];
  }

  bool empty() const { return tokens_.empty(); }

  // Calls `part(start, bytes, token)` for all parts of a text in order; `token` is nullptr for those between tokens.
  template <class Part>
  void for_each_part(const Byte* text, std::size_t bytes, Part part) const {
    const Byte *start = text, *end = text + bytes;
    for (const Byte* at = text; at < end;) {
      const SpecialToken* found = longest_at(at, end);
      if (!found) {
        ++at;
        continue;
      }
      if (at > start) part(start, std::size_t(at - start), static_cast<const SpecialToken*>(nullptr));
      part(at, found->text.size(), found);
      start = at += found->text.size();
    }
    if (end > start) part(start, std::size_t(end - start), static_cast<const SpecialToken*>(nullptr));
  }

 private:
  static constexpr std::uint32_t NONE = UINT32_MAX;

  // The longest token that a text begins with, or nullptr.
  const SpecialToken* longest_at(const Byte* at, const Byte* end) const {
    const std::uint32_t first = *at ? behind_[*at - 1u] : 0, behind = behind_[*at];
    if (first == behind) return nullptr;
    // The last one in order that is not behind the text begins with all tokens that the text begins with.
    const std::string_view rest(reinterpret_cast<const char*>(at), std::size_t(end - at));
    const auto found = std::upper_bound(
        tokens_.begin() + first, tokens_.begin() + behind, rest,
        [](std::string_view text, const SpecialToken& token) { return text < token.text; });
    if (found == tokens_.begin() + first) return nullptr;
    auto number = std::uint32_t(found - tokens_.begin()) - 1;
    const std::size_t common = common_bytes(rest, tokens_[number].text);
    while (number != NONE && tokens_[number].text.size() > common) number = shorter_[number];
    return number == NONE ? nullptr : &tokens_[number];
  }

  static std::size_t common_bytes(std::string_view a, std::string_view b) {
    const std::size_t most = std::min(a.size(), b.size());
    return std::size_t(std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(most), b.begin()).first - a.begin());
  }

  // In the order of their bytes.
  std::vector<SpecialToken> tokens_;
  // Of each, the number of the longest other one that it begins with.
  std::vector<std::uint32_t> shorter_;
  // Of each byte, how many tokens begin with it or a smaller one.
  std::array<std::uint32_t, 256> behind_{};
};

}  // namespace treetok
