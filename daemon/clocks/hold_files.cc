#include "daemon/clocks/hold_files.h"

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
constexpr size_t kMostUuid = 96;
constexpr auto kLookAgain = std::chrono::milliseconds(10);

}  // namespace

bool IsDeviceUuid(const std::string& uuid) {
  return !uuid.empty() && uuid.size() <= kMostUuid && std::all_of(uuid.begin(), uuid.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string HoldFiles::PathOf(const std::string& uuid) const {
  return folder_ + "/" + uuid + kHeld;
}

Status HoldFiles::Write(const ClockHold& hold) {
  RETURN_IF_ERROR(Put(hold));
  return files_.SyncFolder(folder_);
}

Status HoldFiles::Rewrite(const ClockHold& hold) {
  return Put(hold);
}

Status HoldFiles::Put(const ClockHold& hold) {
  const std::string path = PathOf(hold.uuid);
  const std::string unfinished = path + kUnfinished;
  auto write = [&]() -> Status {
    RETURN_IF_ERROR(CreateFolders(files_, folder_));
    RETURN_IF_ERROR(files_.Remove(unfinished));
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.Create(unfinished));
    RETURN_IF_ERROR(file->Append(ClockHoldText(hold)));
    RETURN_IF_ERROR(file->Sync());
    return files_.Rename(unfinished, path);
  };
  Status written = write();
  if (written.ok()) return written;
  (void)files_.Remove(unfinished);
  return written.In("note that the clocks of " + hold.uuid + " are held");
}

Result<std::optional<ClockHold>> HoldFiles::Read(const std::string& uuid) {
  Result<std::string> text = ReadWholeFile(files_, PathOf(uuid), kHoldLimitBytes);
  if (!text.ok() && text.status().code() == ErrorCode::kNotFound) return std::optional<ClockHold>();
  if (!text.ok()) return text.status();
  Result<ClockHold> hold = ParseClockHold(*text);
  if (!hold.ok()) return hold.status().In("read " + PathOf(uuid));
  if (hold->uuid != uuid) {
    return Fail(ErrorCode::kStorageBroken, "read " + PathOf(uuid), "it is about another device, " + hold->uuid,
                "remove it");
  }
  return std::optional<ClockHold>(*std::move(hold));
}

Status HoldFiles::Remove(const std::string& uuid) {
  RETURN_IF_ERROR(files_.Remove(PathOf(uuid)));
  return files_.SyncFolder(folder_);
}

Status HoldFiles::SetAside(const std::string& uuid) {
  RETURN_IF_ERROR(files_.Rename(PathOf(uuid), PathOf(uuid) + kDamaged));
  return files_.SyncFolder(folder_);
}

Result<std::vector<std::string>> HoldFiles::List() {
  Result<std::vector<FolderEntry>> entries = files_.List(folder_);
  if (!entries.ok() && entries.status().code() == ErrorCode::kNotFound) return std::vector<std::string>();
  if (!entries.ok()) return entries.status();
  std::vector<std::string> uuids;
  for (const FolderEntry& entry : *entries) {
    if (entry.is_folder || !entry.name.ends_with(kHeld)) continue;
    std::string uuid = entry.name.substr(0, entry.name.size() - std::string_view(kHeld).size());
    if (IsDeviceUuid(uuid)) uuids.push_back(std::move(uuid));
  }
  std::sort(uuids.begin(), uuids.end());
  return uuids;
}

Result<std::unique_ptr<File>> HoldFiles::Lock(const std::string& uuid, int64_t wait_ms) {
  const std::string path = folder_ + "/" + uuid + kLock;
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
                  "another process of kprof's is at work on the device, or hangs in its driver",
                  "see dmesg for what the driver says; a driver that hangs wants a reboot");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return file;
}

}  // namespace kprof
