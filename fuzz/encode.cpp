// Any text, in all profiles, with a small vocabulary.
#include "small_encoder.h"

using namespace treetok;
using namespace treetok::fuzz;

namespace {

std::unique_ptr<Encoder> make(Profile profile, bool has_markers) {
  const VocabularyOptions options{is_uncased(profile), has_markers, has_markers};
  return std::make_unique<Encoder>(profile, small_vocabulary(options, common_pieces()), std::nullopt,
                                   std::make_unique<ScatteredTrees>());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto profile = Profile(input.below(4));
  const bool has_markers = input.flag(), finds_specials = input.flag();
  // Kept from run to run, so that the word table grows; replaced before it holds much memory.
  static std::unique_ptr<Encoder> encoders[4][2];
  static unsigned runs[4][2];
  std::unique_ptr<Encoder>& encoder = encoders[int(profile)][has_markers];
  if (!encoder || ++runs[int(profile)][has_markers] % 4096 == 0) encoder = make(profile, has_markers);
  const std::string text = made_valid(input.rest());
  check_text(*encoder, text, finds_specials ? special_tokens() : std::vector<SpecialToken>());
  return 0;
}
