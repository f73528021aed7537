// Words and their ids: a hash table that learns new words. Reading takes no lock.
//
// A slot is half a cache line. It is empty until its key is published, and never changes after that; a table that
// is full is replaced, while those who still read it keep it alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "bytes_hash.h"
#include "fork_safe_locks.h"
#include "memory.h"
#include "processor.h"

namespace treetok {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
inline constexpr bool EIGHT_AT_ONCE = false;
#else
inline constexpr bool EIGHT_AT_ONCE = true;
#endif

// What a word is found by: its bytes if these are few, else hashes of them.
struct WordKey {
  std::uint64_t first, second;

  static constexpr std::size_t MOST_BYTES = 15;
  static constexpr std::uint64_t LONG = std::uint64_t(0xFF) << 56;

  bool is_long() const { return (second & LONG) == LONG; }
  // Of a word that is not long.
  std::size_t bytes() const { return std::size_t(second >> 56); }
  std::uint64_t hash() const { return folded_product(first ^ HASH_KEY.first, second ^ HASH_KEY.second); }
};

// What to keep of sixteen bytes for words of 0 to 15: looked up, since branches would often be predicted wrongly.
inline constexpr auto KEY_MASKS = [] {
  std::array<std::array<std::uint64_t, 2>, WordKey::MOST_BYTES + 1> masks{};
  for (unsigned bytes = 0; bytes <= WordKey::MOST_BYTES; ++bytes) {
    masks[bytes][0] = bytes >= 8 ? ~std::uint64_t(0) : (std::uint64_t(1) << (8 * bytes)) - 1;
    masks[bytes][1] = bytes >= 8 ? (std::uint64_t(1) << (8 * (bytes - 8))) - 1 : 0;
  }
  return masks;
}();

// Of a word of at most `MOST_BYTES` bytes, from which 16 bytes may be read.
inline WordKey short_key(const Byte* word, std::size_t bytes) {
  std::uint64_t parts[2];
  if (EIGHT_AT_ONCE) {
    std::memcpy(parts, word, 16);
    parts[0] &= KEY_MASKS[bytes][0];
    parts[1] &= KEY_MASKS[bytes][1];
  } else {
    parts[0] = parts[1] = 0;
    std::memcpy(parts, word, bytes);
    // The byte that the length goes to is in front.
    parts[1] >>= 8;
  }
  // Never 0: words have at least one byte.
  return {parts[0], parts[1] | (std::uint64_t(bytes) << 56)};
}

// `readable`: how many bytes may be read from `word` on.
inline WordKey key_of(const Byte* word, std::size_t bytes, std::size_t readable) {
  if (bytes > WordKey::MOST_BYTES) {
    const std::uint64_t hash = hash_of({reinterpret_cast<const char*>(word), bytes});
    return {hash, WordKey::LONG | (hash >> 8)};
  }
  if (readable >= 16) return short_key(word, bytes);
  Byte copy[16] = {};
  std::memcpy(copy, word, bytes);
  return short_key(copy, bytes);
}

// The ids of one word.
struct Ids {
  const std::uint32_t* ids;
  std::uint32_t count;
};

// Memory that only grows, in blocks that never move.
class Arena {
 public:
  std::uint64_t* take(std::size_t bytes) {
    const std::size_t words = (bytes + 7) / 8;
    if (words > left_) {
      left_ = words > BLOCK ? words : BLOCK;
      blocks_.emplace_back(new std::uint64_t[left_]);
      next_ = blocks_.back().get();
      bytes_ += left_ * 8;
    }
    std::uint64_t* memory = next_;
    next_ += words;
    left_ -= words;
    return memory;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t BLOCK = 8192;
  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::uint64_t* next_ = nullptr;
  std::size_t left_ = 0, bytes_ = 0;
};

class WordTable {
 public:
  // A table that has so many words, or so many bytes of records, is emptied before the next word is added.
  static constexpr std::size_t MOST_WORDS = 1 << 19;
  static constexpr std::size_t MOST_RECORD_BYTES = 32 << 20;

  // `slots`: a power of two.
  explicit WordTable(std::size_t slots = 1 << 12, std::shared_ptr<Arena> records = std::make_shared<Arena>())
      : slots_(slots), offset_mask_((slots - 1) * sizeof(Slot)), records_(std::move(records)) {}

