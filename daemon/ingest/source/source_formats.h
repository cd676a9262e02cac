// The formats of sources that can be read: a row of one table each, with its name, the look of its first bytes, and its
// reader. A new format is a new reader and a row. Also the limits of a source, and its kind by its first bytes.
//
// Pure; any thread; readers block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

// Enough memory for the whole limits of docs/import.md, as long as a source reaches no more than one of them.
constexpr int64_t kMemoryForAllLimits = int64_t{1} << 30;

// The most different texts, tracks and so on that a source may have. A reader with less memory gets smaller limits: so
// a source is refused for the one thing that it has too much of, with a message that names it.
struct ReadingLimits {
  int64_t text_bytes = int64_t{192} << 20;  // of all different texts together
  size_t tracks = 1 << 20;
  size_t shapes = kMostShapes;              // kinds of argument lists
  int64_t event_bytes = int64_t{64} << 20;  // of one event; a larger event is skipped
  bool operator==(const ReadingLimits&) const = default;
};

// The limits for a reader with that much memory.
ReadingLimits ReadingLimitsFor(int64_t memory_bytes);

// The kind of a source, as far as its first bytes tell. Only a reader knows whether a text, packed or not, or a
// database is a trace.
enum class SourceKind { kUnknown, kText, kPackedText, kDatabase };

constexpr size_t kSniffBytes = 4096;  // the first bytes that are looked at

SourceKind KindOf(std::span<const char> first);

constexpr const char* kEmptyRemedy = "see that whoever writes it has done so";

// The failure for a source of no known kind, or an empty one: kNotFound, as it is no trace at all. `first`: its first
// bytes, unpacked if it is packed.
Status NoKnownFormat(std::span<const char> first);

// A source on its way to its reader.
struct OpenSource {
  const SourceFile& file;
  TextSource& text;  // unpacked, if the file is packed
  WorkerPool& pool;
  size_t threads = 2;  // of the pool
  ReadingLimits limits = {};
  bool is_look = false;  // little of it is to be read: it ends soon
  // Opens the text once more, for readers that read it twice. Not for a look: its text is kept.
  std::function<Result<std::unique_ptr<TextSource>>()> open_again;
};

struct SourceFormat {
  std::string_view name;   // as --format and the facts of a part have it
  std::string_view alias;  // another name for --format, and of what one tool writes in it
  // A text may be packed, and can be read while it comes; a database is neither.
  bool is_text = true;
  // It says more of a trace: imported beside that, it joins the run and the rank.
  bool joins_trace = false;
  // Where all sources join a trace, it is the trace that the others join.
  bool leads = false;
  // It is one of several tables in a folder, which are one trace of one rank together.
  bool is_table = false;
  // It is one execution on a device: several are of one rank where nothing says another.
  bool is_profile = false;
  // Other text may stand before it: a source that is said to be this is read as this, whatever it looks like.
  bool begins_anyhow = false;
  // Words for people about a file that looks like this.
  std::string_view what;  // "a Chrome trace"
  std::string_view looks;
  // Words about a file that was said to be this and looks like no format. Empty for texts: NoKnownFormat has them.
  std::string_view is_none;
  std::string_view remedy;

  bool (*looks_like)(std::span<const char> first);
  Status (*read)(const OpenSource& source, BatchSink& sink);
  // For a look: tells the sink what stands behind the events. Null: nothing does that says something of a job.
  Status (*read_end)(std::string_view end_of_text, BatchSink& sink) = nullptr;
};

// Finds a format by its name or its alias; null: there is none.
const SourceFormat* FindSourceFormat(std::string_view name);

// Finds a format by the first bytes of a source, unpacked; null: none that is known.
const SourceFormat* SniffSourceFormat(std::span<const char> first);

constexpr std::string_view kAnyFormat = "auto";

// The values of --format: kAnyFormat, then the aliases and names.
std::vector<std::string_view> SourceFormatNames();

// The names of the format of a source that is to be read as `asked`: what ReadSourceResult::format may be. Empty: its
// bytes decide.
std::vector<std::string> FormatsReadAs(std::string_view asked);

}  // namespace kprof
