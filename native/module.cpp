// What Python sees of the native core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <cstdlib>
#include <cstring>

#include "encoder.h"
#include "parallel.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace treetok {
namespace {

template <class Value>
using Array = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Texts shorter than this are encoded before another thread could have taken over.
constexpr std::size_t WORTH_RELEASING = 2048;

// What is read from a stream at once: for one thread, and for each of several, which have to be started anew.
constexpr std::size_t BLOCK = 1 << 18, PART = 1 << 22, MOST_PARTS = 64;

struct Utf8 {
  const Byte* bytes;
  std::size_t size;
};

// The UTF-8 of a Python string, which keeps it. Raises UnicodeEncodeError for lone surrogates.
Utf8 utf8_of(nb::handle text) {
  Py_ssize_t size;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!bytes) throw nb::python_error();
  return {reinterpret_cast<const Byte*>(bytes), std::size_t(size)};
}

// The bytes of an object that has some: bytes, an array, a file that is mapped into memory.
class BytesOf {
 public:
  explicit BytesOf(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE)) throw nb::python_error();
  }
  BytesOf(const BytesOf&) = delete;
  ~BytesOf() { PyBuffer_Release(&view_); }

  Utf8 utf8() const { return {static_cast<const Byte*>(view_.buf), std::size_t(view_.len)}; }

 private:
  Py_buffer view_;
};

nb::object string_of(const std::string& utf8, const char* errors = "strict") {
  PyObject* text = PyUnicode_DecodeUTF8(utf8.data(), Py_ssize_t(utf8.size()), errors);
  if (!text) throw nb::python_error();
  return nb::steal(text);
}

SpecialTokens specials_of(nb::handle pairs, std::size_t ids) {
  std::vector<SpecialToken> specials;
  if (pairs.is_none()) return specials;
  for (nb::handle pair : pairs) {
    const Utf8 text = utf8_of(pair[0]);
    const auto id = nb::cast<std::uint32_t>(pair[1]);
    // An empty text would be found again and again at the same place.
    if (text.size == 0 || id >= ids) {
      throw std::invalid_argument("a special token has no text, or no token has its id");
    }
    specials.push_back({std::string(reinterpret_cast<const char*>(text.bytes), text.size), id});
  }
  return specials;
}

// Threads that a text can keep busy: work is divided by their number, and each has memory of its own.
std::size_t useful_threads(std::size_t threads, std::size_t bytes) {
  constexpr std::size_t LEAST_BYTES_EACH = 1 << 11;
  return std::max<std::size_t>(1, std::min(threads, bytes / LEAST_BYTES_EACH));
}

// The memory that an encoder reads: arrays of Python, or copies of those that have another layout.
class KeptArrays {
 public:
  KeptArrays(nb::object lexicon, nb::object source) : source_(source) {
    if (!lexicon.is_none()) {
      for (std::size_t i = 0; i < 3; ++i) of_lexicon_.push_back(nb::cast<Array<std::uint8_t>>(lexicon[i]));
    }
    if (nb::isinstance<Parser>(source)) return;
    for (std::size_t i = 0; i < 2; ++i) of_counts_.push_back(nb::cast<Array<std::uint64_t>>(source[i]));
  }

  std::optional<Lexicon> lexicon() const {
    if (of_lexicon_.empty()) return std::nullopt;
    const auto &text = of_lexicon_[0], &lengths = of_lexicon_[1], &depths = of_lexicon_[2];
    return Lexicon(text.data(), text.size(), lengths.data(), lengths.size(), depths.data(), depths.size());
  }

  // A parser, or hashes and counts of n-grams.
  std::unique_ptr<TreeSource> source() const {
    if (of_counts_.empty()) return std::make_unique<ParserSource>(nb::cast<const Parser&>(source_));
    const auto &hashes = of_counts_[0], &counts = of_counts_[1];
    if (hashes.size() != counts.size()) {
      throw std::invalid_argument("the number of n-gram hashes differs from the number of counts");
    }
    return std::make_unique<CountSource>(CountTrees(hashes.data(), counts.data(), hashes.size()));
  }

