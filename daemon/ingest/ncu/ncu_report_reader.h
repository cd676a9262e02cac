// Reads reports of Nsight Compute (.ncu-rep; packed with zstd: .ncu-repz): every launch with all of its metrics, their
// instances, sections and rules, the machine code with the lines that it comes from, and what the session says of the
// devices. Fields are found by their number and type: what is not known is passed over, so that other versions of ncu
// are read, too.
//
// The container: "NVR\0"; the size of the file's head (four bytes, little-endian, as all sizes) and the head, a message
// with the container's version (7 in all reports that were seen); then blocks up to the end. A block: the size of its
// head, the head, a message with the numbers of sources, results and range results, the size of the payload, and
// perhaps of the session, the process and further strings of the table of names; then the payload, of each of these
// the size and the message. What a message holds is told beside the code that reads it.
//
// Blocks. Memory: the largest entry of a payload, up to the limit, the table of names, and the cubins.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

struct NcuReportLimits {
  int64_t entry_bytes = int64_t{64} << 20;    // of a source or a result; a larger one is left out
  int64_t names_bytes = int64_t{64} << 20;    // of the table of names
  int64_t source_bytes = int64_t{128} << 20;  // of all sources, which are kept until the end
};

// Fails with kBadInput for a report that ends before its first result, or has none. One that ends later is read up to
// there, with a warning.
Status ReadNcuReport(TextSource& text, BatchSink& sink, const NcuReportLimits& limits);

bool LooksLikeNcuReport(std::span<const char> first);

}  // namespace kprof
