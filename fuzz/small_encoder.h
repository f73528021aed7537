// Encoders with small vocabularies, and what holds for any text that they encode.
#pragma once

#include "encoder.h"
#include "fuzz_input.h"

namespace treetok::fuzz {

// Scores that depend on the letters and look random: all shapes of trees occur.
class ScatteredTrees : public TreeSource {
 public:
  std::unique_ptr<Scratch> scratch() const override { return std::make_unique<Scratch>(); }
  bool split_scores(const char32_t* letters, std::size_t n, float* scores, Scratch&) const override {
    std::uint64_t hash = n;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      hash = folded_product(hash ^ letters[i], 0xA0761D6478BD642F + letters[i + 1]);
      scores[i] = float(hash % 16);
    }
    return true;
  }
};

inline constexpr std::int64_t COST_PER_TOKEN = std::int64_t(1) << 40;

inline const std::vector<std::string>& common_pieces() {
  static const std::vector<std::string> pieces{
      " the", " a", "ing", " ing", " walk", "walk", "ed", "'s", "000", "  ", "\n\n",
      // With letters outside ASCII, of which some have capitals that are two letters, or two lower-case forms.
      u8" straße", u8" élan", u8"é", u8" οδος", u8"日本", u8"👍"};
  return pieces;
}

struct VocabularyOptions {
  bool is_uncased, has_markers, prefers_few_tokens;
};

// Special tokens, all of Unicode by bytes where the profile has them, and these pieces, with repetitions left out.
inline Vocabulary small_vocabulary(const VocabularyOptions& options, const std::vector<std::string>& pieces) {
  const std::int64_t per_token = options.prefers_few_tokens ? COST_PER_TOKEN : 0;
  std::vector<Token> tokens{{"[UNK]", TokenKind::SPECIAL, 0}, {"<s>", TokenKind::SPECIAL, 0},
                            {"<s><s>x", TokenKind::SPECIAL, 0}};
  std::vector<std::string> known;
  const auto add = [&](const std::string& piece) {
    if (piece.empty() || std::find(known.begin(), known.end(), piece) != known.end()) return;
    known.push_back(piece);
    tokens.push_back({piece, TokenKind::PIECE, per_token + std::int64_t(known.size() * 7919 % 1000)});
  };
  if (!options.is_uncased) {
    for (int byte = 0; byte < 0x80; ++byte) add(std::string(1, char(byte)));
    for (int byte = 0x80; byte < 0x100; ++byte) {
      tokens.push_back({std::string(1, char(byte)), TokenKind::BYTE, byte});
    }
  }
  for (const std::string& piece : pieces) add(piece);
  if (options.has_markers && !options.is_uncased) {
    for (TokenKind kind : {TokenKind::JOIN_MARKER, TokenKind::CAP_MARKER, TokenKind::UPPER_MARKER}) {
      tokens.push_back({"", kind, 0});
    }
  }
  return Vocabulary(std::move(tokens), per_token, !options.is_uncased, 0);
}

// Longest first, as for_each_part wants them.
inline const std::vector<SpecialToken>& special_tokens() {
  static const std::vector<SpecialToken> specials{{"<s><s>x", 2}, {"<s>", 1}};
  return specials;
}

inline std::vector<std::uint32_t> ids_of(const IdBuffer& ids) { return {ids.data(), ids.data() + ids.size()}; }

inline void check_words(Profile profile, const Byte* text, std::size_t size) {
  const Byte* at = text;
  split_words(profile, text, size, [&](const Byte* word, std::size_t bytes) {
    MUST(bytes > 0 && word >= at && word + bytes <= text + size);
    MUST(!continues_character(*word) && count_characters(word, bytes) <= LONGEST_WORD);
    // Of `uncased`, spaces are no part of words.
    for (; at < word; ++at) MUST(is_uncased(profile) && *at == ' ');
    at = word + bytes;
  });
  for (; at < text + size; ++at) MUST(is_uncased(profile) && *at == ' ');
  if (profile != Profile::LOSSLESS_2) return;
  // Words of ASCII characters are found in another way than one by one.
  std::vector<const Byte*> at_once, one_by_one;
  split_words(profile, text, size, [&](const Byte* word, std::size_t) { at_once.push_back(word); });
  for (at = text; at < text + size;) {
    const auto add = [&](const Byte* word, std::size_t) { one_by_one.push_back(word); };
    at = LosslessSplitter::split_one(at, text + size, add);
  }
  MUST(at_once == one_by_one);
}

// Words are all of the text; ids stand for it, are the same when its words are known, and have their places in it.
inline void check_text(const Encoder& encoder, const std::string& valid,
                       const std::vector<SpecialToken>& specials) {
  const Exact<Byte> text(valid);
  if (is_uncased(encoder.profile())) {
    std::string normal;
    normalise_uncased(text.data(), text.size(), normal);
    MUST(first_invalid(reinterpret_cast<const Byte*>(normal.data()), normal.size()) == normal.size());
    const Exact<Byte> exact(normal);
    check_words(encoder.profile(), exact.data(), exact.size());
  } else {
    check_words(encoder.profile(), text.data(), text.size());
  }

  IdBuffer ids, again, with_offsets;
  Places offsets;
  Encoder::Worker worker = encoder.worker(), other = encoder.worker();
  encoder.encode(worker, text.data(), text.size(), specials, ids);
  encoder.encode(other, text.data(), text.size(), specials, again);
  encoder.encode_with_offsets(worker, text.data(), text.size(), specials, with_offsets, offsets);
  const std::vector<std::uint32_t> found = ids_of(ids);
  MUST(found == ids_of(again) && found == ids_of(with_offsets));
  MUST(offsets.starts.size() == found.size() && offsets.ends.size() == found.size());
  MUST(offsets.words.size() == found.size());
  for (std::uint32_t id : found) MUST(id < encoder.vocabulary().size());
  // Half of what would be taken is declined.
  IdBuffer half, half_again;
  const Dropout dropout{std::uint64_t(1) << 52, text.size()};
  encoder.encode_sampled(worker, text.data(), text.size(), specials, dropout, 7, half);
  encoder.encode_sampled(other, text.data(), text.size(), specials, dropout, 7, half_again);
  const std::vector<std::uint32_t> sampled = ids_of(half);
  MUST(sampled == ids_of(half_again));

  const auto characters = std::int64_t(count_characters(text.data(), text.size()));
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    MUST(offsets.starts[i] <= offsets.ends[i] && offsets.ends[i] <= characters);
    if (is_uncased(encoder.profile())) {
      MUST(i == 0 || offsets.starts[i] >= offsets.starts[i - 1]);
    } else {
      MUST(offsets.starts[i] == covered);
      covered = offsets.ends[i];
    }
  }
  if (is_uncased(encoder.profile())) return;
  MUST(covered == characters);
  std::string decoded;
  encoder.vocabulary().decode(found.data(), found.size(), {}, "", decoded);
  MUST(decoded == valid);
  decoded.clear();
  encoder.vocabulary().decode(sampled.data(), sampled.size(), {}, "", decoded);
  MUST(decoded == valid);
}

}  // namespace treetok::fuzz
