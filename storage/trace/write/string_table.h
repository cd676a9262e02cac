// The strings of a trace, each once, by dense numbers: names repeat a million times. Number 0 is the empty string.
//
// One thread. Never forgets: code that fills it from outside watches size_bytes().
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace kprof {

class StringTable {
 public:
  StringTable();

  // The number of a string, a new one where it was never seen.
  uint32_t Add(std::string_view text);
  // Valid as long as this lives. REQUIRES: id < size().
  std::string_view Text(uint32_t id) const { return texts_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  // The bytes of all strings, with the cost of keeping them.
  int64_t size_bytes() const { return size_bytes_; }

 private:
  struct Place {
    uint32_t hash = 0;
    uint32_t id_and_one = 0;  // 0: free
  };
  void Grow();
  std::string_view Keep(std::string_view text);

  std::vector<std::string_view> texts_;
  std::vector<Place> places_;  // a power of two of them, at most half of them taken
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  int64_t size_bytes_ = 0;
};

}  // namespace kprof
