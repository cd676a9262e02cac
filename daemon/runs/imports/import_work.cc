#include "daemon/runs/imports/import_work.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <future>
#include <memory>
#include <span>
#include <utility>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/neuron/neuron_json_reader.h"
#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/source/source_hash.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/imports/part_ranks.h"
#include "storage/base/readable_text.h"
#include "storage/crypto/sha256.h"
#include "storage/db/layout.h"
#include "storage/trace/read/column_cache.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

constexpr size_t kNameBytes = 180;  // leaves room for a number

bool IsTaken(const std::string& name, const std::vector<ArtifactRow>& taken) {
  return std::any_of(taken.begin(), taken.end(), [&](const ArtifactRow& artifact) { return artifact.name == name; });
}

// As many as there are.
Result<size_t> ReadBlock(int fd, int64_t offset_bytes, std::span<char> bytes, const std::string& act) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, bytes.size() - done, offset_bytes + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, act);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

std::string ArtifactNameFor(const std::string& source_name, const std::vector<ArtifactRow>& taken) {
  std::string name = source_name.substr(0, kNameBytes);
  for (char& c : name) {
    if (!IsSafeName(std::string("a") + c)) c = '_';
  }
  if (!IsSafeName(name) || IsReservedArtifactName(name)) name = "source_" + name + "_";
  std::string numbered = name;
  for (int i = 2; IsTaken(numbered, taken); ++i) numbered = std::to_string(i) + "_" + name;
  return numbered;
}

Result<ArtifactRow> KeepSource(const ImportedSource& source, Files& files, const std::string& path,
                               const std::string& name, const std::stop_token& stop) {
  const std::string act = "keep the source as artifact " + name;
  ASSIGN_OR_RETURN(const int64_t free_bytes, files.ReadFreeBytes(FolderOf(path)));
  if (source.size_bytes > free_bytes) {
    return Fail(
        ErrorCode::kStorageFull, act,
        "it has " + std::to_string(source.size_bytes) + " bytes, and " + std::to_string(free_bytes) + " are free",
        "delete runs, make room on the disk of the state folder, or import without --keep-source");
  }
  const Status changed = Fail(ErrorCode::kBadInput, act, "its bytes changed while it was imported",
                              "import it again when nobody writes it any more");
  ASSIGN_OR_RETURN(std::unique_ptr<File> copy, files.Create(path));
  ArtifactRow artifact{name, 0, ""};
  Sha256 sum;
  SourceHash hash;
  std::vector<char> block(kHashBlockBytes);
  for (size_t i = 0; i < SourceHash::BlocksOf(source.size_bytes); ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, act, "it was stopped");
    const int64_t left = source.size_bytes - artifact.size_bytes;
    const std::span<char> bytes(block.data(), static_cast<size_t>(std::min<int64_t>(kHashBlockBytes, left)));
    ASSIGN_OR_RETURN(const size_t got, ReadBlock(source.fd, artifact.size_bytes, bytes, act));
    if (got < bytes.size()) return changed;
    RETURN_IF_ERROR(copy->Append(bytes));
    sum.Add(bytes);
    hash.AddBlock(i, bytes);
    artifact.size_bytes += static_cast<int64_t>(bytes.size());
  }
  if (hash.Finish(source.size_bytes) != source.hash) return changed;
  RETURN_IF_ERROR(copy->Sync());
  artifact.sha256 = sum.Finish();
  return artifact;
}

namespace {

constexpr int64_t kReadingBytes = 16 << 20;

bool IsSame(const KernelMetric& a, const KernelMetric& b) {
  return a.kernel == b.kernel && a.name == b.name && a.unit == b.unit;
}

// Of two parts: each mean as heavy as its rows are many.
void AddMean(KernelMetric& to, const KernelMetric& more) {
  if (std::isnan(to.mean)) {
    to.mean = more.mean;
  } else if (!std::isnan(more.mean)) {
    const auto both = static_cast<double>(to.launches + more.launches);
    to.mean += (more.mean - to.mean) * (static_cast<double>(more.launches) / both);
  }
  to.launches += more.launches;
}

MetricRow CountRow(const char* name, int64_t value) {
  return {.name = name, .value = static_cast<double>(value), .unit = "count"};
}

}  // namespace

