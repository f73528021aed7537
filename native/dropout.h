// Subword regularization: which strings of a word are declined. src/treetok/sampling.py is the specification.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treetok {

// SplitMix64.
inline std::uint64_t mix(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return number ^ (number >> 31);
}

// The usual segmentation.
struct DeclineNone {
  bool operator()(std::size_t, std::size_t) const { return false; }
};

// Declines strings of one occurrence of a word.
struct DeclineSome {
  std::uint64_t key, threshold;
  bool operator()(std::size_t start, std::size_t end) const { return mix(key ^ (start << 8 | end)) >> 11 < threshold; }
};

struct Dropout {
  // The probability times 2^53.
  std::uint64_t threshold, seed;

  DeclineSome of_word(std::uint64_t text, std::uint64_t word) const {
    return {mix(mix(mix(seed) ^ text) ^ word), threshold};
  }
};

}  // namespace treetok
