#include "daemon/runs/import_work.h"

#include <future>
#include <utility>

#include "daemon/runs/kept_source.h"
#include "daemon/runs/part_ranks.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostWarnings = 16;  // of a source, and of what they say
constexpr size_t kWarningBytes = 512;
constexpr size_t kMostWarningsOfRun = 64;
constexpr char kSourceIncomplete[] = "source_incomplete";

std::string FileAt(const Layout& layout, const std::string& run_id, size_t i) {
  return layout.TracePartPath(run_id, "source" + std::to_string(i));
}

TracePartRow RowOf(const ImportPlan& plan, const ImportPlan::Source& source, const ImportedPart& part) {
  TracePartRow row;
  row.rank = part.rank;
  row.source_name = source.name;
  row.source_format = part.format;
  row.source_bytes = part.source_bytes;
  row.source_hash = part.source_hash;
  row.asked_format = plan.format;
  row.asked_rank = source.rank;
  row.bytes = part.bytes;
  row.slices = part.slices;
  row.instants = part.instants;
  row.counters = part.counters;
  row.flows = part.flows;
  row.tracks = part.tracks;
  return row;
}

void AddWarnings(const std::string& name, const std::vector<std::string>& warnings, std::vector<TrustReason>& trust) {
  auto add = [&](const std::string& warning) {
    trust.push_back({kSourceIncomplete, "'" + ClippedText(name, 200) + "': " + ClippedText(warning, kWarningBytes)});
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

// From the numbers that they had while nobody knew their ranks.
Status NameParts(Files& files, const Layout& layout, const std::string& run_id, const ImportPlan& plan,
                 Imported& imported) {
  std::vector<SourceRank> sources;
  for (size_t i = 0; i < imported.trace.size(); ++i) {
    sources.push_back({plan.sources[i].told_name, imported.trace[i].rank});
  }
  const std::vector<PartRank> parts = RanksOf(sources);
  for (size_t i = 0; i < parts.size(); ++i) {
    TracePartRow& row = imported.trace[i];
    row.name = parts[i].part;
    row.rank = parts[i].rank;
    if (!parts[i].warning.empty()) AddWarnings(plan.sources[i].name, {parts[i].warning}, imported.trust);
    RETURN_IF_ERROR(files.Rename(FileAt(layout, run_id, i), layout.TracePartPath(run_id, row.name)));
  }
  return OkStatus();
}

Status KeepSources(Files& files, const Layout& layout, const std::string& run_id, const ImportPlan& plan,
                   const std::stop_token& stop, Imported& imported) {
  for (size_t i = 0; i < plan.sources.size(); ++i) {
    const ImportPlan::Source& source = plan.sources[i];
    const std::string name = ArtifactNameFor(source.name, imported.artifacts);
    const ImportedSource read{source.held.fd.get(), imported.trace[i].source_bytes, imported.trace[i].source_hash};
    Result<ArtifactRow> kept = KeepSource(read, files, layout.ArtifactPath(run_id, name), name, stop);
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

Result<Imported> ImportSources(const ImportWays& ways, Files& files, const Layout& layout, const std::string& run_id,
                               const ImportPlan& plan, const std::stop_token& stop, const OnImportProgress& progress) {
  // The name of the run's folder, while what comes into it is read.
  std::future<Status> named = std::async(std::launch::async, [&] { return files.SyncFolder(layout.RunsFolder()); });
  Imported imported;
  ImportProgress before{.total_bytes = plan.total_bytes()};
  for (size_t i = 0; i < plan.sources.size(); ++i) {
    const ImportPlan::Source& source = plan.sources[i];
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "import '" + source.name + "'", "it was stopped");
    ImportProgress now = before;
    auto add_up = [&](const ImportProgress& of_source) {
      now.bytes = before.bytes + of_source.bytes;
      now.events = before.events + of_source.events;
      progress(now);
    };
    const std::optional<int64_t> of_name = plan.sources.size() > 1 ? RankInName(source.told_name) : std::nullopt;
    Result<ImportedPart> part = ways.import({source.held.fd.get(), source.name, plan.format, source.rank, of_name},
                                            ways.limits, files, FileAt(layout, run_id, i), stop, add_up);
    if (!part.ok()) return OfSource(part.status(), source.name);
    before.bytes += source.held.size_bytes;
    before.events = now.events;
    imported.trace.push_back(RowOf(plan, source, *part));
    AddWarnings(source.name, part->warnings, imported.trust);
  }
  RETURN_IF_ERROR(NameParts(files, layout, run_id, plan, imported));
  KeepFew(imported.trust);
  if (plan.keep_sources) RETURN_IF_ERROR(KeepSources(files, layout, run_id, plan, stop, imported));
  RETURN_IF_ERROR(files.SyncFolder(layout.RunFolder(run_id)));
  RETURN_IF_ERROR(named.get());
  return imported;
}

}  // namespace kprof
