#include "daemon/runs/stray_files.h"

#include <set>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/runs/command/launch_spool.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

// What a run's folder holds that the catalog does not know.
struct Strays {
  std::vector<std::string> names;
  bool whole_folder = false;  // of a run that has ended and left nothing
};

Result<Strays> FindStrays(Db& db, Files& files, const Layout& layout, const std::string& run_id) {
  ASSIGN_OR_RETURN(RunRow run, ReadRun(db, run_id));
  Strays strays;
  if (!IsTerminal(run.state)) return strays;  // its folder is its own, which it may be making anew
  Result<std::vector<FolderEntry>> inside = files.List(layout.RunFolder(run_id));
  if (inside.status().code() == ErrorCode::kNotFound) return strays;
  if (!inside.ok()) return inside.status();
  strays.whole_folder = run.artifacts.empty() && run.trace.empty();
  std::set<std::string> known;
  for (const ArtifactRow& artifact : run.artifacts) known.insert(artifact.name);
  for (const TracePartRow& part : run.trace) known.insert(part.name + std::string(kTracePartEnding));
  for (const FolderEntry& entry : *inside) {
    if (!known.contains(entry.name)) strays.names.push_back(entry.name);
  }
  return strays;
}

// Out of the way, but there: an older catalog that was put in place, or none, knows less than the folders hold.
Status MoveToLost(Files& files, const Layout& layout, const Clock& clock, const std::string& path,
                  const std::string& name) {
  RETURN_IF_ERROR(files.CreateFolder(layout.LostFolder()));
  std::string target = layout.LostFolder() + "/" + name;
  // A name that is taken already, by an earlier find, gets a time behind it.
  if (files.OpenForRead(target).ok() || files.List(target).ok()) {
    target += "." + std::to_string(clock.unix_ns());
  }
  return files.Rename(path, target);
}

Status PutFilesAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& run_id) {
  // Asked again on the writer thread: there, no upload is between its file and its row.
  return catalog.writer().SubmitAndWait([&](Db& db) -> Status {
    const Layout& layout = catalog.layout();
    ASSIGN_OR_RETURN(Strays strays, FindStrays(db, files, layout, run_id));
    for (const std::string& name : strays.names) {
      LogWarning("a file of no artifact goes to lost/", {{"run", run_id}, {"name", name}});
      RETURN_IF_ERROR(MoveToLost(files, layout, clock, layout.ArtifactPath(run_id, name), run_id + "." + name));
    }
    return strays.whole_folder ? files.RemoveTree(layout.RunFolder(run_id)) : OkStatus();
  });
}

Status PutFolderAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& name,
                     std::stop_token stop) {
  const Layout& layout = catalog.layout();
  Result<Strays> strays = [&]() -> Result<Strays> {
    // Given back at once: what removes something waits for the writer.
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow(stop));
    return FindStrays(*reader, files, layout, name);
  }();
  if (strays.ok()) {
    const bool nothing = strays->names.empty() && !strays->whole_folder;
    return nothing ? OkStatus() : PutFilesAway(catalog, files, clock, name);
  }
  if (strays.status().code() != ErrorCode::kNotFound) return strays.status();
  LogWarning("a folder of no run goes to lost/", {{"name", name}});
  return MoveToLost(files, layout, clock, layout.RunFolder(name), name);
}

Status RemoveStraySpool(Catalog& catalog, Files& files, const std::string& name, std::stop_token stop) {
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow(stop));
    Result<RunRow> run = ReadRun(*reader, name);
    // Of an open run, even one that is no longer queued: it may be about to read it.
    if (run.ok() && !IsTerminal(run->state)) return OkStatus();
    if (!run.ok() && run.status().code() != ErrorCode::kNotFound) return run.status();
  }
  return RemoveSpool(files, catalog.layout(), name);
}

}  // namespace

Status PutStraysAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& before_id,
                     std::stop_token stop) {
  const Layout& layout = catalog.layout();
  ASSIGN_OR_RETURN(std::vector<FolderEntry> folders, files.List(layout.RunsFolder()));
  for (const FolderEntry& entry : folders) {
    if (stop.stop_requested()) return OkStatus();
    if (entry.name < before_id) RETURN_IF_ERROR(PutFolderAway(catalog, files, clock, entry.name, stop));
  }
  ASSIGN_OR_RETURN(std::vector<FolderEntry> spools, files.List(layout.SpoolFolder()));
  for (const FolderEntry& entry : spools) {
    if (stop.stop_requested()) return OkStatus();
    if (entry.name < before_id) RETURN_IF_ERROR(RemoveStraySpool(catalog, files, entry.name, stop));
  }
  return OkStatus();
}

}  // namespace kprof