 private:
  nb::object source_;
  std::vector<Array<std::uint8_t>> of_lexicon_;
  std::vector<Array<std::uint64_t>> of_counts_;
};

// Keeps Python from looking for garbage. It would walk through new lists over and over while more are made.
class NoGarbageCollection {
 public:
  NoGarbageCollection() : was_enabled_(PyGC_Disable()) {}
  NoGarbageCollection(const NoGarbageCollection&) = delete;
  ~NoGarbageCollection() {
    if (was_enabled_) PyGC_Enable();
  }

 private:
  int was_enabled_;
};

class PyEncoder {
 public:
  PyEncoder(int profile, nb::list names, Array<std::uint8_t> kinds, Array<std::int64_t> costs,
            std::int64_t cost_per_token, std::uint32_t unknown_id, nb::object lexicon, nb::object source)
      : kept_(lexicon, source),
        encoder_(Profile(profile),
                 Vocabulary(tokens_of(names, kinds, costs), cost_per_token, !is_uncased(Profile(profile)), unknown_id),
                 kept_.lexicon(), kept_.source()) {
    if (profile < 0 || profile > int(Profile::UNCASED_2)) throw std::invalid_argument("there is no such profile");
    if (unknown_id >= encoder_.vocabulary().size()) {
      throw std::invalid_argument("no token has the id of the unknown one");
    }
    // Lists share the integers.
    numbers_.resize(encoder_.vocabulary().size());
    is_special_.resize(encoder_.vocabulary().size());
    for (std::uint32_t id = 0; id < is_special_.size(); ++id) {
      is_special_[id] = encoder_.vocabulary().kind(id) == TokenKind::SPECIAL;
    }
#if defined(__GLIBC__)
    // What was needed to load is given back to the system.
    malloc_trim(0);
#endif
  }

  nb::object encode(nb::str text, nb::object pairs) const {
    const Utf8 utf8 = utf8_of(text);
    if (utf8.size < WORTH_RELEASING && pairs.is_none()) {
      // Kept from text to text: a new one would take as long as encoding a few words. Taken out while it is in use,
      // since a new list can set off finalizers, which may encode as well.
      static thread_local IdBuffer kept;
      IdBuffer ids(std::move(kept));
      ids.clear();
      Encoder::Worker worker = encoder_.worker();
      encoder_.encode(worker, utf8.bytes, utf8.size, {}, ids);
      nb::object list = list_of(ids.data(), ids.size());
      kept.swap(ids);
      return list;
    }
    const SpecialTokens specials = specials_of(pairs, encoder_.vocabulary().size());
    IdBuffer ids;
    ids.expect(utf8.size);
    {
      const nb::gil_scoped_release released;
      Encoder::Worker worker = encoder_.worker();
      encoder_.encode(worker, utf8.bytes, utf8.size, specials, ids);
    }
    return list_of(ids.data(), ids.size());
  }

  nb::object encode_batch(nb::list texts, std::size_t threads, nb::object pairs) const {
    return lists_of(encode_texts(texts, threads, pairs));
  }

  // The same with dropout, whose probability is `threshold` / 2^53.
  nb::object encode_sampled(nb::list texts, std::size_t threads, std::uint64_t threshold, std::uint64_t seed,
                            nb::object pairs) const {
    const Dropout dropout{threshold, seed};
    return lists_of(encode_texts(texts, threads, pairs, nullptr, &dropout));
  }

  nb::object encode_flat(nb::list texts, std::size_t threads, nb::object pairs) const {
    Encoded encoded = encode_texts(texts, threads, pairs);
    std::vector<std::uint64_t> offsets = offsets_of(encoded);
    nb::object ids = ids_of(encoded, offsets);
    return nb::make_tuple(ids, array_of(std::move(offsets)));
  }