Status PartMetrics::Add(const std::string& part_path) {
  ColumnCache cache(kReadingBytes);
  ASSIGN_OR_RETURN(const std::unique_ptr<PartReader> part, PartReader::Open(part_path, cache));
  ASSIGN_OR_RETURN(KernelMetrics of_part, SumKernelMetrics(*part, {}));
  rows_ += of_part.rows;
  left_out_ += of_part.left_out;
  // Parts of one job have the same kernels, mostly in the same order.
  size_t guess = 0;
  for (KernelMetric& metric : of_part.metrics) {
    size_t at = guess;
    if (at >= kept_.size() || !IsSame(kept_[at], metric)) {
      for (at = 0; at < kept_.size() && !IsSame(kept_[at], metric);) ++at;
    }
    guess = at + 1;
    if (at < kept_.size()) {
      AddMean(kept_[at], metric);
    } else if (kept_.size() < kMostRows) {
      kept_.push_back(std::move(metric));
    } else {
      ++left_out_;
    }
  }
  return OkStatus();
}

void PartMetrics::Finish(std::vector<MetricRow>& metrics, std::vector<MetricRow>& kernel_metrics) {
  if (rows_ == 0) return;
  metrics.push_back(CountRow("kernel_metric_rows", rows_));
  if (left_out_ > 0) metrics.push_back(CountRow("kernel_metrics_in_trace_alone", left_out_));
  for (KernelMetric& metric : kept_) {
    kernel_metrics.push_back({.name = std::move(metric.name),
                              .value = metric.mean,
                              .unit = std::move(metric.unit),
                              .kernel = std::move(metric.kernel)});
  }
}

