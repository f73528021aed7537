// Encodes texts with a tokenizer that check_dispatch.py has written down, without Python, and prints their ids; of
// parsers also the scores of words, with all instructions that there are.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "encoder.h"

using namespace treetok;

namespace {

// Arrays, one after the other, each behind its size in bytes.
class Arrays {
 public:
  explicit Arrays(const char* file) {
    std::ifstream stream(file, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }

  template <class Value>
  std::vector<Value> next() {
    std::uint64_t size;
    std::memcpy(&size, bytes_.data() + at_, sizeof size);
    std::vector<Value> values(size / sizeof(Value));
    if (size) std::memcpy(values.data(), bytes_.data() + at_ + sizeof size, size);
    at_ += sizeof size + size;
    return values;
  }

  // Strings, of which the lengths come first.
  template <class String>
  std::vector<String> strings() {
    const auto lengths = next<std::uint64_t>();
    const auto characters = next<typename String::value_type>();
    std::vector<String> found;
    std::size_t start = 0;
    for (std::uint64_t length : lengths) {
      found.emplace_back(characters.data() + start, length);
      start += length;
    }
    return found;
  }

 private:
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

void print(const Encoder& encoder, Encoder::Worker& worker, const std::string& text) {
  IdBuffer ids;
  encoder.encode(worker, reinterpret_cast<const Byte*>(text.data()), text.size(), {}, ids);
  for (std::size_t i = 0; i < ids.size(); ++i) std::printf("%" PRIu32 " ", ids.data()[i]);
  std::printf("\n");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Arrays arrays(arguments[1]);
  const auto numbers = arrays.next<std::int64_t>();
  const auto profile = Profile(numbers[0]);
  const auto names = arrays.strings<std::string>();
  const auto kinds = arrays.next<std::uint8_t>();
  const auto costs = arrays.next<std::int64_t>();
  std::vector<Token> tokens;
  for (std::size_t id = 0; id < names.size(); ++id) tokens.push_back({names[id], TokenKind(kinds[id]), costs[id]});
  const auto text = arrays.next<Byte>(), lengths = arrays.next<Byte>(), depths = arrays.next<Byte>();
  const Lexicon lexicon(text.data(), text.size(), lengths.data(), lengths.size(), depths.data(), depths.size());

  std::vector<std::uint64_t> hashes, counts;
  std::vector<std::vector<std::uint8_t>> memory;
  ParserWeights weights;
  std::u32string characters;
  std::vector<std::u32string> morphemes;
  const bool has_parser = numbers[3] != 0;
  if (has_parser) {
    characters = arrays.strings<std::u32string>().at(0);
    morphemes = arrays.strings<std::u32string>();
    for (const std::string& name : arrays.strings<std::string>()) {
      const auto shape = arrays.next<std::int64_t>();
      memory.push_back(arrays.next<std::uint8_t>());
      weights[name] = {memory.back().data(), shape[0] != 0, std::size_t(shape[1]), std::size_t(shape[2])};
    }
  } else {
    hashes = arrays.next<std::uint64_t>();
    counts = arrays.next<std::uint64_t>();
  }
  const auto texts = arrays.strings<std::string>();
  const auto words = arrays.strings<std::u32string>();

  std::optional<Parser> parser;
  std::unique_ptr<TreeSource> source;
  if (has_parser) {
    parser.emplace(weights, std::size_t(numbers[4]), characters, morphemes);
    source = std::make_unique<ParserSource>(*parser);
  } else {
    source = std::make_unique<CountSource>(CountTrees(hashes.data(), counts.data(), hashes.size()));
  }
  const Encoder encoder(profile, Vocabulary(tokens, numbers[1], !is_uncased(profile), std::uint32_t(numbers[2])), lexicon,
                        std::move(source));
  Encoder::Worker worker = encoder.worker();
  // Words are unknown, then known; the last texts are long.
  for (int time = 0; time < 2; ++time) {
    for (const std::string& one : texts) print(encoder, worker, one);
  }
  if (!has_parser) return 0;
  for (const std::string& instructions : Parser::instructions()) {
    std::fprintf(stderr, "%s ", instructions.c_str());
    const Parser with(weights, std::size_t(numbers[4]), characters, morphemes, instructions);
    Parser::Scratch scratch;
    for (const std::u32string& word : words) {
      std::vector<float> scores(word.size() - 1);
      if (!with.split_scores(word.data(), word.size(), scores.data(), scratch)) return 1;
      for (float score : scores) {
        std::uint32_t bits;
        std::memcpy(&bits, &score, sizeof bits);
        std::printf("%08" PRIx32 " ", bits);
      }
      std::printf("\n");
    }
  }
  return 0;
}
