// SHA-256 of a stream of bytes, in the form users compare: 64 lower-case hex digits.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace kprof {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::span<const char> bytes);
  // REQUIRES: called once, last.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Of(std::span<const char> bytes);

}  // namespace kprof
