#include <nanobind/nanobind.h>

#include "word_counter.h"

namespace nb = nanobind;
using treetok::WordCounter;

void bind_word_counter(nb::module_& m) {
  nb::class_<WordCounter>(m, "WordCounter", "Counts the words of texts.")
      .def("__init__", [](WordCounter* self, int profile) { new (self) WordCounter(treetok::Profile(profile)); })
      .def("add",
           [](WordCounter& self, nb::str text, std::uint64_t times) {
             Py_ssize_t size;
             const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
             if (!bytes) throw nb::python_error();
             self.add(reinterpret_cast<const treetok::Byte*>(bytes), std::size_t(size), times);
           })
      .def("__len__", &WordCounter::size)
      .def("drop_rare", &WordCounter::drop_rare)
      .def("counts", [](const WordCounter& self) {
        nb::dict counts;
        self.for_each_sorted([&](std::string_view word, std::uint64_t count) {
          counts[nb::str(word.data(), word.size())] = nb::int_(count);
        });
        return counts;
      });
}