  // The same with where every token starts and ends in its text and the number of its word there, -1 for special
  // tokens: all as arrays over the tokens of all texts, and where each text begins in them.
  nb::object encode_with_offsets(nb::list texts, std::size_t threads, nb::object pairs) const {
    std::vector<Places> of_threads;
    const Encoded encoded = encode_texts(texts, threads, pairs, &of_threads);
    std::vector<std::uint64_t> offsets = offsets_of(encoded);
    std::vector<std::uint32_t> ids(offsets.back());
    Places all;
    if (of_threads.size() == 1) {
      const nb::gil_scoped_release released;
      all = std::move(of_threads[0]);
      std::copy(encoded.buffers[0].data(), encoded.buffers[0].data() + ids.size(), ids.begin());
    } else {
      all.starts.resize(ids.size());
      all.ends.resize(ids.size());
      all.words.resize(ids.size());
      const nb::gil_scoped_release released;
      for (std::size_t i = 0; i < encoded.places.size(); ++i) {
        const Place& place = encoded.places[i];
        const std::size_t at = offsets[i];
        const Places& of_tokens = of_threads[place.thread];
        const std::uint32_t* first = encoded.buffers[place.thread].data() + place.start;
        std::copy(first, first + place.count, ids.begin() + std::ptrdiff_t(at));
        const auto copy = [&](const std::vector<std::int64_t>& from, std::vector<std::int64_t>& to) {
          const auto start = from.begin() + std::ptrdiff_t(place.start);
          std::copy(start, start + std::ptrdiff_t(place.count), to.begin() + std::ptrdiff_t(at));
        };
        copy(of_tokens.starts, all.starts);
        copy(of_tokens.ends, all.ends);
        copy(of_tokens.words, all.words);
      }
    }
    return nb::make_tuple(array_of(std::move(ids)), array_of(std::move(all.starts)), array_of(std::move(all.ends)),
                          array_of(std::move(all.words)), array_of(std::move(offsets)));
  }

  // The ids of text in bytes, which may be cut between visible characters and spaces, where words end. Raises
  // UnicodeDecodeError at the first byte that is not UTF-8.
  nb::object encode_utf8(nb::object text, std::size_t threads) const {
    const BytesOf bytes(text);
    const Utf8 utf8 = bytes.utf8();
    threads = useful_threads(threads, utf8.size);
    Encoded encoded;
    std::size_t valid;
    {
      const nb::gil_scoped_release released;
      valid = first_invalid(utf8.bytes, utf8.size);
      if (valid == utf8.size) encoded = encode_all(parts_of(utf8, threads), threads, {});
    }
    if (valid != utf8.size) raise_invalid(utf8, valid);
    return ids_of(encoded, offsets_of(encoded));
  }

  // The ids of UTF-8 that is read from a stream by `readinto`, in blocks that stay in the caches of the processor.
  // `expected`: an estimate of how many bytes there are.
  nb::object encode_stream(nb::object stream, std::size_t threads, std::size_t expected) const {
    std::size_t block = threads == 1 ? BLOCK : std::min(threads, MOST_PARTS) * PART;
    nb::object buffer = bytearray_of(block);
    Encoded encoded;
    encoded.buffers.resize(1);
    IdBuffer& ids = encoded.buffers[0];
    ids.expect(expected);
    // Of the buffer, `filled` bytes are text that has not been encoded.
    std::size_t filled = 0;
    for (bool is_end = false; !is_end;) {
      if (filled == block) {
        block *= 2;
        nb::object larger = bytearray_of(block);
        std::memcpy(PyByteArray_AS_STRING(larger.ptr()), PyByteArray_AS_STRING(buffer.ptr()), filled);
        buffer = std::move(larger);
      }
      const std::size_t searched = filled;
      nb::object room = nb::steal(PyMemoryView_FromObject(buffer.ptr()));
      if (!room.is_valid()) throw nb::python_error();
      const nb::object read = stream.attr("readinto")(room[nb::slice(nb::int_(filled), nb::none(), nb::none())]);
      const auto count = nb::cast<std::size_t>(read);
      room = nb::object();
      if (count > block - filled) throw std::invalid_argument("a stream has read more bytes than it was asked for");
      filled += count;
      is_end = count == 0;
      // Nobody else can reach the buffer, unless the stream has kept it, and then it cannot be resized.
      const BytesOf bytes(buffer);
      Byte* text = reinterpret_cast<Byte*>(PyByteArray_AS_STRING(buffer.ptr()));
      const std::size_t end = is_end ? filled : last_cut(text, searched, filled);
      std::size_t valid;
      {
        const nb::gil_scoped_release released;
        valid = first_invalid(text, end);
        if (valid == end) append_ids({text, end}, threads, ids);
        if (valid == end) std::memmove(text, text + end, filled - end);
      }
      if (valid != end) raise_invalid({text, end}, valid);
      filled -= end;
    }
    return ids_of(encoded, {0, ids.size()});
  }