namespace {

constexpr size_t kMostWarnings = 16;  // of a source, and of what they say
constexpr size_t kWarningBytes = 512;
constexpr size_t kMostWarningsOfRun = 64;
constexpr char kSourceIncomplete[] = "source_incomplete";
constexpr char kSourceLeftOut[] = "source_left_out";
constexpr char kRankByName[] = "rank_by_name";
constexpr char kNoTimeUnit[] = "time_unit_unknown";
constexpr size_t kMostToldOfNone = 8;  // where no source is a trace

std::string FileAt(const Layout& layout, const std::string& run_id, size_t i) {
  return layout.TracePartPath(run_id, "source" + std::to_string(i));
}

TracePartRow RowOf(const ImportPlan& plan, const ImportPlan::Source& source, const ImportedPart& part) {
  TracePartRow row;
  row.rank = part.rank;
  row.source_name = source.name;
  row.source_artifact = source.artifact;
  row.source_format = part.format;
  row.source_bytes = part.source_bytes;
  row.source_hash = part.source_hash;
  row.asked_format = source.format.empty() ? plan.format : source.format;
  row.asked_rank = source.rank;
  row.bytes = part.bytes;
  row.slices = part.slices;
  row.instants = part.instants;
  row.counters = part.counters;
  row.flows = part.flows;
  row.tracks = part.tracks;
  return row;
}

void AddTrust(const char* code, const std::string& name, const std::string& why, std::vector<TrustReason>& trust) {
  trust.push_back({code, "'" + ClippedText(name, 200) + "': " + ClippedText(why, kWarningBytes)});
}

std::string JoinedByName(int64_t rank) {
  return "it does not say its rank: by its name it is taken for rank " + std::to_string(rank) + " of this job";
}

void AddWarnings(const std::string& name, const std::vector<std::string>& warnings, std::vector<TrustReason>& trust) {
  const auto add = [&](const std::string& warning) {
    if (warning.starts_with(kTimeUnitUnknown)) {
      AddTrust(kNoTimeUnit, name, warning.substr(kTimeUnitUnknown.size()), trust);
      return;
    }
    if (!warning.starts_with(kToolVersionUnknown)) return AddTrust(kSourceIncomplete, name, warning, trust);
    AddTrust("tool_version_unknown", name, warning.substr(kToolVersionUnknown.size()), trust);
  };
  for (size_t i = 0; i < warnings.size() && i < kMostWarnings; ++i) add(warnings[i]);
  if (warnings.size() > kMostWarnings) add(std::to_string(warnings.size() - kMostWarnings) + " more warnings");
}

// Of a thousand broken files not each can be told.
void KeepFew(std::vector<TrustReason>& trust) {
  if (trust.size() <= kMostWarningsOfRun) return;
  const size_t more = trust.size() - kMostWarningsOfRun;
  trust.resize(kMostWarningsOfRun);
  trust.push_back({kSourceIncomplete, std::to_string(more) + " more warnings; each part's own are in its facts"});
}

// A message that names the source, whatever it says itself.
Status OfSource(const Status& status, const std::string& name) {
  if (status.ToString().find(name) != std::string::npos) return status;
  return status.In("import '" + ClippedText(name, 200) + "'");
}

// What was found of the sources: those that are traces, one for each of `imported.trace`, and why the others are none.
struct Read {
  Imported imported;
  std::vector<size_t> sources;                     // their numbers in the plan
  std::vector<std::optional<int64_t>> told_ranks;  // what the parts say that they are
  std::vector<TrustReason> left_out;
  PartMetrics metrics;
};

std::string WhyLeftOut(const ImportPlan::Source& source, const Status& why) {
  return "'" + ClippedText(source.told_name, 200) + "' is no trace: " + ClippedText(why.why(), kWarningBytes);
}

// Two ranks never write the same bytes: one of them is a copy. But where it is said of each which rank, or which
// execution, it is, somebody meant it.
Status CheckNoCopy(const ImportPlan& plan, const Read& read) {
  const std::vector<TracePartRow>& parts = read.imported.trace;
  const auto told_name = [&](size_t part) -> const std::string& { return plan.sources[read.sources[part]].told_name; };
  const auto events = [&](size_t part) { return parts[part].slices + parts[part].instants + parts[part].counters; };
  const size_t last = parts.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    if (parts[last].source_hash.empty() || parts[i].source_hash != parts[last].source_hash || events(i) == 0) continue;
    const std::vector<std::optional<int64_t>> named = RanksInNames({told_name(i), told_name(last)});
    const std::optional<int64_t> one = parts[i].rank ? parts[i].rank : named[0];
    const std::optional<int64_t> other = parts[last].rank ? parts[last].rank : named[1];
    if (one && other && one != other) continue;
    const std::optional<int64_t> execution = ExecutionInName(told_name(i));
    const std::optional<int64_t> of_last = ExecutionInName(told_name(last));
    if (execution && of_last && execution != of_last) continue;
    const auto quoted = [&](size_t part) { return "'" + ClippedText(told_name(part), 200) + "'"; };
    return Fail(ErrorCode::kBadInput, "import", quoted(i) + " and " + quoted(last) + " have the same bytes",
                "give one of them: each file becomes a rank of the run");
  }
  return OkStatus();
}

Status NoneIsATrace(const std::vector<TrustReason>& left_out) {
  std::string why =
      left_out.size() == 1 ? "" : "none of its " + std::to_string(left_out.size()) + " files is a trace: ";
  for (size_t i = 0; i < left_out.size() && i < kMostToldOfNone; ++i) why += (i == 0 ? "" : "; ") + left_out[i].message;
  if (left_out.size() > kMostToldOfNone) why += "; and more";
  return Fail(ErrorCode::kBadInput, "import", std::move(why), "name a folder with traces in it, or the files");
}

// Which ranks they would be if no source said of itself which it is: most do not, and then no part is written twice.
std::vector<std::optional<int64_t>> LikelyRanks(const ImportPlan& plan) {
  std::vector<SourceRank> sources;
  for (const ImportPlan::Source& source : plan.sources) {
    sources.push_back({source.told_name, source.rank ? source.rank : source.joined_as, false});
  }
  std::vector<std::optional<int64_t>> ranks;
  for (const PartRank& part : RanksOf(sources)) ranks.push_back(part.rank);
  return ranks;
}

