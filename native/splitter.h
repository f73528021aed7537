// Text to words: the profiles of src/treetok/text/, which are the specification, without regular expressions.
//
// A splitter calls `word(start, bytes)` for each word, in order. Text is valid UTF-8.
#pragma once

#include <array>
#include <cstring>
#if defined(__SSE2__) && !defined(TREETOK_PLAIN)
#include <emmintrin.h>
#elif defined(_MSC_VER)
#include <intrin.h>
#endif

#include "characters.h"

namespace treetok {

inline constexpr std::size_t LONGEST_WORD = 64;
inline constexpr std::size_t LONGEST_UNSPACED = 8;
inline constexpr std::size_t MOST_DIGITS_IN_GROUPS = 66;

// ---- parts of words. Each function returns where the part ends, or `at` if there is none.

// A character and where it ends; past the end of the text, a kind that nothing matches.
struct Character {
  char32_t code;
  const Byte* end;
};

inline constexpr char32_t NO_CHARACTER = 0xFFFFFFFF;

inline Character character_at(const Byte* at, const Byte* end) {
  if (at == end) return {NO_CHARACTER, at};
  const char32_t code = next_character(at);
  return {code, at};
}

inline bool is_of(const Character& c, Kind kind) { return c.code != NO_CHARACTER && kind_of(c.code) == kind; }

template <class Condition>
const Byte* skip_while(const Byte* at, const Byte* end, Condition holds) {
  while (at < end) {
    const Byte* after = at;
    if (!holds(next_character(after))) break;
    at = after;
  }
  return at;
}

inline const Byte* skip_kind(const Byte* at, const Byte* end, Kind kind) {
  return skip_while(at, end, [kind](char32_t c) { return kind_of(c) == kind; });
}

// As a number: not all compilers take sources for UTF-8.
inline constexpr char32_t CURLY_APOSTROPHE = 0x2019;

inline bool is_apostrophe(char32_t c) { return c == U'\'' || c == CURLY_APOSTROPHE; }

// 's, 't, 're, 've, 'm, 'll, 'd before anything but a letter, mark, digit or underscore. With `any_case` also 'S and
// the old form of the s.
template <bool any_case>
const Byte* contraction(const Byte* at, const Byte* end) {
  const Character first = character_at(at, end);
  if (!is_apostrophe(first.code)) return at;
  const Character second = character_at(first.end, end);
  const auto fold = [](char32_t c) -> char32_t {
    if (!any_case) return c;
    return c == 0x17F ? U's' : c >= U'A' && c <= U'Z' ? c + 32 : c;
  };
  const auto ends_word = [end](const Byte* here) {
    const Character next = character_at(here, end);
    if (next.code == NO_CHARACTER) return true;
    const Kind kind = kind_of(next.code);
    return !is_letter_or_mark(kind) && kind != NUMBER && next.code != U'_';
  };
  const char32_t letter = fold(second.code);
  if ((letter == U's' || letter == U't' || letter == U'm' || letter == U'd') && ends_word(second.end)) {
    return second.end;
  }
  const char32_t wanted = letter == U'r' || letter == U'v' ? U'e' : letter == U'l' ? U'l' : NO_CHARACTER;
  if (wanted == NO_CHARACTER) return at;
  const Character third = character_at(second.end, end);
  // The old s folds to no letter that is wanted here.
  return third.code != NO_CHARACTER && fold(third.code) == wanted && ends_word(third.end) ? third.end : at;
}

// `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line break, or all but the last before a visible character.
inline const Byte* whitespace(const Byte* at, const Byte* end) {
  const Byte *after_break = nullptr, *last = at, *here = at;
  while (here < end) {
    const Byte* after = here;
    const char32_t c = next_character(after);
    if (kind_of(c) != SPACE) break;
    if (c == U'\n' || c == U'\r') after_break = after;
    last = here;
    here = after;
  }
  if (after_break) return after_break;
  return here == end || last == at ? here : last;
}

// ---- words that are too long

template <class Sink>
void cut_long_word(const Byte* start, const Byte* end, bool is_number, Sink& word) {
  std::size_t left = count_characters(start, std::size_t(end - start));
  if (left <= LONGEST_WORD) {
    word(start, std::size_t(end - start));
    return;
  }
  while (start < end) {
    const std::size_t size = !is_number ? LONGEST_WORD : left % 3 ? left % 3 : 3;
    const Byte* at = start;
    std::size_t taken = 0;
    for (; taken < size && at < end; ++taken) next_character(at);
    left -= taken;
    word(start, std::size_t(at - start));
    start = at;
  }
}

template <class Sink>
inline void give_word(const Byte* start, const Byte* end, bool is_number, Sink& word) {
  if (std::size_t(end - start) <= LONGEST_WORD) {
    word(start, std::size_t(end - start));
  } else {
    cut_long_word(start, end, is_number, word);
  }
}

// ---- the second version of `lossless`

inline constexpr char32_t ZERO_WIDTH_NON_JOINER = 0x200C, ZERO_WIDTH_JOINER = 0x200D;

// Marks behind a letter, and joiners before letters or marks.
inline const Byte* skip_marks_and_joiners(const Byte* at, const Byte* end) {
  while (at < end) {
    const Byte* after = at;
    const char32_t c = next_character(after);
    if (kind_of(c) != MARK) {
      if (c != ZERO_WIDTH_NON_JOINER && c != ZERO_WIDTH_JOINER) break;
      const Character next = character_at(after, end);
      if (next.code == NO_CHARACTER || !is_letter_or_mark(kind_of(next.code))) break;
    }
    at = after;
  }
  return at;
}

// One letter of a kind with its marks; `at` if there is none.
inline const Byte* letter_with_marks(const Byte* at, const Byte* end, Kind kind) {
  const Character c = character_at(at, end);
  return is_of(c, kind) ? skip_marks_and_joiners(c.end, end) : at;
}

// Letters up to a hump: `upper+(?=upper other other)|upper*other+|upper+`. There is a letter at `at`.
inline const Byte* letters_to_hump(const Byte* at, const Byte* end) {
  const Byte *last_capital = at, *here = at;
  std::size_t capitals = 0;
  for (const Byte* after; (after = letter_with_marks(here, end, UPPER)) != here; here = after, ++capitals) {
    last_capital = here;
  }
  const Byte* after = letter_with_marks(here, end, LETTER);
  if (after == here) return here;
  const Byte* after_two = letter_with_marks(after, end, LETTER);
  if (after_two == after) return after;
  if (capitals > 1) return last_capital;
  for (here = after_two; (after = letter_with_marks(here, end, LETTER)) != here; here = after) {
  }
  return here;
}

inline const Byte* unspaced_letters(const Byte* at, const Byte* end) {
  for (std::size_t letters = 0; letters < LONGEST_UNSPACED; ++letters) {
    const Byte* after = letter_with_marks(at, end, UNSPACED);
    if (after == at) break;
    at = after;
  }
  return at;
}

// An emoji with all that belongs to it: the extended grapheme cluster that starts with a picture, which ends at
// `at`.
inline const Byte* rest_of_emoji(const Byte* at, const Byte* end) {
  // Whether a joiner here would join another picture.
  bool is_joinable = true;
  while (at < end) {
    const Byte* after = at;
    const char32_t c = next_character(after);
    if (!has(c, EXTENDS_PICTURE)) break;
    at = after;
    if (c == ZERO_WIDTH_JOINER) {
      const Character next = character_at(at, end);
      if (is_joinable && next.code != NO_CHARACTER && has(next.code, PICTOGRAPHIC)) {
        at = next.end;
        continue;
      }
      is_joinable = false;
    } else {
      is_joinable = is_joinable && has(c, MAY_FOLLOW_PICTURE);
    }
  }
  return at;
}

// The first of the groups of three that a number is cut into from the right; all of a very long one.
inline const Byte* digits(const Byte* at, const Byte* end) {
  std::size_t count = 0;
  const Byte* here = at;
  const Byte* ends[3] = {at, at, at};
  while (here < end) {
    const Byte* after = here;
    if (kind_of(next_character(after)) != NUMBER) break;
    here = after;
    if (count < 3) ends[count] = here;
    ++count;
  }
  if (count > MOST_DIGITS_IN_GROUPS || count == 0) return here;
  return ends[(count - 1) % 3];
}

// Symbols with the marks on them.
inline const Byte* symbols(const Byte* at, const Byte* end) {
  for (;;) {
    const Character c = character_at(at, end);
    if (!is_of(c, SYMBOL)) return at;
    at = skip_kind(c.end, end, MARK);
  }
}

// Where the word that begins at `at` ends. There is at least one character.
inline const Byte* lossless_word(const Byte* at, const Byte* end, bool& is_number) {
  const Byte* found = contraction<true>(at, end);
  if (found != at) return found;
  const Byte* visible = at + (*at == ' ');
  const Byte* letter = skip_kind(visible, end, MARK);
  const Character behind_marks = character_at(letter, end);
  const Kind kind = behind_marks.code == NO_CHARACTER ? SPACE : kind_of(behind_marks.code);
  if (kind == UNSPACED) return unspaced_letters(letter, end);
  if (is_letter(kind)) return letters_to_hump(letter, end);
  if (letter != visible) return letter;
  if (*at == '#' || *at == '*' || (*at >= '0' && *at <= '9')) {
    Character next = character_at(at + 1, end);
    if (next.code == 0xFE0F) next = character_at(next.end, end);
    if (next.code == 0x20E3) return next.end;
  }
  switch (kind) {
    case FLAG: {
      const Character second = character_at(behind_marks.end, end);
      return is_of(second, FLAG) ? second.end : behind_marks.end;
    }
    case PICTURE:
      return rest_of_emoji(behind_marks.end, end);
    case NUMBER:
      if (visible == at) {
        is_number = true;
        return digits(at, end);
      }
      break;
    case SYMBOL:
      return symbols(visible, end);
    default:
      break;
  }
  return whitespace(at, end);
}

// ---- the fast path: words of ASCII letters

inline std::uint64_t load_eight(const Byte* at) {
  std::uint64_t bytes;
  std::memcpy(&bytes, at, 8);
  return bytes;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
inline constexpr bool EIGHT_AT_ONCE = false;
#else
inline constexpr bool EIGHT_AT_ONCE = true;
#endif

inline unsigned first_set_byte(std::uint64_t high_bits) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index;
  _BitScanForward64(&index, high_bits);
  return unsigned(index) / 8;
#else
  return unsigned(__builtin_ctzll(high_bits)) / 8;
#endif
}

inline bool is_lower(Byte byte) { return byte >= 'a' && byte <= 'z'; }
inline bool is_upper(Byte byte) { return byte >= 'A' && byte <= 'Z'; }

// Skips the letters from a to z.
inline const Byte* skip_lower(const Byte* at, const Byte* end) {
#if defined(__SSE2__) && !defined(TREETOK_PLAIN)
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Bytes from 0x80 on are negative, and so below `a`.
    const __m128i is_letter = _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8('a' - 1)),
                                            _mm_cmplt_epi8(bytes, _mm_set1_epi8('z' + 1)));
    const unsigned others = ~unsigned(_mm_movemask_epi8(is_letter)) & 0xFFFF;
    if (others) return at + __builtin_ctz(others);
  }
