// Trees from counts of n-grams: src/treetok/sources/ngram_counts.py is the specification.
#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "splitter.h"

namespace treetok {

class CountTrees {
 public:
  // Sorted hashes and the counts of their n-grams, which must outlive this.
  CountTrees(const std::uint64_t* hashes, const std::uint64_t* counts, std::size_t size)
      : hashes_(hashes), counts_(counts), size_(size) {
    for (std::size_t i = 1; i < size; ++i) {
      if (hashes[i - 1] >= hashes[i]) throw std::invalid_argument("the n-gram hashes are not sorted");
    }
  }

  // Minus the depth of every split.
  void split_scores(const char32_t* letters, std::size_t n, float* scores) const {
    // Counts of spans by start and width.
    std::vector<std::int64_t> counts(n * (n + 1));
    for (std::size_t start = 0; start < n; ++start) {
      std::uint64_t hash = 0;
      for (std::size_t width = 1; start + width <= n; ++width) {
        hash = hash * 0x9E3779B97F4A7C15 + finalise(std::uint64_t(letters[start + width - 1]) + 1);
        counts[start * (n + 1) + width] = count_of(finalise(hash));
      }
    }
    struct Span {
      std::size_t start, end;
      int depth;
    };
    std::vector<Span> open{{0, n, 0}};
    while (!open.empty()) {
      const Span span = open.back();
      open.pop_back();
      if (span.end - span.start < 2) continue;
      std::size_t best = span.start + 1;
      std::int64_t highest = std::numeric_limits<std::int64_t>::min();
      for (std::size_t middle = span.start + 1; middle < span.end; ++middle) {
        const std::int64_t smaller = std::min(counts[span.start * (n + 1) + middle - span.start],
                                              counts[middle * (n + 1) + span.end - middle]);
        if (smaller > highest) {
          highest = smaller;
          best = middle;
        }
      }
      scores[best - 1] = float(-span.depth);
      open.push_back({span.start, best, span.depth + 1});
      open.push_back({best, span.end, span.depth + 1});
    }
  }

 private:
  // The splitmix64 finaliser.
  static std::uint64_t finalise(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
  }

  std::int64_t count_of(std::uint64_t hash) const {
    const std::uint64_t* found = std::lower_bound(hashes_, hashes_ + size_, hash);
    return found != hashes_ + size_ && *found == hash ? std::int64_t(counts_[found - hashes_]) : 0;
  }

  const std::uint64_t *hashes_, *counts_;
  std::size_t size_;
};

}  // namespace treetok
