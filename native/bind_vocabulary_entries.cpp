// Reads vocab.tsv; src/treetok/storage/load.py is the specification.
#include <nanobind/nanobind.h>

#include <cstring>
#include <optional>

namespace nb = nanobind;

namespace {

constexpr std::size_t MOST_DIGITS = 18;

nb::object owned(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

std::optional<long long> number_of(const char* digits, const char* end) {
  if (digits == end || std::size_t(end - digits) > MOST_DIGITS) return std::nullopt;
  long long number = 0;
  for (; digits < end; ++digits) {
    if (*digits < '0' || *digits > '9') return std::nullopt;
    number = number * 10 + (*digits - '0');
  }
  return number;
}

// The entries of a vocabulary of which every line is a token, a tab and a count; None if there is any other line, or if
// the sum of the counts is larger than `most`. Tokens with a backslash are left to `unescape`.
nb::object vocabulary_entries(nb::str text, nb::object unescape, long long most) {
  Py_ssize_t size;
  const char* at = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!at) throw nb::python_error();
  const char* end = at + size;
  nb::list entries;
  long long left = most;
  while (at < end) {
    const char* line_end = static_cast<const char*>(std::memchr(at, '\n', std::size_t(end - at)));
    if (!line_end) return nb::none();
    const char* tab = static_cast<const char*>(std::memchr(at, '\t', std::size_t(line_end - at)));
    if (!tab || tab == at) return nb::none();
    const std::optional<long long> count = number_of(tab + 1, line_end);
    if (!count || *count > left) return nb::none();
    left -= *count;
    nb::object token = owned(PyUnicode_DecodeUTF8(at, tab - at, "strict"));
    if (std::memchr(at, '\\', std::size_t(tab - at))) token = unescape(token);
    const nb::object number = owned(PyLong_FromLongLong(*count));
    entries.append(owned(PyTuple_Pack(2, token.ptr(), number.ptr())));
    at = line_end + 1;
  }
  return entries;
}

}  // namespace

void bind_vocabulary_entries(nb::module_& m) {
  m.def("vocabulary_entries", &vocabulary_entries, nb::arg("text"), nb::arg("unescape"), nb::arg("most"));
}
