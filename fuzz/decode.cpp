// Any sequence of ids.
#include "small_encoder.h"

using namespace treetok;
using namespace treetok::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  static const Vocabulary vocabularies[] = {small_vocabulary({false, false, true}, common_pieces()),
                                            small_vocabulary({false, true, true}, common_pieces()),
                                            small_vocabulary({true, false, true}, common_pieces())};
  const Vocabulary& vocabulary = vocabularies[input.below(3)];
  std::vector<bool> is_skipped;
  if (input.flag()) {
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      is_skipped.push_back(vocabulary.kind(id) == TokenKind::SPECIAL);
    }
  }
  const std::string separator = input.flag() ? " " : "";
  std::vector<std::uint32_t> ids;
  // One byte each, from the end of the vocabulary, where pieces and markers are; or any id.
  while (input.left()) {
    const std::uint8_t byte = input.number();
    ids.push_back(byte < 64 ? std::uint32_t(vocabulary.size() - 1 - byte % vocabulary.size())
                            : std::uint32_t(input.below(vocabulary.size())));
  }
  const Exact<std::uint32_t> exact(ids);
  std::string text, one_by_one;
  vocabulary.decode(exact.data(), exact.size(), is_skipped, separator, text);
  std::vector<std::uint8_t> before;
  bool is_first = true;
  for (std::uint32_t id : ids) {
    if (!is_skipped.empty() && is_skipped[id]) continue;
    if (!is_first) one_by_one += separator;
    is_first = false;
    vocabulary.append_bytes(id, before, one_by_one);
  }
  MUST(text == one_by_one);
  return 0;
}
