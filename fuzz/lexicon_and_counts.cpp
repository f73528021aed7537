// The arrays of lexicons and of n-gram counts, from a stranger.
#include "encoder.h"
#include "fuzz_input.h"

using namespace treetok;
using namespace treetok::fuzz;

namespace {

void try_lexicon(Input& input) {
  std::string text, lengths, depths;
  if (input.flag()) {
    lengths = input.bytes(input.below(64));
    depths = input.bytes(input.below(256));
    text = input.rest();
  } else {
    // Arrays that fit together, but for one byte perhaps.
    const bool is_damaged = input.flag();
    const std::size_t damaged = input.below(256);
    const std::uint8_t damage = input.number();
    std::vector<std::string> words;
    while (input.left() && words.size() < 64) words.push_back(made_valid(input.bytes(2 + input.below(30))));
    std::sort(words.begin(), words.end());
    for (const std::string& word : words) {
      const std::size_t length = count_characters(reinterpret_cast<const Byte*>(word.data()), word.size());
      text += word;
      lengths += char(length);
      depths.append(length - (length > 0), char(length));
    }
    std::string& victim = damage % 3 == 0 ? text : damage % 3 == 1 ? lengths : depths;
    if (is_damaged && !victim.empty()) victim[damaged % victim.size()] = char(damage);
    // Or one array is shorter or longer.
    if (is_damaged && damage >= 0xC0) victim.resize(damaged % (victim.size() + 3));
  }
  const Exact<Byte> exact_text(text);
  const Exact<std::uint8_t> exact_lengths(lengths), exact_depths(depths);
  try {
    const Lexicon lexicon(exact_text.data(), exact_text.size(), exact_lengths.data(), exact_lengths.size(),
                          exact_depths.data(), exact_depths.size());
    const auto look_up = [&](const std::string& word) {
      const std::uint8_t* found = lexicon.depths_of(word);
      if (!found) return false;
      const std::size_t n = count_characters(reinterpret_cast<const Byte*>(word.data()), word.size());
      MUST(found >= exact_depths.data() && found + n - 1 <= exact_depths.data() + exact_depths.size());
      return true;
    };
    const Byte* at = exact_text.data();
    bool is_sorted = true;
    std::vector<std::string> words;
    for (std::size_t word = 0; word < exact_lengths.size(); ++word) {
      const Byte* start = at;
      for (unsigned i = 0; i < exact_lengths.data()[word]; ++i) next_character(at);
      words.emplace_back(reinterpret_cast<const char*>(start), std::size_t(at - start));
      is_sorted = is_sorted && (words.size() < 2 || words[words.size() - 2] < words.back());
    }
    for (const std::string& word : words) MUST(look_up(word) || !is_sorted);
    for (const std::string& word : {std::string(), std::string("zz"), text}) look_up(word);
  } catch (const std::invalid_argument&) {
  }
}

void try_counts(Input& input) {
  std::vector<std::uint64_t> hashes;
  const std::size_t size = input.below(64);
  for (std::size_t i = 0; i < size; ++i) hashes.push_back(input.number<std::uint64_t>());
  if (input.flag()) {
    std::sort(hashes.begin(), hashes.end());
    hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  }
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < hashes.size(); ++i) counts.push_back(input.number<std::uint64_t>());
  const Exact<std::uint64_t> exact_hashes(hashes), exact_counts(counts);
  const std::string text = made_valid(input.rest());
  std::u32string letters = to_characters(reinterpret_cast<const Byte*>(text.data()), text.size());
  if (letters.size() > MOST_CHARACTERS) letters.resize(MOST_CHARACTERS);
  if (letters.size() < 2) return;
  try {
    const CountTrees trees(exact_hashes.data(), exact_counts.data(), exact_hashes.size());
    const Exact<char32_t> exact(letters.data(), letters.size());
    const std::unique_ptr<float[]> scores(new float[letters.size() - 1]);
    std::fill_n(scores.get(), letters.size() - 1, 1.0f);
    trees.split_scores(exact.data(), letters.size(), scores.get());
    for (std::size_t i = 0; i + 1 < letters.size(); ++i) MUST(scores[i] <= 0);
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  input.flag() ? try_lexicon(input) : try_counts(input);
  return 0;
}
