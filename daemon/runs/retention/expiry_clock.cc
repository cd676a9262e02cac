#include "daemon/runs/retention/expiry_clock.h"

#include <cstdlib>

#include "daemon/base/log.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/retention.h"

namespace kprof {

ExpiryClock::ExpiryClock(IoLoop& loop, const Clock& clock, Writer& writer, std::optional<int64_t> known_ns)
    : loop_(loop),
      clock_(clock),
      writer_(writer),
      known_offset_ns_(known_ns.value_or(clock.unix_ns()) - clock.mono_ns()),
      steady_offset_ns_(clock.unix_ns() - clock.mono_ns()),
      steady_since_mono_ns_(clock.mono_ns()) {}

void ExpiryClock::Begin() {
  KPROF_ON_IO_LOOP(loop_);
  Note();
}

std::optional<int64_t> ExpiryClock::Now() {
  KPROF_ON_IO_LOOP(loop_);
  const int64_t unix_ns = clock_.unix_ns();
  const int64_t mono_ns = clock_.mono_ns();
  const int64_t offset_ns = unix_ns - mono_ns;
  if (std::abs(offset_ns - steady_offset_ns_) > kDriftNs) {
    steady_offset_ns_ = offset_ns;
    steady_since_mono_ns_ = mono_ns;
  }
  const bool steady = mono_ns - steady_since_mono_ns_ >= kSteadyNs;
  const int64_t ahead_ns = offset_ns - known_offset_ns_;
  // Where it is far behind, what was known stays known: it is often set right soon.
  if (steady || std::abs(ahead_ns) <= kFarAheadNs) known_offset_ns_ = offset_ns;
  const bool believed = steady || ahead_ns <= kFarAheadNs;
  if (believed != believed_) {
    believed_ = believed;
    if (believed) {
      LogInfo("the clock is believed", {{"time", UtcText(unix_ns / kNanosPerSecond)}});
    } else {
      LogWarning("the clock is far ahead, nothing expires by its age until it is set or has gone steadily for 6 hours",
                 {{"time", UtcText(unix_ns / kNanosPerSecond)},
                  {"known", UtcText((known_offset_ns_ + mono_ns) / kNanosPerSecond)}});
    }
  }
  if (!believed) return std::nullopt;
  return unix_ns;
}

void ExpiryClock::Note() {
  note_ = loop_.After(kNoteEveryNs, [this] { Note(); });
  (void)Now();
  // Also while the clock is not believed: that time has passed is known.
  writer_.Submit([known_ns = known_offset_ns_ + clock_.mono_ns()](Db& db) { return NoteKnownTime(db, known_ns); },
                 [](const Status& noted) {
                   if (!noted.ok()) LogWarning("the time is not noted", {{"error", noted.ToString()}});
                 });
}

}  // namespace kprof
