#include "daemon/runs/imports/held_sources.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/ingest/source/source_formats.h"
#include "storage/base/files.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/retention.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

namespace kprof {

SourceSpool::SourceSpool(Files& files, std::string folder, std::unique_ptr<SpooledBytes> spooled,
                         const AnnouncedSource& announced, const SpoolLimits& limits)
    : files_(files),
      folder_(std::move(folder)),
      limits_(limits),
      act_("take source '" + ClippedText(announced.name, 200) + "'"),
      may_be_none_(announced.may_be_none),
      spooled_(std::move(spooled)) {}

Result<std::unique_ptr<SourceSpool>> SourceSpool::Begin(Catalog& catalog, Files& files, UploadBytes& bytes,
                                                        uint32_t owner, const AnnouncedSource& announced,
                                                        const SpoolLimits& limits) {
  UploadBytes::Beside beside;
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
    if (bytes.limits().artifact_bytes() > 0) {
      ASSIGN_OR_RETURN(beside.lasting_bytes, ReadLastingArtifactBytes(*reader, ""));
    }
    ASSIGN_OR_RETURN(const OwnedSums owned, ReadOwned(*reader, owner));
    beside.owned_bytes = owned.bytes;
  }
  std::unique_ptr<SourceSpool> spool(new SourceSpool(files, catalog.layout().TemporaryFolder(),
                                                     std::make_unique<SpooledBytes>(bytes, owner, beside), announced,
                                                     limits));
  RETURN_IF_ERROR(spool->CheckSize(announced.size_bytes));
  // Whether it would fit, before all of it is on its way.
  RETURN_IF_ERROR(spool->spooled_->Another()->Grow(announced.size_bytes, spool->act_));
  RETURN_IF_ERROR(spool->CheckRoom(announced.size_bytes));
  const std::string path = spool->folder_ + "/" + RandomName();
  ASSIGN_OR_RETURN(spool->file_, files.Create(path));
  RETURN_IF_ERROR(files.Remove(path));
  return spool;
}

Status SourceSpool::CheckSize(int64_t size_bytes) const {
  if (size_bytes <= limits_.source_bytes) return OkStatus();
  return Fail(ErrorCode::kBadInput, act_,
              "it has more than " + std::to_string(limits_.source_bytes) + " bytes, which is what a source may have",
              "raise [import] max_source_gigabytes, or hand its file over to the kprofd of its node");
}

// A small one may take what there is.
Status SourceSpool::CheckRoom(int64_t more_bytes) const {
  ASSIGN_OR_RETURN(const int64_t free_bytes, files_.ReadFreeBytes(folder_));
  const bool is_large = spooled_->size_bytes() + more_bytes >= kLookBytes;
  const int64_t kept_bytes = is_large ? limits_.kept_free_bytes : 0;
  if (more_bytes <= free_bytes - kept_bytes) return OkStatus();
  std::string why = std::to_string(more_bytes) + " bytes of it are to come, and " + std::to_string(free_bytes) +
                    " are free on the disk of the state folder";
  if (kept_bytes > 0) why += ", of which " + std::to_string(kept_bytes) + " are left to other things";
  return Fail(ErrorCode::kStorageFull, act_, std::move(why),
              "delete runs, or make room on the disk of the state folder");
}

// As its reader will find.
Status SourceSpool::Sniff() {
  if (may_be_none_ || KindOf(first_) != SourceKind::kUnknown) return OkStatus();
  const Status why = NoKnownFormat(first_);
  return Fail(ErrorCode::kBadInput, act_, why.why(), why.remedy());
}

Status SourceSpool::Add(std::span<const char> bytes) {
  const int64_t size_bytes = spooled_->size_bytes() + static_cast<int64_t>(bytes.size());
  RETURN_IF_ERROR(CheckSize(size_bytes));
  if (first_.size() < kSniffBytes) {
    first_.append(bytes.data(), std::min(bytes.size(), kSniffBytes - first_.size()));
    if (first_.size() == kSniffBytes) RETURN_IF_ERROR(Sniff());
  }
  if (size_bytes - looked_at_ >= kLookBytes) {
    RETURN_IF_ERROR(CheckRoom(static_cast<int64_t>(bytes.size())));
    looked_at_ = size_bytes;
  }
  RETURN_IF_ERROR(spooled_->Grow(static_cast<int64_t>(bytes.size()), act_));
  return file_->Append(bytes);
}

Result<HeldSource> SourceSpool::Finish(int64_t expected_bytes, Places::Place place) {
  if (expected_bytes != spooled_->size_bytes()) {
    return Fail(ErrorCode::kBadInput, act_,
                std::to_string(spooled_->size_bytes()) + " bytes came, not " + std::to_string(expected_bytes),
                "send it again");
  }
  if (!first_.empty() && first_.size() < kSniffBytes) RETURN_IF_ERROR(Sniff());  // an empty one its reader names
  HeldSource source;
  source.fd = UniqueFd(::fcntl(file_->fd(), F_DUPFD_CLOEXEC, 0));
  if (!source.fd.valid()) return FailErrno(errno, act_);
  source.size_bytes = expected_bytes;
  source.place = std::make_shared<Places::Place>(std::move(place));
  source.spooled = std::move(spooled_);
  return source;
}

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
