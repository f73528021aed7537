// The light parser: a small transformer over the letters of a word that scores its splits, one word at a time.
//
// Gives the same bits as src/treetok/sources/parser.py, the reference: sums are sums of integers, which are exact
// in any order, and all else is done element by element, with the operations of the reference in its order.
// Needs a compiler that does not fuse multiplications with additions (-ffp-contract=off).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytes_hash.h"
#include "processor.h"

namespace treetok {

// A stored array of the parser, by rows: 16-bit floats, or 8-bit integers if it has a factor for each row.
struct ParserArray {
  const void* data;
  bool is_int8;
  size_t rows, columns;
  // Keeps the data; what has no owner is copied.
  std::shared_ptr<const void> owner = nullptr;
};

// Named as in ParserTrees; a vector is an array of one column.
using ParserWeights = std::map<std::string, ParserArray>;

namespace parser {

// As in parser_layers.py.
constexpr int LARGEST_EXACT = 1 << 24;
constexpr int INPUT_LIMIT = 1023, WEIGHT_LIMIT = 2047, SOFTMAX_LIMIT = 1023, VALUE_LIMIT = 2047;
constexpr double NORM_EPSILON = 1e-5, LOG2_E = 1.4426950408889634;
constexpr float TINY = 1e-30f;
constexpr float ROUND = 3 << 22;
constexpr float EXP2[] = {0.6931241931f, 0.2402409863f, 0.05590642727f, 0.009582853006f};
constexpr float LARGEST_EXPONENT = 126;
constexpr float GELU_1 = static_cast<float>(-1.5957691216057 * LOG2_E);
constexpr float GELU_3 = static_cast<float>(-0.0713548162726 * LOG2_E);

constexpr size_t LONGEST_WORD = 64;
// Outputs are computed in blocks of so many, the number of 32-bit integers in the widest vectors and a cache line.
constexpr size_t BLOCK = 16;
constexpr uint32_t UNKNOWN_CHARACTER = 1, FIRST_CHARACTER = 2;

constexpr size_t in_blocks(size_t n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }
constexpr size_t in_pairs(size_t n) { return (n + 1) / 2; }

// An array of zeros that starts at a cache line.
template <class T>
class Array {
 public:
  explicit Array(size_t size = 0)
      : data_(static_cast<T*>(::operator new(std::max<size_t>(size, 1) * sizeof(T), ALIGNMENT))), size_(size) {
    std::fill_n(data_.get(), size, T());
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  static constexpr std::align_val_t ALIGNMENT{64};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, ALIGNMENT); }
  };
  std::unique_ptr<T, Delete> data_;
  size_t size_;
};

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline float float_of_half(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return float_of(sign | 0x7F800000 | fraction << 13);
  // Subnormal numbers, too: the integer is below 2048, and the power of two is exact.
  const float size =
      exponent ? float_of((exponent + 112) << 23 | fraction << 13) : static_cast<float>(fraction) / (1 << 24);
  return sign ? -size : size;
}

inline int limit_of_squares(size_t terms) {
  int of_each = LARGEST_EXACT / static_cast<int>(terms), root = 0;
  while ((root + 1) * (root + 1) <= of_each) ++root;
  return root;
}

// Throws std::invalid_argument for infinities and what is not a number: their integers would be undefined.
inline Array<float> floats_of(const ParserArray& stored) {
  const uint16_t* halves = static_cast<const uint16_t*>(stored.data);
  Array<float> floats(stored.rows * stored.columns);
  for (size_t i = 0; i < floats.size(); ++i) {
    if ((halves[i] & 0x7C00) == 0x7C00) throw std::invalid_argument("the weights of the parser are not all finite");
    floats[i] = float_of_half(halves[i]);
  }
  return floats;
}

// Integers for 16 outputs at a time; for each pair of inputs, the two weights of every output.
inline size_t weight_at(size_t output, size_t input, size_t pairs) {
  return ((output / BLOCK * pairs + input / 2) * BLOCK + output % BLOCK) * 2 + input % 2;
}

struct Linear {
  size_t inputs, outputs;
  Array<int16_t> weights;
  Array<float> step, bias;

