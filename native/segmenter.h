// A word and its tree to pieces: top-down matching, then post-merge. src/treetok/segment.py is the specification.
#pragma once

#include "dropout.h"
#include "splitter.h"
#include "vocabulary.h"

namespace treetok {

// Characters that a word may have: a bare word may get a space before it.
inline constexpr std::size_t MOST_CHARACTERS = LONGEST_WORD + 1;

// A word with where each character begins in its bytes, and the scores of its splits.
struct ScoredWord {
  const Byte* bytes;
  std::size_t size = 0;
  // One more than there are characters: the last is the end.
  std::uint16_t starts[MOST_CHARACTERS + 1];
  float scores[MOST_CHARACTERS];

  std::string_view span(std::size_t start, std::size_t end) const {
    return {reinterpret_cast<const char*>(bytes) + starts[start], std::size_t(starts[end] - starts[start])};
  }
};

// Where pieces begin, and the end of the word.
struct Cuts {
  std::uint8_t at[MOST_CHARACTERS + 1];
  std::size_t pieces = 0;
};

class Segmenter {
 public:
  explicit Segmenter(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  template <class Declines = DeclineNone>
  Cuts cut(const ScoredWord& word, const Declines& declines = {}) const {
    Cuts cuts = post_merge(word, match_top_down(word, true, declines), declines);
    const unsigned markers = count_markers(word, cuts);
    if (markers == 0) return cuts;
    const Cuts plain = post_merge(word, match_top_down(word, false, declines), declines);
    return plain.pieces < cuts.pieces + markers ? plain : cuts;
  }

 private:
  unsigned count_markers(const ScoredWord& word, const Cuts& cuts) const {
    if (!vocabulary_.has_markers()) return 0;
    unsigned markers = 0;
    for (std::size_t i = 0; i < cuts.pieces; ++i) {
      const std::optional<Piece> piece = vocabulary_.find(word.span(cuts.at[i], cuts.at[i + 1]), true);
      if (piece) markers += piece->count_markers();
    }
    return markers;
  }

  template <class Declines>
  Cuts match_top_down(const ScoredWord& word, bool with_markers, const Declines& declines) const {
    constexpr int LEAF = -1;
    const int splits = int(word.size) - 1;
    int left[MOST_CHARACTERS], right[MOST_CHARACTERS], open[MOST_CHARACTERS];
    int top = 0;
    for (int p = 0; p < splits; ++p) {
      int below = LEAF;
      right[p] = LEAF;
      while (top && word.scores[open[top - 1]] < word.scores[p]) below = open[--top];
      left[p] = below;
      if (top) right[open[top - 1]] = p;
      open[top++] = p;
    }
    struct Node {
      int start, end, split;
    };
    Node stack[MOST_CHARACTERS + 1];
    int depth = 0;
    stack[depth++] = {0, int(word.size), top ? open[0] : LEAF};
    Cuts cuts;
    while (depth) {
      const Node node = stack[--depth];
      const auto span = [&] { return word.span(std::size_t(node.start), std::size_t(node.end)); };
      if (node.split == LEAF || (std::size_t(node.end - node.start) <= vocabulary_.longest() &&
                                 vocabulary_.find(span(), with_markers) &&
                                 !declines(std::size_t(node.start), std::size_t(node.end)))) {
        cuts.at[cuts.pieces++] = std::uint8_t(node.start);
      } else {
        stack[depth++] = {node.split + 1, node.end, right[node.split]};
        stack[depth++] = {node.start, node.split + 1, left[node.split]};
      }
    }
    cuts.at[cuts.pieces] = std::uint8_t(word.size);
    return cuts;
  }

  template <class Declines>
  Cuts post_merge(const ScoredWord& word, const Cuts& cuts, const Declines& declines) const {
    if (cuts.pieces <= 1) return cuts;
    std::int64_t best[MOST_CHARACTERS + 1];
    std::size_t last_start[MOST_CHARACTERS + 1];
    best[0] = 0;
    for (std::size_t end = 1; end <= cuts.pieces; ++end) {
      const std::optional<Piece> own = vocabulary_.find(word.span(cuts.at[end - 1], cuts.at[end]), true);
      best[end] = best[end - 1] + (own ? own->cost : vocabulary_.unknown_cost());
      last_start[end] = end - 1;
      for (std::size_t start = end - 1; start-- > 0;) {
        if (std::size_t(cuts.at[end] - cuts.at[start]) > vocabulary_.longest()) break;
        const std::optional<Piece> token = vocabulary_.find(word.span(cuts.at[start], cuts.at[end]), false);
        if (token && best[start] + token->cost < best[end] && !declines(cuts.at[start], cuts.at[end])) {
          best[end] = best[start] + token->cost;
          last_start[end] = start;
        }
      }
    }
    Cuts merged;
    std::size_t count = 0;
    for (std::size_t end = cuts.pieces; end; end = last_start[end]) ++count;
    merged.pieces = count;
    merged.at[count] = std::uint8_t(word.size);
    for (std::size_t end = cuts.pieces; end; end = last_start[end]) merged.at[--count] = cuts.at[last_start[end]];
    return merged;
  }

  const Vocabulary& vocabulary_;
};

}  // namespace treetok
