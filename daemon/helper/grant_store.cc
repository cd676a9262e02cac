#include "daemon/helper/grant_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/account.h"
#include "daemon/base/log.h"
#include "daemon/launch/launch_request.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/message_coder.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kMagic = "kprofgrant2\n";
constexpr std::string_view kFirstMagic = "kprofgrant1\n";
static_assert(kMagic.size() == kFirstMagic.size());
constexpr size_t kSumLength = 64;
constexpr size_t kBootIdLimitBytes = 64;

template <typename Coder, typename AnyGrant>
void ForEachField(Coder&& field, AnyGrant& grant, bool is_first_version) {
  field(grant.run_id);
  field(grant.caller.uid);
  field(grant.caller.gid);
  field(grant.digest);
  field(grant.given_unix_ns);
  field(grant.boot_id);
  field(grant.used);
  if (!is_first_version) field(grant.remote);
}

std::string WithFrame(std::string_view magic, std::string_view payload) {
  return std::string(magic) + Sha256Of(payload) + "\n" + std::string(payload);
}

}  // namespace

std::string WithGrantFrame(std::string_view payload) {
  return WithFrame(kMagic, payload);
}

std::string EncodeGrant(const Grant& grant) {
  MessageEncoder out;
  ForEachField([&](const auto& value) { out.Add(value); }, grant, false);
  out.Add(static_cast<uint32_t>(grant.caller.groups.size()));
  for (uint32_t group : grant.caller.groups) out.Add(group);
  return WithGrantFrame(out.Take());
}

Result<Grant> DecodeGrant(std::string_view bytes) {
  auto bad = [] {
    return Fail(ErrorCode::kBadInput, "read a grant", "it is damaged, or of another version", "submit the run again");
  };
  constexpr size_t kFrameBytes = kMagic.size() + kSumLength + 1;
  const bool is_first_version = bytes.starts_with(kFirstMagic);
  const std::string_view magic = is_first_version ? kFirstMagic : kMagic;
  if (bytes.size() < kFrameBytes || WithFrame(magic, bytes.substr(kFrameBytes)) != bytes) return bad();
  MessageDecoder in(bytes.substr(kFrameBytes));
  Grant grant;
  ForEachField([&](auto& value) { in.Read(value); }, grant, is_first_version);
  grant.caller.groups.resize(in.ReadCount(sizeof(uint32_t)));
  for (uint32_t& group : grant.caller.groups) in.Read(group);
  const bool good = in.Ok() && IsWholeRunId(grant.run_id) && LooksLikeLaunchDigest(grant.digest) &&
                    grant.boot_id.size() <= kBootIdLimitBytes && grant.caller.groups.size() <= kMostGroups;
  if (!good) return bad();
  return grant;
}

namespace {

constexpr int64_t kGrantLimitBytes = 1 << 20;
constexpr const char* kUnfinished = ".new";

Status CheckFolder(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return FailErrno(errno, "look at " + folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return Fail(ErrorCode::kNotPermitted, "keep grants in " + folder,
                "it is no folder, or not this user's, or others may enter it", "chown root and chmod 700 it");
  }
  return OkStatus();
}

}  // namespace

Result<GrantStore> GrantStore::Open(Files& files, const Clock& clock, const std::string& folder, std::string boot_id,
                                    const GrantLimits& limits) {
  RETURN_IF_ERROR(CreateFolders(files, folder));
  RETURN_IF_ERROR(CheckFolder(folder));
  GrantStore store(files, clock, folder, std::move(boot_id), limits);
  RETURN_IF_ERROR(store.Load());
  return store;
}

