// Words of ASCII text for one set of instructions, 64 bytes at a time: the kinds of the bytes become bits, and
// arithmetic on them finds where words end. Included by lossless_splitter.h several times: no include guard.

namespace treetok {
namespace ascii_words {
namespace TREETOK_INSTRUCTIONS {

#if defined(TREETOK_AVX2)

using Block = __m256i;
inline Block load(const Byte* bytes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)); }
inline Block all(int byte) { return _mm256_set1_epi8(char(byte)); }
inline Block either(Block a, Block b) { return _mm256_or_si256(a, b); }
inline Block equal(Block a, Block b) { return _mm256_cmpeq_epi8(a, b); }
inline Block sum(Block a, Block b) { return _mm256_add_epi8(a, b); }
inline Block is_less(Block a, Block b) { return _mm256_cmpgt_epi8(b, a); }
inline Block third_bit_first(Block a) { return _mm256_slli_epi16(a, 2); }
inline Mask first_bits(Block a) { return std::uint32_t(_mm256_movemask_epi8(a)); }

#elif defined(TREETOK_SSE2)

using Block = __m128i;
inline Block load(const Byte* bytes) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)); }
inline Block all(int byte) { return _mm_set1_epi8(char(byte)); }
inline Block either(Block a, Block b) { return _mm_or_si128(a, b); }
inline Block equal(Block a, Block b) { return _mm_cmpeq_epi8(a, b); }
inline Block sum(Block a, Block b) { return _mm_add_epi8(a, b); }
inline Block is_less(Block a, Block b) { return _mm_cmplt_epi8(a, b); }
inline Block third_bit_first(Block a) { return _mm_slli_epi16(a, 2); }
inline Mask first_bits(Block a) { return std::uint32_t(_mm_movemask_epi8(a)); }

#elif defined(TREETOK_NEON)

