#include "daemon/runs/source_spool.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "storage/base/random_name.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/owner_table.h"
#include "storage/catalog/retention.h"

namespace kprof {

SourceSpool::SourceSpool(UploadBytes& bytes, uint32_t owner, const std::string& name)
    : act_("take source '" + ClippedText(name, 200) + "'"), spooled_(std::make_shared<SpooledBytes>(bytes, owner)) {}

Result<std::unique_ptr<SourceSpool>> SourceSpool::Begin(Catalog& catalog, Files& files, UploadBytes& bytes,
                                                        uint32_t owner, const std::string& name, int64_t size_bytes) {
  std::unique_ptr<SourceSpool> spool(new SourceSpool(bytes, owner, name));
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
    if (bytes.limits().artifact_bytes() > 0) {
      ASSIGN_OR_RETURN(spool->beside_.lasting_bytes, ReadLastingArtifactBytes(*reader, ""));
    }
    ASSIGN_OR_RETURN(const OwnedSums owned, ReadOwned(*reader, owner));
    spool->beside_.owned_bytes = owned.bytes;
  }
  {
    SpooledBytes announced(bytes, owner);  // whether it would fit, before all of it is on its way
    RETURN_IF_ERROR(announced.Grow(size_bytes, spool->beside_, spool->act_));
  }
  ASSIGN_OR_RETURN(const int64_t free_bytes, files.ReadFreeBytes(catalog.layout().TemporaryFolder()));
  if (size_bytes > free_bytes) {
    return Fail(ErrorCode::kStorageFull, spool->act_,
                "it has " + std::to_string(size_bytes) + " bytes, and " + std::to_string(free_bytes) + " are free",
                "delete runs, or make room on the disk of the state folder");
  }
  const std::string path = catalog.layout().TemporaryFolder() + "/" + RandomName();
  ASSIGN_OR_RETURN(spool->file_, files.Create(path));
  RETURN_IF_ERROR(files.Remove(path));
  return spool;
}

Status SourceSpool::Add(std::span<const char> bytes) {
  RETURN_IF_ERROR(spooled_->Grow(static_cast<int64_t>(bytes.size()), beside_, act_));
  return file_->Append(bytes);
}

Result<HeldSource> SourceSpool::Finish(int64_t expected_bytes, Places::Place place) {
  if (expected_bytes != spooled_->size_bytes()) {
    return Fail(ErrorCode::kBadInput, act_,
                std::to_string(spooled_->size_bytes()) + " bytes came, not " + std::to_string(expected_bytes),
                "send it again");
  }
  HeldSource source;
  source.fd = UniqueFd(::fcntl(file_->fd(), F_DUPFD_CLOEXEC, 0));
  if (!source.fd.valid()) return FailErrno(errno, act_);
  source.size_bytes = expected_bytes;
  source.place = std::make_shared<Places::Place>(std::move(place));
  source.spooled = std::move(spooled_);
  return source;
}

}  // namespace kprof
