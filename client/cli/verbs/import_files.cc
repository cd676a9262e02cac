#include "client/cli/verbs/import_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "client/cli/local_file.h"
#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

constexpr int kMostFolders = 16;  // in each other
constexpr std::string_view kEndings[] = {".json",       ".json.gz",        ".json.zst", ".pftrace",
                                         ".pftrace.gz", ".perfetto-trace", ".sqlite",   ".nsys-rep",
                                         ".ncu-rep",    ".ncu-repz",       ".parquet"};
// NCCL Inspector's: node1-pid4711.log.
constexpr std::string_view kLogEndings[] = {".log", ".log.gz", ".jsonl", ".jsonl.gz"};
constexpr std::string_view kArchiveEndings[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst",
                                                ".zip", ".7z",     ".rar", ".bz2",     ".xz"};
constexpr size_t kMostToldBytes = 1024;  // of a name, as kprofd takes it
constexpr size_t kMostNamed = 10;        // of what is passed over for one reason

template <size_t n>
bool EndsWithOneOf(std::string_view name, const std::string_view (&endings)[n]) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return name.size() > ending.size() && name.ends_with(ending); });
}

Status CannotRead(int error, const std::string& path) {
  const std::string act = "read " + TerminalText(path);
  if (error == ENOENT || error == ENOTDIR)
    return Fail(ErrorCode::kBadInput, act, "there is no such file", "name another");
  if (error == EMFILE)
    return Fail(ErrorCode::kUsage, act, "too many files are open", "raise the limit: ulimit -n 4096");
  return FailErrno(error, act);
}

// All are open before the first is handed over, so that what cannot be read is told before anything begins.
void AllowOpenFiles(size_t files) {
  constexpr rlim_t kOthers = 64;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= files + kOthers) return;
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(files) + kOthers);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status CheckCount(size_t files) {
  if (files <= kMostImportFiles) return OkStatus();
  return Fail(ErrorCode::kUsage, "import",
              "there are " + std::to_string(files) + " files, and a run has at most " +
                  std::to_string(kMostImportFiles) + " ranks",
              "import them as several runs: name some of them, or a folder with fewer");
}

// False also where nothing is: opening it says so.
bool IsSpecial(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
}

bool IsLink(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode);
}

struct Found {
  std::vector<std::string> traces;
  std::vector<std::string> archives;
  std::vector<std::string> not_regular;
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
      if (LooksLikeTrace(std::string(name))) (IsSpecial(path) ? found.not_regular : found.traces).push_back(path);
      if (LooksLikeArchive(std::string(name))) found.archives.push_back(path);
    } else if (!IsLink(path)) {
      RETURN_IF_ERROR(AddFilesOf(path, depth + 1, found));
    }
  }
  return OkStatus();
}

Status NoTraceIn(const std::string& folder, const Found& found) {
  const std::string act = "import the folder " + TerminalText(folder);
  const std::vector<std::string>& archives = found.archives;
  if (archives.empty() && !found.not_regular.empty()) {
    return Fail(ErrorCode::kUsage, act,
                "there is no trace in it but what is no regular file: " + TerminalText(found.not_regular.front()),
                "name it");
  }
  if (archives.empty()) {
    return Fail(ErrorCode::kUsage, act, "there is no trace in it",
                "name the files: in a folder only .json, .json.gz, .json.zst, .pftrace, .perfetto-trace, .sqlite, "
                ".nsys-rep, .ncu-rep, .parquet and "
                "-pid<number>.log are taken for traces");
  }
  const std::string further = archives.size() == 1 ? "" : " and " + std::to_string(archives.size() - 1) + " more";
  return Fail(ErrorCode::kUsage, act,
              "there is no trace in it but what may be in archives, which are not opened: " +
                  TerminalText(archives.front()) + further,
              archives.size() == 1 ? "unpack it first" : "unpack them first");
}

// trace_2.json before trace_10.json: their order may be that of the ranks.
bool IsBefore(std::string_view one, std::string_view other) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto take_number = [&](std::string_view& text) {
    const size_t size = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    std::string_view digits = text.substr(0, size);
    text.remove_prefix(size);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
  };
  std::string_view a = one;
  std::string_view b = other;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view left = take_number(a);
      const std::string_view right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else if (a[0] != b[0]) {
      return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() && b.empty() ? one < other : a.empty();
}

Result<Found> FilesOf(const std::string& folder) {
  Found found;
  RETURN_IF_ERROR(AddFilesOf(folder, 0, found));
  std::sort(found.traces.begin(), found.traces.end(), IsBefore);
  std::sort(found.archives.begin(), found.archives.end());
  std::sort(found.not_regular.begin(), found.not_regular.end());
  if (found.traces.empty()) return NoTraceIn(folder, found);
  return found;
}

