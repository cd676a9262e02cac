#include "daemon/process/supervisor/command_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr char kUsualTmpdir[] = "/tmp";
constexpr int kMostEmptiedDepth = 256;

// `fd` is taken.
void EmptyFolder(int fd, int depth) {
  DIR* folder = ::fdopendir(fd);
  if (folder == nullptr) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const char* name = entry->d_name;
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    if (::unlinkat(fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth >= kMostEmptiedDepth) continue;
    [[maybe_unused]] const int opened = ::fchmodat(fd, name, S_IRWXU, 0);  // one that its maker may not enter
    const int below = ::openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0) EmptyFolder(below, depth + 1);
    ::unlinkat(fd, name, AT_REMOVEDIR);
  }
  ::closedir(folder);
}

// Its path in `made`, or the errno.
int MakeWithin(const char* folder, std::string& made) {
  made = std::string(folder) + "/kprof-XXXXXX";
  if (made.size() >= kOutputFolderPathBytes) return ENAMETOOLONG;
  return ::mkdtemp(made.data()) != nullptr ? 0 : errno;
}

}  // namespace

void RemoveFolderTree(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) EmptyFolder(fd, 0);
  ::rmdir(path.c_str());
}

int OutputFolder::Make(const std::string& path, const std::vector<std::string>& environment) {
  std::string made = path;
  if (path.empty()) {
    const char* tmpdir = FindVariable(environment, "TMPDIR");
    if (tmpdir == nullptr || tmpdir[0] != '/' || MakeWithin(tmpdir, made) != 0) {
      const int error = MakeWithin(kUsualTmpdir, made);
      if (error != 0) return error;
    }
  } else if (::mkdir(path.c_str(), S_IRWXU) != 0) {
    return errno;
  }
  ::chmod(made.c_str(), S_IRWXU);  // whatever the umask is
  path_ = made;
  if (shared_ != nullptr) std::strncpy(shared_, path_.c_str(), kOutputFolderPathBytes - 1);
  return 0;
}

void OutputFolder::Remove() {
  if (path_.empty()) return;
  RemoveFolderTree(path_);
  path_.clear();
  if (shared_ != nullptr) shared_[0] = '\0';
}

