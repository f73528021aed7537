// The arithmetic of the parser for one set of instructions. Included by parser.h several times: no include guard.
//
// Rows are letters. Loops over floats are plain: the compiler turns them into vectors.

namespace treetok::parser::TREETOK_INSTRUCTIONS {

// ---- vectors of 32-bit integers

#if defined(TREETOK_AVX512)
using Vector = __m512i;
constexpr size_t LANES = 16;
constexpr int MAX_ROWS = 12;
inline Vector zero() { return _mm512_setzero_si512(); }
inline Vector load(const int16_t* weights) { return _mm512_loadu_si512(weights); }
inline Vector pair(int32_t inputs) { return _mm512_set1_epi32(inputs); }
inline Vector add_products(Vector sum, Vector inputs, Vector weights) {
#if defined(TREETOK_VNNI)
  // Not by its intrinsic, around which GCC 12 copies all sums twice.
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(inputs), "v"(weights));
  return sum;
#else
  return _mm512_add_epi32(sum, _mm512_madd_epi16(inputs, weights));
#endif
}
inline void store(Vector sum, float x_step, const float* step, const float* bias, float* y) {
  // Of all lanes; the plain conversion makes GCC warn.
  __m512 value = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, sum), _mm512_set1_ps(x_step));
  _mm512_storeu_ps(y, _mm512_add_ps(_mm512_mul_ps(value, _mm512_loadu_ps(step)), _mm512_loadu_ps(bias)));
}
#elif defined(TREETOK_AVX2)
using Vector = __m256i;
constexpr size_t LANES = 8;
constexpr int MAX_ROWS = 4;
inline Vector zero() { return _mm256_setzero_si256(); }
inline Vector load(const int16_t* weights) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
}
inline Vector pair(int32_t inputs) { return _mm256_set1_epi32(inputs); }
inline Vector add_products(Vector sum, Vector inputs, Vector weights) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(inputs, weights));
}
inline void store(Vector sum, float x_step, const float* step, const float* bias, float* y) {
  __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(x_step));
  _mm256_storeu_ps(y, _mm256_add_ps(_mm256_mul_ps(value, _mm256_loadu_ps(step)), _mm256_loadu_ps(bias)));
}
#elif defined(TREETOK_X86_64)
using Vector = __m128i;
constexpr size_t LANES = 4;
constexpr int MAX_ROWS = 4;
inline Vector zero() { return _mm_setzero_si128(); }
inline Vector load(const int16_t* weights) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)); }
inline Vector pair(int32_t inputs) { return _mm_set1_epi32(inputs); }
inline Vector add_products(Vector sum, Vector inputs, Vector weights) {
  return _mm_add_epi32(sum, _mm_madd_epi16(inputs, weights));
}
inline void store(Vector sum, float x_step, const float* step, const float* bias, float* y) {
  __m128 value = _mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_set1_ps(x_step));
  _mm_storeu_ps(y, _mm_add_ps(_mm_mul_ps(value, _mm_loadu_ps(step)), _mm_loadu_ps(bias)));
}
#else
// Vectors of GCC and Clang, for any processor. Sums have no sign: with weights that make them overflow, the scores
// are not finite, but nothing may be undefined.
using Vector = uint32_t __attribute__((vector_size(16)));
using Signed = int32_t __attribute__((vector_size(16)));
constexpr size_t LANES = 4;
constexpr int MAX_ROWS = 4;
struct Halves {
  Vector one, other;
};
inline Halves halves(Vector pairs) {
  return {reinterpret_cast<Vector>(reinterpret_cast<Signed>(pairs << 16) >> 16),
          reinterpret_cast<Vector>(reinterpret_cast<Signed>(pairs) >> 16)};
}
inline Vector zero() { return Vector{}; }
inline Halves load(const int16_t* weights) {
  Vector pairs;
  std::memcpy(&pairs, weights, sizeof pairs);
  return halves(pairs);
}
inline Halves pair(int32_t inputs) { return halves(Vector{} + static_cast<uint32_t>(inputs)); }
inline Vector add_products(Vector sum, const Halves& inputs, const Halves& weights) {
  return sum + inputs.one * weights.one + inputs.other * weights.other;
}
inline void store(Vector sum, float x_step, const float* step, const float* bias, float* y) {
  for (size_t i = 0; i < LANES; ++i) {
    y[i] = static_cast<float>(static_cast<int32_t>(sum[i])) * x_step * step[i] + bias[i];
  }
}
#endif

