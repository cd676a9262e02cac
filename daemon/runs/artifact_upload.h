// Takes a file that a client adds to an ended run: into the state folder's tmp, then in one step into the run's folder
// and the catalog. Nothing of it is visible before, nothing is left of one that was given up. One thread at a time.
// Blocking: from a worker.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "storage/base/files.h"
#include "storage/base/sha256.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/run_row.h"

namespace kprof {

class ArtifactUpload {
 public:
  static constexpr int64_t kLimitBytes = int64_t{16} << 30;

  // Fails with kUsage for an unsafe, reserved or taken name and for a run that has not ended.
  static Result<std::unique_ptr<ArtifactUpload>> Begin(Catalog& catalog, Files& files, const RunRow& run,
                                                       const std::string& name);
  ~ArtifactUpload();
  ArtifactUpload(const ArtifactUpload&) = delete;
  ArtifactUpload& operator=(const ArtifactUpload&) = delete;

  // Fails with kUsage over kLimitBytes, kStorageFull.
  Status Add(std::span<const char> bytes);

  // Durable and visible when it returns. kBadInput when the bytes have another sum.
  Result<ArtifactRow> Finish(const std::string& expected_sha256);

 private:
  ArtifactUpload(Catalog& catalog, Files& files, std::string run_id, std::string name);

  Catalog& catalog_;
  Files& files_;
  const std::string run_id_;
  const std::string name_;
  std::string temporary_path_;  // empty once it is in place
  std::unique_ptr<File> file_;
  Sha256 sum_;
  int64_t size_bytes_ = 0;
};

}  // namespace kprof
