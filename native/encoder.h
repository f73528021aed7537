// Text to ids: splitter, word table, and for words that are not in it trees and segmentation.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "count_trees.h"
#include "lexicon.h"
#include "lossless_splitter.h"
#include "memory.h"
#include "parser.h"
#include "segmenter.h"
#include "special_tokens.h"

namespace treetok {

enum class Profile { LOSSLESS_1, LOSSLESS_2, UNCASED_1, UNCASED_2 };

inline bool is_uncased(Profile profile) { return profile == Profile::UNCASED_1 || profile == Profile::UNCASED_2; }

template <class Sink>
void split_words(Profile profile, const Byte* text, std::size_t bytes, Sink&& word) {
  switch (profile) {
    case Profile::LOSSLESS_1:
      return FirstLosslessSplitter::split(text, bytes, word);
    case Profile::LOSSLESS_2:
      return LosslessSplitter::split(text, bytes, word);
    case Profile::UNCASED_1:
      return UncasedSplitter<1>::split(text, bytes, word);
    case Profile::UNCASED_2:
      return UncasedSplitter<2>::split(text, bytes, word);
  }
}

// Scores the splits of words that are not in the lexicon. Used by several threads at once.
class TreeSource {
 public:
  virtual ~TreeSource() = default;
  // Memory that a call works in, kept by the caller from word to word.
  struct Scratch {
    virtual ~Scratch() = default;
  };
  virtual std::unique_ptr<Scratch> scratch() const = 0;
  // Whether all scores are finite numbers.
  virtual bool split_scores(const char32_t* letters, std::size_t n, float* scores, Scratch& scratch) const = 0;
};

class CountSource : public TreeSource {
 public:
  explicit CountSource(CountTrees trees) : trees_(trees) {}
  std::unique_ptr<Scratch> scratch() const override { return std::make_unique<Scratch>(); }
  bool split_scores(const char32_t* letters, std::size_t n, float* scores, Scratch&) const override {
    trees_.split_scores(letters, n, scores);
    return true;
  }

 private:
  CountTrees trees_;
};

class ParserSource : public TreeSource {
 public:
  // The parser must outlive this.
  explicit ParserSource(const Parser& parser) : parser_(parser) {}
  std::unique_ptr<Scratch> scratch() const override { return std::make_unique<OwnScratch>(); }
  bool split_scores(const char32_t* letters, std::size_t n, float* scores, Scratch& scratch) const override {
    return parser_.split_scores(letters, n, scores, static_cast<OwnScratch&>(scratch).memory);
  }