Status GrantStore::Load() {
  ASSIGN_OR_RETURN(std::vector<FolderEntry> entries, files_->List(folder_));
  for (const FolderEntry& entry : entries) {
    const std::string path = folder_ + "/" + entry.name;
    if (entry.name.ends_with(kUnfinished) && !entry.is_folder) (void)files_->Remove(path);
    if (entry.is_folder || !IsWholeRunId(entry.name)) continue;
    Result<std::string> bytes = ReadWholeFile(*files_, path, kGrantLimitBytes);
    Result<Grant> grant = bytes.ok() ? DecodeGrant(*bytes) : Result<Grant>(bytes.status());
    if (!grant.ok() || grant->run_id != entry.name) {
      LogWarning("a grant cannot be read", {{"path", path}});
      continue;
    }
    grants_.emplace(entry.name, *std::move(grant));
  }
  std::vector<std::string> of_another_boot;
  for (const auto& [id, grant] : grants_) {
    if (grant.used && grant.boot_id != boot_id_) of_another_boot.push_back(id);
  }
  for (const std::string& id : of_another_boot) RETURN_IF_ERROR(Remove(id));
  RemoveExpired();
  return OkStatus();
}

Status GrantStore::Write(const Grant& grant) {
  const std::string path = PathOf(grant.run_id);
  const std::string unfinished = path + kUnfinished;
  auto write = [&]() -> Status {
    RETURN_IF_ERROR(files_->Remove(unfinished));
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_->Create(unfinished));
    RETURN_IF_ERROR(file->Append(EncodeGrant(grant)));
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(files_->Rename(unfinished, path));
    return files_->SyncFolder(folder_);
  };
  Status written = write();
  if (!written.ok()) (void)files_->Remove(unfinished);
  return written;
}

Status GrantStore::Add(Grant granted) {
  const std::string run_id = granted.run_id;
  const std::string what = "register run " + run_id;
  RemoveExpired();
  if (grants_.contains(run_id)) return Fail(ErrorCode::kUsage, what, "it is registered already");
  const auto of_uid = static_cast<size_t>(std::count_if(grants_.begin(), grants_.end(), [&](const auto& entry) {
    return entry.second.caller.uid == granted.caller.uid;
  }));
  if (grants_.size() >= limits_.in_all || of_uid >= limits_.per_uid) {
    return Fail(ErrorCode::kQueueFull, what, "too many detached runs wait or run", "wait for some of them to end");
  }
  granted.given_unix_ns = clock_->unix_ns();
  granted.boot_id = boot_id_;
  granted.used = false;
  Status written = Write(granted);
  if (!written.ok()) {
    (void)files_->Remove(PathOf(run_id));  // it may have got its name already
    return written.In(what);
  }
  grants_.emplace(run_id, std::move(granted));
  return OkStatus();
}

const Grant* GrantStore::Find(const std::string& run_id) const {
  auto found = grants_.find(run_id);
  return found == grants_.end() ? nullptr : &found->second;
}

Result<Grant> GrantStore::Use(const std::string& run_id) {
  const std::string what = "start run " + run_id;
  RemoveExpired();
  auto found = grants_.find(run_id);
  if (found == grants_.end()) {
    return Fail(ErrorCode::kNotPermitted, what, "its caller has not asked for it, or too long ago", "submit it again");
  }
  if (found->second.used) {
    return Fail(ErrorCode::kUsage, what, "it was started before", "submit it again");
  }
  Grant used = found->second;
  used.used = true;
  used.boot_id = boot_id_;
  RETURN_IF_ERROR(Write(used).In(what));
  found->second = used;
  return used;
}

Status GrantStore::Remove(const std::string& run_id) {
  if (grants_.erase(run_id) == 0) return OkStatus();
  RETURN_IF_ERROR(files_->Remove(PathOf(run_id)));
  return files_->SyncFolder(folder_);
}

void GrantStore::RemoveExpired() {
  const int64_t now_ns = clock_->unix_ns();
  std::vector<std::string> expired;
  for (const auto& [id, grant] : grants_) {
    if (grant.given_unix_ns < now_ns - (grant.used ? limits_.used_ns : limits_.unused_ns)) expired.push_back(id);
  }
  for (const std::string& id : expired) {
    Status removed = Remove(id);
    if (!removed.ok()) LogWarning("an expired grant is not removed", {{"run", id}, {"error", removed.ToString()}});
  }
}

size_t GrantStore::used() const {
  return static_cast<size_t>(
      std::count_if(grants_.begin(), grants_.end(), [](const auto& entry) { return entry.second.used; }));
}

}  // namespace kprof
