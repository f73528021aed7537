// Text to words: the profiles of src/treetok/text/, which are the specification, without regular expressions.
//
// A splitter calls `word(start, bytes)` for each word, in order. Text is valid UTF-8.
#pragma once

#include <cstring>

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
void cut_long_word(const Byte* start, const Byte* end, bool is_number, Sink&& word) {
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
TREETOK_NOINLINE inline const Byte* lossless_word(const Byte* at, const Byte* end, bool& is_number) {
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
