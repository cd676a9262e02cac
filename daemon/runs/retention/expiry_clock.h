// Tells the time to those who remove what is old: a clock that is wrong for once must not cost what was kept for a
// year. Nobody can see that a clock is wrong. But it can be seen to be far ahead of where it should be, by the last
// time that the catalog knows and by the clock that never jumps (mono). Such a clock is believed when it has gone
// steadily for kSteadyNs: in that time an admin, or NTP, would have set it.
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
  // A node that was off for a weekend waits kSteadyNs on Monday; one with a wrong time zone does not wait.
  static constexpr int64_t kFarAheadNs = int64_t{24} * 3600 * kNanosPerSecond;
  static constexpr int64_t kSteadyNs = int64_t{6} * 3600 * kNanosPerSecond;
  // The most that NTP adds or takes in that time without a jump.
  static constexpr int64_t kDriftNs = 60 * kNanosPerSecond;
  static constexpr int64_t kNoteEveryNs = int64_t{3600} * kNanosPerSecond;

  // `known_ns`: the time that the catalog knew before this start (storage/catalog/retention.h). All must outlive it.
  ExpiryClock(IoLoop& loop, const Clock& clock, Writer& writer, std::optional<int64_t> known_ns);
  ExpiryClock(const ExpiryClock&) = delete;
  ExpiryClock& operator=(const ExpiryClock&) = delete;

  // From here on it stores the known time in the catalog. Call it once, when the loop runs.
  void Begin();

  // Unix ns, or nothing while it is not believed; the log says when that changes.
  std::optional<int64_t> Now();

 private:
  void Note();

  IoLoop& loop_;
  const Clock& clock_;
  Writer& writer_;
  // known_offset_ns_: Unix time less mono time, when the clock was last believed. steady_offset_ns_: the same since
  // steady_since_mono_ns_, while the clock goes steadily.
  int64_t known_offset_ns_;
  int64_t steady_offset_ns_;
  int64_t steady_since_mono_ns_;
  bool believed_ = true;
  IoLoop::Timer note_;
};

}  // namespace kprof
