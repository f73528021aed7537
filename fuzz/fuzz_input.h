// What the fuzz targets share: reading the bytes of the fuzzer piece by piece, and stopping where something that
// must hold does not.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "utf8.h"

// Unlike assert, checked in every build.
#define MUST(condition)                                                              \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)

namespace treetok::fuzz {

// The bytes of one run. Past the end, all numbers are 0 and all strings are empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  template <class Number = std::uint8_t>
  Number number() {
    Number value{};
    const std::size_t size = std::min(sizeof(Number), left());
    if (size) std::memcpy(&value, at_, size);
    at_ += size;
    return value;
  }
  std::size_t below(std::size_t limit) { return number<std::uint16_t>() % limit; }
  bool flag() { return number() & 1; }

  std::string bytes(std::size_t size) {
    size = std::min(size, left());
    std::string taken(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return taken;
  }
  std::string rest() { return bytes(left()); }
  std::size_t left() const { return std::size_t(end_ - at_); }

 private:
  const std::uint8_t *at_, *end_;
};

// Values in memory of exactly their size: a read too far is noticed, which it might not be in a string.
template <class Value>
class Exact {
 public:
  Exact(const void* values, std::size_t count) : values_(new Value[count]), count_(count) {
    if (count) std::memcpy(values_.get(), values, count * sizeof(Value));
  }
  explicit Exact(const std::string& bytes) : Exact(bytes.data(), bytes.size() / sizeof(Value)) {}
  explicit Exact(const std::vector<Value>& values) : Exact(values.data(), values.size()) {}
  const Value* data() const { return values_.get(); }
  std::size_t size() const { return count_; }

 private:
  std::unique_ptr<Value[]> values_;
  std::size_t count_;
};

// The same text with question marks for bytes that are not UTF-8.
inline std::string made_valid(std::string text) {
  for (;;) {
    const std::size_t wrong = first_invalid(reinterpret_cast<const Byte*>(text.data()), text.size());
    if (wrong == text.size()) return text;
    text[wrong] = '?';
  }
}

}  // namespace treetok::fuzz