  Linear(size_t inputs, size_t outputs)
      : inputs(inputs),
        outputs(outputs),
        weights(in_blocks(outputs) * in_pairs(inputs) * 2),
        step(in_blocks(outputs)),
        bias(in_blocks(outputs)) {}

  Linear(const ParserArray& weight, const ParserArray& bias) : Linear(weight.columns, weight.rows) {
    Array<float> of_weight = floats_of(weight), of_bias = floats_of(bias);
    for (size_t o = 0; o < outputs; ++o) set_output(o, of_weight.data() + o * inputs, of_bias[o]);
  }

  void set_output(size_t output, const float* weight, float with_bias) {
    int largest_sum = LARGEST_EXACT / INPUT_LIMIT - static_cast<int>(inputs / 2) - 1;
    double largest = 0, sum = 0;
    for (size_t k = 0; k < inputs; ++k) {
      largest = std::max(largest, std::fabs(static_cast<double>(weight[k])));
      sum += std::fabs(static_cast<double>(weight[k]));
    }
    double of_output = std::max(largest / WEIGHT_LIMIT, sum / largest_sum);
    step[output] = std::max(static_cast<float>(of_output), TINY);
    bias[output] = with_bias;
    for (size_t k = 0; k < inputs; ++k) {
      float nearest = std::nearbyint(weight[k] / step[output]);
      weights[weight_at(output, k, in_pairs(inputs))] = static_cast<int16_t>(nearest);
    }
  }
};

struct Norm {
  Array<float> weight, bias;
  Norm(const ParserArray& weight, const ParserArray& bias) : weight(floats_of(weight)), bias(floats_of(bias)) {}
};

struct Layer {
  Norm norm_before_attention;
  Linear qkv, attended;
  Norm norm_before_hidden;
  Linear hidden, output;
};

// The embeddings of morphemes are most of the memory, and stay integers.
struct Embeddings {
  size_t width = 0;
  Array<float> floats;
  const int8_t* integers = nullptr;
  std::shared_ptr<const void> owner;
  Array<float> factor;

  Embeddings(const ParserArray& stored, const ParserArray* factors) : width(stored.columns) {
    if (factors) {
      integers = static_cast<const int8_t*>(stored.data);
      owner = stored.owner;
      if (!owner) {
        auto copy = std::make_shared<std::vector<int8_t>>(integers, integers + stored.rows * stored.columns);
        integers = copy->data();
        owner = copy;
      }
      factor = floats_of(*factors);
    } else {
      floats = floats_of(stored);
    }
  }

  void fetch(size_t row) const {
    if (integers) fetch_ahead(integers + row * width);
  }
};

struct Network {
  size_t d, heads, hidden;
  int norm_limit, head_limit;
  float score_scale;
  Embeddings letter, place_from_start, place_from_end, begin, inside, end;
  std::vector<Layer> layers;
  Norm last_norm;
  // What a letter adds as the left one of a pair, then what it adds as the right one.
  Linear pair_hidden;
  Linear pair_score;
  Array<float> ones, zeros;

  // Starts to fetch the embeddings of a morpheme, which are read soon.
  void fetch_morpheme(size_t row, size_t width) const {
    begin.fetch(row);
    if (width > 2) inside.fetch(row);
    end.fetch(row);
  }

  // Of rows with anything in them: whatever is computed of a letter, in whole blocks, and one block that attention
  // may write beyond.
  size_t row_size() const { return in_blocks(std::max({3 * d, 2 * hidden, LONGEST_WORD})) + BLOCK; }
};

struct Morpheme {
  uint32_t row, start, width;
};

}  // namespace parser

// Memory for one word at a time; each thread needs its own. Any parser can use it.
class ParserScratch {
 public:
  std::vector<uint32_t> characters;
  std::vector<parser::Morpheme> morphemes;
  std::vector<uint64_t> hashes;
  parser::Array<float> x, y, z, step;
  std::vector<float> head_steps;
  std::array<int16_t, parser::BLOCK> no_value{};
  parser::Array<int16_t> integers, packed, softmax;
  // True once a number was not finite.
  bool overflow = false;