using Block = uint8x16_t;
inline Block load(const Byte* bytes) { return vld1q_u8(bytes); }
inline Block all(int byte) { return vdupq_n_u8(Byte(byte)); }
inline Block either(Block a, Block b) { return vorrq_u8(a, b); }
inline Block equal(Block a, Block b) { return vceqq_u8(a, b); }
inline Block sum(Block a, Block b) { return vaddq_u8(a, b); }
inline Block is_less(Block a, Block b) { return vcltq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)); }
inline Block third_bit_first(Block a) { return vshlq_n_u8(a, 2); }
inline Mask first_bits(Block a) {
  constexpr Byte BITS[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const Block bits = vandq_u8(vcltzq_s8(vreinterpretq_s8_u8(a)), vld1q_u8(BITS));
  return Mask(vaddv_u8(vget_low_u8(bits))) | Mask(vaddv_u8(vget_high_u8(bits))) << 8;
}

#endif

#if defined(TREETOK_AVX2) || defined(TREETOK_SSE2) || defined(TREETOK_NEON)

inline Block is_between(Block block, int first, int last) {
  // Moves the range to the lowest numbers, since only signed numbers can be compared.
  return is_less(sum(block, all(-128 - first)), all(-128 + (last - first) + 1));
}

inline ByteMasks masks_of(const Byte* bytes) {
  ByteMasks masks{};
  for (unsigned at = 0; at < BYTES_IN_MASK; at += sizeof(Block)) {
    const Block block = load(bytes + at), space = equal(block, all(' '));
    masks.letter |= first_bits(is_between(either(block, all(0x20)), 'a', 'z')) << at;
    masks.not_capital |= first_bits(third_bit_first(block)) << at;
    masks.digit |= first_bits(is_between(block, '0', '9')) << at;
    masks.space |= first_bits(space) << at;
    masks.whitespace |= first_bits(either(space, is_between(block, '\t', '\r'))) << at;
    masks.line_break |= first_bits(either(equal(block, all('\n')), equal(block, all('\r')))) << at;
    masks.apostrophe |= first_bits(equal(block, all('\''))) << at;
    masks.not_ascii |= first_bits(block) << at;
  }
  return masks;
}

#else

inline ByteMasks masks_of(const Byte* bytes) {
  ByteMasks masks{};
  for (unsigned at = 0; at < BYTES_IN_MASK; ++at) {
    const Byte byte = bytes[at];
    masks.letter |= Mask(Byte((byte | 0x20) - 'a') < 26) << at;
    masks.not_capital |= Mask((byte & 0x20) != 0) << at;
    masks.digit |= Mask(Byte(byte - '0') < 10) << at;
    masks.space |= Mask(byte == ' ') << at;
    masks.whitespace |= Mask(byte == ' ' || Byte(byte - '\t') < 5) << at;
    masks.line_break |= Mask(byte == '\n' || byte == '\r') << at;
    masks.apostrophe |= Mask(byte == '\'') << at;
    masks.not_ascii |= Mask(byte >= 0x80) << at;
  }
  return masks;
}

#endif

// Where words end in the 64 bytes at `text`, where one starts; 0 if it takes more to tell. All 64 can be read, but
// those behind `end` do not count.
inline Mask ends_of_words(const Byte* text, const Byte* end) {
  ByteMasks is = masks_of(text);
  Mask inside = ~Mask(0), after_text = 0;
  if (end - text < std::ptrdiff_t(BYTES_IN_MASK)) {
    after_text = Mask(1) << (end - text);
    inside = after_text - 1;
    is.letter &= inside;
    is.digit &= inside;
    is.space &= inside;
    is.whitespace &= inside;
    is.line_break &= inside;
    is.apostrophe &= inside;
    is.not_ascii &= inside;
  }
  const Mask symbol = inside & ~(is.letter | is.digit | is.whitespace | is.not_ascii);
  const Mask upper = is.letter & ~is.not_capital, lower = is.letter & is.not_capital;
  const Mask gap = is.whitespace & ~is.line_break;

  // Letters and symbols take the space before them with them.
  Mask starts = ((is.letter & ~(is.letter << 1)) | (symbol & ~(symbol << 1))) & ~(is.space << 1);
  // Humps: the B of aBc, and of ABcd.
  starts |= upper & ((lower << 1) | ((upper << 1) & (lower >> 1) & (lower >> 2)));
  starts |= (is.digit & ~(is.digit << 1)) | (is.whitespace & ~(is.whitespace << 1));
  // The last space before a visible character.
  starts |= gap & ~((is.whitespace | is.not_ascii) >> 1) & (inside >> 1);
  // Several spaces behind the last line break.
  for (Mask indents = gap & (gap >> 1) & (is.line_break << 1); indents; indents &= indents - 1) {
    const Mask indent = indents & (~indents + 1);
    // The carry runs to the byte behind the spaces, or out of sight.
    const Mask behind = (gap + indent) & ~gap;
    if (behind & ~(is.line_break | is.not_ascii)) starts |= indent;
  }
  // Groups of three digits, counted from the last digit, if it is seen to be the last.
  const Mask three_digits = is.digit & (is.digit >> 1) & (is.digit >> 2);
  const Mask last_digit = is.digit & ~((is.digit | is.not_ascii) >> 1) & (~Mask(0) >> 1);
  for (Mask groups = three_digits & (last_digit >> 2); groups; groups = three_digits & (groups >> 3)) {
    starts |= groups;
  }
  for (Mask marks = is.apostrophe & starts & (is.letter >> 1); marks; marks &= marks - 1) {
    const unsigned at = lowest_bit(marks);
    const std::size_t size = std::size_t(contraction<true>(text + at, end) - (text + at));
    // What follows a contraction is no letter, and starts a word in any case.
    if (size) starts &= ~(((Mask(1) << size) - 2) << at);
  }
  // What is not ASCII may belong to the word before it. Starts that depend on bytes out of sight are left out, and
  // no others come after them.
  const Mask before_others = (is.not_ascii - 1) & ~is.not_ascii;
  return (starts | after_text) & before_others & ~Mask(1);
}

inline Mask ends_at(const Byte* text, const Byte* last, const Byte* end) {
  return text < last && (text[0] | text[1]) < 0x80 ? ends_of_words(text, end) : 0;
}

// Writes the ids of words from `text` on. Stops at `last` or behind it, before a word that is long, not in the
// table or not known from ASCII alone, or where fewer than `MOST_IDS_AT_ONCE` fit between `ids` and `end_of_ids`.
inline Written write_known(const Byte* text, const Byte* last, const Byte* end, const WordTable& table,
                           std::uint32_t* ids, const std::uint32_t* end_of_ids) {
  // Words whose slots are on their way from memory, each at its number modulo the size. One loop finds words and
  // writes ids of earlier ones: the processor would not foresee the ends of two.
  WordTable::Ahead ahead[2 * WORDS_AHEAD];
  std::size_t found = 0, written = 0;
  const auto place_of = [&](std::size_t number) { return ahead + number % (2 * WORDS_AHEAD); };
  const auto write_one = [&] {
    std::uint32_t* next = table.write_ids(*place_of(written), ids);
    if (!next) return false;
    ids = next;
    ++written;
    return true;
  };
  bool goes_on = true;
  while (goes_on && end_of_ids - ids >= std::ptrdiff_t(MOST_IDS_AT_ONCE)) {
    const Byte* block = text;
    Mask ends = ends_at(text, last, end);
    goes_on = ends != 0;
    for (; ends; ends &= ends - 1) {
      const Byte* after = block + lowest_bit(ends);
      const std::size_t bytes = std::size_t(after - text);
      goes_on = bytes <= WordKey::MOST_BYTES;
      if (!goes_on) break;
      *place_of(found++) = table.look_ahead(text, bytes);
      text = after;
      if (found - written > WORDS_AHEAD) {
        goes_on = write_one();
        if (!goes_on) break;
      }
    }
  }
  while (written != found && write_one()) {
  }
  // Back to the first word that was not written.
  for (; found != written; --found) text -= place_of(found - 1)->key.bytes();
  return {text, ids};
}

}  // namespace TREETOK_INSTRUCTIONS
}  // namespace ascii_words
}  // namespace treetok
