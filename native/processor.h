// What the core may ask of the processor.
#pragma once

// With TREETOK_PLAIN, the core is what it is on other processors, so that this can be tested.
#if (defined(__x86_64__) || defined(_M_X64)) && !defined(TREETOK_PLAIN)
#define TREETOK_X86_64
#if defined(__GNUC__) || defined(__clang__)
#define TREETOK_CHOOSES_INSTRUCTIONS 1
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif
#endif

namespace treetok {

// Starts to fetch memory that is read soon.
inline void fetch_ahead(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#elif defined(TREETOK_X86_64)
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#else
  (void)address;
#endif
}

}  // namespace treetok