// ---- products of matrices

// Rows of integers, each with its step, and a matrix as in `Linear`.
struct Product {
  const int16_t* x;
  size_t x_stride;
  const float* x_step;
  const int16_t* weights;
  size_t pairs;
  const float *step, *bias;
  float* y;
  size_t y_stride;
};

// Some rows of the product and one or two vectors of outputs, in registers. Spelled out instead of looped over the
// rows: compilers otherwise move the sums to memory and back.
template <bool TWO, size_t... ROW>
void tile(const Product& p, size_t row, size_t output, std::index_sequence<ROW...>) {
  const int16_t *x = p.x + row * p.x_stride, *weights = p.weights + weight_at(output, 0, p.pairs);
  const int16_t* more_weights = TWO ? p.weights + weight_at(output + LANES, 0, p.pairs) : weights;
  Vector sum[] = {(static_cast<void>(ROW), zero())...}, more_sum[] = {(static_cast<void>(ROW), zero())...};
  for (size_t k = 0; k < p.pairs; ++k) {
    auto one = load(weights + k * 2 * BLOCK), other = load(more_weights + k * 2 * BLOCK);
    auto add = [&](const int16_t* inputs, Vector& of_one, Vector& of_other) {
      int32_t two_inputs;
      std::memcpy(&two_inputs, inputs, sizeof two_inputs);
      auto both = pair(two_inputs);
      of_one = add_products(of_one, both, one);
      if (TWO) of_other = add_products(of_other, both, other);
    };
    (add(x + ROW * p.x_stride + 2 * k, sum[ROW], more_sum[ROW]), ...);
  }
  const float *step = p.step + output, *bias = p.bias + output, *x_step = p.x_step + row;
  float* y = p.y + row * p.y_stride + output;
  (store(sum[ROW], x_step[ROW], step, bias, y + ROW * p.y_stride), ...);
  if (TWO) (store(more_sum[ROW], x_step[ROW], step + LANES, bias + LANES, y + ROW * p.y_stride + LANES), ...);
}

template <bool TWO, int ROWS>
void tile_of(const Product& p, size_t row, size_t output) {
  tile<TWO>(p, row, output, std::make_index_sequence<ROWS>());
}

using Tile = void (*)(const Product&, size_t, size_t);

template <bool TWO, size_t... ROWS>
constexpr std::array<Tile, sizeof...(ROWS)> tiles(std::index_sequence<ROWS...>) {
  return {&tile_of<TWO, ROWS + 1>...};
}

// Writes whole blocks of outputs.
inline void multiply(const Product& p, size_t rows, size_t outputs) {
  constexpr auto ONE = tiles<false>(std::make_index_sequence<MAX_ROWS>());
  constexpr auto TWO = tiles<true>(std::make_index_sequence<MAX_ROWS>());
  // Tiles of about equal height.
  size_t groups = (rows + MAX_ROWS - 1) / MAX_ROWS;
  for (size_t output = 0; output < in_blocks(outputs);) {
    bool two = output + 2 * LANES <= in_blocks(outputs);
    for (size_t group = 0; group < groups; ++group) {
      size_t from = rows * group / groups, to = rows * (group + 1) / groups;
      (two ? TWO : ONE)[to - from - 1](p, from, output);
    }
    output += two ? 2 * LANES : LANES;
  }
}

// ---- integers

inline uint32_t largest_size(const float* x, size_t n) {
  uint32_t largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max(largest, bits_of(x[i]) & 0x7FFFFFFF);
  return largest;
}

// Infinities and everything that is not a number have larger bits than all numbers.
inline float checked(uint32_t largest, ParserScratch& scratch) {
  if (largest >= 0x7F800000) scratch.overflow = true;
  return std::max(float_of(largest), TINY);
}

// The nearest integer, up to 2^15: it is in the lowest bits of the sum. Defined for everything else, too.
inline int16_t rounded(float x) { return static_cast<int16_t>(static_cast<uint16_t>(bits_of(x + ROUND))); }

// A row in integers; returns its step.
inline float quantize(const float* x, size_t n, int limit, int16_t* integers, ParserScratch& scratch) {
  float largest = checked(largest_size(x, n), scratch), factor = static_cast<float>(limit) / largest;
  for (size_t i = 0; i < n; ++i) integers[i] = rounded(x[i] * factor);
  return largest / static_cast<float>(limit);
}

