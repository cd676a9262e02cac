// Takes a file that a client adds to an ended run: into the state folder's tmp, then in one step into the run's folder
// and the catalog. Before that step nothing of it is visible; an upload that is given up leaves nothing. Its bytes
// count from the first on against the limits of what is stored (storage_limits.h). One thread at a time. Blocking: from
// a worker.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "daemon/runs/retention/storage_limits.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/run_row.h"
#include "storage/crypto/sha256.h"

namespace kprof {

class ArtifactUpload {
 public:
  static constexpr int64_t kLimitBytes = int64_t{16} << 30;
  static constexpr size_t kLimitPerRun = 10'000;

  // Fails with kUsage for an unsafe, reserved or taken name and for a run that has not ended or is full, with
  // kStorageFull when a limit leaves it no room. With a limit of all artifacts it looks at every ended run, once.
  static Result<std::unique_ptr<ArtifactUpload>> Begin(Catalog& catalog, Files& files, UploadBytes& bytes,
                                                       const RunRow& run, const std::string& name);
  ~ArtifactUpload();
  ArtifactUpload(const ArtifactUpload&) = delete;
  ArtifactUpload& operator=(const ArtifactUpload&) = delete;

  // Fails with kUsage over kLimitBytes, with kStorageFull when the disk is full or a limit leaves no room.
  Status Add(std::span<const char> bytes);

  // Durable and visible when it returns. kBadInput when the bytes have another sum.
  Result<ArtifactRow> Finish(const std::string& expected_sha256);

 private:
  ArtifactUpload(Catalog& catalog, Files& files, UploadBytes& bytes, const RunRow& run, std::string name);
  Status ReadWhatIsThere();
  Status Grow(int64_t by_bytes);

  Catalog& catalog_;
  Files& files_;
  UploadBytes& bytes_;
  const std::string run_id_;
  const uint32_t owner_;
  const std::string name_;
  std::string temporary_path_;  // empty once it is in place
  std::unique_ptr<File> file_;
  Sha256 sum_;
  int64_t size_bytes_ = 0;
  UploadBytes::Beside beside_;
};

}  // namespace kprof
