// Memory in large pages, where the system has them: it costs less to get, and less to find.
#pragma once

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace treetok {

// To be released by `std::free`; nullptr if there is none.
inline void* allocated(std::size_t bytes) {
#if defined(__linux__)
  constexpr std::size_t LARGE_PAGE = 2 << 20;
  if (bytes >= LARGE_PAGE) {
    const std::size_t whole_pages = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    if (void* memory = std::aligned_alloc(LARGE_PAGE, whole_pages)) {
      madvise(memory, whole_pages, MADV_HUGEPAGE);
      return memory;
    }
  }
#endif
  return std::malloc(bytes);
}

}  // namespace treetok
