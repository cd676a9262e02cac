// Where things lie under the state folder:
//
//   catalog.db              the catalog of all runs (SQLite, WAL)
//   catalog.db.restored     a backup that takes its place at the next moment (catalog_restore.h)
//   catalog.db.replaced/    the one before it, on its way to lost/
//   reserve                 space for a start and a delete on a full disk (catalog.h)
//   state.lock              held (flock) by the one daemon that lives here; its text says who
//   runs/<id>/              a run's folder, mode 0700
//     stdout.log stderr.log   its output; while it runs in the form of output_log.h
//     output.progress         beside them while it runs
//     <name>                  files it left
//     <part>.trace.db         the parts of its trace
//   spool/<id>              the data that a queued run needs to start (its whole environment); gone once it started
//   tmp/                    unfinished copies; emptied at start
//   lost/                   files that belong to no run of the catalog; catalogs that a restore replaced
//
// Pure names; creates nothing. Names from outside are checked by IsSafeName before they get here.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// The remedy for a catalog that is damaged or gone. It names the state folder: without the name, the user's command
// would replace the catalog in kprofd's default folder.
std::string RestoreRemedy(const std::string& state_folder);

inline constexpr std::string_view kTracePartEnding = ".trace.db";

struct Layout {
  std::string state_folder;

  std::string CatalogPath() const { return state_folder + "/catalog.db"; }
  std::string RestoredCatalogPath() const { return state_folder + "/catalog.db.restored"; }
  std::string ReplacedFolder() const { return state_folder + "/catalog.db.replaced"; }
  std::string ReservePath() const { return state_folder + "/reserve"; }
  std::string LockPath() const { return state_folder + "/state.lock"; }
  std::string RunsFolder() const { return state_folder + "/runs"; }
  std::string RunFolder(std::string_view run_id) const { return RunsFolder() + "/" + std::string(run_id); }
  std::string SpoolFolder() const { return state_folder + "/spool"; }
  std::string SpoolPath(std::string_view run_id) const { return SpoolFolder() + "/" + std::string(run_id); }
  std::string LostFolder() const { return state_folder + "/lost"; }
  std::string TemporaryFolder() const { return state_folder + "/tmp"; }
  std::string ArtifactPath(std::string_view run_id, std::string_view file) const {
    return RunFolder(run_id) + "/" + std::string(file);
  }
  std::string TracePartPath(std::string_view run_id, std::string_view part) const {
    return ArtifactPath(run_id, std::string(part) + std::string(kTracePartEnding));
  }
};

// 1 to 200 bytes of letters, digits, '.', '_', '-', '+', '=', '@', ',' or space, not starting with '.' and not ending
// with ".partial": safe as one step of a path.
bool IsSafeName(std::string_view name);

}  // namespace kprof
