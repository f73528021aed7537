// The second version of `lossless` at full speed, for text that is mostly ASCII.
#pragma once

#include "processor.h"
#include "splitter.h"
#include "word_table.h"

#if defined(TREETOK_X86_64)
#define TREETOK_SSE2
#elif defined(__aarch64__) && !defined(TREETOK_PLAIN)
#define TREETOK_NEON
#include <arm_neon.h>
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace treetok {

// A bit for each of 64 bytes, the lowest for the first.
using Mask = std::uint64_t;
inline constexpr std::size_t BYTES_IN_MASK = 64;

// ASCII characters that are in none of these are symbols.
struct ByteMasks {
  Mask letter, digit, space, whitespace, line_break, apostrophe, not_ascii;
  // Of letters.
  Mask not_capital;
};

inline unsigned lowest_bit(Mask mask) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index;
  _BitScanForward64(&index, mask);
  return unsigned(index);
#else
  return unsigned(__builtin_ctzll(mask));
#endif
}

// How far words are written, and the end of their ids.
struct Written {
  const Byte* text;
  std::uint32_t* ids;
};

// The ids of a word are written when so many more have been found, whose slots begin to come from memory meanwhile.
inline constexpr std::size_t WORDS_AHEAD = 32;

// So many ids, at most, have the words that are found at once, with what is written behind them.
inline constexpr std::size_t MOST_IDS_AT_ONCE =
    (BYTES_IN_MASK + WORDS_AHEAD + 1) * WordTable::MOST_WRITTEN;

}  // namespace treetok

#define TREETOK_INSTRUCTIONS baseline
#include "ascii_words.h"
#undef TREETOK_INSTRUCTIONS

#ifdef TREETOK_CHOOSES_INSTRUCTIONS
#define TREETOK_INSTRUCTIONS avx2
#define TREETOK_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")
#endif
#include "ascii_words.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef TREETOK_AVX2
#undef TREETOK_INSTRUCTIONS
#endif

namespace treetok {

#ifdef TREETOK_CHOOSES_INSTRUCTIONS
inline const bool HAS_AVX2 =
    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#endif

struct LosslessSplitter {
  // So many bytes are read at once, whether or not they are all needed.
  static constexpr std::size_t READ_AHEAD = BYTES_IN_MASK + WordTable::BYTES_READ;

  // Calls `word(start, bytes)` for each word, in order.
  template <class Sink>
  static void split(const Byte* text, std::size_t bytes, Sink&& word) {
    const Byte* end = text + bytes;
    while (text < end) {
      Mask ends = end - text < std::ptrdiff_t(BYTES_IN_MASK) ? 0 : ascii_words::baseline::ends_of_words(text, end);
      if (!ends) {
        text = split_one(text, end, word);
        continue;
      }
      std::size_t start = 0;
      for (; ends; ends &= ends - 1) {
        const std::size_t after = lowest_bit(ends);
        word(text + start, after - start);
        start = after;
      }
      text += start;
    }
  }

  // The word at `text`, which may be cut into several. Returns where it ends.
  template <class Sink>
  static const Byte* split_one(const Byte* text, const Byte* end, Sink&& word) {
    bool is_number = false;
    const Byte* after = lossless_word(text, end, is_number);
    give_word(text, after, is_number, word);
    return after;
  }

  // `ascii_words::write_known` for this processor.
  static Written write_known(const Byte* text, const Byte* last, const Byte* end, const WordTable& table,
                             std::uint32_t* ids, const std::uint32_t* end_of_ids) {
#ifdef TREETOK_CHOOSES_INSTRUCTIONS
    if (HAS_AVX2) return ascii_words::avx2::write_known(text, last, end, table, ids, end_of_ids);
#endif
    return ascii_words::baseline::write_known(text, last, end, table, ids, end_of_ids);
  }
};

}  // namespace treetok
