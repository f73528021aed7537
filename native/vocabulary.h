// The tokens of a tokenizer: what they cost, which strings markers make of them, and the bytes of each id.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bytes_hash.h"
#include "characters.h"

namespace treetok {

enum Marker : std::uint8_t { JOIN = 1, CAP = 2, UPPERCASE = 4 };

// A string where top-down matching may stop: a token, or what markers make of one.
struct Piece {
  std::int64_t cost;
  std::uint32_t id;
  // Bits of Marker.
  std::uint8_t markers;

  unsigned count_markers() const { return (markers & JOIN ? 1 : 0) + (markers & (CAP | UPPERCASE) ? 1 : 0); }
};

// The bytes of tokens, one after the other.
class TokenBytes {
 public:
  void reserve(std::size_t tokens, std::size_t bytes) {
    starts_.reserve(tokens + 1);
    text_.reserve(bytes);
  }
  void add(std::string_view token) {
    text_ += token;
    starts_.push_back(std::uint32_t(text_.size()));
  }
  std::string_view operator[](std::uint32_t id) const {
    return std::string_view(text_).substr(starts_[id], starts_[id + 1] - starts_[id]);
  }

 private:
  std::string text_;
  // Where each token begins, and the end of the last.
  std::vector<std::uint32_t> starts_ = {0};
};

// Finds tokens by their bytes.
class TokenIndex {
 public:
  static constexpr std::uint32_t NONE = UINT32_MAX;

  void reserve(std::size_t tokens) {
    std::size_t slots = 16;
    while (slots < tokens * 2) slots *= 2;
    slots_.assign(slots, Slot{});
  }

  // The id of a token, or NONE.
  std::uint32_t find(std::string_view string, const TokenBytes& tokens) const {
    const Slot& slot = slots_[slot_of(string, hash_of(string), tokens)];
    return slot.number ? slot.number - 1 : NONE;
  }

  // Adds a token, for which there must be room; returns whether it was not there.
  bool add(std::uint32_t id, const TokenBytes& tokens) {
    const std::string_view string = tokens[id];
    const std::uint64_t hash = hash_of(string);
    Slot& slot = slots_[slot_of(string, hash, tokens)];
    if (slot.number) return false;
    slot = {id + 1, std::uint32_t(hash >> 32)};
    return true;
  }

 private:
  // The id, and one more: 0 is empty.
  struct Slot {
    std::uint32_t number = 0, tag = 0;
  };

  // Where a string is, or would be.
  std::size_t slot_of(std::string_view string, std::uint64_t hash, const TokenBytes& tokens) const {
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.number == 0) return at;
      if (slot.tag == std::uint32_t(hash >> 32) && tokens[slot.number - 1] == string) return at;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

// The kinds of tokens.
enum class TokenKind : std::uint8_t { SPECIAL, PIECE, BYTE, JOIN_MARKER, CAP_MARKER, UPPER_MARKER };

struct Token {
  std::string bytes;
  TokenKind kind;
  // Of a piece: what it adds to the cost of a word.
  std::int64_t cost;
};

class Vocabulary {
 public:
  static constexpr std::size_t LEAST_LETTERS_FOR_MARKERS = 3;

  // Tokens in the order of their ids. `cost_per_token` is added for every marker of a piece.
  Vocabulary(const std::vector<Token>& tokens, std::int64_t cost_per_token, bool has_byte_fallback,
             std::uint32_t unknown_id)
      : has_byte_fallback_(has_byte_fallback), unknown_id_(unknown_id), cost_per_token_(cost_per_token) {
    unknown_cost_ = cost_per_token;
    std::size_t bytes = 0;
    for (const Token& token : tokens) bytes += token.bytes.size();
    bytes_.reserve(tokens.size(), bytes);
    costs_.reserve(tokens.size());
    kinds_.reserve(tokens.size());
    for (const Token& token : tokens) {
      bytes_.add(token.bytes);
      costs_.push_back(token.cost);
      kinds_.push_back(token.kind);
    }
    characters_.assign(tokens.size(), 1);
    changes_.resize(tokens.size());
    byte_ids_.assign(256, unknown_id);
    index_.reserve(tokens.size());
    bool has_pieces = false;
    for (std::uint32_t id = 0; id < tokens.size(); ++id) {
      if (kinds_[id] == TokenKind::PIECE) {
        const auto* piece = reinterpret_cast<const Byte*>(tokens[id].bytes.data());
        characters_[id] = std::uint32_t(count_characters(piece, tokens[id].bytes.size()));
        if (!index_.add(id, bytes_)) throw std::invalid_argument("a token appears twice in the vocabulary");
        longest_ = std::max<std::size_t>(longest_, characters_[id]);
        unknown_cost_ = has_pieces ? std::max(unknown_cost_, costs_[id]) : costs_[id];
        has_pieces = true;
      } else if (kinds_[id] == TokenKind::BYTE) {
        const Byte byte = tokens[id].bytes.empty() ? 0 : Byte(tokens[id].bytes[0]);
        byte_ids_[byte] = id;
        characters_[id] = byte >= 0xC0;
      } else if (is_marker(id)) {
        characters_[id] = 0;
        (kinds_[id] == TokenKind::JOIN_MARKER ? join_id_ : kinds_[id] == TokenKind::CAP_MARKER ? cap_id_ : upper_id_) = id;
        has_markers_ = true;
      }
    }
    if (!has_markers_) return;
    for (std::uint32_t id = 0; id < tokens.size(); ++id) {
      if (kinds_[id] == TokenKind::PIECE) changes_[id] = changes_of(tokens[id].bytes);
    }
  }

