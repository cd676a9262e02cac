// What a process writes to $KPROF_EVENT: any bytes are samples, notes and checks, or are counted, within the bounds;
// and the record that is made of them can be read again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/ingest/event/event_reader.h"
#include "daemon/runs/event/event_report.h"
#include "daemon/runs/event/event_samples.h"
#include "daemon/runs/event/event_turns.h"
#include "storage/base/readable_text.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const EventReport report = ReadEventReport(text, size % 2 == 0 ? 0 : 5);
  KPROF_CHECK(report.bad_lines <= report.lines && report.notes.size() <= kMostEventNotes);
  for (const EventSample& sample : report.samples) {
    KPROF_CHECK(sample.case_name.size() <= kMostCaseBytes && IsUtf8(sample.case_name) && std::isfinite(sample.ns));
  }
  EventTurns turns({.compares = true, .samples = 1, .warm_ups = 0, .seed = 7, .floor = {}});
  for (int turn = 0; turn < 4; ++turn) {
    if (!turns.Next(0)) break;
    TurnEnded ended;
    ended.exit_code = 0;
    ended.wall_ns = 1'000'000;
    ended.text = text;
    if (!turns.Add(ended, 2'000'000).ok()) break;
  }
  const EventOutcome outcome = turns.Finish();
  KPROF_CHECK(LooksLikeEventSamples(outcome.samples));
  MemoryText source(outcome.samples);
  BatchTexts texts;
  KPROF_CHECK(ReadEventSamples(source, texts).ok());
  KPROF_CHECK(texts.warnings.empty());
  return 0;
}
