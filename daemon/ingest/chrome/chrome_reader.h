// Reads Chrome traces, Kineto's among them: {"traceEvents": [...], ...} with whatever stands beside the events, before
// or behind them, or a bare list of events. The text is read in pieces, side by side, each from the first event that
// begins in it; that it is one is known when the piece before it was read up to there.
//
// What is whole is kept: a text that ends early is read up to there, and where something is no event, or larger than
// one may be, reading goes on with the next one; warnings say at which bytes. Lists one behind the other are read as
// one, and so are members "traceEvents"; what else stands behind a trace is not, nor a list of events behind other
// members, with a warning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

struct ChromeReaderOptions {
  size_t readers = 2;  // side by side, on the pool's threads
  int64_t piece_bytes = 4 << 20;
  int64_t most_event_bytes = int64_t{64} << 20;  // of one event, and of all that stands beside them
  // Of different samples of counters that are more than their doubles, each reader's.
  size_t sample_text_bytes = ChromeEvents::kMostSampleTextBytes;
};

// Fails with kNotFound where it is no such text: no list of events is in it, or one of other things; kBadInput where
// none of its events is whole; otherwise as text and sink do.
Status ReadChrome(TextSource& text, WorkerPool& pool, BatchSink& sink, const ChromeReaderOptions& options = {});

// What a file begins with is such a text, or may be.
bool LooksLikeChrome(std::span<const char> first);

}  // namespace kprof