// From the numbers that they had while nobody knew their ranks. Whoever gets a part alone finds in it the rank that it
// has here.
Status NameParts(const ImportContext& context, Files& files, const Layout& layout, const std::string& run_id,
                 const ImportPlan& plan, Read& read) {
  Imported& imported = read.imported;
  std::vector<SourceRank> sources;
  for (size_t i = 0; i < imported.trace.size(); ++i) {
    const ImportPlan::Source& source = plan.sources[read.sources[i]];
    const std::optional<int64_t>& said = imported.trace[i].rank;
    const SourceFormat* format = FindSourceFormat(imported.trace[i].source_format);
    const bool joins_trace = format != nullptr && format->joins_trace;
    const bool leads = format != nullptr && format->leads;
    const bool is_table = format != nullptr && format->is_table;
    const bool is_profile = format != nullptr && format->is_profile;
    sources.push_back({source.told_name, said ? said : source.joined_as, joins_trace, leads, is_table, is_profile});
    if (!said && source.joined_as) AddTrust(kRankByName, source.name, JoinedByName(*source.joined_as), imported.trust);
  }
  const std::vector<PartRank> parts = RanksOf(sources);
  for (size_t i = 0; i < parts.size(); ++i) {
    TracePartRow& row = imported.trace[i];
    row.name = parts[i].part;
    row.rank = parts[i].rank;
    if (!parts[i].warning.empty()) AddTrust(parts[i].code, row.source_name, parts[i].warning, imported.trust);
    const std::string path = FileAt(layout, run_id, read.sources[i]);
    if (read.told_ranks[i] != row.rank) {
      ASSIGN_OR_RETURN(row.bytes, context.set_rank(files, path, row.rank));
    }
    RETURN_IF_ERROR(files.Rename(path, layout.TracePartPath(run_id, row.name)));
  }
  return OkStatus();
}

Status KeepSources(Files& files, const Layout& layout, const std::string& run_id, const ImportPlan& plan,
                   const std::stop_token& stop, Read& read) {
  Imported& imported = read.imported;
  for (size_t i = 0; i < read.sources.size(); ++i) {
    const ImportPlan::Source& source = plan.sources[read.sources[i]];
    const std::string name = ArtifactNameFor(source.name, imported.artifacts);
    const ImportedSource from{source.held.fd.get(), imported.trace[i].source_bytes, imported.trace[i].source_hash};
    Result<ArtifactRow> kept = KeepSource(from, files, layout.ArtifactPath(run_id, name), name, stop);
    if (!kept.ok()) return OfSource(kept.status(), source.name);
    imported.trace[i].source_artifact = name;
    imported.artifacts.push_back(*std::move(kept));
  }
  return OkStatus();
}

}  // namespace

int64_t ImportPlan::total_bytes() const {
  int64_t total = 0;
  for (const Source& source : sources) total += source.held.size_bytes;
  return total;
}

namespace {

// An output that cannot be read is a word in the run's trust, unless it is the node that cannot.
bool MayBeLeftOut(const Status& why) {
  switch (why.code()) {
    case ErrorCode::kCancelled:
    case ErrorCode::kStorageFull:
    case ErrorCode::kStorageBroken:
    case ErrorCode::kSpawnFailed:
      return false;
    default:
      return true;
  }
}

TrustReason NotRead(const ImportPlan::Source& source, const Status& why) {
  return {kOutputNotImported, "'" + ClippedText(source.told_name, 200) + "': " + ClippedText(why.why(), kWarningBytes)};
}

// Reads one source after the other, and names the parts.
class SourcesReading {
 public:
  SourcesReading(const ImportContext& context, Files& files, const Layout& layout, const std::string& run_id,
                 const ImportPlan& plan, const std::stop_token& stop, const OnImportProgress& progress)
      : context_(context),
        files_(files),
        layout_(layout),
        run_id_(run_id),
        plan_(plan),
        stop_(stop),
        progress_(progress),
        before_{.total_bytes = plan.total_bytes()} {}

  Result<Imported> Run() {
    const std::vector<std::optional<int64_t>> likely_ranks = LikelyRanks(plan_);
    for (size_t i = 0; i < plan_.sources.size(); ++i) RETURN_IF_ERROR(ReadOne(i, likely_ranks[i]));
    Imported& imported = read_.imported;
    if (imported.trace.empty() && !plan_.are_outputs) return NoneIsATrace(read_.left_out);
    RETURN_IF_ERROR(NameParts(context_, files_, layout_, run_id_, plan_, read_));
    read_.metrics.Finish(imported.metrics, imported.kernel_metrics);
    KeepFew(imported.trust);
    imported.trust.insert(imported.trust.end(), read_.left_out.begin(), read_.left_out.end());  // each of them is named
    if (plan_.keep_sources) RETURN_IF_ERROR(KeepSources(files_, layout_, run_id_, plan_, stop_, read_));
    RETURN_IF_ERROR(files_.SyncFolder(layout_.RunFolder(run_id_)));
    return std::move(read_.imported);
  }