  // The text of ids; None if one of them is not the id of a token.
  nb::object decode(nb::handle sequence, bool skip_special_tokens, const std::string& separator) const {
    nb::object fast = nb::steal(PySequence_Fast(sequence.ptr(), "ids must be a sequence"));
    if (!fast.is_valid()) throw nb::python_error();
    const std::size_t count = std::size_t(PySequence_Fast_GET_SIZE(fast.ptr()));
    std::vector<std::uint32_t> ids(count);
    for (std::size_t i = 0; i < count; ++i) {
      // What is no integer runs code of its own to become one, which might change the list.
      if (i >= std::size_t(PySequence_Fast_GET_SIZE(fast.ptr()))) return nb::none();
      const nb::object number = nb::borrow(PySequence_Fast_GET_ITEM(fast.ptr(), Py_ssize_t(i)));
      const long id = PyLong_AsLong(number.ptr());
      if (id == -1 && PyErr_Occurred()) PyErr_Clear();
      if (id < 0 || std::size_t(id) >= encoder_.vocabulary().size()) return nb::none();
      ids[i] = std::uint32_t(id);
    }
    std::string text;
    const auto run = [&] {
      encoder_.vocabulary().decode(ids.data(), count, skip_special_tokens ? is_special_ : std::vector<bool>(),
                                   separator, text);
    };
    if (count < WORTH_RELEASING / 4) {
      run();
    } else {
      const nb::gil_scoped_release released;
      run();
    }
    return string_of(text, "replace");
  }

  nb::list split(nb::str text) const {
    const Utf8 utf8 = utf8_of(text);
    std::string normal;
    if (is_uncased(encoder_.profile())) normalise_uncased(utf8.bytes, utf8.size, normal);
    const Byte* bytes = is_uncased(encoder_.profile()) ? reinterpret_cast<const Byte*>(normal.data()) : utf8.bytes;
    nb::list words;
    split_words(encoder_.profile(), bytes, is_uncased(encoder_.profile()) ? normal.size() : utf8.size,
                [&](const Byte* word, std::size_t size) {
                  words.append(string_of({reinterpret_cast<const char*>(word), size}));
                });
    return words;
  }

  // The pieces of a word as the profile splits it.
  nb::list pieces(nb::str text) const {
    const Utf8 word = utf8_of(text);
    Encoder::Worker worker = encoder_.worker();
    nb::list pieces;
    if (word.size == 0) return pieces;
    const Cuts cuts = encoder_.cuts_of_word(worker, word.bytes, word.size);
    for (std::size_t i = 0; i < cuts.pieces; ++i) {
      pieces.append(string_of(std::string(worker.word.span(cuts.at[i], cuts.at[i + 1]))));
    }
    return pieces;
  }

  // The scores of the splits of a word as the profile splits it.
  nb::list scores(nb::str text) const {
    const Utf8 word = utf8_of(text);
    Encoder::Worker worker = encoder_.worker();
    nb::list scores;
    if (word.size == 0) return scores;
    encoder_.score(worker, word.bytes, word.size);
    for (std::size_t i = 0; i + 1 < worker.word.size; ++i) scores.append(nb::float_(double(worker.word.scores[i])));
    return scores;
  }

