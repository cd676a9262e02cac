// What a source is, as far as its first bytes tell: of texts, packed or not, and of databases only their reader knows
// whether they are traces (source_formats.h).
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <span>

#include "storage/base/status.h"

namespace kprof {

enum class SourceKind { kUnknown, kText, kPackedText, kDatabase };

constexpr size_t kSniffBytes = 4096;  // that are looked at, where there are so many

SourceKind KindOf(std::span<const char> first);

constexpr const char* kEmptyRemedy = "see that whoever writes it has done so";

// Why one of no known kind, or with nothing in it, is not read; kNotFound, as it is no trace at all. `first`: of what
// is packed in it, if it is packed.
Status NoKnownFormat(std::span<const char> first);

}  // namespace kprof
