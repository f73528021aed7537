// What takes long when a tokenizer is loaded; src/treetok/storage/load.py, native_encoder.py and lexicon.py say what it is.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "utf8.h"
#include "vocabulary_file.h"

namespace nb = nanobind;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object owned(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

// The entries of a vocabulary of which every line is a token, a tab and a count; None if there is any other line, or if
// the sum of the counts is larger than `most`. Tokens with a backslash are left to `unescape`. Raises UnicodeDecodeError.
nb::object vocabulary_entries(Bytes utf8, nb::object unescape, long long most) {
  nb::list entries;
  const auto add = [&](const char* bytes, std::size_t size, bool is_escaped, long long count) {
    nb::object token = owned(PyUnicode_DecodeUTF8(bytes, Py_ssize_t(size), "strict"));
    if (is_escaped) token = unescape(token);
    const nb::object number = owned(PyLong_FromLongLong(count));
    const nb::object entry = owned(PyTuple_Pack(2, token.ptr(), number.ptr()));
    // A string and a number refer to nothing, so that Python need not look for garbage here: it would drop the tuple
    // from its list as well, but only after it has looked at all of them.
    PyObject_GC_UnTrack(entry.ptr());
    entries.append(entry);
  };
  const auto* text = reinterpret_cast<const char*>(utf8.data());
  return treetok::read_vocabulary_file(text, utf8.size(), most, add) ? nb::object(entries) : nb::none();
}

// Entries as a list of tokens and an array of counts, and the places of tokens that are not strings.
nb::tuple entry_columns(nb::list entries) {
  const std::size_t size = entries.size();
  auto* counts = new std::int64_t[size];
  nb::capsule owner(counts, [](void* memory) noexcept { delete[] static_cast<std::int64_t*>(memory); });
  nb::object tokens = owned(PyList_New(Py_ssize_t(size)));
  nb::list others;
  for (std::size_t i = 0; i < size; ++i) {
    const nb::tuple entry = nb::cast<nb::tuple>(entries[i]);
    nb::object token = entry[0];
    counts[i] = nb::cast<std::int64_t>(entry[1]);
    if (!PyUnicode_CheckExact(token.ptr())) others.append(i);
    PyList_SET_ITEM(tokens.ptr(), Py_ssize_t(i), token.release().ptr());
  }
  return nb::make_tuple(tokens, nb::ndarray<nb::numpy, std::int64_t>(counts, {size}, owner), others);
}

// Strings that follow each other in UTF-8, given how many characters each has; None if there are more or fewer. Raises
// UnicodeDecodeError.
nb::object strings_of(Bytes utf8, Bytes lengths) {
  const std::uint8_t *at = utf8.data(), *end = at + utf8.size();
  nb::object strings = owned(PyList_New(Py_ssize_t(lengths.size())));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::uint8_t* start = at;
    for (std::size_t left = lengths(i); left; --left) {
      if (at == end) return nb::none();
      for (++at; at < end && treetok::continues_character(*at); ++at) {
      }
    }
    nb::object string = owned(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(start), at - start, "strict"));
    PyList_SET_ITEM(strings.ptr(), Py_ssize_t(i), string.release().ptr());
  }
  return at == end ? strings : nb::none();
}

// The number of characters; None if it is not UTF-8.
nb::object count_characters(Bytes utf8) {
  if (treetok::first_invalid(utf8.data(), utf8.size()) != utf8.size()) return nb::none();
  return nb::int_(treetok::count_characters(utf8.data(), utf8.size()));
}

}  // namespace

void bind_storage(nb::module_& m) {
  m.def("vocabulary_entries", &vocabulary_entries, nb::arg("utf8"), nb::arg("unescape"), nb::arg("most"));
  m.def("strings_of", &strings_of, nb::arg("utf8"), nb::arg("lengths"));
  m.def("entry_columns", &entry_columns, nb::arg("entries"));
  m.def("count_characters", &count_characters, nb::arg("utf8"));
}
