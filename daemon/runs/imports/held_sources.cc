#include "daemon/runs/imports/held_sources.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <utility>

#include "storage/base/random_name.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

namespace kprof {
namespace {

constexpr const char* kHoldAct = "hold a file";

Status RefuseHoldSource(const char* why, const char* remedy) {
  return Fail(ErrorCode::kUsage, kHoldAct, why, remedy);
}

// Its size.
Result<int64_t> CheckFile(int fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return FailErrno(errno, kHoldAct);
  if (!S_ISREG(about.st_mode)) return RefuseHoldSource("it is no regular file", "send its bytes with UploadSource");
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return FailErrno(errno, kHoldAct);
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH) != 0) {
    return RefuseHoldSource("it is not open for reading alone", "open it with O_RDONLY");
  }
  struct statfs where {};
  if (::fstatfs(fd, &where) != 0) return FailErrno(errno, kHoldAct);
  if (where.f_type == FUSE_SUPER_MAGIC) {
    return RefuseHoldSource("it lies on a file system in user space, where a read may take as long as that likes",
                            "send its bytes with UploadSource");
  }
  return int64_t{about.st_size};
}

}  // namespace

Result<Places::Place> HeldSources::TakePlace(uint32_t account) {
  return places_.Take(account, "hold a source", "sources");
}

Result<std::string> HeldSources::Hold(uint32_t uid, uint32_t account, UniqueFd fd) {
  KPROF_ON_IO_LOOP(loop_);
  HeldSource source;
  ASSIGN_OR_RETURN(source.size_bytes, CheckFile(fd.get()));
  ASSIGN_OR_RETURN(Places::Place place, TakePlace(account));
  source.place = std::make_shared<Places::Place>(std::move(place));
  source.fd = std::move(fd);
  return Keep(uid, std::move(source));
}

std::string HeldSources::Keep(uint32_t uid, HeldSource source) {
  KPROF_ON_IO_LOOP(loop_);
  std::string ticket = RandomName();
  Waiting& waiting = waiting_[ticket];
  waiting.uid = uid;
  waiting.source = std::move(source);
  StartExpiry(ticket);
  return ticket;
}

void HeldSources::StartExpiry(const std::string& ticket) {
  waiting_.at(ticket).expiry = loop_.After(kUnclaimedMs * kNanosPerMilli, [this, ticket] {
    if (uploads_.contains(waiting_.at(ticket).uid)) return StartExpiry(ticket);
    waiting_.erase(ticket);
  });
}

Result<HeldSource> HeldSources::Claim(uint32_t uid, const std::string& ticket) {
  KPROF_ON_IO_LOOP(loop_);
  auto found = waiting_.find(ticket);
  if (found == waiting_.end() || found->second.uid != uid) {
    return Fail(ErrorCode::kNotFound, "claim a source",
                "there is none of that ticket: it lasts a minute, and serves once", "hand the file over again");
  }
  HeldSource source = std::move(found->second.source);
  waiting_.erase(found);
  return source;
}

void HeldSources::EndUpload(uint32_t uid) {
  auto found = uploads_.find(uid);
  KPROF_CHECK(found != uploads_.end());
  if (--found->second == 0) uploads_.erase(found);
}

}  // namespace kprof