namespace {

constexpr size_t kMostSearchDepth = 64;
constexpr size_t kShownPathBytes = 300;

bool IsPattern(const std::string& part) {
  return part.find_first_of("*?[\\") != std::string::npos;
}

struct Entry {
  std::string name;
  unsigned char type = DT_UNKNOWN;
};

// Sorted, so that the same files are found in the same order. Nothing for a folder that cannot be read.
template <typename Count>
std::vector<Entry> ListFolder(const std::string& path, bool follow, const Count& count) {
  std::vector<Entry> entries;
  const int fd = ::open(path.empty() ? "." : path.c_str(),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  if (fd < 0) return entries;
  DIR* folder = ::fdopendir(fd);
  if (folder == nullptr) {
    ::close(fd);
    return entries;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!count()) break;
    entries.push_back({name, entry->d_type});
  }
  ::closedir(folder);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

bool IsFolder(const std::string& path, unsigned char type) {
  if (type != DT_UNKNOWN) return type == DT_DIR;
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

const char* WhyNotRegular(mode_t mode) {
  if (S_ISLNK(mode)) return "it is a symbolic link";
  if (S_ISFIFO(mode)) return "it is a pipe";
  if (S_ISSOCK(mode)) return "it is a socket";
  return "it is a device";
}

}  // namespace

// Where a walk is: a path, how it is shown, and whether it was named by the caller and not found by a pattern.
struct OutputSearch::Place {
  std::string path;
  std::string shown;
  bool named = true;
  size_t depth = 0;

  Place Below(const std::string& name, bool is_named) const {
    auto join = [&](const std::string& folder) {
      return folder.empty() || folder.ends_with('/') ? folder + name : folder + "/" + name;
    };
    return {join(path), join(shown), is_named, depth + 1};
  }
};

std::string OutputSearch::Shown(std::string_view bytes) {
  return ClippedText(std::string(bytes), kShownPathBytes);
}

bool OutputSearch::Find(const std::string& folder, const std::string& glob, int32_t tool_output) {
  parts_.clear();
  for (size_t at = 0; at <= glob.size();) {
    const size_t slash = std::min(glob.find('/', at), glob.size());
    const std::string part = glob.substr(at, slash - at);
    if (!part.empty() && part != ".") parts_.push_back(part);
    at = slash + 1;
  }
  tool_output_ = tool_output;
  matched_ = false;
  const bool absolute = glob.starts_with('/');
  Walk({absolute ? "/" : folder, absolute ? "/" : "", true, 0}, 0);
  return matched_;
}

OutputSearch::OutputSearch(const Limits& limits)
    : limits_(limits), until_mono_ns_(ReadClockNs(CLOCK_MONOTONIC) + limits.time_ns) {}

bool OutputSearch::Count() {
  if (gave_up_) return false;
  if (++entries_ > limits_.entries) {
    LeaveOut("more than " + std::to_string(limits_.entries) + " names were to be looked at");
    gave_up_ = true;
  } else if (ReadClockNs(CLOCK_MONOTONIC) > until_mono_ns_) {
    LeaveOut("to look at " + std::to_string(entries_) + " names took too long; what is behind them is not kept");
    gave_up_ = true;
  }
  return !gave_up_;
}

void OutputSearch::LeaveOut(const std::string& reason) {
  if (left_out_.reasons.size() < kMostLeftOutReasons) {
    left_out_.reasons.push_back(ClippedText(reason, kMostLeftOutReasonBytes / 2));
  } else {
    ++left_out_.more;
  }
}

void OutputSearch::Walk(const Place& place, size_t part) {
  if (gave_up_ || place.depth > kMostSearchDepth) return;
  if (part == parts_.size()) return Take(place);
  const std::string& pattern = parts_[part];
  if (pattern == "**") return WalkAny(place, part);
  if (!IsPattern(pattern)) return Walk(place.Below(pattern, place.named), part + 1);
  const bool last = part + 1 == parts_.size();
  for (const Entry& entry : ListFolder(place.path, place.named, [this] { return Count(); })) {
    if (::fnmatch(pattern.c_str(), entry.name.c_str(), FNM_PERIOD) != 0) continue;
    const Place below = place.Below(entry.name, false);
    if (last || IsFolder(below.path, entry.type)) Walk(below, part + 1);
    if (gave_up_) return;
  }
}

// This folder, and all below it.
void OutputSearch::WalkAny(const Place& place, size_t part) {
  if (part + 1 == parts_.size()) return TakeAll(place);
  Walk(place, part + 1);
  if (gave_up_ || place.depth >= kMostSearchDepth) return;
  for (const Entry& entry : ListFolder(place.path, place.named, [this] { return Count(); })) {
    const Place below = place.Below(entry.name, false);
    if (!entry.name.starts_with('.') && IsFolder(below.path, entry.type)) WalkAny(below, part);
    if (gave_up_) return;
  }
}

// Each file of this folder, and of those below it.
void OutputSearch::TakeAll(const Place& place) {
  if (gave_up_ || place.depth >= kMostSearchDepth) return;
  for (const Entry& entry : ListFolder(place.path, place.named, [this] { return Count(); })) {
    if (entry.name.starts_with('.')) continue;
    const Place below = place.Below(entry.name, false);
    IsFolder(below.path, entry.type) ? TakeAll(below) : Take(below);
    if (gave_up_) return;
  }
}

void OutputSearch::Take(const Place& place) {
  struct stat about {};
  if (::lstat(place.path.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    matched_ = true;
    return LeaveOut("'" + Shown(place.shown) + "': " + std::strerror(errno));
  }
  const std::string quoted = "'" + Shown(place.shown) + "': ";
  struct stat behind {};
  const bool leads_to_folder =
      S_ISLNK(about.st_mode) && place.named && ::stat(place.path.c_str(), &behind) == 0 && S_ISDIR(behind.st_mode);
  if (S_ISDIR(about.st_mode) || leads_to_folder) return place.named ? TakeAll(place) : void();
  matched_ = true;
  if (!seen_.emplace(about.st_dev, about.st_ino).second) return;
  if (!S_ISREG(about.st_mode)) return LeaveOut(quoted + WhyNotRegular(about.st_mode));
  if (about.st_uid != ::geteuid()) {
    return LeaveOut(quoted + "it belongs to another user (uid " + std::to_string(about.st_uid) + ")");
  }
  // By its last change of any kind: one that was copied or unpacked has the time of its original.
  if (about.st_ctim.tv_sec * kNanosPerSecond + about.st_ctim.tv_nsec < limits_.not_before_unix_ns) {
    return LeaveOut(quoted + "it is older than the run");
  }
  if (place.shown.size() > kMostOutputPathBytes) return LeaveOut(quoted + "its path is too long");
  if (static_cast<int64_t>(files_.size()) >= limits_.files) {
    return LeaveOut(quoted + "a run keeps " + std::to_string(limits_.files) + " files at most");
  }
  files_.push_back({place.path, {place.shown, tool_output_}});
}

UniqueFd OutputSearch::Open(const File& file) {
  UniqueFd fd(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about {};
  if (fd.valid() && ::fstat(fd.get(), &about) == 0 && S_ISREG(about.st_mode)) return fd;
  LeaveOut("'" + Shown(file.found.path) + "': " + (fd.valid() ? "it is no regular file" : std::strerror(errno)));
  return {};
}

}  // namespace kprof
