// What time it is, for those who remove what is old: a clock that is wrong for once must not cost what was kept for a
// year. Nobody tells a wrong clock from a right one by a look at it; what can be told is that it is far ahead of where
// it should be, by the last time that the catalog knows of and by the clock that never jumps (mono). Such a clock is
// believed when it has gone steadily for kSteadyNs, in which who runs the node, or NTP, would have set it.
//
// A clock that is behind removes too little, which does no harm: it is always believed.
//
// Io loop only.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/base/io_loop.h"
#include "storage/base/clock.h"
#include "storage/db/writer.h"

namespace kprof {

class ExpiryClock {
 public:
  // A weekend's node waits kSteadyNs on Monday; a wrong time zone does not.
  static constexpr int64_t kFarAheadNs = int64_t{24} * 3600 * kNanosPerSecond;
  static constexpr int64_t kSteadyNs = int64_t{6} * 3600 * kNanosPerSecond;
  // What NTP adds or takes in that time without a jump.
  static constexpr int64_t kDriftNs = 60 * kNanosPerSecond;
  static constexpr int64_t kNoteEveryNs = int64_t{3600} * kNanosPerSecond;

  // `known_ns`: storage/catalog/retention.h, as it was before this start. All outlives it.
  ExpiryClock(IoLoop& loop, const Clock& clock, Writer& writer, std::optional<int64_t> known_ns);
  ExpiryClock(const ExpiryClock&) = delete;
  ExpiryClock& operator=(const ExpiryClock&) = delete;

  // From here on the catalog is told what time is known. Once, when the loop runs.
  void Begin();

  // Unix ns, or nothing while it is not believed; the log says when that changes.
  std::optional<int64_t> Now();

 private:
  void Note();

  IoLoop& loop_;
  const Clock& clock_;
  Writer& writer_;
  // Unix time without mono time: where it was when it was last believed, and since when it goes steadily.
  int64_t known_offset_ns_;
  int64_t steady_offset_ns_;
  int64_t steady_since_mono_ns_;
  bool believed_ = true;
  IoLoop::Timer note_;
};

}  // namespace kprof
