// The work of an import: reads its sources, one after the other, into parts in the run's folder, gives those their
// names, keeps the sources beside them where that is wanted. Nothing of it is in the catalog before the import's end.
// Blocks, for as long as the sources are large: from a thread of a pool.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/run_context.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {

// The name of a source as an artifact of its run: as near as possible to its own name, and none of `taken`.
std::string ArtifactNameFor(const std::string& source_name, const std::vector<ArtifactRow>& taken);

// A source as it was imported.
struct ImportedSource {
  int fd = -1;  // borrowed
  int64_t size_bytes = 0;
  std::string hash;  // of source_hash.h
};

// Copies a source to `path`: the bytes that were imported, and no others. kBadInput where it has other bytes by now.
// Durable when it returns, but for the folder. kStorageFull where there is no room for it, which is known before;
// kCancelled once `stop` is requested. The caller removes an unfinished copy. Blocking.
Result<ArtifactRow> KeepSource(const ImportedSource& source, Files& files, const std::string& path,
                               const std::string& name, const std::stop_token& stop);

// Makes the few rows that the catalog keeps of a run's kernels, from the side tables `metric` of its parts: each metric
// of a kernel over all of its launches, in all parts. The launches themselves stay in the parts.
//
// Blocks: on the thread that wrote the parts.
class PartMetrics {
 public:
  // The most rows of a run; the first ones are kept.
  static constexpr size_t kMostRows = 2'048;

  // Adds a finished part. Fails as PartReader does.
  Status Add(const std::string& part_path);

  // Adds the rows of kernels, without a launch. Adds to the run's own metrics how many rows its parts have
  // (`kernel_metric_rows`) and, where there were too many, how many metrics of kernels have no row here
  // (`kernel_metrics_in_trace_alone`). Adds nothing where no part has any.
  void Finish(std::vector<MetricRow>& metrics, std::vector<MetricRow>& kernel_metrics);

 private:
  std::vector<KernelMetric> kept_;
  int64_t rows_ = 0;
  int64_t left_out_ = 0;
};

// The sources that an import is to read; their files are open as long as it lives.
struct ImportPlan {
  struct Source {
    HeldSource held;
    std::string name;
    std::optional<int64_t> rank;            // as it was asked for
    std::string told_name;                  // with its folder, where that was told
    bool may_be_none = false;               // if it is no trace, it is left out
    std::string artifact = {};              // its name, if it is an artifact of the run already
    std::string format = {};                // empty: the plan's
    std::optional<int64_t> joined_as = {};  // the rank by which its name put it into this run: import_groups.h
  };
  std::vector<Source> sources;
  std::string format;
  int64_t dropped_events = 0;  // of the capture that left the sources, as its tool says
  bool keep_sources = false;
  // The sources are files that a run left: one that cannot be read is left out, and named where it was to be a trace.
  bool are_outputs = false;

  int64_t total_bytes() const;
};

// In a run's trust: a file that it left is kept, and is no part of its trace, although it was to be one.
inline constexpr char kOutputNotImported[] = "output_not_imported";

struct Imported {
  std::vector<TracePartRow> trace;
  std::vector<ArtifactRow> artifacts;
  std::vector<TrustReason> trust;
  std::vector<MetricRow> metrics;         // of the run as a whole
  std::vector<MetricRow> kernel_metrics;  // over all launches and parts; a bounded number, `metrics` counts the rest
};

// The progress of all sources together.
using OnImportProgress = std::function<void(const ImportProgress&)>;

// Reads the sources of `plan` into parts in the run's folder, which is there and has no parts of their names. When it
// succeeds all of it is durable; else the caller removes the folder. A source that may be none and is no trace is left
// out, and named in `trust`. kBadInput where all are so, and for two sources of the same bytes that hold events, unless
// each says another rank. Fails otherwise as ImportTrace does for the first source that fails, and names it; kCancelled
// once `stop` is requested.
//
// For files that a run left (are_outputs): one that cannot be read is in `trust` and leaves nothing; a failure leaves
// no parts.
Result<Imported> ImportSources(const ImportContext& context, Files& files, const Layout& layout,
                               const std::string& run_id, const ImportPlan& plan, const std::stop_token& stop,
                               const OnImportProgress& progress);

}  // namespace kprof