  std::size_t size() const { return kinds_.size(); }
  TokenKind kind(std::uint32_t id) const { return kinds_[id]; }
  bool has_markers() const { return has_markers_; }
  bool has_byte_fallback() const { return has_byte_fallback_; }
  bool is_marker(std::uint32_t id) const { return kinds_[id] >= TokenKind::JOIN_MARKER; }
  // Characters of a word that a token covers when no marker is before it.
  std::uint32_t characters(std::uint32_t id) const { return characters_[id]; }
  std::size_t longest() const { return longest_; }
  std::int64_t unknown_cost() const { return unknown_cost_; }

  // The piece of a string. Without markers, only if it is a token.
  std::optional<Piece> find(std::string_view string, bool with_markers) const {
    const std::uint32_t id = index_.find(string, bytes_);
    if (id != TokenIndex::NONE) return Piece{costs_[id], id, 0};
    return with_markers && has_markers_ ? find_marked(string) : std::nullopt;
  }

  // Appends the ids of a piece: of its token and the markers before it, or of a character outside the vocabulary.
  void append_ids(std::string_view string, std::vector<std::uint32_t>& ids) const {
    if (const std::optional<Piece> piece = find(string, true)) {
      if (piece->markers & JOIN) ids.push_back(join_id_);
      if (piece->markers & CAP) ids.push_back(cap_id_);
      if (piece->markers & UPPERCASE) ids.push_back(upper_id_);
      ids.push_back(piece->id);
    } else if (has_byte_fallback_) {
      for (char byte : string) ids.push_back(byte_ids_[Byte(byte)]);
    } else {
      ids.push_back(unknown_id_);
    }
  }

  // Appends the bytes of tokens, changed by the markers before them, with a separator between them.
  template <class Id>
  void decode(const Id* ids, std::size_t count, const std::vector<bool>& is_skipped, const std::string& separator,
              std::string& text) const {
    std::vector<std::uint8_t> before;
    bool is_first = true;
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = std::uint32_t(ids[i]);
      if (!is_skipped.empty() && is_skipped[id]) continue;
      if (!is_first) text += separator;
      is_first = false;
      append_bytes(id, before, text);
    }
  }

  // The same for one token. `before` are the markers before it, which it uses up; a marker is added to them.
  void append_bytes(std::uint32_t id, std::vector<std::uint8_t>& before, std::string& text) const {
    if (is_marker(id)) {
      before.push_back(kinds_[id] == TokenKind::JOIN_MARKER  ? JOIN
                       : kinds_[id] == TokenKind::CAP_MARKER ? CAP
                                                             : UPPERCASE);
      return;
    }
    if (before.empty() || kinds_[id] != TokenKind::PIECE) {
      text += bytes_[id];
    } else {
      text += changed_by(before, id);
    }
    before.clear();
  }

 private:
  // The piece that markers make of a token. No string can be made in two ways.
  std::optional<Piece> find_marked(std::string_view string) const {
    const bool is_joined = string.empty() || string[0] != ' ';
    std::string spaced;
    if (is_joined) spaced = ' ';
    spaced += string;
    if (spaced.size() <= LEAST_LETTERS_FOR_MARKERS) return std::nullopt;
    if (is_joined) {
      const std::uint32_t id = index_.find(spaced, bytes_);
      if (id != TokenIndex::NONE) return changes_[id] & JOIN ? std::optional(marked_piece(id, JOIN)) : std::nullopt;
    }
    const std::string lower = lower_cased(spaced);
    if (lower == spaced) return std::nullopt;
    const std::uint32_t id = index_.find(lower, bytes_);
    if (id == TokenIndex::NONE) return std::nullopt;
    for (const std::uint8_t marker : {CAP, UPPERCASE}) {
      if ((changes_[id] & marker) && capitalised(lower, marker == UPPERCASE) == spaced) {
        return marked_piece(id, std::uint8_t(is_joined ? marker | JOIN : marker));
      }
    }
    return std::nullopt;
  }