  void reserve(const parser::Network& net, size_t letters) {
    using parser::in_blocks;
    size_t widest = net.row_size();
    grow(x, letters * in_blocks(net.d));
    grow(y, letters * widest);
    grow(z, letters * widest);
    grow(step, widest);
    grow(integers, letters * widest);
    grow(softmax, letters * parser::LONGEST_WORD);
    size_t head = net.d / net.heads;
    grow(packed, in_blocks(std::max(letters, head)) * (std::max(letters, head) + 2));
  }

 private:
  template <class T>
  static void grow(parser::Array<T>& array, size_t size) {
    if (array.size() < size) array = parser::Array<T>(size);
  }
};

}  // namespace treetok

// The arithmetic, compiled once for every set of instructions.
#define TREETOK_INSTRUCTIONS baseline
#include "parser_layers.h"
#undef TREETOK_INSTRUCTIONS

#ifdef TREETOK_CHOOSES_INSTRUCTIONS
#define TREETOK_INSTRUCTIONS avx2
#define TREETOK_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#include "parser_layers.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef TREETOK_AVX2
#undef TREETOK_INSTRUCTIONS

#define TREETOK_INSTRUCTIONS avx512
#define TREETOK_AVX512
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif
#include "parser_layers.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef TREETOK_INSTRUCTIONS

// VNNI: products of integers and their sum in one instruction.
#define TREETOK_INSTRUCTIONS avx512_vnni
#define TREETOK_VNNI
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif
#include "parser_layers.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef TREETOK_VNNI
#undef TREETOK_AVX512
#undef TREETOK_INSTRUCTIONS
#endif

namespace treetok {

class Parser {
 public:
  // The words that `split_scores` takes.
  static constexpr size_t LONGEST_WORD = parser::LONGEST_WORD;
  using Scratch = ParserScratch;

  // Copies what it needs. `characters` and `morphemes` are sorted, by code points. Throws std::invalid_argument if
  // the arrays do not fit together, or this processor does not have the instructions (default: the best it has).
  Parser(const ParserWeights& weights, size_t heads, std::u32string_view characters,
         const std::vector<std::u32string>& morphemes, std::string_view instructions = "")
      : net_(network_of(weights, heads, characters.size(), morphemes.size())),
        characters_(characters),
        forward_(forward_with(instructions)) {
    for (uint32_t code = 0; code < latin_.size(); ++code) latin_[code] = search_character(code);
    index(morphemes);
  }

  // Writes the n - 1 split scores of a word of n letters, 2 to LONGEST_WORD; each span is split at its highest
  // score. False if the scores are not all finite numbers, which only weights that nobody trained can cause.
  [[nodiscard]] bool split_scores(const char32_t* letters, size_t n, float* scores, Scratch& scratch) const {
    if (n < 2 || n > LONGEST_WORD) throw std::invalid_argument("a word for the parser has 2 to 64 letters");
    scratch.reserve(net_, n);
    scratch.characters.resize(n);
    for (size_t i = 0; i < n; ++i) {
      scratch.characters[i] = letters[i] < latin_.size() ? latin_[letters[i]] : search_character(letters[i]);
    }
    find_morphemes(letters, n, scratch);
    return forward_(net_, n, scores, scratch);
  }

  // The sets of instructions that this processor has, the best one last.
  static std::vector<std::string> instructions() {
    std::vector<std::string> names;
    for (const auto& [name, forward] : variants()) names.emplace_back(name);
    return names;
  }

 private:
  using Forward = bool (*)(const parser::Network&, size_t, float*, Scratch&);
  struct Slot {
    uint32_t fingerprint = 0, row = 0;
  };
  // Sums are exact up to this number of terms. As in parser.py.
  static constexpr size_t LARGEST_SIZE = 4096;

  parser::Network net_;
  std::u32string characters_;
  std::array<uint32_t, 256> latin_{};
  // Morphemes by hash: the slot of a hash, or one of the next. Row 0 is no morpheme, and its text is empty.
  std::vector<Slot> slots_;
  std::u32string text_;
  std::vector<uint32_t> ends_;
  size_t longest_ = 0;
  Forward forward_;