// ---- layers

// y = linear(x), by rows. The integers of an odd number of inputs are followed by a zero.
inline void apply(const Linear& linear, const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                  ParserScratch& scratch) {
  size_t stride = 2 * in_pairs(linear.inputs);
  for (size_t row = 0; row < rows; ++row) {
    int16_t* integers = scratch.integers.data() + row * stride;
    integers[stride - 1] = 0;
    scratch.step[row] = quantize(x + row * x_stride, linear.inputs, INPUT_LIMIT, integers, scratch);
  }
  multiply({scratch.integers.data(), stride, scratch.step.data(), linear.weights.data(), stride / 2,
            linear.step.data(), linear.bias.data(), y, y_stride},
           rows, linear.outputs);
}

// y = norm(x), by rows. Each step is done for all rows before the next, so that rows do not wait for each other's
// divisions and roots.
inline void normalize(const Norm& norm, const float* x, size_t x_stride, size_t rows, size_t d, int limit, float* y,
                      size_t y_stride, ParserScratch& scratch) {
  float step[LONGEST_WORD], factor[LONGEST_WORD], mean[LONGEST_WORD];
  int32_t sum[LONGEST_WORD];
  uint32_t squares[LONGEST_WORD];
  for (size_t row = 0; row < rows; ++row) {
    float largest = checked(largest_size(x + row * x_stride, d), scratch);
    factor[row] = static_cast<float>(limit) / largest;
    step[row] = largest / static_cast<float>(limit);
  }
  for (size_t row = 0; row < rows; ++row) {
    const float* of_row = x + row * x_stride;
    uint32_t row_sum = 0, row_squares = 0;
    for (size_t i = 0; i < d; ++i) {
      // The nearest integer, as in `rounded`.
      uint32_t integer = bits_of(of_row[i] * factor[row] + ROUND) - bits_of(ROUND);
      row_sum += integer;
      row_squares += integer * integer;
    }
    sum[row] = static_cast<int32_t>(row_sum);
    squares[row] = row_squares;
  }
  for (size_t row = 0; row < rows; ++row) {
    double step_of_sum = static_cast<double>(step[row]) / static_cast<double>(d), of_sum = sum[row];
    double variance = (squares[row] * static_cast<double>(d) - of_sum * of_sum) * (step_of_sum * step_of_sum);
    factor[row] = static_cast<float>(1 / std::sqrt(variance + NORM_EPSILON));
    mean[row] = static_cast<float>(of_sum * step_of_sum);
  }
  const float *weight = norm.weight.data(), *bias = norm.bias.data();
  for (size_t row = 0; row < rows; ++row) {
    const float* of_row = x + row * x_stride;
    float* to = y + row * y_stride;
    for (size_t i = 0; i < d; ++i) to[i] = (of_row[i] - mean[row]) * factor[row] * weight[i] + bias[i];
  }
}

inline float power_of_two(float x) {
  x = x < -LARGEST_EXPONENT ? -LARGEST_EXPONENT : x;
  x = x > LARGEST_EXPONENT ? LARGEST_EXPONENT : x;
  float shifted = x + ROUND;
  x -= shifted - ROUND;
  float y = (((x * EXP2[3] + EXP2[2]) * x + EXP2[1]) * x + EXP2[0]) * x + 1.0f;
  return float_of(bits_of(y) + (bits_of(shifted) << 23));
}

inline void gelu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = x[i] / (power_of_two((x[i] * x[i] * GELU_3 + GELU_1) * x[i]) + 1.0f);
}

// Two 16-bit integers next to each other, as `multiply` reads them: the lowest bits of each.
inline uint32_t next_to(uint32_t left, uint32_t right) { return (left & 0xFFFF) | right << 16; }