 private:
  // Where the ids of a text are.
  struct Place {
    std::size_t thread, start, count;
  };
  struct Encoded {
    std::vector<IdBuffer> buffers;
    std::vector<Place> places;
  };

  static std::vector<Token> tokens_of(nb::list names, const Array<std::uint8_t>& kinds,
                                      const Array<std::int64_t>& costs) {
    if (names.size() != kinds.size() || names.size() != costs.size()) {
      throw std::invalid_argument("names, kinds and costs differ in length");
    }
    std::vector<Token> tokens;
    tokens.reserve(names.size());
    for (std::size_t id = 0; id < names.size(); ++id) {
      const auto kind = TokenKind(kinds(id));
      if (kind > TokenKind::UPPER_MARKER) throw std::invalid_argument("there is no such kind of token");
      const Utf8 name = utf8_of(names[id]);
      std::string bytes(reinterpret_cast<const char*>(name.bytes), name.size);
      if (kind == TokenKind::BYTE) bytes = std::string(1, char(costs(id)));
      if (kind >= TokenKind::JOIN_MARKER) bytes.clear();
      tokens.push_back({std::move(bytes), kind, costs(id)});
    }
    return tokens;
  }

  [[noreturn]] static void raise_invalid(const Utf8& text, std::size_t at) {
    PyObject* error = PyUnicodeDecodeError_Create("utf-8", reinterpret_cast<const char*>(text.bytes),
                                                  Py_ssize_t(text.size), Py_ssize_t(at), Py_ssize_t(at) + 1,
                                                  "invalid byte");
    if (error) {
      PyErr_SetObject(PyExc_UnicodeDecodeError, error);
      Py_DECREF(error);
    }
    throw nb::python_error();
  }

  static nb::object bytearray_of(std::size_t bytes) {
    nb::object made = nb::steal(PyByteArray_FromStringAndSize(nullptr, Py_ssize_t(bytes)));
    if (!made.is_valid()) throw nb::python_error();
    return made;
  }

  // Whether words end at a place in a text: a visible ASCII character is before it, and a space or line feed behind.
  static bool is_cut(const Byte* at) { return (at[0] == ' ' || at[0] == '\n') && at[-1] > ' ' && at[-1] < 0x7F; }

  // The last such place, 0 if there is none from `start` on.
  static std::size_t last_cut(const Byte* text, std::size_t start, std::size_t end) {
    for (std::size_t at = end; at-- > std::max<std::size_t>(start, 1);) {
      if (is_cut(text + at)) return at;
    }
    return 0;
  }

  // Appends the ids of valid UTF-8. The GIL is not held.
  void append_ids(const Utf8& text, std::size_t threads, IdBuffer& ids) const {
    if (threads == 1) {
      Encoder::Worker worker = encoder_.worker();
      encoder_.encode(worker, text.bytes, text.size, {}, ids);
      return;
    }
    threads = useful_threads(threads, text.size);
    const Encoded encoded = encode_all(parts_of(text, threads), threads, {});
    for (const Place& place : encoded.places) {
      ids.append(encoded.buffers[place.thread].data() + place.start, place.count);
    }
  }

  // Parts of a text that threads can encode on their own.
  static std::vector<Utf8> parts_of(const Utf8& text, std::size_t threads) {
    const std::size_t size = threads == 1 ? text.size : std::max<std::size_t>(text.size / (threads * 8), 1 << 14);
    std::vector<Utf8> parts;
    for (std::size_t start = 0; start < text.size;) {
      std::size_t end = std::min(text.size, start + std::max<std::size_t>(size, 1));
      while (end < text.size && !is_cut(text.bytes + end)) ++end;
      parts.push_back({text.bytes + start, end - start});
      start = end;
    }
    return parts;
  }

  // An integer, made when it is first needed. The GIL is held.
  PyObject* number_of(std::uint32_t id) const {
    nb::object& number = numbers_[id];
    if (!number.is_valid()) number = nb::int_(id);
    return number.ptr();
  }

