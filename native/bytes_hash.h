// Hashes of short strings of bytes, with a key that is random in every process: nobody can choose words that collide.
//
// Hashes only say where things are looked for. Nothing that is returned or written may depend on them.
#pragma once

#include <cstring>
#include <random>
#include <string_view>

#include "utf8.h"

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace treetok {

struct HashKey {
  std::uint64_t first, second, third;
};

inline HashKey random_hash_key() {
  std::random_device random;
  const auto number = [&random] { return std::uint64_t(random()) << 32 ^ random(); };
  // Two of them are factors, and an even factor would lose bits.
  return {number(), number() | 1, number() | 1};
}

inline const HashKey HASH_KEY = random_hash_key();

// Both halves of a product.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#if defined(__GNUC__) && defined(__x86_64__) && !defined(TREETOK_PLAIN)
  // GCC would keep a product of 128 bits on the stack.
  __asm__("mulq %1" : "+a"(a), "+d"(b) : : "cc");
  return a ^ b;
#elif defined(__SIZEOF_INT128__) && !defined(TREETOK_PLAIN)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return std::uint64_t(product) ^ std::uint64_t(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
  std::uint64_t high;
  const std::uint64_t low = _umul128(a, b, &high);
  return low ^ high;
#else
  const std::uint64_t a_low = std::uint32_t(a), a_high = a >> 32, b_low = std::uint32_t(b), b_high = b >> 32;
  const std::uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  const std::uint64_t carried = a_low * b_high + std::uint32_t(middle);
  return (a * b) ^ (a_high * b_high + (middle >> 32) + (carried >> 32));
#endif
}

inline std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = HASH_KEY.first + bytes.size();
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (std::uint64_t word; left >= 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    hash = folded_product(hash ^ word, HASH_KEY.third);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, at, left);
  return folded_product(hash ^ rest, HASH_KEY.second);
}

}  // namespace treetok