  // The ids of a word; no ids if it is not in the table.
  Ids find(const WordKey& key, const Byte* word, std::size_t bytes) const {
    for (const Slot* slot = slot_of(key);; slot = slots_.next(slot)) {
      const std::uint64_t second = slot->second.load(std::memory_order_acquire);
      if (second == key.second && slot->first == key.first) {
        if (slot->few.count) return {slot->few.ids, slot->few.count};
        const Record& record = *slot->record();
        if (record.bytes == bytes && std::memcmp(record.word(), word, bytes) == 0) {
          return {record.ids(), record.count};
        }
      } else if (second == 0) {
        return {nullptr, 0};
      }
    }
  }

  // How many bytes are read from a short word on.
  static constexpr std::size_t BYTES_READ = 16;
  // How many ids `write_ids` may write, with what is written over later.
  static constexpr std::size_t MOST_WRITTEN = 16;

  // A word that is looked up soon.
  struct Ahead;
  // Of at most `WordKey::MOST_BYTES` bytes. Its slot begins to come from memory.
  Ahead look_ahead(const Byte* word, std::size_t bytes) const;
  // Writes its ids. Returns where they end; nullptr if the word is not in the table, or has too many ids.
  std::uint32_t* write_ids(const Ahead& word, std::uint32_t* ids) const;

  bool is_full() const { return words_ >= MOST_WORDS || records_->bytes() >= MOST_RECORD_BYTES; }
  bool is_crowded() const { return words_ * 2 >= slots_.count(); }

  // Adds a word that is not in the table. Only one thread at a time may add.
  void add(const WordKey& key, const Byte* word, std::size_t bytes, const std::uint32_t* ids, std::uint32_t count) {
    Slot& slot = free_slot(key);
    slot.first = key.first;
    if (!key.is_long() && count <= 3) {
      slot.few.count = count;
      std::memcpy(slot.few.ids, ids, count * sizeof(std::uint32_t));
    } else {
      slot.few.count = 0;
      slot.set_record(make_record(word, bytes, ids, count));
    }
    slot.second.store(key.second, std::memory_order_release);
    ++words_;
  }

  // A table of twice the size with the same words. This one must not be added to any more.
  std::shared_ptr<WordTable> larger() const {
    auto table = std::make_shared<WordTable>(slots_.count() * 2, records_);
    for (std::size_t at = 0; at < slots_.count(); ++at) {
      const Slot& slot = slots_[at];
      const std::uint64_t second = slot.second.load(std::memory_order_relaxed);
      if (second == 0) continue;
      Slot& copy = table->free_slot({slot.first, second});
      copy.first = slot.first;
      copy.few = slot.few;
      copy.second.store(second, std::memory_order_relaxed);
    }
    table->words_ = words_;
    return table;
  }

 private:
  // A word and its ids, in one piece of memory: the ids, then the bytes of the word.
  struct Record {
    std::uint32_t bytes, count;
    const std::uint32_t* ids() const { return reinterpret_cast<const std::uint32_t*>(this + 1); }
    const Byte* word() const { return reinterpret_cast<const Byte*>(ids() + count); }
  };

  struct Slot {
    std::atomic<std::uint64_t> second{0};
    std::uint64_t first = 0;
    struct {
      std::uint32_t ids[3] = {0, 0, 0};
      // 0: the ids are in a record, and its address is where they would be.
      std::uint32_t count = 0;
    } few;

    const Record* record() const {
      const Record* address;
      std::memcpy(&address, few.ids, sizeof(address));
      return address;
    }
    void set_record(const Record* address) { std::memcpy(few.ids, &address, sizeof(address)); }
  };
  static_assert(sizeof(Slot) == 32, "two slots in a cache line");

  TREETOK_NOINLINE static std::uint32_t* write_record(const Record& record, std::uint32_t* ids) {
    if (record.count > MOST_WRITTEN) return nullptr;
    std::memcpy(ids, record.ids(), record.count * sizeof(std::uint32_t));
    return ids + record.count;
  }

