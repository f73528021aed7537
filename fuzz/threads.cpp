// Several threads encode while the table of known words learns, grows and is replaced. Not a fuzz target: a
// program for ThreadSanitizer, run by scripts/sanitize.sh. Takes the number of words for each thread.
#include "parallel.h"
#include "small_encoder.h"

using namespace treetok;
using namespace treetok::fuzz;

int main(int count, char** arguments) {
  const std::size_t words = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 200000, threads = 4;
  const Encoder encoder(Profile::LOSSLESS_2, small_vocabulary({false, true, true}, common_pieces()), std::nullopt,
                        std::make_unique<ScatteredTrees>());
  // Words that all threads meet, and words of one thread; short ones and ones that are kept in records.
  const auto word = [words](std::size_t thread, std::size_t number) {
    const std::size_t shared = number % 2 ? number : number + words * (thread + 1);
    return " w" + std::to_string(shared * 7919) + (number % 5 ? "" : "-with-a-long-end-that-takes-a-record");
  };
  const auto check = [&](Encoder::Worker& worker, const std::string& text) {
    IdBuffer ids;
    encoder.encode(worker, reinterpret_cast<const Byte*>(text.data()), text.size(), {}, ids);
    std::string decoded;
    encoder.vocabulary().decode(ids.data(), ids.size(), {}, "", decoded);
    MUST(decoded == text);
  };
  in_parallel(threads, threads, 1, [&](std::size_t, std::size_t thread) {
    Encoder::Worker worker = encoder.worker();
    for (std::size_t number = 0; number < words; ++number) {
      check(worker, word(thread, number));
      // A word that another thread may have just learned, with the table of now.
      if (number % 64 == 0) {
        Encoder::Worker fresh = encoder.worker();
        check(fresh, word((thread + 1) % threads, number));
      }
    }
  });
  std::printf("%zu threads encoded %zu words each\n", threads, words);
  return 0;
}