  nb::object list_of(const std::uint32_t* ids, std::size_t count) const {
    PyObject* list = PyList_New(Py_ssize_t(count));
    if (!list) throw nb::python_error();
    for (std::size_t i = 0; i < count; ++i) {
      PyObject* number = number_of(ids[i]);
      Py_INCREF(number);
      PyList_SET_ITEM(list, Py_ssize_t(i), number);
    }
    return nb::steal(list);
  }

  // An array of numpy that owns the numbers.
  template <class Number>
  static nb::object array_of(std::vector<Number>&& numbers) {
    auto* kept = new std::vector<Number>(std::move(numbers));
    nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<Number>*>(memory); });
    return nb::cast(nb::ndarray<nb::numpy, Number>(kept->data(), {kept->size()}, owner));
  }

  // Where the ids of each text begin among those of all, and how many there are.
  static std::vector<std::uint64_t> offsets_of(const Encoded& encoded) {
    std::vector<std::uint64_t> offsets(encoded.places.size() + 1);
    for (std::size_t i = 0; i < encoded.places.size(); ++i) offsets[i + 1] = offsets[i] + encoded.places[i].count;
    return offsets;
  }

  // The ids of all texts in one array. Those of one thread are in order already, and are handed over.
  static nb::object ids_of(Encoded& encoded, const std::vector<std::uint64_t>& offsets) {
    const std::size_t total = offsets.back();
    std::uint32_t* ids;
    if (encoded.buffers.size() == 1) {
      ids = encoded.buffers[0].release();
    } else {
      ids = static_cast<std::uint32_t*>(allocated(std::max<std::size_t>(total, 1) * sizeof(std::uint32_t)));
      if (!ids) throw std::bad_alloc();
      const nb::gil_scoped_release released;
      // Memory that is new takes long to write, so threads share that, too, unless it is too little to start any.
      constexpr std::size_t WORTH_THREADS = 1 << 20;
      const std::size_t copying = total < WORTH_THREADS ? 1 : encoded.buffers.size(), texts = encoded.places.size();
      in_parallel(texts, copying, texts / (copying * 4) + 1, [&](std::size_t, std::size_t i) {
        const Place& place = encoded.places[i];
        if (place.count == 0) return;
        std::memcpy(ids + offsets[i], encoded.buffers[place.thread].data() + place.start,
                    place.count * sizeof(std::uint32_t));
      });
    }
    nb::capsule owner(ids ? ids : std::malloc(1), [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, std::uint32_t>(ids, {total}, owner));
  }

  nb::object lists_of(const Encoded& encoded) const {
    const NoGarbageCollection lists_only;
    nb::object lists = nb::steal(PyList_New(Py_ssize_t(encoded.places.size())));
    if (!lists.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < encoded.places.size(); ++i) {
      const Place& place = encoded.places[i];
      nb::object list = list_of(encoded.buffers[place.thread].data() + place.start, place.count);
      PyList_SET_ITEM(lists.ptr(), Py_ssize_t(i), list.release().ptr());
    }
    return lists;
  }

  // With `places`, also where every token is, by thread.
  Encoded encode_texts(nb::list texts, std::size_t threads, nb::object pairs, std::vector<Places>* places = nullptr,
                       const Dropout* dropout = nullptr) const {
    std::vector<Utf8> utf8;
    utf8.reserve(texts.size());
    for (nb::handle text : texts) {
      if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text is not a string");
      utf8.push_back(utf8_of(text));
    }
    const SpecialTokens specials = specials_of(pairs, encoder_.vocabulary().size());
    const nb::gil_scoped_release released;
    return encode_all(utf8, threads, specials, places, dropout);
  }

  // The same for bytes. The GIL is not held.
  Encoded encode_all(const std::vector<Utf8>& utf8, std::size_t threads, const SpecialTokens& specials,
                     std::vector<Places>* places = nullptr, const Dropout* dropout = nullptr) const {
    std::size_t bytes = 0;
    for (const Utf8& text : utf8) bytes += text.size;
    Encoded encoded;
    encoded.places.resize(utf8.size());
    threads = std::max<std::size_t>(1, std::min(threads, utf8.size()));
    encoded.buffers.resize(threads);
    for (IdBuffer& buffer : encoded.buffers) buffer.expect(bytes / threads);
    std::vector<Encoder::Worker> workers(threads);
    for (Encoder::Worker& worker : workers) worker = encoder_.worker();
    if (places) {
      places->resize(threads);
      for (Places& of_thread : *places) of_thread.expect(bytes / threads);
    }
    // A turn is a share of the texts that is small enough to keep all threads busy to the end.
    const std::size_t at_once = std::max<std::size_t>(1, utf8.size() / (threads * 16));
    in_parallel(utf8.size(), threads, at_once, [&](std::size_t thread, std::size_t item) {
      IdBuffer& ids = encoded.buffers[thread];
      const std::size_t start = ids.size();
      if (places) {
        encoder_.encode_with_offsets(workers[thread], utf8[item].bytes, utf8[item].size, specials, ids,
                                     (*places)[thread]);
      } else if (dropout) {
        encoder_.encode_sampled(workers[thread], utf8[item].bytes, utf8[item].size, specials, *dropout, item, ids);
      } else {
        encoder_.encode(workers[thread], utf8[item].bytes, utf8[item].size, specials, ids);
      }
      encoded.places[item] = {thread, start, ids.size() - start};
    });
    return encoded;
  }

  KeptArrays kept_;
  Encoder encoder_;
  mutable std::vector<nb::object> numbers_;
  std::vector<bool> is_special_;
};

}  // namespace
}  // namespace treetok

