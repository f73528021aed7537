#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "parser.h"

namespace nb = nanobind;
using treetok::Parser;

namespace {

std::u32string code_points(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a string was expected");
  std::u32string codes(static_cast<size_t>(PyUnicode_GetLength(text.ptr())) + 1, U'\0');
  static_assert(sizeof(Py_UCS4) == sizeof(char32_t));
  auto* to = reinterpret_cast<Py_UCS4*>(codes.data());
  if (!PyUnicode_AsUCS4(text.ptr(), to, static_cast<Py_ssize_t>(codes.size()), 1)) throw nb::python_error();
  codes.pop_back();
  return codes;
}

std::vector<std::u32string> code_points_of_each(nb::sequence texts) {
  std::vector<std::u32string> found;
  for (nb::handle text : texts) found.push_back(code_points(text));
  return found;
}

using Stored = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

treetok::ParserArray array_of(const std::string& name, const Stored& array) {
  nb::dlpack::dtype type = array.dtype();
  bool is_int8 = type == nb::dtype<int8_t>();
  bool is_half = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16;
  if ((!is_int8 && !is_half) || type.lanes != 1 || array.ndim() < 1 || array.ndim() > 2) {
    throw nb::value_error(("the weights " + name + " are no table of float16 or int8").c_str());
  }
  return {array.data(), is_int8, array.shape(0), array.ndim() == 2 ? array.shape(1) : 1,
          std::make_shared<const Stored>(array)};
}

nb::object scores_of(const Parser& parser, nb::sequence texts) {
  std::vector<std::u32string> words = code_points_of_each(texts);
  std::vector<std::vector<float>> scores(words.size());
  bool finite = true;
  {
    nb::gil_scoped_release released;
    Parser::Scratch scratch;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].size() < 2) continue;
      scores[i].resize(words[i].size() - 1);
      finite &= parser.split_scores(words[i].data(), words[i].size(), scores[i].data(), scratch);
    }
  }
  if (!finite) throw nb::value_error("a score of the parser is not a finite number");
  nb::list found;
  for (const std::vector<float>& of_word : scores) {
    nb::ndarray<nb::numpy, const float, nb::ndim<1>> view(of_word.data(), {of_word.size()});
    found.append(view.cast(nb::rv_policy::copy));
  }
  return found;
}

}  // namespace

void bind_parser(nb::module_& m) {
  nb::class_<Parser>(m, "Parser", "The light parser: the same scores as ParserTrees, one word at a time.")
      .def(
          "__init__",
          [](Parser* self, const std::map<std::string, Stored>& weights, size_t heads, nb::str characters,
             nb::sequence morphemes, const std::string& instructions) {
            treetok::ParserWeights arrays;
            for (const auto& [name, array] : weights) arrays.emplace(name, array_of(name, array));
            std::vector<std::u32string> sorted = code_points_of_each(morphemes);
            new (self) Parser(arrays, heads, code_points(characters), sorted, instructions);
          },
          nb::arg("weights"), nb::arg("heads"), nb::arg("characters"), nb::arg("morphemes"),
          nb::arg("instructions") = "")
      .def("split_scores", &scores_of, nb::arg("words"),
           "The split scores of every word; words have up to 64 letters.")
      .def_static("instructions", &Parser::instructions,
                  "The sets of instructions that this processor has, the best one last.");
}
