// Words with precomputed trees: sorted, one after the other, and found by binary search in the arrays of the file.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "splitter.h"

namespace treetok {

class Lexicon {
 public:
  // `text`: the words; `lengths`: characters of each; `depths`: the depth of every split. The arrays must outlive
  // the lexicon. Raises std::invalid_argument if they do not fit together.
  Lexicon(const Byte* text, std::size_t bytes, const std::uint8_t* lengths, std::size_t words,
          const std::uint8_t* depths, std::size_t splits)
      : text_(text), depths_(depths) {
    if (bytes >= UINT32_MAX) throw std::invalid_argument("the lexicon is too large");
    if (first_invalid(text, bytes) != bytes) throw std::invalid_argument("the words in the lexicon are not UTF-8");
    starts_.reserve(words + 1);
    first_split_.reserve(words + 1);
    std::size_t at = 0, split = 0;
    for (std::size_t word = 0; word < words; ++word) {
      const std::size_t length = lengths[word];
      if (length < 2 || length > LONGEST_WORD) {
        throw std::invalid_argument("a word in the lexicon has fewer than 2 or more than 64 characters");
      }
      starts_.push_back(std::uint32_t(at));
      first_split_.push_back(std::uint32_t(split));
      const std::size_t start = at;
      for (std::size_t left = length; left > 0 && at < bytes;) {
        const std::size_t eight = left >= 8 && bytes - at >= 8 && are_ascii(text + at) ? 8 : 0;
        if (eight) {
          at += 8;
          left -= 8;
          continue;
        }
        for (++at; at < bytes && continues_character(text[at]); ++at) {
        }
        --left;
      }
      // The text may have ended: then there are fewer splits than the lengths say.
      if (at > start) split += count_characters(text + start, at - start) - 1;
    }
    std::size_t expected = 0;
    for (std::size_t word = 0; word < words; ++word) expected += lengths[word] - 1u;
    if (at != bytes || split != expected || split != splits) {
      throw std::invalid_argument("the words in the lexicon do not match their trees in length");
    }
    starts_.push_back(std::uint32_t(at));
    first_split_.push_back(std::uint32_t(split));
  }

  // The depths of the splits of a word, or nullptr.
  const std::uint8_t* depths_of(std::string_view letters) const {
    std::size_t low = 0, high = starts_.size() - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (word(middle) < letters) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low + 1 < starts_.size() && word(low) == letters ? depths_ + first_split_[low] : nullptr;
  }

 private:
  std::string_view word(std::size_t number) const {
    return {reinterpret_cast<const char*>(text_) + starts_[number], starts_[number + 1] - starts_[number]};
  }

  const Byte* text_;
  const std::uint8_t* depths_;
  std::vector<std::uint32_t> starts_, first_split_;
};

}  // namespace treetok