void bind_parser(nb::module_& m);
void bind_storage(nb::module_& m);
void bind_word_counter(nb::module_& m);

NB_MODULE(_core, m) {
  using treetok::PyEncoder;
  m.doc() = "The native core of treetok.";
  // Engines and caches may hold a tokenizer until Python exits: that is no defect to report to users.
  nb::set_leak_warnings(false);
  m.def("hash_of", [](const std::string& string) { return treetok::hash_of(string); }, "string"_a,
        "The hash of a string, for tests: another one in every process.");
  bind_parser(m);
  bind_storage(m);
  bind_word_counter(m);
  nb::class_<PyEncoder>(m, "Encoder")
      .def(nb::init<int, nb::list, treetok::Array<std::uint8_t>, treetok::Array<std::int64_t>, std::int64_t,
                    std::uint32_t, nb::object, nb::object>(),
           "profile"_a, "names"_a, "kinds"_a, "costs"_a, "cost_per_token"_a, "unknown_id"_a, "lexicon"_a.none(),
           "source"_a)
      .def("encode", &PyEncoder::encode, "text"_a, "specials"_a.none() = nb::none())
      .def("encode_batch", &PyEncoder::encode_batch, "texts"_a, "threads"_a, "specials"_a.none() = nb::none())
      .def("encode_sampled", &PyEncoder::encode_sampled, "texts"_a, "threads"_a, "threshold"_a, "seed"_a,
           "specials"_a.none() = nb::none())
      .def("encode_flat", &PyEncoder::encode_flat, "texts"_a, "threads"_a, "specials"_a.none() = nb::none())
      .def("encode_with_offsets", &PyEncoder::encode_with_offsets, "texts"_a, "threads"_a,
           "specials"_a.none() = nb::none())
      .def("encode_utf8", &PyEncoder::encode_utf8, "text"_a, "threads"_a)
      .def("encode_stream", &PyEncoder::encode_stream, "stream"_a, "threads"_a, "expected"_a = 0)
      .def("decode", &PyEncoder::decode, "ids"_a, "skip_special_tokens"_a, "separator"_a)
      .def("split", &PyEncoder::split, "text"_a)
      .def("pieces", &PyEncoder::pieces, "word"_a)
      .def("scores", &PyEncoder::scores, "word"_a);
}