#else
  if (EIGHT_AT_ONCE) {
    constexpr std::uint64_t ONES = 0x0101010101010101, HIGH = 0x8080808080808080;
    for (; end - at >= 8; at += 8) {
      const std::uint64_t bytes = load_eight(at), low = bytes & ~HIGH;
      // The high bit of a byte is set where it is at least `a`, and where it is above `z`.
      const std::uint64_t from = low + ONES * (0x80 - 'a'), above = low + ONES * (0x7F - 'z');
      const std::uint64_t others = (~from | above | bytes) & HIGH;
      if (others) return at + first_set_byte(others);
    }
  }
#endif
  while (at < end && is_lower(*at)) ++at;
  return at;
}

// The end of a word of ASCII letters that starts at `letter`, a letter; nullptr if other characters decide.
inline const Byte* ascii_word(const Byte* letter, const Byte* end) {
  const Byte* after = skip_lower(letter + 1, end);
  if (after == letter + 1 && after < end && is_upper(*letter) && is_upper(*after)) {
    while (after < end && is_upper(*after)) ++after;
    const Byte* last_capital = after - 1;
    after = skip_lower(after, end);
    if (after - last_capital > 2) after = after < end && *after >= 0x80 ? after : last_capital;
  }
  return after < end && *after >= 0x80 ? nullptr : after;
}

