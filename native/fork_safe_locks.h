// Locks that no child process inherits locked: a fork waits until they are free, and holds them meanwhile.
//
// A child has only the thread that forked. What another thread had locked at that moment would stay locked in it.
#pragma once

#include <mutex>
#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace treetok {

// Of all word tables together: a word is learned once, so threads rarely wait. Who takes both takes `adding` first.
struct ForkSafeLocks {
  // Held by the thread that adds a word to a table.
  std::mutex adding;
  // Held while a table is replaced, or while somebody begins to read it.
  std::mutex replacing;
};

ForkSafeLocks& made_fork_safe_locks();

// Never destroyed: threads may still encode when a process ends.
inline ForkSafeLocks& fork_safe_locks = made_fork_safe_locks();

inline void release_after_fork() {
  fork_safe_locks.replacing.unlock();
  fork_safe_locks.adding.unlock();
}

inline ForkSafeLocks& made_fork_safe_locks() {
  auto* locks = new ForkSafeLocks;
#if !defined(_WIN32)
  const auto take_before_fork = [] {
    fork_safe_locks.adding.lock();
    fork_safe_locks.replacing.lock();
  };
  pthread_atfork(take_before_fork, release_after_fork, release_after_fork);
#endif
  return *locks;
}

}  // namespace treetok
