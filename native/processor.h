// Which vectors the core may use.
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
