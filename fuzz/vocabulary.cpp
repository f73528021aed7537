// Any vocabulary that the checks of the loader let pass: pieces are lines, then comes a text.
#include "small_encoder.h"

using namespace treetok;
using namespace treetok::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto profile = Profile(input.below(4));
  const VocabularyOptions options{is_uncased(profile), input.flag(), input.flag()};
  const std::string lines = made_valid(input.bytes(input.below(512)));
  std::vector<std::string> pieces;
  for (std::size_t start = 0; start <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    pieces.push_back(lines.substr(start, end - start));
    start = end + 1;
  }
  const Encoder encoder(profile, small_vocabulary(options, pieces), std::nullopt,
                        std::make_unique<ScatteredTrees>());
  // Their own strings first: most others never meet a piece.
  check_text(encoder, lines, {});
  check_text(encoder, made_valid(input.rest()), special_tokens());
  return 0;
}
