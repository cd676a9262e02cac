// Which places of a text were skipped, as they could not be read, and why: what is told of them, of the first ones
// each, of all others how many there are.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/assemble/batch_sink.h"

namespace kprof {

struct SkippedPlace {
  enum class Why : uint8_t { kNoEvent, kTooLarge, kTooManyMembers };
  int64_t begin_bytes = 0;
  int64_t end_bytes = 0;  // where reading goes on
  Why why = Why::kNoEvent;
  int64_t events_before = 0;  // that were read
  int64_t stretches = 1;      // one behind the other, each of something that is no event

  // "what stands at byte 79 is no event"
  std::string Sentence() const;
};

// Adds one to places in their order. With nothing read between them two are one, for the reason of the first.
void AddSkippedPlace(std::vector<SkippedPlace>& places, const SkippedPlace& place);

class SkippedText {
 public:
  static constexpr size_t kMostTold = 16;

  void Add(const SkippedPlace& place);
  // The last one goes on up to there. REQUIRES: there is one.
  void GoOnTo(int64_t end_bytes) { last_->end_bytes = end_bytes; }

  bool empty() const { return !last_.has_value(); }
  // REQUIRES: there is one.
  const SkippedPlace& first() const { return told_.empty() ? *last_ : told_.front(); }
  const SkippedPlace& last() const { return *last_; }

  // All but the last one, where that is told otherwise.
  void Warn(BatchSink& sink, bool with_last) const;

 private:
  std::vector<SkippedPlace> told_;  // without the last one
  std::optional<SkippedPlace> last_;
  int64_t others_ = 0;
  int64_t others_bytes_ = 0;
};

}  // namespace kprof