  // Where a word is, or else in one of the next slots.
  const Slot* slot_of(const WordKey& key) const { return slots_.at_offset(key.hash() & offset_mask_); }

  Slot& free_slot(const WordKey& key) {
    const Slot* slot = slot_of(key);
    while (slot->second.load(std::memory_order_relaxed) != 0) slot = slots_.next(slot);
    return const_cast<Slot&>(*slot);
  }

  const Record* make_record(const Byte* word, std::size_t bytes, const std::uint32_t* ids, std::uint32_t count) {
    const std::size_t size_of_ids = count * sizeof(std::uint32_t);
    std::uint64_t* memory = records_->take(sizeof(Record) + size_of_ids + bytes);
    auto* record = new (memory) Record{std::uint32_t(bytes), count};
    Byte* content = reinterpret_cast<Byte*>(record + 1);
    std::memcpy(content, ids, size_of_ids);
    std::memcpy(content + size_of_ids, word, bytes);
    return record;
  }

  // In large pages, where the system has them: a text touches slots all over the table.
  class Slots {
   public:
    explicit Slots(std::size_t count) : count_(count) {
      void* memory = allocated(count * sizeof(Slot));
      if (!memory) throw std::bad_alloc();
      slots_ = static_cast<Slot*>(memory);
      std::uninitialized_default_construct_n(slots_, count);
    }
    ~Slots() {
      std::destroy_n(slots_, count_);
      std::free(slots_);
    }
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    std::size_t count() const { return count_; }
    const Slot& operator[](std::size_t at) const { return slots_[at]; }
    // At so many bytes behind the first.
    const Slot* at_offset(std::size_t offset) const {
      return reinterpret_cast<const Slot*>(reinterpret_cast<const Byte*>(slots_) + offset);
    }
    const Slot* next(const Slot* slot) const { return slot + 1 == slots_ + count_ ? slots_ : slot + 1; }

   private:
    Slot* slots_;
    std::size_t count_;
  };

  Slots slots_;
  std::size_t offset_mask_;
  std::size_t words_ = 0;
  std::shared_ptr<Arena> records_;
};

struct WordTable::Ahead {
  WordKey key;
  const Slot* slot;
};

inline WordTable::Ahead WordTable::look_ahead(const Byte* word, std::size_t bytes) const {
  const WordKey key = short_key(word, bytes);
  const Slot* slot = slot_of(key);
  fetch_ahead(slot);
  return {key, slot};
}

inline std::uint32_t* WordTable::write_ids(const Ahead& word, std::uint32_t* ids) const {
  for (const Slot* slot = word.slot;; slot = slots_.next(slot)) {
    const std::uint64_t second = slot->second.load(std::memory_order_acquire);
    if (second == word.key.second && slot->first == word.key.first) {
      if (slot->few.count == 0) return write_record(*slot->record(), ids);
      // All of them, and what is behind: a fixed number of bytes takes no branch.
      std::memcpy(ids, &slot->few, sizeof(slot->few));
      return ids + slot->few.count;
    }
    if (second == 0) return nullptr;
  }
}

// The table in use, which threads share.
class WordCache {
 public:
  WordCache() : table_(std::make_shared<WordTable>()) {}

  std::shared_ptr<const WordTable> table() const {
    const std::lock_guard<std::mutex> lock(fork_safe_locks.replacing);
    return table_;
  }

  void learn(const WordKey& key, const Byte* word, std::size_t bytes, const std::vector<std::uint32_t>& ids) {
    if (ids.empty()) return;
    const std::lock_guard<std::mutex> lock(fork_safe_locks.adding);
    if (table_->find(key, word, bytes).count) return;
    if (table_->is_full()) {
      replace(std::make_shared<WordTable>());
    } else if (table_->is_crowded()) {
      replace(table_->larger());
    }
    table_->add(key, word, bytes, ids.data(), std::uint32_t(ids.size()));
  }

 private:
  // The table that is replaced is freed, if nobody reads it, when the lock has been released.
  void replace(std::shared_ptr<WordTable> table) {
    const std::lock_guard<std::mutex> lock(fork_safe_locks.replacing);
    table_.swap(table);
  }

  std::shared_ptr<WordTable> table_;
};

}  // namespace treetok
