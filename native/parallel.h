// Work on numbered items in several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace treetok {

// Calls `work(thread, item)` for every item. Threads take the next items when they are done with theirs; the first
// error is thrown when all have stopped.
template <class Work>
void in_parallel(std::size_t items, std::size_t threads, std::size_t at_once, Work work) {
  if (threads > items) threads = items;
  if (threads <= 1) {
    for (std::size_t item = 0; item < items; ++item) work(std::size_t(0), item);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  std::exception_ptr error;
  std::mutex writing_error;
  const auto run = [&](std::size_t thread) {
    try {
      while (!has_failed) {
        const std::size_t first = next.fetch_add(at_once);
        if (first >= items) return;
        for (std::size_t item = first; item < std::min(first + at_once, items); ++item) work(thread, item);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(writing_error);
      if (!has_failed.exchange(true)) error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    try {
      others.emplace_back(run, thread);
    } catch (const std::system_error&) {
      // No more threads are to be had: the others do the work.
      break;
    }
  }
  run(0);
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace treetok
