// Words with precomputed trees: sorted, one after the other, and found by binary search in the arrays of the file.
#pragma once

#include <algorithm>
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
      : text_(text), bytes_(bytes), lengths_(lengths, lengths + words), depths_(depths) {
    if (bytes >= UINT32_MAX) throw std::invalid_argument("the lexicon is too large");
    if (first_invalid(text, bytes) != bytes) throw std::invalid_argument("the words in the lexicon are not UTF-8");
    blocks_.reserve(words / WORDS_PER_BLOCK + 1);
    std::size_t at = 0, split = 0, expected = 0, next_other = first_other_than_ascii(0);
    for (std::size_t word = 0; word < words; ++word) {
      const std::size_t length = lengths_[word];
      if (length < 2 || length > LONGEST_WORD) {
        throw std::invalid_argument("a word in the lexicon has fewer than 2 or more than 64 characters");
      }
      if (word % WORDS_PER_BLOCK == 0) blocks_.push_back({std::uint32_t(at), std::uint32_t(split)});
      if (at + length <= next_other) {
        at += length;
        split += length - 1;
      } else {
        const std::size_t start = at;
        at = after_characters(at, length);
        // The text may have ended: then there are fewer splits than the lengths say.
        if (at > start) split += count_characters(text + start, at - start) - 1;
        next_other = first_other_than_ascii(at);
      }
      expected += length - 1;
    }
    if (at != bytes || split != expected || split != splits) {
      throw std::invalid_argument("the words in the lexicon do not match their trees in length");
    }
  }

  // The depths of the splits of a word, or nullptr.
  const std::uint8_t* depths_of(std::string_view letters) const {
    // The last block whose first word is not behind the word.
    std::size_t low = 0, high = blocks_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (letters < word_at(blocks_[middle].start, middle * WORDS_PER_BLOCK)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low == 0) return nullptr;
    std::size_t at = blocks_[low - 1].start, split = blocks_[low - 1].split;
    const std::size_t first = (low - 1) * WORDS_PER_BLOCK, last = std::min(lengths_.size(), first + WORDS_PER_BLOCK);
    for (std::size_t word = first; word < last; ++word) {
      const std::string_view here = word_at(at, word);
      if (here == letters) return depths_ + split;
      at += here.size();
      split += lengths_[word] - 1u;
    }
    return nullptr;
  }

 private:
  // Words that are found one after the other; a place for each word would take as much memory as the trees.
  static constexpr std::size_t WORDS_PER_BLOCK = 8;
  struct Block {
    std::uint32_t start, split;
  };

  std::size_t after_characters(std::size_t at, std::size_t characters) const {
    while (characters > 0 && at < bytes_) {
      if (characters >= 8 && bytes_ - at >= 8 && are_ascii<8>(text_ + at)) {
        at += 8;
        characters -= 8;
        continue;
      }
      for (++at; at < bytes_ && continues_character(text_[at]); ++at) {
      }
      --characters;
    }
    return at;
  }

  // The place of the first byte from `at` on that is not ASCII.
  std::size_t first_other_than_ascii(std::size_t at) const {
    while (at + 8 <= bytes_ && are_ascii<8>(text_ + at)) at += 8;
    while (at < bytes_ && text_[at] < 0x80) ++at;
    return at;
  }

  std::string_view word_at(std::size_t start, std::size_t number) const {
    const std::size_t end = after_characters(start, lengths_[number]);
    return {reinterpret_cast<const char*>(text_) + start, end - start};
  }

  const Byte* text_;
  std::size_t bytes_;
  // A copy: places in the other arrays are computed from it, and a mapped file may change.
  std::vector<std::uint8_t> lengths_;
  const std::uint8_t* depths_;
  std::vector<Block> blocks_;
};

}  // namespace treetok