  // Of outputs: the folder has more than these.
  void RemoveParts() {
    for (size_t i = 0; i < plan_.sources.size(); ++i) (void)files_.Remove(FileAt(layout_, run_id_, i));
    for (const TracePartRow& part : read_.imported.trace) {
      if (!part.name.empty()) (void)files_.Remove(layout_.TracePartPath(run_id_, part.name));
    }
  }

 private:
  Status ReadOne(size_t i, std::optional<int64_t> likely_rank) {
    const ImportPlan::Source& source = plan_.sources[i];
    if (stop_.stop_requested()) return Fail(ErrorCode::kCancelled, "import '" + source.name + "'", "it was stopped");
    ImportProgress now = before_;
    auto add_up = [&](const ImportProgress& of_source) {
      now.bytes = before_.bytes + of_source.bytes;
      now.events = before_.events + of_source.events;
      progress_(now);
    };
    const ImportSource from{.fd = source.held.fd.get(),
                            .name = source.name,
                            .format = source.format.empty() ? plan_.format : source.format,
                            .rank = source.rank,
                            .rank_if_unsaid = likely_rank,
                            .dropped_events = plan_.dropped_events,
                            .may_be_none = source.may_be_none};
    Result<ImportedPart> part =
        context_.import(from, context_.limits, files_, FileAt(layout_, run_id_, i), stop_, add_up);
    if (!part.ok() && plan_.are_outputs && MayBeLeftOut(part.status())) {
      read_.left_out.push_back(NotRead(source, part.status()));
      return OkStatus();
    }
    if (!part.ok()) return OfSource(part.status(), source.name);
    before_.bytes += source.held.size_bytes;
    if (part->no_trace) {
      if (!plan_.are_outputs) {
        read_.left_out.push_back(TrustReason{kSourceLeftOut, WhyLeftOut(source, *part->no_trace)});
      }
      return OkStatus();
    }
    before_.events = now.events;
    read_.sources.push_back(i);
    read_.told_ranks.push_back(part->told_rank);
    read_.imported.trace.push_back(RowOf(plan_, source, *part));
    const Status is_new = CheckNoCopy(plan_, read_);
    if (!is_new.ok() && plan_.are_outputs) {
      read_.left_out.push_back(NotRead(source, is_new));
      read_.sources.pop_back();
      read_.told_ranks.pop_back();
      read_.imported.trace.pop_back();
      return files_.Remove(FileAt(layout_, run_id_, i));
    }
    RETURN_IF_ERROR(is_new);
    if (part->has_metrics) RETURN_IF_ERROR(read_.metrics.Add(FileAt(layout_, run_id_, i)));
    AddWarnings(source.name, part->warnings, read_.imported.trust);
    return OkStatus();
  }

  const ImportContext& context_;
  Files& files_;
  const Layout& layout_;
  const std::string& run_id_;
  const ImportPlan& plan_;
  const std::stop_token& stop_;
  const OnImportProgress& progress_;
  ImportProgress before_;
  Read read_;
};

}  // namespace

Result<Imported> ImportSources(const ImportContext& context, Files& files, const Layout& layout,
                               const std::string& run_id, const ImportPlan& plan, const std::stop_token& stop,
                               const OnImportProgress& progress) {
  // The name of the run's folder, while what comes into it is read; where no thread can be started, behind that.
  std::future<Status> named =
      std::async(std::launch::async | std::launch::deferred, [&] { return files.SyncFolder(layout.RunsFolder()); });
  SourcesReading reading(context, files, layout, run_id, plan, stop, progress);
  Result<Imported> imported = reading.Run();
  const Status folder_named = named.get();
  if (imported.ok() && !folder_named.ok()) imported = folder_named;
  if (!imported.ok() && plan.are_outputs) reading.RemoveParts();
  return imported;
}

}  // namespace kprof
