// Names runs: 16 characters of lower-case Crockford base32 that sort by time: 9 of milliseconds since 1970, 7 random.
// Each id is greater than all before it on this node, also when the wall clock steps back.
// Io loop only.
#pragma once

#include <string>
#include <string_view>

#include "storage/base/clock.h"

namespace kprof {

class RunIdGenerator {
 public:
  // `last_id`: the greatest one given so far; may be empty.
  RunIdGenerator(const Clock& clock, std::string last_id) : clock_(clock), last_id_(std::move(last_id)) {}
  std::string Next();

 private:
  const Clock& clock_;
  std::string last_id_;
};

constexpr size_t kRunIdLength = 16;

// Whether the text could be an id or a beginning of one: 1 to 16 characters of the alphabet (upper case is taken too).
bool LooksLikeRunId(std::string_view text);

}  // namespace kprof