  static std::vector<std::pair<std::string_view, Forward>> variants() {
    std::vector<std::pair<std::string_view, Forward>> found{{"baseline", parser::baseline::forward}};
#ifdef TREETOK_CHOOSES_INSTRUCTIONS
    if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2", parser::avx2::forward);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      found.emplace_back("avx512", parser::avx512::forward);
      if (__builtin_cpu_supports("avx512vnni")) found.emplace_back("avx512_vnni", parser::avx512_vnni::forward);
    }
#endif
    return found;
  }

  static Forward forward_with(std::string_view instructions) {
    auto all = variants();
    if (instructions.empty()) return all.back().second;
    for (const auto& [name, forward] : all) {
      if (name == instructions) return forward;
    }
    throw std::invalid_argument("this processor does not have the instructions " + std::string(instructions));
  }

  static const ParserArray& array_of(const ParserWeights& weights, const std::string& name, size_t rows,
                                     size_t columns, bool is_int8 = false) {
    auto found = weights.find(name);
    if (found == weights.end()) throw std::invalid_argument("the parser has no weights " + name);
    const ParserArray& stored = found->second;
    if (stored.rows != rows || stored.columns != columns || stored.is_int8 != is_int8) {
      throw std::invalid_argument("the weights " + name + " of the parser do not have the expected shape or type");
    }
    return stored;
  }

  static size_t rows_of(const ParserWeights& weights, const std::string& name) {
    auto found = weights.find(name);
    size_t rows = found == weights.end() ? 0 : found->second.rows;
    if (rows < 1 || rows > LARGEST_SIZE) throw std::invalid_argument("the size of " + name + " is out of range");
    return rows;
  }

  static parser::Network network_of(const ParserWeights& weights, size_t heads, size_t characters,
                                    size_t morphemes) {
    using namespace parser;
    size_t d = rows_of(weights, "last_norm.weight"), hidden = rows_of(weights, "pair_hidden.bias");
    size_t places = rows_of(weights, "place_from_start"), rows = morphemes ? morphemes + 1 : 0;
    if (heads < 1 || d % heads) throw std::invalid_argument("the heads do not divide the width of the parser");
    auto embeddings = [&](const std::string& name, size_t of_rows) {
      return Embeddings(array_of(weights, name, of_rows, d), nullptr);
    };
    auto of_morphemes = [&](const std::string& name) {
      if (!weights.count(name + ".factor")) return embeddings(name, rows);
      return Embeddings(array_of(weights, name, rows, d, true), &array_of(weights, name + ".factor", rows, 1));
    };
    auto norm = [&](const std::string& name) {
      return Norm(array_of(weights, name + ".weight", d, 1), array_of(weights, name + ".bias", d, 1));
    };
    auto linear = [&](const std::string& name, size_t outputs, size_t inputs) {
      return Linear(array_of(weights, name + ".weight", outputs, inputs),
                    array_of(weights, name + ".bias", outputs, 1));
    };
    std::vector<Layer> layers;
    for (size_t number = 0; weights.count("layers." + std::to_string(number) + ".qkv.weight"); ++number) {
      std::string n = "layers." + std::to_string(number);
      layers.push_back(Layer{norm(n + ".norm_before_attention"), linear(n + ".qkv", 3 * d, d),
                             linear(n + ".attended", d, d), norm(n + ".norm_before_hidden"),
                             linear(n + ".hidden", hidden, d), linear(n + ".output", d, hidden)});
    }
    Linear pair_hidden(d, 2 * hidden);
    Array<float> of_pair = floats_of(array_of(weights, "pair_hidden.weight", hidden, 2 * d));
    Array<float> bias = floats_of(array_of(weights, "pair_hidden.bias", hidden, 1));
    for (size_t o = 0; o < hidden; ++o) {
      pair_hidden.set_output(o, of_pair.data() + o * 2 * d, bias[o]);
      pair_hidden.set_output(hidden + o, of_pair.data() + (o * 2 + 1) * d, 0);
    }
    Array<float> ones(in_blocks(std::max(d, LONGEST_WORD))), zeros(ones.size());
    std::fill_n(ones.data(), ones.size(), 1.0f);
    size_t head = d / heads;
    float score_scale = static_cast<float>(std::pow(static_cast<double>(head), -0.5) * LOG2_E);
    return Network{d,
                   heads,
                   hidden,
                   limit_of_squares(d),
                   limit_of_squares(head),
                   score_scale,
                   embeddings("letter", characters + FIRST_CHARACTER),
                   embeddings("place_from_start", places),
                   embeddings("place_from_end", places),
                   of_morphemes("begin"),
                   of_morphemes("inside"),
                   of_morphemes("end"),
                   std::move(layers),
                   norm("last_norm"),
                   std::move(pair_hidden),
                   linear("pair_score", 1, hidden),
                   std::move(ones),
                   std::move(zeros)};
  }

