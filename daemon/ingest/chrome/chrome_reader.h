// Reads Chrome traces, Kineto's among them: {"traceEvents": [...], ...} with whatever stands beside the events, before
// or behind them, or a bare list of events. The text is read in pieces, side by side, each from the first event that
// seems to begin in it; reading the piece before shows whether it does.
//
// Everything whole is kept. A text that ends early is read up to its end. Something that is no event, or too large for
// one, is skipped. Warnings name the bytes. Lists one behind the other are read as one, and so are members
// "traceEvents". Other text behind a trace is not read, nor is a list of events behind other members: a warning says
// so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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
  // See CounterRows; for each reader.
  size_t sample_text_bytes = ChromeEvents::kMostSampleTextBytes;
};

// Fails with kNotFound when the text is no trace: it has no list of events, or a list of other things; kBadInput when
// none of its events is whole; else as text and sink do.
Status ReadChrome(TextSource& text, WorkerPool& pool, BatchSink& sink, const ChromeReaderOptions& options = {});

// True if a file that begins so may be a Chrome trace.
// Gives the sink the members behind the list of events of a trace of which only the end is known. None where the list
// ends before, or the trace is cut off.
Status ReadChromeEnd(std::string_view end_of_text, BatchSink& sink);

bool LooksLikeChrome(std::span<const char> first);

}  // namespace kprof
