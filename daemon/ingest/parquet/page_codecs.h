// Unpacks the pages of Parquet files: Snappy and LZ4 by decoders of ours, gzip and zstd as packed sources are
// (text_source.h). Hostile bytes make no more than the size that the page's header says, and never read beyond.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "daemon/ingest/parquet/parquet_file.h"

namespace kprof {

// Fills all of `out`. False: `in` makes another number of bytes, or is damaged.
bool UnpackSnappy(std::span<const char> in, std::span<char> out);
bool UnpackLz4(std::span<const char> in, std::span<char> out);

// Fails with kBadInput, saying why, also for a codec that is not read.
Status UnpackPage(ParquetCodec codec, std::span<const char> in, std::span<char> out);

}  // namespace kprof
