// Opens the files that `kprofctl import` was given. A folder stands for the traces in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

struct ImportFile {
  std::string path;  // as given, or found in a folder; "-": standard input
  std::string name;  // the last step of `path`; "stdin"
  // `name` behind the folders that not all files lie in, and behind its own at least: their names may tell the rank,
  // and the files of one job from those of another.
  std::string told_name;
  UniqueFd fd;
  bool from_folder = false;  // found in a folder: it may be no trace
  bool is_regular = false;
  int64_t size_bytes = 0;  // of a regular file
  uint64_t device = 0;     // these two tell files apart, whatever their paths
  uint64_t inode = 0;
};

// True if a file in a folder is taken for a trace, by its name: .json, .json.gz, .json.zst, .pftrace, .perfetto-trace,
// .sqlite, .nsys-rep, .ncu-rep, .parquet, and NCCL Inspector's node1-pid4711.log.
bool LooksLikeTrace(const std::string& name);

// True if the name is an archive's: .tar, .tar.gz, .tgz, .zip, .xz... Archives may hold traces, but are not opened.
bool LooksLikeArchive(const std::string& name);

struct ImportFiles {
  std::vector<ImportFile> files;
  // Paths of the archives that lay in the folders.
  std::vector<std::string> archives;
  std::vector<std::string> not_regular;  // paths there of pipes, sockets and devices that are named like traces
};

// Notes on the files that were passed over: a line for each of the first ten of a kind, and one that counts the rest.
std::vector<std::string> PassedOver(const ImportFiles& opened);

// The most ranks of a run, and the most files that kprofd holds for one user (HeldSources::kMostOfOne).
constexpr size_t kMostImportFiles = 1024;

// Opens the files in the order of `paths`. The traces of a folder and of the folders in it come sorted by path, numbers
// by their value; links to folders are not followed there. Fails with kUsage for a folder without a trace, for more
// than kMostImportFiles files, and when two are the same file; a file that cannot be opened is named in the failure.
// Raises this process's limit of open files, as far as allowed, when there are many. Never blocks: a named pipe is
// opened even if it has no writer yet.
Result<ImportFiles> OpenImportFiles(const std::vector<std::string>& paths);

}  // namespace kprof::cli
