// Texts, counted so many times, between them words that are dropped for being rare: beside a std::map.
#include "word_counter.h"

#include "fuzz_input.h"

using namespace treetok;
using namespace treetok::fuzz;

namespace {

using Counts = std::map<std::string, std::uint64_t>;

void add(Counts& counts, Profile profile, std::string text, std::uint64_t times) {
  if (is_uncased(profile)) {
    std::string normal;
    normalise_uncased(reinterpret_cast<const Byte*>(text.data()), text.size(), normal);
    text = normal;
  }
  split_words(profile, reinterpret_cast<const Byte*>(text.data()), text.size(), [&](const Byte* word, std::size_t size) {
    counts[std::string(reinterpret_cast<const char*>(word), size)] += times;
  });
}

std::size_t drop_rare(Counts& counts, std::size_t most) {
  std::size_t dropped = 0;
  while (counts.size() > most) {
    std::uint64_t rarest = UINT64_MAX;
    for (const auto& [word, count] : counts) rarest = std::min(rarest, count);
    for (auto at = counts.begin(); at != counts.end();) {
      const bool is_rare = at->second == rarest;
      dropped += is_rare;
      at = is_rare ? counts.erase(at) : std::next(at);
    }
  }
  return dropped;
}

// A counter with so many words that a few more make it grow.
struct Crowd {
  explicit Crowd(Profile profile) : counter(profile) {
    std::string text;
    for (std::size_t number = 0; number < 32760; ++number) {
      text += ' ';
      for (std::size_t rest = number + 1; rest; rest /= 26) text += char('a' + rest % 26);
    }
    counter.add(reinterpret_cast<const Byte*>(text.data()), text.size(), 1);
    add(counts, profile, text, 1);
  }

  WordCounter counter;
  Counts counts;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto profile = Profile(input.below(4));
  static const Crowd crowds[] = {Crowd(Profile(0)), Crowd(Profile(1)), Crowd(Profile(2)), Crowd(Profile(3))};
  static const Counts nothing;
  // Seldom, since it takes long.
  const bool is_crowded = input.number() == 'c';
  const Counts& before = is_crowded ? crowds[int(profile)].counts : nothing;
  WordCounter counter = is_crowded ? crowds[int(profile)].counter : WordCounter(profile);
  Counts added;
  while (input.left()) {
    if (input.number() % 4 == 0 && !is_crowded) {
      const std::size_t most = input.below(16);
      MUST(counter.drop_rare(most) == drop_rare(added, most));
      continue;
    }
    const std::uint64_t times = 1 + input.below(4);
    const std::string text = made_valid(input.bytes(input.below(256)));
    const Exact<Byte> exact(text);
    // Twice: words are new, and then they are not.
    for (int time = 0; time < 2; ++time) {
      counter.add(exact.data(), exact.size(), times);
      add(added, profile, text, times);
    }
  }
  std::size_t words = 0;
  auto at = before.begin();
  auto of_added = added.begin();
  counter.for_each_sorted([&](std::string_view word, std::uint64_t count) {
    std::uint64_t expected = 0;
    if (at != before.end() && at->first == word) expected += (at++)->second;
    if (of_added != added.end() && of_added->first == word) expected += (of_added++)->second;
    MUST(count > 0 && count == expected);
    ++words;
  });
  MUST(words == counter.size() && at == before.end() && of_added == added.end());
  return 0;
}