// Scores of n keys (rows) and n queries (columns, `padded` in whole blocks), which are overwritten, to integer
// weights, in rows of queries, and the sum of each query. This way nothing is summed across a vector.
inline void softmax(float* scores, size_t n, size_t padded, int16_t* weights, float* sums) {
  float highest[LONGEST_WORD];
  uint32_t sum[LONGEST_WORD], two[LONGEST_WORD];
  for (size_t i = 0; i < padded; ++i) highest[i] = scores[i];
  for (size_t key = 1; key < n; ++key) {
    const float* of_key = scores + key * padded;
    for (size_t i = 0; i < padded; ++i) highest[i] = of_key[i] > highest[i] ? of_key[i] : highest[i];
  }
  for (size_t key = 0; key < n; ++key) {
    float* of_key = scores + key * padded;
    // The integer is in the lowest bits, as in `rounded`.
    for (size_t i = 0; i < padded; ++i) {
      of_key[i] = power_of_two(of_key[i] - highest[i]) * static_cast<float>(SOFTMAX_LIMIT) + ROUND;
    }
  }
  for (size_t i = 0; i < padded; ++i) sum[i] = 0;
  for (size_t key = 0; key < n; ++key) {
    const float* of_key = scores + key * padded;
    for (size_t i = 0; i < padded; ++i) sum[i] += bits_of(of_key[i]) & 0xFFFF;
  }
  for (size_t i = 0; i < padded; ++i) sums[i] = static_cast<float>(sum[i]);
  for (size_t key = 0; key < n; key += 2) {
    // A key that is not there has the values 0, and whatever weight.
    const float *left = scores + key * padded, *right = key + 1 < n ? left + padded : left;
    for (size_t i = 0; i < padded; ++i) two[i] = next_to(bits_of(left[i]), bits_of(right[i]));
    for (size_t query = 0; query < n; ++query) std::memcpy(weights + query * padded + key, two + query, 4);
  }
}

// Full self-attention: from the queries, keys and values in y to the mixed values in z.
inline void attend(const Network& net, size_t n, ParserScratch& s) {
  size_t stride = net.row_size();
  size_t d = net.d, head = d / net.heads, pairs = in_pairs(head), padded = in_blocks(n);
  int value_limit = std::min(VALUE_LIMIT, LARGEST_EXACT / (SOFTMAX_LIMIT * static_cast<int>(n)));
  int limits[] = {net.head_limit, net.head_limit, value_limit};
  // The letters of a word share a step, as they are summed.
  float* factor = s.step.data();
  std::fill_n(factor, 3 * d, 0.0f);
  for (size_t row = 0; row < n; ++row) {
    const float* y = s.y.data() + row * stride;
    for (size_t i = 0; i < 3 * d; ++i) {
      // Positive numbers are in the order of their bits.
      factor[i] = float_of(std::max(bits_of(factor[i]), bits_of(y[i]) & 0x7FFFFFFF));
    }
  }
  std::vector<float>& steps = s.head_steps;
  steps.resize(3 * net.heads);
  for (size_t part = 0; part < 3 * net.heads; ++part) {
    float largest = checked(largest_size(factor + part * head, head), s);
    float of_part = static_cast<float>(limits[part / net.heads]);
    std::fill_n(factor + part * head, head, of_part / largest);
    steps[part] = largest / of_part;
  }
  for (size_t row = 0; row < n; ++row) {
    int16_t* integers = s.integers.data() + row * stride;
    for (size_t i = 0; i < 3 * d; ++i) integers[i] = rounded(s.y[row * stride + i] * factor[i]);
  }
  float *scores = s.y.data(), *of_row = s.step.data();
  int16_t* packed = s.packed.data();
  for (size_t h = 0; h < net.heads; ++h) {
    const int16_t *query = s.integers.data() + h * head, *key = query + d, *value = key + d;
    // Columns without a query keep what they had: nobody reads what becomes of it.
    for (size_t letter = 0; letter < n; ++letter) {
      int16_t* to = packed + weight_at(letter, 0, pairs);
      for (size_t k = 0; k < pairs; ++k) std::memcpy(to + k * 2 * BLOCK, query + letter * stride + 2 * k, 4);
      // What follows an odd number is no part of this head.
      if (head % 2) packed[weight_at(letter, head, pairs)] = 0;
    }
    std::fill_n(of_row, n, steps[h] * steps[net.heads + h] * net.score_scale);
    multiply({key, stride, of_row, packed, pairs, net.ones.data(), net.zeros.data(), scores, padded}, n, n);
    softmax(scores, n, padded, s.softmax.data(), of_row);
    for (size_t letter = 0; letter < padded; ++letter) of_row[letter] = steps[2 * net.heads + h] / of_row[letter];
    size_t letter_pairs = in_pairs(n);
    for (size_t block = 0; block < in_blocks(head); block += BLOCK) {
      for (size_t letter = 0; letter < n; letter += 2) {
        const int16_t* left = value + letter * stride + block;
        const int16_t* right = letter + 1 < n ? left + stride : s.no_value.data();
        uint32_t two[BLOCK];
        for (size_t i = 0; i < BLOCK; ++i) {
          two[i] = next_to(static_cast<uint16_t>(left[i]), static_cast<uint16_t>(right[i]));
        }
        std::memcpy(packed + weight_at(block, letter, letter_pairs), two, sizeof two);
      }
    }
    // Writes beyond the head, where the next one writes later.
    multiply({s.softmax.data(), padded, of_row, packed, letter_pairs, net.ones.data(), net.zeros.data(),
              s.z.data() + h * head, stride},
             n, head);
  }
}

