#include "daemon/devices/neuron/neuron_sysfs_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kFileLimitBytes = 4096;
constexpr std::string_view kSpaces = " \t\r\n";

// Writing to the first resets the device, the second changes what the driver does.
bool IsNeverOpened(std::string_view name) {
  return name == "reset" || name == "notify_delay";
}

mode_t KindOf(int folder_fd, const std::string& name) {
  struct stat info {};
  return ::fstatat(folder_fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_mode & S_IFMT : 0;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

}  // namespace

NeuronSysfsFolder::NeuronSysfsFolder(const std::string& path)
    : fd_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), error_(fd_.valid() ? 0 : errno) {}

NeuronSysfsFolder NeuronSysfsFolder::Open(std::string_view path) const {
  UniqueFd opened;
  int at = fd_.get();
  while (at >= 0) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    UniqueFd next(::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return {UniqueFd(), errno};
    opened = std::move(next);
    if (slash == path.npos) return {std::move(opened), 0};
    at = opened.get();
    path.remove_prefix(slash + 1);
  }
  return {UniqueFd(), error_};
}

std::optional<std::string> NeuronSysfsFolder::ReadText(std::string_view path) const {
  if (const size_t slash = path.rfind('/'); slash != path.npos) {
    return Open(path.substr(0, slash)).ReadText(path.substr(slash + 1));
  }
  if (!valid() || IsNeverOpened(path)) return std::nullopt;
  const std::string name(path);
  if (KindOf(fd_.get(), name) != S_IFREG) return std::nullopt;
  const UniqueFd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char bytes[kFileLimitBytes + 1];
  size_t size = 0;
  while (size < sizeof bytes) {
    const ssize_t got = ::read(file.get(), bytes + size, sizeof bytes - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return ReadableText(Trimmed({bytes, size}));
    size += static_cast<size_t>(got);
  }
  return std::nullopt;
}

std::optional<int64_t> NeuronSysfsFolder::ReadCount(std::string_view path) const {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return std::nullopt;
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  return whole && count >= 0 ? std::optional(count) : std::nullopt;
}

std::vector<std::string> NeuronSysfsFolder::ListFolders(size_t limit) const {
  return List(limit, S_IFDIR);
}

std::vector<std::string> NeuronSysfsFolder::ListFiles(size_t limit) const {
  return List(limit, S_IFREG);
}

std::vector<std::string> NeuronSysfsFolder::List(size_t limit, unsigned kind) const {
  std::vector<std::string> names;
  if (!valid()) return names;
  UniqueFd listed(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(listed.valid() ? ::fdopendir(listed.get()) : nullptr, ::closedir);
  if (directory == nullptr) return names;
  listed.Release();  // the directory's now
  for (size_t looked = 0; looked < limit; ++looked) {
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && !IsNeverOpened(name) && KindOf(fd_.get(), name) == kind) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kprof
