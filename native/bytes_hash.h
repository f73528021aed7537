// A hash of short strings of bytes.
#pragma once

#include <cstring>
#include <string_view>

#include "utf8.h"

namespace treetok {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__) && !defined(TREETOK_PLAIN)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return std::uint64_t(product) ^ std::uint64_t(product >> 64);
#else
  a ^= b * 0x9E3779B97F4A7C15;
  a = (a ^ (a >> 32)) * 0xD6E8FEB86659FD93;
  return a ^ (a >> 32);
#endif
}

inline std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (std::uint64_t word; left >= 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word, 0xA0761D6478BD642F);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, at, left);
  return mix(hash ^ rest, 0xE7037ED1A0B428DB);
}

}  // namespace treetok
