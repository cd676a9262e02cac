#include "daemon/clocks/keeper/note_store.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace kprof {
namespace {

constexpr const char* kHeld = ".held";
constexpr const char* kLock = ".lock";
constexpr const char* kUnfinished = ".new";
constexpr const char* kDamaged = ".damaged";
constexpr int64_t kHoldLimitBytes = 64 << 10;
constexpr size_t kMostName = 96;
constexpr auto kLookAgain = std::chrono::milliseconds(10);

}  // namespace

bool IsNoteName(const std::string& name) {
  return !name.empty() && name.size() <= kMostName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string NoteStore::PathOf(const std::string& name) const {
  return folder_ + "/" + name + kHeld;
}

Status NoteStore::Write(const std::string& name, const std::string& text) {
  RETURN_IF_ERROR(Rewrite(name, text));
  return files_.SyncFolder(folder_);
}

Status NoteStore::Rewrite(const std::string& name, const std::string& text) {
  const std::string path = PathOf(name);
  const std::string unfinished = path + kUnfinished;
  auto write = [&]() -> Status {
    RETURN_IF_ERROR(CreateFolders(files_, folder_));
    RETURN_IF_ERROR(files_.Remove(unfinished));
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.Create(unfinished));
    RETURN_IF_ERROR(file->Append(text));
    RETURN_IF_ERROR(file->Sync());
    return files_.Rename(unfinished, path);
  };
  Status written = write();
  if (!written.ok()) (void)files_.Remove(unfinished);
  return written;
}

Result<std::optional<std::string>> NoteStore::Read(const std::string& name) {
  Result<std::string> text = ReadWholeFile(files_, PathOf(name), kHoldLimitBytes);
  if (!text.ok() && text.status().code() == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!text.ok()) return text.status();
  return std::optional<std::string>(*std::move(text));
}

Status NoteStore::Remove(const std::string& name) {
  RETURN_IF_ERROR(files_.Remove(PathOf(name)));
  return files_.SyncFolder(folder_);
}

Status NoteStore::SetAside(const std::string& name) {
  RETURN_IF_ERROR(files_.Rename(PathOf(name), PathOf(name) + kDamaged));
  return files_.SyncFolder(folder_);
}

Result<std::vector<std::string>> NoteStore::List() {
  Result<std::vector<FolderEntry>> entries = files_.List(folder_);
  if (!entries.ok() && entries.status().code() == ErrorCode::kNotFound) return std::vector<std::string>();
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (const FolderEntry& entry : *entries) {
    if (entry.is_folder || !entry.name.ends_with(kHeld)) continue;
    std::string name = entry.name.substr(0, entry.name.size() - std::string_view(kHeld).size());
    if (IsNoteName(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<File>> NoteStore::Lock(const std::string& name, const std::string& whose, int64_t wait_ms) {
  const std::string path = folder_ + "/" + name + kLock;
  RETURN_IF_ERROR(CreateFolders(files_, folder_));
  Result<std::unique_ptr<File>> file = files_.OpenForWrite(path);
  if (!file.ok()) file = files_.Create(path);
  if (!file.ok()) file = files_.OpenForWrite(path);  // another has made it meanwhile
  if (!file.ok()) return file.status();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (::flock((*file)->fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return FailErrno(errno, "lock " + path);
    if (std::chrono::steady_clock::now() >= until) {
      return Fail(ErrorCode::kTimedOut, "lock " + path,
                  "another process of kprof's is at work on " + whose + ", or hangs in a call",
                  "see dmesg for what the driver says; a driver that hangs wants a reboot");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return file;
}

}  // namespace kprof
