// The text of a packed source: one thread unpacks it, ahead of those who read it by some blocks. Where none can be
// started, who reads unpacks up to there first: slower, and the same text.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source/text_source.h"
#include "daemon/ingest/source/unpacker.h"

namespace kprof {

struct PackedTextLimits {
  size_t blocks_ahead = 6;                 // of kTextBlockBytes, beyond what was released
  int64_t text_bytes = int64_t{64} << 30;  // of the text; beyond, it is cut
  int64_t most_ratio = 400;                // of text to source, where the text is more than least_bytes_of_ratio
  int64_t least_bytes_of_ratio = 256 << 20;
};
constexpr size_t kTextBlockBytes = 4 << 20;

// The file must outlive it.
std::unique_ptr<TextSource> OpenPackedText(const SourceFile& file, std::unique_ptr<Unpacker> unpacker,
                                           const PackedTextLimits& limits = {});

}  // namespace kprof
