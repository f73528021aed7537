// The tokens of a tokenizer: what they cost, which strings markers make of them, and the bytes of each id.
#pragma once

#include <algorithm>
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

// Strings and their pieces.
class PieceTable {
 public:
  void reserve(std::size_t pieces) {
    std::size_t slots = 16;
    while (slots < pieces * 2) slots *= 2;
    slots_.assign(slots, Slot{});
    entries_.reserve(pieces);
  }

  const Piece* find(std::string_view string) const { return find(string, hash_of(string)); }

  // Gives back the memory that was reserved for more.
  void shrink() {
    entries_.shrink_to_fit();
    text_.shrink_to_fit();
  }

  // Adds a string, unless it is there: then nothing changes. Returns the piece that it has.
  Piece& add(std::string_view string, const Piece& piece) {
    const std::uint64_t hash = hash_of(string);
    if (const Piece* known = find(string, hash)) return const_cast<Piece&>(*known);
    if ((entries_.size() + 1) * 2 > slots_.size()) grow();
    entries_.push_back({piece, std::uint32_t(text_.size()), std::uint32_t(string.size())});
    text_ += string;
    place(std::uint32_t(entries_.size()), hash);
    return entries_.back().piece;
  }

 private:
  struct Entry {
    Piece piece;
    std::uint32_t start, bytes;
  };
  // 0: empty.
  struct Slot {
    std::uint32_t number = 0, tag = 0;
  };

  const Piece* find(std::string_view string, std::uint64_t hash) const {
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.number == 0) return nullptr;
      if (slot.tag != std::uint32_t(hash >> 32)) continue;
      const Entry& entry = entries_[slot.number - 1];
      if (string == std::string_view(text_).substr(entry.start, entry.bytes)) return &entry.piece;
    }
  }

  void place(std::uint32_t number, std::uint64_t hash) {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {number, std::uint32_t(hash >> 32)};
  }

  void grow() {
    slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, Slot{});
    for (std::uint32_t number = 1; number <= entries_.size(); ++number) {
      const Entry& entry = entries_[number - 1];
      place(number, hash_of(std::string_view(text_).substr(entry.start, entry.bytes)));
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::vector<Entry> entries_;
  std::string text_;
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
      : has_byte_fallback_(has_byte_fallback), unknown_id_(unknown_id) {
    unknown_cost_ = cost_per_token;
    characters_.resize(tokens.size());
    changes_.resize(tokens.size());
    byte_ids_.assign(256, unknown_id);
    pieces_.reserve(tokens.size() * 3);
    bool has_pieces = false;
    for (std::uint32_t id = 0; id < tokens.size(); ++id) {
      const Token& token = tokens[id];
      starts_.push_back(std::uint32_t(text_.size()));
      text_ += token.bytes;
      kinds_.push_back(token.kind);
      characters_[id] = 1;
      if (token.kind == TokenKind::PIECE) {
        const auto* bytes = reinterpret_cast<const Byte*>(token.bytes.data());
        characters_[id] = std::uint32_t(count_characters(bytes, token.bytes.size()));
        if (pieces_.add(token.bytes, {token.cost, id, 0}).id != id) {
          throw std::invalid_argument("a token appears twice in the vocabulary");
        }
        longest_ = std::max<std::size_t>(longest_, characters_[id]);
        unknown_cost_ = has_pieces ? std::max(unknown_cost_, token.cost) : token.cost;
        has_pieces = true;
      } else if (token.kind == TokenKind::BYTE) {
        const Byte byte = token.bytes.empty() ? 0 : Byte(token.bytes[0]);
        byte_ids_[byte] = id;
        characters_[id] = byte >= 0xC0;
      } else if (token.kind != TokenKind::SPECIAL) {
        characters_[id] = 0;
        (token.kind == TokenKind::JOIN_MARKER ? join_id_ : token.kind == TokenKind::CAP_MARKER ? cap_id_ : upper_id_) = id;
        has_markers_ = true;
      }
    }
    if (has_markers_) add_marked_strings(tokens, cost_per_token);
    starts_.push_back(std::uint32_t(text_.size()));
    text_.shrink_to_fit();
    pieces_.shrink();
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
  const Piece* find(std::string_view string, bool with_markers) const {
    const Piece* piece = pieces_.find(string);
    return piece && (with_markers || piece->markers == 0) ? piece : nullptr;
  }

  // Appends the ids of a piece: of its token and the markers before it, or of a character outside the vocabulary.
  void append_ids(std::string_view string, std::vector<std::uint32_t>& ids) const {
    if (const Piece* piece = pieces_.find(string)) {
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
      text += bytes(id);
    } else {
      text += changed_by(before, id);
    }
    before.clear();
  }

 private:
  std::string_view bytes(std::uint32_t id) const {
    return std::string_view(text_).substr(starts_[id], starts_[id + 1] - starts_[id]);
  }

  // A token behind markers, of which the last is applied first; those that do not fit change nothing.
  std::string changed_by(const std::vector<std::uint8_t>& markers, std::uint32_t id) const {
    std::uint8_t applied = 0;
    for (std::size_t i = markers.size(); i-- > 0;) {
      // Only a token that is still as it is in the vocabulary has capitals to get; only one with a space can lose it.
      const bool fits = markers[i] == JOIN ? !(applied & JOIN) : applied == 0;
      if (fits && (changes_[id] & markers[i])) applied |= markers[i];
    }
    const std::string token(bytes(id));
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

  void add_marked_strings(const std::vector<Token>& tokens, std::int64_t cost_per_token) {
    for (std::uint32_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].kind == TokenKind::PIECE) changes_[id] = changes_of(tokens[id].bytes);
    }
    // A string that is a token stays one; the fewest markers win.
    const auto add = [&](std::string_view string, std::uint32_t id, std::uint8_t markers) {
      Piece piece{tokens[id].cost, id, markers};
      piece.cost += cost_per_token * piece.count_markers();
      Piece& known = pieces_.add(string, piece);
      if (known.count_markers() > piece.count_markers()) known = piece;
    };
    for (std::uint32_t id = 0; id < tokens.size(); ++id) {
      if (changes_[id] == 0) continue;
      const std::string& token = tokens[id].bytes;
      for (const std::uint8_t marker : {CAP, UPPERCASE}) {
        if (!(changes_[id] & marker)) continue;
        const std::string changed = capitalised(token, marker == UPPERCASE);
        const Piece* known = pieces_.find(changed);
        if (known && known->markers == 0) continue;
        add(changed, id, marker);
        add(std::string_view(changed).substr(1), id, std::uint8_t(marker | JOIN));
      }
      add(std::string_view(token).substr(1), id, JOIN);
    }
  }

  bool has_byte_fallback_, has_markers_ = false;
  std::uint32_t unknown_id_, join_id_ = 0, cap_id_ = 0, upper_id_ = 0;
  std::int64_t unknown_cost_ = 0;
  std::size_t longest_ = 0;
  // The bytes of all tokens, and where those of each begin.
  std::string text_;
  std::vector<std::uint32_t> starts_;
  std::vector<TokenKind> kinds_;
  std::vector<std::uint32_t> characters_, byte_ids_;
  // Of every token, the markers that change it.
  std::vector<std::uint8_t> changes_;
  PieceTable pieces_;
};

}  // namespace treetok
