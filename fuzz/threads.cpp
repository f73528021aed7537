// Threads encode, decode, load and fork while the table of known words learns, grows and is replaced. Not a fuzz
// target: a program for ThreadSanitizer, run by scripts/sanitize.sh. Takes the number of seconds and of threads.
//
// TSAN_OPTIONS must have die_after_fork=0: a child of a process with threads goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "parallel.h"
#include "small_encoder.h"

using namespace treetok;
using namespace treetok::fuzz;

namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<Encoder> loaded() {
  return std::make_unique<Encoder>(Profile::LOSSLESS_2, small_vocabulary({false, true, true}, common_pieces()),
                                   std::nullopt, std::make_unique<ScatteredTrees>());
}

void check(const Encoder& encoder, Encoder::Worker& worker, const std::string& text) {
  IdBuffer ids;
  encoder.encode(worker, reinterpret_cast<const Byte*>(text.data()), text.size(), {}, ids);
  std::string decoded;
  encoder.vocabulary().decode(ids.data(), ids.size(), {}, "", decoded);
  MUST(decoded == text);
}

// Words that all threads meet, and words of one thread; short ones and ones that are kept in records.
std::string word(std::size_t thread, std::size_t number) {
  const std::size_t of_thread = number % 2 ? number : number + (thread + 1) * 1'000'000'000;
  return " w" + std::to_string(of_thread * 7919) + (number % 5 ? "" : "-with-a-long-end-that-takes-a-record");
}

// A child of a process whose other threads encode at this moment must not wait for them.
void fork_and_encode(const Encoder& encoder, std::size_t number) {
  const pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    alarm(60);
    Encoder::Worker worker = encoder.worker();
    for (std::size_t i = 0; i < 20; ++i) check(encoder, worker, word(999, number + i));
    _exit(0);
  }
  int status = 0;
  MUST(waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t seconds = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 10;
  const std::size_t threads = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 4;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(seconds);
  const std::unique_ptr<Encoder> shared = loaded();
  std::atomic<std::size_t> words{0}, loads{0}, forks{0};
  in_parallel(threads, threads, 1, [&](std::size_t, std::size_t thread) {
    Encoder::Worker worker = shared->worker();
    for (std::size_t number = 0; Clock::now() < until; ++number) {
      check(*shared, worker, word(thread, number));
      ++words;
      // A word that another thread may have just learned, with the table of now.
      if (number % 64 == 0) {
        Encoder::Worker fresh = shared->worker();
        check(*shared, fresh, word((thread + 1) % threads, number));
      }
      if (number % 4096 == thread) {
        const std::unique_ptr<Encoder> own = loaded();
        Encoder::Worker own_worker = own->worker();
        for (std::size_t i = 0; i < 50; ++i) check(*own, own_worker, word(thread, number + i));
        ++loads;
      }
      if (thread == 0 && number % 2048 == 1024) {
        fork_and_encode(*shared, number);
        ++forks;
      }
    }
  });
  std::printf("%zu threads encoded %zu words, loaded %zu times and forked %zu times\n", threads, words.load(),
              loads.load(), forks.load());
  return 0;
}
