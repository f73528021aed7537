// UTF-8: decoding, encoding and checking. Text is checked once, where it comes in; all other code may rely on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

// For what is rare, so that what is frequent stays small.
#if defined(_MSC_VER)
#define TREETOK_NOINLINE __declspec(noinline)
#else
#define TREETOK_NOINLINE __attribute__((noinline))
#endif

namespace treetok {

using Byte = unsigned char;

// The character at `at`, of text that is valid UTF-8; `at` moves behind it.
inline char32_t next_character(const Byte*& at) {
  const Byte first = *at++;
  if (first < 0x80) return first;
  if (first < 0xE0) {
    const char32_t c = (char32_t(first & 0x1F) << 6) | (at[0] & 0x3F);
    at += 1;
    return c;
  }
  if (first < 0xF0) {
    const char32_t c = (char32_t(first & 0x0F) << 12) | (char32_t(at[0] & 0x3F) << 6) | (at[1] & 0x3F);
    at += 2;
    return c;
  }
  const char32_t c = (char32_t(first & 0x07) << 18) | (char32_t(at[0] & 0x3F) << 12) |
                     (char32_t(at[1] & 0x3F) << 6) | (at[2] & 0x3F);
  at += 3;
  return c;
}

inline bool continues_character(Byte byte) { return (byte & 0xC0) == 0x80; }

// Whether so many bytes, a multiple of eight, are all ASCII.
template <std::size_t BYTES>
inline bool are_ascii(const Byte* text) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < BYTES; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, text + i, 8);
    all |= eight;
  }
  return (all & 0x8080808080808080) == 0;
}

inline std::size_t count_characters(const Byte* text, std::size_t bytes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < bytes; ++i) count += !continues_character(text[i]);
  return count;
}

inline void append_utf8(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += char(c);
  } else if (c < 0x800) {
    text += char(0xC0 | (c >> 6));
    text += char(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += char(0xE0 | (c >> 12));
    text += char(0x80 | ((c >> 6) & 0x3F));
    text += char(0x80 | (c & 0x3F));
  } else {
    text += char(0xF0 | (c >> 18));
    text += char(0x80 | ((c >> 12) & 0x3F));
    text += char(0x80 | ((c >> 6) & 0x3F));
    text += char(0x80 | (c & 0x3F));
  }
}

inline std::u32string to_characters(const Byte* text, std::size_t bytes) {
  std::u32string characters;
  characters.reserve(bytes);
  for (const Byte *at = text, *end = text + bytes; at < end;) characters += next_character(at);
  return characters;
}

inline std::string to_utf8(const std::u32string& characters) {
  std::string text;
  for (char32_t c : characters) append_utf8(text, c);
  return text;
}

// Where the first byte is that is not valid UTF-8, or `bytes`. Overlong forms and surrogates are not valid.
inline std::size_t first_invalid(const Byte* text, std::size_t bytes) {
  std::size_t i = 0;
  while (i < bytes) {
    if (bytes - i >= 64 && are_ascii<64>(text + i)) {
      i += 64;
      continue;
    }
    if (bytes - i >= 8 && are_ascii<8>(text + i)) {
      i += 8;
      continue;
    }
    const Byte first = text[i];
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || i + length > bytes) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if (!continues_character(text[i + k])) return i;
    }
    const Byte second = text[i + 1];
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second > 0x8F)) {
      return i;
    }
    i += length;
  }
  return bytes;
}

}  // namespace treetok