  uint32_t search_character(char32_t letter) const {
    auto found = std::lower_bound(characters_.begin(), characters_.end(), letter);
    if (found == characters_.end() || *found != letter) return parser::UNKNOWN_CHARACTER;
    return static_cast<uint32_t>(found - characters_.begin()) + parser::FIRST_CHARACTER;
  }

  static uint64_t mixed(uint64_t hash) {
    hash = (hash ^ hash >> 32) * 0xBF58476D1CE4E5B9;
    return hash ^ hash >> 29;
  }

  void index(const std::vector<std::u32string>& morphemes) {
    size_t size = 2;
    while (size < 2 * morphemes.size()) size *= 2;
    slots_.resize(size);
    ends_.push_back(0);
    for (const std::u32string& morpheme : morphemes) {
      if (morpheme.size() < 2) throw std::invalid_argument("a morpheme of the parser has fewer than two letters");
      uint32_t row = static_cast<uint32_t>(ends_.size());
      text_ += morpheme;
      ends_.push_back(static_cast<uint32_t>(text_.size()));
      longest_ = std::max(longest_, morpheme.size());
      uint64_t hash = 0;
      for (char32_t letter : morpheme) hash = (hash + letter + 1) * HASH_KEY.second;
      hash = mixed(hash);
      size_t at = hash & (size - 1);
      for (; slots_[at].row; at = (at + 1) & (size - 1)) {
        if (is_at(slots_[at], hash, morpheme)) throw std::invalid_argument("a morpheme of the parser appears twice");
      }
      slots_[at] = {static_cast<uint32_t>(hash >> 32), row};
    }
  }

  uint32_t row_of(uint64_t hash, std::u32string_view span) const {
    for (size_t at = hash & (slots_.size() - 1); slots_[at].row; at = (at + 1) & (slots_.size() - 1)) {
      if (is_at(slots_[at], hash, span)) return slots_[at].row;
    }
    return 0;
  }

  // Whether the morpheme of a slot that is not empty is this one.
  bool is_at(const Slot& slot, uint64_t hash, std::u32string_view morpheme) const {
    const uint32_t start = ends_[slot.row - 1], end = ends_[slot.row];
    return slot.fingerprint == static_cast<uint32_t>(hash >> 32) &&
           morpheme == std::u32string_view(text_.data() + start, end - start);
  }

  // In the order in which their embeddings are added: the shortest first, and those of one width from the right.
  void find_morphemes(const char32_t* letters, size_t n, Scratch& scratch) const {
    const size_t longest = std::min(longest_, n);
    scratch.morphemes.clear();
    scratch.hashes.resize(n);
    uint64_t* hashes = scratch.hashes.data();
    const size_t mask = slots_.size() - 1;
    const uint64_t base = HASH_KEY.second;
    for (size_t start = 0; start < n; ++start) hashes[start] = (letters[start] + uint64_t{1}) * base;
    for (size_t width = 2; width <= longest; ++width) {
      // All of one width first: their slots come from memory while the others are computed.
      const size_t starts = n - width + 1;
      for (size_t start = 0; start < starts; ++start) {
        hashes[start] = (hashes[start] + letters[start + width - 1] + 1) * base;
        fetch_ahead(&slots_[mixed(hashes[start]) & mask]);
      }
      for (size_t start = starts; start-- > 0;) {
        const uint32_t row = row_of(mixed(hashes[start]), {letters + start, width});
        if (!row) continue;
        scratch.morphemes.push_back({row, static_cast<uint32_t>(start), static_cast<uint32_t>(width)});
        net_.fetch_morpheme(row, width);
      }
    }
  }
};

}  // namespace treetok