  Piece marked_piece(std::uint32_t id, std::uint8_t markers) const {
    Piece piece{costs_[id], id, markers};
    piece.cost += cost_per_token_ * piece.count_markers();
    return piece;
  }

  // A space and letters in lower case.
  static std::string lower_cased(const std::string& token) {
    if (is_ascii(token)) {
      std::string changed = token;
      for (char& letter : changed) {
        if (letter >= 'A' && letter <= 'Z') letter = char(letter + 32);
      }
      return changed;
    }
    return " " + to_utf8(lowered(to_characters(reinterpret_cast<const Byte*>(token.data()) + 1, token.size() - 1)));
  }

  // A token behind markers, of which the last is applied first; those that do not fit change nothing.
  std::string changed_by(const std::vector<std::uint8_t>& markers, std::uint32_t id) const {
    std::uint8_t applied = 0;
    for (std::size_t i = markers.size(); i-- > 0;) {
      // Only a token that is still as it is in the vocabulary has capitals to get; only one with a space can lose it.
      const bool fits = markers[i] == JOIN ? !(applied & JOIN) : applied == 0;
      if (fits && (changes_[id] & markers[i])) applied |= markers[i];
    }
    const std::string token(bytes_[id]);
    if (applied == 0) return token;
    std::string changed = applied & (CAP | UPPERCASE) ? capitalised(token, applied & UPPERCASE) : token;
    if (applied & JOIN) changed.erase(0, 1);
    return changed;
  }

  static bool is_ascii(const std::string& token) {
    for (char byte : token) {
      if (Byte(byte) >= 0x80) return false;
    }
    return true;
  }

  // A space and letters, of which the first or all become capitals.
  static std::string capitalised(const std::string& token, bool all) {
    if (is_ascii(token)) {
      std::string changed = token;
      for (std::size_t i = 1; i < (all ? token.size() : 2); ++i) {
        if (token[i] >= 'a' && token[i] <= 'z') changed[i] = char(token[i] - 32);
      }
      return changed;
    }
    std::string changed(1, ' ');
    const auto* at = reinterpret_cast<const Byte*>(token.data()) + 1;
    const auto* end = reinterpret_cast<const Byte*>(token.data()) + token.size();
    for (bool is_first = true; at < end; is_first = false) {
      const char32_t c = next_character(at);
      const char32_t upper = all || is_first ? upper_of(c) : c;
      append_utf8(changed, upper ? upper : c);
    }
    return changed;
  }

  // Which markers change a token.
  static std::uint8_t changes_of(const std::string& token) {
    if (token.size() <= LEAST_LETTERS_FOR_MARKERS || token[0] != ' ') return 0;
    if (is_ascii(token)) {
      bool has_upper = false;
      for (std::size_t i = 1; i < token.size(); ++i) {
        const bool is_upper = token[i] >= 'A' && token[i] <= 'Z';
        if (!is_upper && !(token[i] >= 'a' && token[i] <= 'z')) return 0;
        has_upper = has_upper || is_upper;
      }
      return has_upper ? JOIN : JOIN | CAP | UPPERCASE;
    }
    const auto word = to_characters(reinterpret_cast<const Byte*>(token.data()), token.size());
    if (word.size() <= LEAST_LETTERS_FOR_MARKERS || word[0] != U' ') return 0;
    const std::u32string letters = word.substr(1);
    bool has_lower = false, has_upper = false;
    for (char32_t c : letters) {
      if (!has(c, PYTHON_LETTER)) return 0;
      has_lower = has_lower || has(c, PYTHON_LOWER);
      has_upper = has_upper || kind_of(c) == UPPER;
    }
    std::uint8_t changes = JOIN;
    if (!has_lower || has_upper) return changes;
    std::u32string upper = letters, cap = letters;
    for (std::size_t i = 0; i < letters.size(); ++i) upper[i] = upper_of(letters[i]);
    cap[0] = upper[0];
    const auto comes_back = [&letters](const std::u32string& changed) {
      return changed.find(U'\0') == std::u32string::npos && changed != letters && lowered(changed) == letters;
    };
    if (comes_back(cap)) changes |= CAP;
    if (comes_back(upper)) changes |= UPPERCASE;
    return changes;
  }

  bool has_byte_fallback_, has_markers_ = false;
  std::uint32_t unknown_id_, join_id_ = 0, cap_id_ = 0, upper_id_ = 0;
  std::int64_t cost_per_token_, unknown_cost_ = 0;
  std::size_t longest_ = 0;
  TokenBytes bytes_;
  std::vector<TokenKind> kinds_;
  std::vector<std::uint32_t> characters_, byte_ids_;
  std::vector<std::int64_t> costs_;
  // Of every token, the markers that change it.
  std::vector<std::uint8_t> changes_;
  TokenIndex index_;
};

}  // namespace treetok
