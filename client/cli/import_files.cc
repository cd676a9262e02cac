#include "client/cli/import_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "client/cli/local_file.h"
#include "client/cli/terminal_text.h"

namespace kprof::cli {
namespace {

constexpr int kMostFolders = 16;  // in each other
constexpr std::string_view kEndings[] = {".json", ".json.gz", ".json.zst", ".sqlite", ".nsys-rep"};

Status CannotRead(int error, const std::string& path) {
  const std::string act = "read " + TerminalText(path);
  if (error == ENOENT || error == ENOTDIR) return Fail(ErrorCode::kUsage, act, "there is no such file", "name another");
  return FailErrno(error, act);
}

bool IsLink(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode);
}

Status AddTracesIn(const std::string& folder, int depth, std::vector<std::string>& paths) {
  if (depth == kMostFolders) {
    return Fail(ErrorCode::kUsage, "read the folder " + TerminalText(folder),
                "it is in more than " + std::to_string(kMostFolders) + " others", "name the files");
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (open == nullptr) return CannotRead(errno, folder);
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
    if (!IsFolder(path)) {
      if (LooksLikeTrace(std::string(name))) paths.push_back(path);
    } else if (!IsLink(path)) {
      RETURN_IF_ERROR(AddTracesIn(path, depth + 1, paths));
    }
  }
  return OkStatus();
}

Result<std::vector<std::string>> TracesIn(const std::string& folder) {
  std::vector<std::string> paths;
  RETURN_IF_ERROR(AddTracesIn(folder, 0, paths));
  if (paths.empty()) {
    return Fail(
        ErrorCode::kUsage, "import the folder " + TerminalText(folder), "there is no trace in it",
        "name the files: in a folder only .json, .json.gz, .json.zst, .sqlite and .nsys-rep are taken for traces");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<ImportFile> Open(const std::string& path) {
  ImportFile file;
  file.path = path;
  const bool standard = path == "-";
  const size_t slash = path.rfind('/');
  file.name = standard ? "stdin" : path.substr(slash + 1);
  file.told_name = file.name;
  if (!standard && slash != path.npos && slash > 0) {
    const size_t before = path.rfind('/', slash - 1);
    file.told_name = path.substr(before == path.npos ? 0 : before + 1);
  }
  file.fd = UniqueFd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.fd.valid()) return CannotRead(errno, standard ? "standard input" : path);
  struct stat about {};
  if (::fstat(file.fd.get(), &about) != 0) return CannotRead(errno, path);
  // Of standard input what is left is meant, wherever it stands.
  file.is_regular = S_ISREG(about.st_mode) && !standard;
  if (file.is_regular) file.size_bytes = about.st_size;
  file.device = about.st_dev;
  file.inode = about.st_ino;
  return file;
}

// Each would be a rank of its own.
Status CheckNoneTwice(const std::vector<ImportFile>& files) {
  std::map<std::pair<uint64_t, uint64_t>, const ImportFile*> seen;
  for (const ImportFile& file : files) {
    if (!file.is_regular) continue;
    const auto [first, is_new] = seen.try_emplace({file.device, file.inode}, &file);
    if (is_new) continue;
    const std::string one = TerminalText(first->second->path);
    const std::string other = TerminalText(file.path);
    return Fail(ErrorCode::kUsage, "import",
                one == other ? one + " is given twice" : one + " and " + other + " are the same file",
                "give it once: each file becomes a rank of the run");
  }
  return OkStatus();
}

}  // namespace

bool LooksLikeTrace(const std::string& name) {
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.size() > ending.size() && name.ends_with(ending); });
}

Result<std::vector<ImportFile>> OpenImportFiles(const std::vector<std::string>& paths) {
  std::vector<ImportFile> files;
  for (const std::string& given : paths) {
    std::vector<std::string> of_this{given};
    const bool is_folder = given != "-" && IsFolder(given);
    if (is_folder) {
      ASSIGN_OR_RETURN(of_this, TracesIn(given));
    }
    for (const std::string& path : of_this) {
      ASSIGN_OR_RETURN(ImportFile file, Open(path));
      file.of_folder = is_folder;
      files.push_back(std::move(file));
    }
  }
  RETURN_IF_ERROR(CheckNoneTwice(files));
  return files;
}

}  // namespace kprof::cli
