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
constexpr std::string_view kArchiveEndings[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst",
                                                ".zip", ".7z",     ".rar", ".bz2",     ".xz"};
constexpr size_t kMostNamed = 10;  // archives

template <size_t n>
bool EndsWithOneOf(std::string_view name, const std::string_view (&endings)[n]) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return name.size() > ending.size() && name.ends_with(ending); });
}

Status CannotRead(int error, const std::string& path) {
  const std::string act = "read " + TerminalText(path);
  if (error == ENOENT || error == ENOTDIR) return Fail(ErrorCode::kUsage, act, "there is no such file", "name another");
  return FailErrno(error, act);
}

bool IsLink(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode);
}

struct Found {
  std::vector<std::string> traces;
  std::vector<std::string> archives;
};

Status AddFilesOf(const std::string& folder, int depth, Found& found) {
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
      if (LooksLikeTrace(std::string(name))) found.traces.push_back(path);
      if (LooksLikeArchive(std::string(name))) found.archives.push_back(path);
    } else if (!IsLink(path)) {
      RETURN_IF_ERROR(AddFilesOf(path, depth + 1, found));
    }
  }
  return OkStatus();
}

Status NoTraceIn(const std::string& folder, const std::vector<std::string>& archives) {
  const std::string act = "import the folder " + TerminalText(folder);
  if (archives.empty()) {
    return Fail(
        ErrorCode::kUsage, act, "there is no trace in it",
        "name the files: in a folder only .json, .json.gz, .json.zst, .sqlite and .nsys-rep are taken for traces");
  }
  const std::string further = archives.size() == 1 ? "" : " and " + std::to_string(archives.size() - 1) + " more";
  return Fail(ErrorCode::kUsage, act,
              "there is no trace in it but what may be in archives, which are not opened: " +
                  TerminalText(archives.front()) + further,
              archives.size() == 1 ? "unpack it first" : "unpack them first");
}

Result<Found> FilesOf(const std::string& folder) {
  Found found;
  RETURN_IF_ERROR(AddFilesOf(folder, 0, found));
  std::sort(found.traces.begin(), found.traces.end());
  std::sort(found.archives.begin(), found.archives.end());
  if (found.traces.empty()) return NoTraceIn(folder, found.archives);
  return found;
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
  return EndsWithOneOf(name, kEndings);
}

bool LooksLikeArchive(const std::string& name) {
  return EndsWithOneOf(name, kArchiveEndings);
}

std::vector<std::string> PassedOver(const std::vector<std::string>& archives) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(archives.size(), kMostNamed); ++i) {
    lines.push_back("passed over: " + TerminalText(archives[i]) + ": archives are not opened; unpack it first");
  }
  if (archives.size() > kMostNamed) {
    lines.push_back("passed over: " + std::to_string(archives.size() - kMostNamed) +
                    " more: archives are not opened; unpack them first");
  }
  return lines;
}

Result<ImportFiles> OpenImportFiles(const std::vector<std::string>& paths) {
  ImportFiles opened;
  for (const std::string& given : paths) {
    Found found{.traces = {given}, .archives = {}};
    const bool is_folder = given != "-" && IsFolder(given);
    if (is_folder) {
      ASSIGN_OR_RETURN(found, FilesOf(given));
    }
    for (const std::string& path : found.traces) {
      ASSIGN_OR_RETURN(ImportFile file, Open(path));
      file.of_folder = is_folder;
      opened.files.push_back(std::move(file));
    }
    opened.archives.insert(opened.archives.end(), found.archives.begin(), found.archives.end());
  }
  RETURN_IF_ERROR(CheckNoneTwice(opened.files));
  return opened;
}

}  // namespace kprof::cli
