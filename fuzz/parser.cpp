// The arrays of parsers, from a stranger; then the scores of words, which are the same bits with all instructions.
#include "parser.h"

#include "fuzz_input.h"

using namespace treetok;
using namespace treetok::fuzz;

namespace {

// Arrays, each in memory of exactly its size.
class Arrays {
 public:
  explicit Arrays(Input& input) : input_(input) {
    damaged_ = input.flag() ? input.below(64) : SIZE_MAX;
    damage_ = input.number();
    seed_ = input.number<std::uint64_t>() | 1;
    floats_ = input.number() % 3;
  }

  void add(const std::string& name, std::size_t rows, std::size_t columns, bool is_int8 = false) {
    if (weights.size() == damaged_) {
      switch (damage_ % 6) {
        case 0: ++damaged_; return;
        case 1: rows = damage_ / 6; break;
        case 2: columns = damage_ / 6; break;
        case 3: is_int8 = !is_int8; break;
        case 4: std::swap(rows, columns); break;
        default: rows += 1; break;
      }
    }
    const std::size_t bytes = rows * columns * (is_int8 ? 1 : 2);
    memory_.emplace_back(new std::uint8_t[bytes]);
    for (std::size_t i = 0; i < bytes; i += is_int8 ? 1 : 2) {
      seed_ ^= seed_ << 13, seed_ ^= seed_ >> 7, seed_ ^= seed_ << 17;
      // The first few come from the fuzzer.
      std::uint16_t value = i < 4 && input_.left() ? input_.number<std::uint16_t>() : std::uint16_t(seed_);
      if (!is_int8) value = float_like(value);
      std::memcpy(memory_.back().get() + i, &value, is_int8 ? 1 : 2);
    }
    weights[name] = {memory_.back().get(), is_int8, rows, columns};
  }

  ParserWeights weights;

 private:
  // Any 16 bits; any finite number; or numbers as small as those of a trained parser.
  std::uint16_t float_like(std::uint16_t value) const {
    if (floats_ == 0) return value;
    if (floats_ == 1) return (value & 0x7C00) == 0x7C00 ? std::uint16_t(value ^ 0x0400) : value;
    return std::uint16_t((value & 0x83FF) | 0x3000);
  }

  Input& input_;
  std::size_t damaged_;
  unsigned damage_;
  std::uint64_t seed_;
  int floats_;
  std::vector<std::unique_ptr<std::uint8_t[]>> memory_;
};

std::u32string some_letters(Input& input, std::size_t most) {
  const std::string text = made_valid(input.bytes(input.below(most * 2 + 1)));
  std::u32string letters = to_characters(reinterpret_cast<const Byte*>(text.data()), text.size());
  if (letters.size() > most) letters.resize(most);
  return letters;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t head = 1 + input.below(20), heads = 1 + input.below(4), d = head * heads;
  const std::size_t hidden = 1 + input.below(40), places = 1 + input.below(6), layers = input.below(3);
  const std::size_t wanted_heads = input.number() == 0 ? input.number() : heads;
  std::u32string characters = some_letters(input, 40);
  if (input.flag()) std::sort(characters.begin(), characters.end());
  std::vector<std::u32string> morphemes;
  for (std::size_t count = input.below(6); count > 0; --count) morphemes.push_back(some_letters(input, 80));
  const std::u32string word = some_letters(input, 70);
  const std::size_t rows = morphemes.empty() ? 0 : morphemes.size() + 1;

  Arrays arrays(input);
  arrays.add("letter", characters.size() + 2, d);
  arrays.add("place_from_start", places, d);
  arrays.add("place_from_end", places, d);
  for (const std::string name : {"begin", "inside", "end"}) {
    const bool is_int8 = input.flag();
    arrays.add(name, rows, d, is_int8);
    if (is_int8) arrays.add(name + ".factor", rows, 1);
  }
  const auto linear = [&](const std::string& name, std::size_t outputs, std::size_t inputs) {
    arrays.add(name + ".weight", outputs, inputs);
    arrays.add(name + ".bias", outputs, 1);
  };
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::string name = "layers." + std::to_string(layer);
    for (const char* norm : {".norm_before_attention", ".norm_before_hidden"}) {
      arrays.add(name + norm + ".weight", d, 1);
      arrays.add(name + norm + ".bias", d, 1);
    }
    linear(name + ".qkv", 3 * d, d);
    linear(name + ".attended", d, d);
    linear(name + ".hidden", hidden, d);
    linear(name + ".output", d, hidden);
  }
  arrays.add("last_norm.weight", d, 1);
  arrays.add("last_norm.bias", d, 1);
  linear("pair_hidden", hidden, 2 * d);
  linear("pair_score", 1, hidden);

  const Exact<char32_t> letters(word.data(), word.size());
  std::vector<float> expected;
  for (const std::string& instructions : Parser::instructions()) {
    try {
      const Parser parser(arrays.weights, wanted_heads, characters, morphemes, instructions);
      Parser::Scratch scratch;
      std::vector<float> scores(word.size());
      // A short word after a long one finds what that one left in memory.
      for (std::size_t n : {word.size(), word.size() / 2}) {
        if (n == 0) continue;
        const std::unique_ptr<float[]> exact(new float[n - 1 + (n < 2)]);
        if (!parser.split_scores(letters.data(), n, exact.get(), scratch)) return 0;
        if (n == word.size()) std::copy_n(exact.get(), n - 1, scores.begin());
      }
      for (float score : scores) MUST(std::isfinite(score));
      MUST(expected.empty() || std::memcmp(expected.data(), scores.data(), scores.size() * sizeof(float)) == 0);
      expected = scores;
    } catch (const std::invalid_argument&) {
      MUST(expected.empty());
      return 0;
    }
  }
  return 0;
}