Result<ImportFile> Open(const std::string& path) {
  ImportFile file;
  file.path = path;
  const bool standard = path == "-";
  const size_t slash = path.rfind('/');
  file.name = standard ? "stdin" : path.substr(slash + 1);
  file.told_name = file.name;
  file.fd = UniqueFd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.fd.valid()) return CannotRead(errno, standard ? "standard input" : path);
  struct stat about {};
  if (::fstat(file.fd.get(), &about) != 0) return CannotRead(errno, path);
  // Of standard input what is left is meant, wherever it stands.
  file.is_regular = S_ISREG(about.st_mode) && !standard;
  if (file.is_regular) {
    file.size_bytes = about.st_size;
    ::fcntl(file.fd.get(), F_SETFL, ::fcntl(file.fd.get(), F_GETFL) & ~O_NONBLOCK);  // it may be handed over
  }
  file.device = about.st_dev;
  file.inode = about.st_ino;
  return file;
}

void AddLines(const std::vector<std::string>& paths, const std::string& why, const std::string& remedy_for_one,
              const std::string& remedy_for_more, std::vector<std::string>& lines) {
  for (size_t i = 0; i < std::min(paths.size(), kMostNamed); ++i) {
    lines.push_back("passed over: " + TerminalText(paths[i]) + ": " + why + "; " + remedy_for_one);
  }
  if (paths.size() > kMostNamed) {
    lines.push_back("passed over: " + std::to_string(paths.size() - kMostNamed) + " more: " + why + "; " +
                    remedy_for_more);
  }
}

// The folders on the way to a file, without those that a ".." takes back.
std::vector<std::string> FoldersOf(const std::string& path) {
  std::vector<std::string> folders;
  for (const auto& step : std::filesystem::path(path).lexically_normal().parent_path()) folders.push_back(step);
  return folders;
}

void TellNames(std::vector<ImportFile>& files) {
  std::optional<std::vector<std::string>> common;
  for (const ImportFile& file : files) {
    if (file.path == "-") continue;
    const std::vector<std::string> folders = FoldersOf(file.path);
    if (!common) common = folders;
    const auto [end, other] = std::mismatch(common->begin(), common->end(), folders.begin(), folders.end());
    common->erase(end, common->end());
  }
  for (ImportFile& file : files) {
    if (file.path == "-") continue;
    const std::vector<std::string> folders = FoldersOf(file.path);
    std::string told;
    for (size_t i = std::min(common->size(), folders.size() - std::min<size_t>(folders.size(), 1)); i < folders.size();
         ++i) {
      if (folders[i] != "/") told += folders[i] + "/";
    }
    if (told.size() + file.name.size() <= kMostToldBytes) file.told_name = told + file.name;
  }
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
  if (EndsWithOneOf(name, kEndings)) return true;
  for (const std::string_view ending : kLogEndings) {
    if (!std::string_view(name).ends_with(ending)) continue;
    const std::string_view stem = std::string_view(name).substr(0, name.size() - ending.size());
    const size_t last = stem.find_last_not_of("0123456789");
    if (last != stem.npos && last + 1 < stem.size() && stem.substr(0, last + 1).ends_with("-pid")) return true;
  }
  return false;
}

bool LooksLikeArchive(const std::string& name) {
  return EndsWithOneOf(name, kArchiveEndings);
}

std::vector<std::string> PassedOver(const ImportFiles& opened) {
  std::vector<std::string> lines;
  AddLines(opened.archives, "archives are not opened", "unpack it first", "unpack them first", lines);
  AddLines(opened.not_regular, "of a folder only regular files are read", "name it", "name them", lines);
  return lines;
}

Result<ImportFiles> OpenImportFiles(const std::vector<std::string>& paths) {
  ImportFiles opened;
  for (const std::string& given : paths) {
    Found found{.traces = {given}, .archives = {}, .not_regular = {}};
    const bool is_folder = given != "-" && IsFolder(given);
    if (is_folder) {
      ASSIGN_OR_RETURN(found, FilesOf(given));
    }
    const size_t files = opened.files.size() + found.traces.size();
    RETURN_IF_ERROR(CheckCount(files));
    AllowOpenFiles(files);
    for (const std::string& path : found.traces) {
      ASSIGN_OR_RETURN(ImportFile file, Open(path));
      file.from_folder = is_folder;
      opened.files.push_back(std::move(file));
    }
    opened.archives.insert(opened.archives.end(), found.archives.begin(), found.archives.end());
    opened.not_regular.insert(opened.not_regular.end(), found.not_regular.begin(), found.not_regular.end());
  }
  RETURN_IF_ERROR(CheckNoneTwice(opened.files));
  TellNames(opened.files);
  return opened;
}

}  // namespace kprof::cli
