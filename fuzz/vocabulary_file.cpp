// The bytes of a vocabulary, from a stranger.
#include "vocabulary_file.h"

#include "fuzz_input.h"

using namespace treetok;
using namespace treetok::fuzz;

namespace {

struct Entry {
  std::string token;
  bool is_escaped;
  long long count;
  bool operator==(const Entry& other) const {
    return token == other.token && is_escaped == other.is_escaped && count == other.count;
  }
};

// What is to be found, slowly.
std::optional<std::vector<Entry>> entries_of(const std::string& text, long long most) {
  std::vector<Entry> entries;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) return std::nullopt;
    const std::string line = text.substr(start, end - start);
    const std::size_t tab = line.find('\t');
    if (tab == 0 || tab == std::string::npos) return std::nullopt;
    const std::string digits = line.substr(tab + 1);
    const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos;
    if (digits.empty() || digits.size() > 18 || !is_number) return std::nullopt;
    const long long count = std::stoll(digits);
    if (count > most) return std::nullopt;
    most -= count;
    entries.push_back({line.substr(0, tab), line.substr(0, tab).find('\\') != std::string::npos, count});
    start = end + 1;
  }
  return entries;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  // From 0 to what the loader allows.
  const long long most = (1LL << input.below(61)) - 1;
  const std::string text = input.rest();
  const Exact<char> exact(text);
  std::vector<Entry> found;
  const auto add = [&](const char* token, std::size_t bytes, bool is_escaped, long long count) {
    found.push_back({std::string(token, bytes), is_escaped, count});
  };
  const bool is_right = read_vocabulary_file(exact.data(), exact.size(), most, add);
  const std::optional<std::vector<Entry>> expected = entries_of(text, most);
  MUST(is_right == expected.has_value());
  MUST(!is_right || found == *expected);
  return 0;
}
