// Reads what Nsight Compute prints with --csv: the details page (a row for each metric and each rule), the page of
// --metrics (the same, with identifiers), and the raw page (a row for each launch, a column for each metric). Numbers
// become rows of `metric`, in base units; the rest rows of the side tables of kernel reports (report_tables.h).
//
// Blocks. Memory: the longest row, up to the limit, and the different texts.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// Fails with kBadInput for a text that is cut off before its first row, has no table of ncu's, or a summary over
// launches in its place. A text that ends early, or has rows that are none, is read as far as it goes, with a warning.
Status ReadNcuCsv(TextSource& text, BatchSink& sink, int64_t most_row_bytes);

// True for a text with the table's head among its first bytes, or with lines that ncu prints before it (==PROF==).
bool LooksLikeNcuCsv(std::span<const char> first);

}  // namespace kprof