 private:
  struct OwnScratch : Scratch {
    Parser::Scratch memory;
  };
  const Parser& parser_;
};

// Ids that are not zeroed before they are written. Those of two threads share no cache line.
class alignas(64) IdBuffer {
 public:
  IdBuffer() = default;
  IdBuffer(IdBuffer&& other) noexcept : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  IdBuffer& operator=(IdBuffer&&) = delete;
  void swap(IdBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  ~IdBuffer() { std::free(data_); }

  // An estimate of how many ids a text has.
  void expect(std::size_t bytes) { make_room(bytes / 3 + MOST_IDS_AT_ONCE); }

  void append(const std::uint32_t* ids, std::size_t count) {
    make_room(count);
    std::memcpy(data_ + size_, ids, count * sizeof(std::uint32_t));
    size_ += count;
  }

  // Memory for at least `count` ids behind the last, of which `written` then says how many there are.
  std::uint32_t* room(std::size_t count) {
    make_room(count);
    return data_ + size_;
  }
  const std::uint32_t* end_of_room() const { return data_ + capacity_; }
  void written(const std::uint32_t* end) { size_ = std::size_t(end - data_); }

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  const std::uint32_t* data() const { return data_; }

  // Hands over the memory, which `free` releases.
  std::uint32_t* release() {
    std::uint32_t* data = data_;
    data_ = nullptr;
    size_ = capacity_ = 0;
    return data;
  }

 private:
  void make_room(std::size_t count) {
    if (size_ + count > capacity_) grow(count);
  }

  TREETOK_NOINLINE void grow(std::size_t count) {
    const std::size_t capacity = std::max<std::size_t>(size_ + count, capacity_ + capacity_ / 2 + 256);
    const std::size_t bytes = capacity * sizeof(std::uint32_t);
    void* larger = data_ ? std::realloc(data_, bytes) : allocated(bytes);
    if (!larger) throw std::bad_alloc();
    data_ = static_cast<std::uint32_t*>(larger);
    capacity_ = capacity;
  }

  std::uint32_t* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

// Of every token: where it starts and ends in characters, and the number of its word in the text; special tokens are
// in none. Those of two threads share no cache line.
struct alignas(64) Places {
  static constexpr std::int64_t NO_WORD = -1;
  std::vector<std::int64_t> starts, ends, words;

  // An estimate of how many tokens a text has.
  void expect(std::size_t bytes) {
    for (std::vector<std::int64_t>* of_tokens : {&starts, &ends, &words}) of_tokens->reserve(bytes / 3 + 16);
  }

  void add(std::uint64_t start, std::uint64_t end, std::int64_t word) {
    starts.push_back(std::int64_t(start));
    ends.push_back(std::int64_t(end));
    words.push_back(word);
  }
};

class Encoder {
 public:
  Encoder(Profile profile, Vocabulary vocabulary, std::optional<Lexicon> lexicon, std::unique_ptr<TreeSource> source)
      : profile_(profile),
        vocabulary_(std::move(vocabulary)),
        segmenter_(vocabulary_),
        lexicon_(std::move(lexicon)),
        source_(std::move(source)) {}
  Encoder(const Encoder&) = delete;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  Profile profile() const { return profile_; }

  // What one thread needs while it encodes.
  struct alignas(64) Worker {
    std::shared_ptr<const WordTable> table;
    std::unique_ptr<TreeSource::Scratch> scratch;
    std::string normal;
    std::vector<std::uint32_t> ids;
    ScoredWord word;
  };

  Worker worker() const {
    Worker worker;
    worker.table = cache_.table();
    return worker;
  }

  // Appends the ids of a text, which is valid UTF-8. Special tokens are found if any are given.
  void encode(Worker& worker, const Byte* text, std::size_t bytes, const SpecialTokens& specials,
              IdBuffer& ids) const {
    if (specials.empty()) return encode_part(worker, text, bytes, ids);
    specials.for_each_part(text, bytes, [&](const Byte* part, std::size_t size, const SpecialToken* special) {
      if (special) {
        ids.append(&special->id, 1);
      } else {
        encode_part(worker, part, size, ids);
      }
    });
  }

  // The same with the place of every token.
  void encode_with_offsets(Worker& worker, const Byte* text, std::size_t bytes,
                           const SpecialTokens& specials, IdBuffer& ids, Places& places) const {
    std::uint64_t first = 0;
    std::int64_t word = 0;
    specials.for_each_part(text, bytes, [&](const Byte* part, std::size_t size, const SpecialToken* special) {
      const std::uint64_t after = first + count_characters(part, size);
      if (special) {
        ids.append(&special->id, 1);
        places.add(first, after, Places::NO_WORD);
      } else {
        part_with_offsets(worker, part, size, first, word, ids, places);
      }
      first = after;
    });
  }

  // The same with dropout: `text_number` is the place of the text in its batch.
  void encode_sampled(Worker& worker, const Byte* text, std::size_t bytes, const SpecialTokens& specials,
                      const Dropout& dropout, std::uint64_t text_number, IdBuffer& ids) const {
    std::uint64_t word_number = 0;
    specials.for_each_part(text, bytes, [&](const Byte* part, std::size_t size, const SpecialToken* special) {
      if (special) {
        ids.append(&special->id, 1);
        return;
      }
      if (is_uncased(profile_)) {
        worker.normal.clear();
        normalise_uncased(part, size, worker.normal);
        part = reinterpret_cast<const Byte*>(worker.normal.data());
        size = worker.normal.size();
      }
      split_words(profile_, part, size, [&](const Byte* word, std::size_t bytes_of_word) {
        sample_word(worker, word, bytes_of_word, dropout.of_word(text_number, word_number++), ids);
      });
    });
  }

  // The pieces of a word as a profile splits it, by where they begin and end in its bytes.
  Cuts cuts_of_word(Worker& worker, const Byte* word, std::size_t bytes) const {
    score(worker, word, bytes);
    return segmenter_.cut(worker.word);
  }

  // Gives `worker.word` the scores of its splits.
  void score(Worker& worker, const Byte* bytes, std::size_t size) const {
    ScoredWord& word = worker.word;
    char32_t letters[MOST_CHARACTERS];
    const Byte *at = bytes, *end = bytes + size;
    word.bytes = bytes;
    word.size = 0;
    bool is_ascii = true;
    while (at < end) {
      if (word.size == MOST_CHARACTERS) throw std::length_error("a word is too long");
      word.starts[word.size] = std::uint16_t(at - bytes);
      letters[word.size] = next_character(at);
      is_ascii = is_ascii && letters[word.size] < 0x80;
      ++word.size;
    }
    word.starts[word.size] = std::uint16_t(size);
    // The space before a word forms a subtree with the first letter.
    const bool has_space = !is_uncased(profile_) && word.size > 1 && bytes[0] == ' ';
    const std::size_t n = word.size - has_space;
    char32_t* first = letters + has_space;
    float* scores = word.scores + has_space;
    if (has_space) word.scores[0] = -std::numeric_limits<float>::infinity();
    if (n < 2) return;
    char key[MOST_CHARACTERS * 4];
    std::size_t key_size = 0;
    if (is_ascii) {
      for (; key_size < n; ++key_size) {
        if (!is_uncased(profile_) && first[key_size] >= U'A' && first[key_size] <= U'Z') first[key_size] += 32;
        key[key_size] = char(first[key_size]);
      }
    } else {
      std::u32string lower(first, n);
      if (!is_uncased(profile_)) lower = lowered(lower);
      std::copy(lower.begin(), lower.end(), first);
      const std::string utf8 = to_utf8(lower);
      key_size = utf8.size();
      std::memcpy(key, utf8.data(), key_size);
    }
    if (lexicon_) {
      if (const std::uint8_t* depths = lexicon_->depths_of({key, key_size})) {
        for (std::size_t i = 0; i + 1 < n; ++i) scores[i] = -float(depths[i]);
        return;
      }
    }
    if (!worker.scratch) worker.scratch = source_->scratch();
    if (!source_->split_scores(first, n, scores, *worker.scratch)) {
      throw std::domain_error("the source of trees returned a score for '" + std::string(key, key_size) +
                              "' that is not a finite number");
    }
  }

 private:
  void encode_part(Worker& worker, const Byte* text, std::size_t bytes, IdBuffer& ids) const {
    if (is_uncased(profile_)) {
      worker.normal.clear();
      normalise_uncased(text, bytes, worker.normal);
      text = reinterpret_cast<const Byte*>(worker.normal.data());
      bytes = worker.normal.size();
    }
    if (profile_ == Profile::LOSSLESS_2) return encode_lossless(worker, text, bytes, ids);
    const Byte* end = text + bytes;
    split_words(profile_, text, bytes,
                [&](const Byte* word, std::size_t size) { encode_word(worker, word, size, end, ids); });
  }

  void encode_lossless(Worker& worker, const Byte* text, std::size_t bytes, IdBuffer& ids) const {
    constexpr std::size_t READ_AHEAD = LosslessSplitter::READ_AHEAD;
    const Byte* end = text + bytes;
    if (bytes >= READ_AHEAD) text = encode_words(worker, text, end - READ_AHEAD + 1, end, ids);
    if (text == end) return;
    // Behind the last bytes nothing can be read, so they are encoded in a place of their own.
    Byte copy[2 * READ_AHEAD] = {};
    const std::size_t left = std::size_t(end - text);
    std::memcpy(copy, text, left);
    encode_words(worker, copy, copy + left, copy + left, ids);
  }

  // Encodes words that start before `last`, from where `READ_AHEAD` bytes can still be read. Returns where the next
  // one starts.
  const Byte* encode_words(Worker& worker, const Byte* text, const Byte* last, const Byte* end,
                           IdBuffer& ids) const {
    while (text < last) {
      std::uint32_t* room = ids.room(MOST_IDS_AT_ONCE);
      const Written known =
          LosslessSplitter::write_known(text, last, end, *worker.table, room, ids.end_of_room());
      ids.written(known.ids);
      text = known.text;
      if (text >= last) break;
      text = LosslessSplitter::split_one(text, end, [&](const Byte* word, std::size_t size) {
        encode_word(worker, word, size, end, ids);
      });
    }
    return text;
  }

  // `end`: behind the last byte that can be read.
  void encode_word(Worker& worker, const Byte* word, std::size_t size, const Byte* end, IdBuffer& ids) const {
    const WordKey key = key_of(word, size, std::size_t(end - word));
    const Ids found = worker.table->find(key, word, size);
    if (found.count) {
      ids.append(found.ids, found.count);
    } else {
      learn(worker, key, word, size);
      ids.append(worker.ids.data(), worker.ids.size());
    }
  }

  void sample_word(Worker& worker, const Byte* word, std::size_t bytes, const DeclineSome& declines,
                   IdBuffer& ids) const {
    // A word that is a token needs no tree, unless it is declined.
    const std::string_view string(reinterpret_cast<const char*>(word), bytes);
    const std::size_t characters = count_characters(word, bytes);
    const std::optional<Piece> whole = vocabulary_.find(string, false);
    if (whole && (characters == 1 || !declines(0, characters))) {
      ids.append(&whole->id, 1);
      return;
    }
    score(worker, word, bytes);
    const Cuts cuts = segmenter_.cut(worker.word, declines);
    worker.ids.clear();
    for (std::size_t i = 0; i < cuts.pieces; ++i) {
      vocabulary_.append_ids(worker.word.span(cuts.at[i], cuts.at[i + 1]), worker.ids);
    }
    ids.append(worker.ids.data(), worker.ids.size());
  }

  // The ids of a word that is not in the table: in `worker.ids`.
  void learn(Worker& worker, const WordKey& key, const Byte* word, std::size_t bytes) const {
    const Cuts cuts = cuts_of_word(worker, word, bytes);
    worker.ids.clear();
    for (std::size_t i = 0; i < cuts.pieces; ++i) {
      vocabulary_.append_ids(worker.word.span(cuts.at[i], cuts.at[i + 1]), worker.ids);
    }
    cache_.learn(key, word, bytes, worker.ids);
    worker.table = cache_.table();
  }

  // `number_of_word`: of the next word, also behind this part.
  void part_with_offsets(Worker& worker, const Byte* text, std::size_t bytes, std::uint64_t first,
                         std::int64_t& number_of_word, IdBuffer& ids, Places& places) const {
    // Where each character of the text that is split comes from; empty if it is the text itself.
    std::vector<std::uint64_t> sources;
    std::string normal;
    if (is_uncased(profile_)) {
      std::uint64_t source = first;
      for (const Byte *at = text, *end = text + bytes; at < end; ++source) {
        const Byte* start = at;
        next_character(at);
        const std::size_t before = normal.size();
        normalise_uncased(start, std::size_t(at - start), normal);
        const auto* added = reinterpret_cast<const Byte*>(normal.data()) + before;
        sources.insert(sources.end(), count_characters(added, normal.size() - before), source);
      }
      text = reinterpret_cast<const Byte*>(normal.data());
      bytes = normal.size();
    }
    const Byte *counted = text, *end = text + bytes;
    std::uint64_t at = is_uncased(profile_) ? 0 : first;
    const auto place_of = [&](std::uint64_t character) { return sources.empty() ? character : sources[character]; };
    split_words(profile_, text, bytes, [&](const Byte* word, std::size_t size) {
      at += count_characters(counted, std::size_t(word - counted));
      counted = word;
      const std::size_t before = ids.size();
      encode_word(worker, word, size, end, ids);
      const std::uint64_t start_of_word = at;
      bool is_joined = false;
      for (std::size_t i = before; i < ids.size(); ++i) {
        const std::uint32_t id = ids.data()[i];
        const bool is_marker = vocabulary_.is_marker(id);
        const std::uint32_t length = vocabulary_.characters(id) - (is_joined && !is_marker);
        is_joined = is_marker && (is_joined || vocabulary_.kind(id) == TokenKind::JOIN_MARKER);
        if (length) {
          places.add(place_of(at), place_of(at + length - 1) + 1, number_of_word);
        } else {
          const std::uint64_t place = at > start_of_word ? place_of(at - 1) + 1 : place_of(at);
          places.add(place, place, number_of_word);
        }
        at += length;
      }
      ++number_of_word;
      counted = word + size;
    });
  }

  Profile profile_;
  Vocabulary vocabulary_;
  Segmenter segmenter_;
  std::optional<Lexicon> lexicon_;
  std::unique_ptr<TreeSource> source_;
  mutable WordCache cache_;
};

}  // namespace treetok