// Kinds of bytes, for the fast path.
enum class ByteKind : std::uint8_t { LETTER, SYMBOL, DIGIT, SPACE, OTHER };

inline constexpr std::array<ByteKind, 256> BYTE_KINDS = [] {
  std::array<ByteKind, 256> kinds{};
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool is_space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    kinds[std::size_t(byte)] = byte >= 0x80                     ? ByteKind::OTHER
                               : is_letter                    ? ByteKind::LETTER
                               : byte >= '0' && byte <= '9'   ? ByteKind::DIGIT
                               : is_space                     ? ByteKind::SPACE
                                                              : ByteKind::SYMBOL;
  }
  return kinds;
}();

inline const Byte* skip_bytes(const Byte* at, const Byte* end, ByteKind kind) {
  while (at < end && BYTE_KINDS[*at] == kind) ++at;
  return at;
}

struct LosslessSplitter {
  template <class Sink>
  static void split(const Byte* text, std::size_t bytes, Sink&& word) {
    for (const Byte *at = text, *end = text + bytes; at < end;) {
      const Byte* after = fast_word(at, end);
      bool is_number = false;
      if (!after) after = lossless_word(at, end, is_number);
      give_word(at, after, is_number, word);
      at = after;
    }
  }

 private:
  // The end of the word, if ASCII characters decide; else nullptr.
  static const Byte* fast_word(const Byte* at, const Byte* end) {
    const Byte* visible = at + (*at == ' ');
    if (visible == end) return nullptr;
    switch (BYTE_KINDS[*visible]) {
      case ByteKind::LETTER:
        return ascii_word(visible, end);
      case ByteKind::SYMBOL: {
        // It may be a contraction.
        if (*at == '\'') return nullptr;
        const Byte* after = skip_bytes(visible, end, ByteKind::SYMBOL);
        return after < end && *after >= 0x80 ? nullptr : after;
      }
      case ByteKind::DIGIT: {
        // The space before a number is a word.
        if (visible != at) return visible;
        const Byte* after = skip_bytes(at, end, ByteKind::DIGIT);
        const std::size_t count = std::size_t(after - at);
        if ((after < end && *after >= 0x80) || count > MOST_DIGITS_IN_GROUPS) return nullptr;
        return at + (count - 1) % 3 + 1;
      }
      default:
        return nullptr;
    }
  }
};

