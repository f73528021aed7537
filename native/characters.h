// What is known about characters, from tables that are generated when the core is built.
#pragma once

#include <string>

#include "unicode_tables.h"
#include "utf8.h"

namespace treetok {

template <class Value>
inline Value look_up(const std::uint16_t* row_of, const Value* table, char32_t c) {
  return table[row_of[c / CODE_POINTS_PER_ROW] * CODE_POINTS_PER_ROW + c % CODE_POINTS_PER_ROW];
}

inline std::uint16_t class_of(char32_t c) { return look_up(CLASS_ROW, CLASS, c); }
inline Kind kind_of(char32_t c) { return Kind(class_of(c) & KIND_MASK); }
inline bool has(char32_t c, Property property) { return class_of(c) & property; }
inline bool is_letter(Kind kind) { return kind <= LETTER; }
inline bool is_letter_or_mark(Kind kind) { return kind <= MARK; }
static_assert(UNSPACED < UPPER && UPPER < LETTER && LETTER < MARK && MARK < FLAG, "kinds are compared by order");

inline constexpr char32_t CAPITAL_SIGMA = 0x3A3, SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2, DOTTED_I = 0x130;

// The lower-case letter; the first, where there are several.
inline char32_t lower_of(char32_t c) { return char32_t(std::int32_t(c) + look_up(TO_LOWER_ROW, TO_LOWER, c)); }

// The capital; 0 where it is several letters.
inline char32_t upper_of(char32_t c) {
  const std::int32_t distance = look_up(TO_UPPER_ROW, TO_UPPER, c);
  return distance == 1 << 30 ? 0 : char32_t(std::int32_t(c) + distance);
}

// Whether Python's `lower` writes the capital sigma at this place as the sigma that ends words.
inline bool is_final_sigma(const std::u32string& word, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && has(word[before - 1], SKIPPED_FOR_CASE)) --before;
  if (before == 0 || !has(word[before - 1], CASED)) return false;
  std::size_t after = at + 1;
  while (after < word.size() && has(word[after], SKIPPED_FOR_CASE)) ++after;
  return after == word.size() || !has(word[after], CASED);
}

// Lower-cased, one letter per character: like `str.lower`, or, if that is longer, its first letter for each.
inline std::u32string lowered(const std::u32string& word) {
  std::u32string lower(word.size(), 0);
  const bool one_by_one = word.find(DOTTED_I) != std::u32string::npos;
  for (std::size_t i = 0; i < word.size(); ++i) {
    lower[i] = word[i] == CAPITAL_SIGMA && !one_by_one && is_final_sigma(word, i) ? FINAL_SIGMA : lower_of(word[i]);
  }
  return lower;
}

}  // namespace treetok
