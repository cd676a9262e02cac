// The files that `kprofctl import` was given, opened: folders stand for the traces in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

struct ImportFile {
  std::string path;       // as it was given; "-": standard input
  std::string name;       // its last step; "stdin"
  std::string told_name;  // with the step before, which may say of which rank it is
  UniqueFd fd;
  bool from_folder = false;  // which was given in its place: it may be no trace
  bool is_regular = false;
  int64_t size_bytes = 0;  // of a regular file
  uint64_t device = 0;     // these two tell files apart, whatever their paths
  uint64_t inode = 0;
};

// Whether a file in a folder is taken for a trace: .json, .json.gz, .json.zst, .sqlite, .nsys-rep.
bool LooksLikeTrace(const std::string& name);

// Whether it is an archive by its name, which may hold traces and is not opened: .tar, .tar.gz, .tgz, .zip, .xz...
bool LooksLikeArchive(const std::string& name);

struct ImportFiles {
  std::vector<ImportFile> files;
  // That were in folders beside them: their paths.
  std::vector<std::string> archives;
  std::vector<std::string> not_regular;  // pipes, sockets and devices that are called as traces are
};

// What is to be said of those that were passed over: a line for each of a kind, the first ten.
std::vector<std::string> PassedOver(const ImportFiles& opened);

// As many as a run has ranks: what kprofd holds for one user (HeldSources::kMostOfOne).
constexpr size_t kMostImportFiles = 1024;

// In the order of `paths`, those of a folder and of the folders in it by their names, numbers in them by their value
// (those in links to folders not). Fails with kUsage for a folder without any, for more than kMostImportFiles, and
// where two are the same file; and as the first file does that cannot be opened; says which. Raises this process's
// limit of open files as far as it may where there are many. Waits for nobody: a pipe that is named is open, and need
// have no writer yet.
Result<ImportFiles> OpenImportFiles(const std::vector<std::string>& paths);

}  // namespace kprof::cli
