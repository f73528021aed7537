// Counts the words of texts.
#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "bytes_hash.h"
#include "encoder.h"

namespace treetok {

class WordCounter {
 public:
  explicit WordCounter(Profile profile) : profile_(profile), slots_(1 << 16) {}

  // Counts the words of a text, which is valid UTF-8, as if it were there so many times.
  void add(const Byte* text, std::size_t bytes, std::uint64_t times) {
    if (is_uncased(profile_)) {
      normal_.clear();
      normalise_uncased(text, bytes, normal_);
      text = reinterpret_cast<const Byte*>(normal_.data());
      bytes = normal_.size();
    }
    split_words(profile_, text, bytes, [&](const Byte* word, std::size_t size) {
      count_of({reinterpret_cast<const char*>(word), size}) += times;
    });
  }

  std::size_t size() const { return words_.size(); }

  // Drops the rarest words, all of equal count together, until at most `most` are left; returns how many.
  std::size_t drop_rare(std::size_t most) {
    std::map<std::uint64_t, std::size_t> words_with_count;
    for (const Word& word : words_) ++words_with_count[word.count];
    std::size_t left = words_.size();
    std::uint64_t rarest = 0;
    for (auto next = words_with_count.begin(); left > most && next != words_with_count.end(); ++next) {
      rarest = next->first;
      left -= next->second;
    }
    const std::size_t dropped = words_.size() - left;
    std::vector<Word> words;
    words.swap(words_);
    std::string text;
    text.swap(text_);
    std::fill(slots_.begin(), slots_.end(), Slot{});
    for (const Word& word : words) {
      if (word.count > rarest) count_of(std::string_view(text).substr(word.start, word.bytes)) = word.count;
    }
    return dropped;
  }

  // Calls `item(word, count)` for every word, in the order of their code points, which is that of their bytes.
  template <class Item>
  void for_each_sorted(Item item) const {
    std::vector<const Word*> sorted;
    sorted.reserve(words_.size());
    for (const Word& word : words_) sorted.push_back(&word);
    std::sort(sorted.begin(), sorted.end(), [this](const Word* a, const Word* b) { return view(*a) < view(*b); });
    for (const Word* word : sorted) item(view(*word), word->count);
  }

 private:
  struct Word {
    std::uint64_t start, count;
    std::uint32_t bytes;
    std::uint64_t hash;
  };
  // 0: empty.
  struct Slot {
    std::uint32_t number = 0, tag = 0;
  };

  std::string_view view(const Word& word) const { return std::string_view(text_).substr(word.start, word.bytes); }

  std::uint64_t& count_of(std::string_view string) {
    const std::uint64_t hash = hash_of(string);
    const auto tag = std::uint32_t(hash >> 32);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].tag != tag) continue;
      Word& word = words_[slots_[at].number - 1];
      if (view(word) == string) return word.count;
    }
    if (words_.size() >= UINT32_MAX) throw std::length_error("there are too many distinct words");
    words_.push_back({text_.size(), 0, std::uint32_t(string.size()), hash});
    text_ += string;
    slots_[at] = {std::uint32_t(words_.size()), tag};
    if (words_.size() * 2 > slots_.size()) grow();
    return words_.back().count;
  }

  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (std::size_t number = 0; number < words_.size(); ++number) {
      const std::uint64_t hash = words_[number].hash;
      std::size_t at = hash & (larger.size() - 1);
      while (larger[at].number) at = (at + 1) & (larger.size() - 1);
      larger[at] = {std::uint32_t(number + 1), std::uint32_t(hash >> 32)};
    }
    slots_.swap(larger);
  }

  Profile profile_;
  std::vector<Slot> slots_;
  std::vector<Word> words_;
  std::string text_, normal_;
};

}  // namespace treetok
