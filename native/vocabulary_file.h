// Reads vocab.tsv, without Python; src/treetok/storage/vocab_tsv.py says what it is.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>

namespace treetok {

constexpr std::size_t MOST_DIGITS = 18;

// The number that these digits are; nothing if anything else is there, or too many of them.
inline std::optional<long long> number_of(const char* digits, const char* end) {
  if (digits == end || std::size_t(end - digits) > MOST_DIGITS) return std::nullopt;
  long long number = 0;
  for (; digits < end; ++digits) {
    if (*digits < '0' || *digits > '9') return std::nullopt;
    number = number * 10 + (*digits - '0');
  }
  return number;
}

// Calls `entry(token, bytes, is_escaped, count)` for every line. Returns whether each of them is a token, a tab and a count,
// and the sum of the counts is no larger than `most`: it stops at the first that is not.
template <class Entry>
bool read_vocabulary_file(const char* at, std::size_t bytes, long long most, Entry&& entry) {
  const char* end = at + bytes;
  long long left = most;
  while (at < end) {
    const auto* line_end = static_cast<const char*>(std::memchr(at, '\n', std::size_t(end - at)));
    if (!line_end) return false;
    const auto* tab = static_cast<const char*>(std::memchr(at, '\t', std::size_t(line_end - at)));
    if (!tab || tab == at) return false;
    const std::optional<long long> count = number_of(tab + 1, line_end);
    if (!count || *count > left) return false;
    left -= *count;
    const std::size_t size = std::size_t(tab - at);
    entry(at, size, std::memchr(at, '\\', size) != nullptr, *count);
    at = line_end + 1;
  }
  return true;
}

}  // namespace treetok
