// Files with a FaultPlan behind the door: everything that changes something is judged, then done, then booked.
// Any thread, as Files. The plan must outlive it and every file it opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/files.h"
#include "tests/fakes/storage/fault_plan.h"

namespace kprof {

class FaultFiles final : public Files {
 public:
  FaultFiles(FaultPlan& plan, std::unique_ptr<Files> real) : plan_(plan), real_(std::move(real)) {}

  Result<std::unique_ptr<File>> Create(const std::string& path) override;
  Result<std::unique_ptr<File>> OpenForWrite(const std::string& path) override;
  Result<std::unique_ptr<File>> OpenForRead(const std::string& path) override { return real_->OpenForRead(path); }
  Status CreateFolder(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status RemoveTree(const std::string& path) override;
  Status SyncFolder(const std::string& path) override;
  Result<std::vector<FolderEntry>> List(const std::string& path) override { return real_->List(path); }
  Result<int64_t> ReadFreeBytes(const std::string& path) override {
    if (int64_t free_bytes = free_bytes_; free_bytes >= 0) return free_bytes;
    return real_->ReadFreeBytes(path);
  }

  // What ReadFreeBytes says from now on, wherever; -1: the truth.
  void SayFree(int64_t bytes) { free_bytes_ = bytes; }

 private:
  Status Judge(FaultPlan::Op op, const std::string& what);

  FaultPlan& plan_;
  std::unique_ptr<Files> real_;
  std::atomic<int64_t> free_bytes_{-1};
};

}  // namespace kprof