// ---- the parser

inline void add_row(const Embeddings& table, size_t row, float* x) {
  if (table.factor.size()) {
    const int8_t* integers = table.integers + row * table.width;
    float factor = table.factor[row];
    for (size_t i = 0; i < table.width; ++i) x[i] += static_cast<float>(integers[i]) * factor;
  } else {
    const float* floats = table.floats.data() + row * table.width;
    for (size_t i = 0; i < table.width; ++i) x[i] += floats[i];
  }
}

// The sums of all embeddings that belong to a letter, added in the order of the reference.
inline void embed(const Network& net, size_t n, size_t x_stride, ParserScratch& s) {
  size_t last_place = net.place_from_start.floats.size() / net.d - 1;
  float* place = s.z.data();
  for (size_t letter = 0; letter < n; ++letter) {
    float* x = s.x.data() + letter * x_stride;
    std::fill_n(x, net.d, 0.0f);
    std::fill_n(place, net.d, 0.0f);
    add_row(net.letter, s.characters[letter], x);
    add_row(net.place_from_start, std::min(letter, last_place), place);
    add_row(net.place_from_end, std::min(n - 1 - letter, last_place), place);
    for (size_t i = 0; i < net.d; ++i) x[i] += place[i];
  }
  for (const Morpheme& found : s.morphemes) {
    float* x = s.x.data() + found.start * x_stride;
    add_row(net.begin, found.row, x);
    for (size_t inner = 1; inner + 1 < found.width; ++inner) add_row(net.inside, found.row, x + inner * x_stride);
    add_row(net.end, found.row, x + (found.width - 1) * x_stride);
  }
}

inline void add_rows(size_t n, size_t d, const float* y, size_t y_stride, float* x, size_t x_stride) {
  for (size_t row = 0; row < n; ++row) {
    for (size_t i = 0; i < d; ++i) x[row * x_stride + i] += y[row * y_stride + i];
  }
}

inline bool forward(const Network& net, size_t n, float* scores, ParserScratch& s) {
  size_t d = net.d, d_stride = in_blocks(d), wide = net.row_size();
  float *x = s.x.data(), *y = s.y.data(), *z = s.z.data();
  s.overflow = false;
  embed(net, n, d_stride, s);
  auto normalized = [&](const Norm& norm) {
    normalize(norm, x, d_stride, n, d, net.norm_limit, z, wide, s);
  };
  for (const Layer& layer : net.layers) {
    normalized(layer.norm_before_attention);
    apply(layer.qkv, z, wide, n, y, wide, s);
    attend(net, n, s);
    apply(layer.attended, z, wide, n, y, wide, s);
    add_rows(n, d, y, wide, x, d_stride);
    normalized(layer.norm_before_hidden);
    apply(layer.hidden, z, wide, n, y, wide, s);
    for (size_t row = 0; row < n; ++row) gelu(y + row * wide, net.hidden);
    apply(layer.output, y, wide, n, z, wide, s);
    add_rows(n, d, z, wide, x, d_stride);
  }
  normalized(net.last_norm);
  apply(net.pair_hidden, z, wide, n, y, wide, s);
  for (size_t row = 0; row + 1 < n; ++row) {
    for (size_t i = 0; i < net.hidden; ++i) y[row * wide + i] += y[(row + 1) * wide + net.hidden + i];
    gelu(y + row * wide, net.hidden);
  }
  apply(net.pair_score, y, wide, n - 1, z, wide, s);
  for (size_t row = 0; row + 1 < n; ++row) {
    scores[row] = z[row * wide];
    s.overflow |= !std::isfinite(scores[row]);
  }
  return !s.overflow;
}

}  // namespace treetok::parser::TREETOK_INSTRUCTIONS