// ---- the first version of `lossless`

struct FirstLosslessSplitter {
  template <class Sink>
  static void split(const Byte* text, std::size_t bytes, Sink&& word) {
    for (const Byte *at = text, *end = text + bytes; at < end;) {
      const Byte* after = word_at(at, end);
      give_word(at, after, false, word);
      at = after;
    }
  }

 private:
  static const Byte* word_at(const Byte* at, const Byte* end) {
    const Byte* found = contraction<true>(at, end);
    if (found != at) return found;
    const Byte* visible = at + (*at == ' ');
    const auto letters = [](char32_t c) { return is_letter_or_mark(kind_of(c)); };
    const auto symbols = [](char32_t c) {
      const Kind kind = kind_of(c);
      return kind == SYMBOL || kind == PICTURE || kind == FLAG;
    };
    if ((found = skip_while(visible, end, letters)) != visible) return found;
    int numbers = 0;
    found = skip_while(at, end, [&](char32_t c) { return kind_of(c) == NUMBER && numbers++ < 3; });
    if (found != at) return found;
    if ((found = skip_while(visible, end, symbols)) != visible) return found;
    return whitespace(at, end);
  }
};

// ---- `uncased`, on text that has been normalised

template <int version>
struct UncasedSplitter {
  template <class Sink>
  static void split(const Byte* text, std::size_t bytes, Sink&& word) {
    for (const Byte *at = text, *end = text + bytes; at < end;) {
      if (*at == ' ') {
        ++at;
        continue;
      }
      const Byte* after = contraction_at(at, end);
      if (after == at) after = skip_while(at, end, [](char32_t c) { return in_word(c); });
      if (after == at) after = skip_while(at, end, [](char32_t c) { return c != U' ' && !in_word(c); });
      give_word(at, after, false, word);
      at = after;
    }
  }

 private:
  static bool in_word(char32_t c) {
    if (version == 1) return has(c, PYTHON_WORD);
    const Kind kind = kind_of(c);
    return is_letter_or_mark(kind) || kind == NUMBER || c == U'_';
  }

  static const Byte* contraction_at(const Byte* at, const Byte* end) {
    if (version == 2) return contraction<false>(at, end);
    // The first version knows the straight apostrophe only, and other words end here.
    if (*at != '\'') return at;
    for (const char* ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      const std::size_t length = std::strlen(ending);
      if (std::size_t(end - at) <= length || std::memcmp(at + 1, ending, length) != 0) continue;
      const Character next = character_at(at + 1 + length, end);
      if (next.code == NO_CHARACTER || !has(next.code, PYTHON_WORD)) return at + 1 + length;
    }
    return at;
  }
};

// Appends the normalised text: `normalise_character` of every character.
inline void normalise_uncased(const Byte* text, std::size_t bytes, std::string& normal) {
  for (const Byte *at = text, *end = text + bytes; at < end;) {
    if (*at >= 'a' && *at <= 'z') {
      normal += char(*at++);
      continue;
    }
    const Byte* start = at;
    const std::uint32_t place = look_up(UNCASED_AT_ROW, UNCASED_AT, next_character(at));
    if (place) {
      normal.append(reinterpret_cast<const char*>(UNCASED_TEXT) + place + 1, UNCASED_TEXT[place]);
    } else {
      normal.append(reinterpret_cast<const char*>(start), std::size_t(at - start));
    }
  }
}

}  // namespace treetok
