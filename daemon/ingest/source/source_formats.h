// The formats of sources that can be read, a row of one table each: what it is called, how its first bytes look, and
// its reader. A format more is a reader more and a row.
//
// Any thread; readers block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"
#include "storage/trace/format/part_schema.h"

namespace kprof {

// How much of what differs a source may have, by the memory that its reader may have: where that is too little for what
// is promised (docs/import.md), a source that has more is refused for what it has too much of, and not for all at once.
//
// Pure; any thread.
constexpr int64_t kMemoryForAllLimits = int64_t{1} << 30;  // what each of them needs, no more than one of them reached

struct ReadingLimits {
  int64_t text_bytes = int64_t{192} << 20;  // of all different texts together
  size_t tracks = 1 << 20;
  size_t shapes = kMostShapes;              // kinds of argument lists
  int64_t event_bytes = int64_t{64} << 20;  // of one event; a larger one is skipped
  bool operator==(const ReadingLimits&) const = default;
};

ReadingLimits ReadingLimitsFor(int64_t memory_bytes);

// What a source is, as far as its first bytes tell: of texts, packed or not, and of databases only their reader knows
// whether they are traces (source_formats.h).
//
// Pure; any thread.
enum class SourceKind { kUnknown, kText, kPackedText, kDatabase };

constexpr size_t kSniffBytes = 4096;  // that are looked at, where there are so many

SourceKind KindOf(std::span<const char> first);

constexpr const char* kEmptyRemedy = "see that whoever writes it has done so";

// Why one of no known kind, or with nothing in it, is not read; kNotFound, as it is no trace at all. `first`: of what
// is packed in it, if it is packed.
Status NoKnownFormat(std::span<const char> first);

// A source on its way to its reader.
struct OpenSource {
  const SourceFile& file;
  TextSource& text;  // of what is packed, unpacked
  WorkerPool& pool;
  size_t threads = 2;  // of the pool
  ReadingLimits limits = {};
};

struct SourceFormat {
  std::string_view name;   // as --format and the facts of a part have it
  std::string_view alias;  // what else it may be asked for by
  // A text may be packed, and can be read while it comes; a database is neither.
  bool is_text = true;
  // For people, of a file that looks like this.
  std::string_view what;  // "a Chrome trace"
  std::string_view looks;
  // Of one that looks like nothing and was said to be this; of texts NoKnownFormat (source_formats.h) tells.
  std::string_view is_none;
  std::string_view remedy;

  bool (*looks_like)(std::span<const char> first);
  Status (*read)(const OpenSource& source, BatchSink& sink);
};

// By its name or its alias; null: there is none.
const SourceFormat* FindSourceFormat(std::string_view name);

// By what it begins with, unpacked; null: none that is known.
const SourceFormat* SniffSourceFormat(std::span<const char> first);

constexpr std::string_view kAnyFormat = "auto";

// What may be asked for: kAnyFormat, then the aliases and names.
std::vector<std::string_view> SourceFormatNames();

// ReadSourceResult::format of a source that is asked to be read as `asked`; nothing where its bytes decide.
std::optional<std::string> FormatReadAs(std::string_view asked);

}  // namespace kprof
