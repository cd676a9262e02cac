#include "tests/fakes/storage/fault_files.h"

#include <filesystem>
#include <utility>

namespace kprof {
namespace {

class FaultFile final : public File {
 public:
  FaultFile(FaultPlan& plan, std::unique_ptr<File> real, std::string path, int node, int64_t end_bytes)
      : plan_(plan), real_(std::move(real)), path_(std::move(path)), node_(node), end_bytes_(end_bytes) {}

  Status Append(std::span<const char> bytes) override {
    RETURN_IF_ERROR(WriteAt(end_bytes_, bytes));
    end_bytes_ += static_cast<int64_t>(bytes.size());
    return OkStatus();
  }

  Status WriteAt(int64_t offset_bytes, std::span<const char> bytes) override {
    FaultPlan::Verdict verdict = plan_.Judge(FaultPlan::Op::kWrite, bytes.size());
    if (verdict.error != 0) bytes = bytes.first(verdict.part_bytes);
    RETURN_IF_ERROR(real_->WriteAt(offset_bytes, bytes));
    plan_.NoteWrite(node_, offset_bytes, bytes);
    return verdict.error == 0 ? OkStatus() : FailErrno(verdict.error, "write " + path_);
  }

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override { return real_->ReadAt(offset_bytes, out); }
  Result<int64_t> ReadSize() override { return real_->ReadSize(); }

  Status Truncate(int64_t size_bytes) override {
    FaultPlan::Verdict verdict = plan_.Judge(FaultPlan::Op::kTruncate);
    if (verdict.error != 0) return FailErrno(verdict.error, "truncate " + path_);
    RETURN_IF_ERROR(real_->Truncate(size_bytes));
    plan_.NoteTruncate(node_, size_bytes);
    end_bytes_ = size_bytes;
    return OkStatus();
  }

  Status Sync() override {
    FaultPlan::Verdict verdict = plan_.Judge(FaultPlan::Op::kSync);
    if (verdict.error != 0) return FailErrno(verdict.error, "sync " + path_);
    plan_.NoteSync(node_);
    return OkStatus();
  }

  int fd() const override { return real_->fd(); }

 private:
  FaultPlan& plan_;
  std::unique_ptr<File> real_;
  const std::string path_;
  const int node_;
  int64_t end_bytes_;
};

}  // namespace

Status FaultFiles::Judge(FaultPlan::Op op, const std::string& what) {
  FaultPlan::Verdict verdict = plan_.Judge(op);
  return verdict.error == 0 ? OkStatus() : FailErrno(verdict.error, what);
}

Result<std::unique_ptr<File>> FaultFiles::Create(const std::string& path) {
  if (std::filesystem::exists(path)) return real_->Create(path);  // changes nothing, fails
  RETURN_IF_ERROR(Judge(FaultPlan::Op::kCreate, "create " + path));
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, real_->Create(path));
  int node = plan_.NoteCreated(path);
  return std::unique_ptr<File>(std::make_unique<FaultFile>(plan_, std::move(file), path, node, 0));
}

Result<std::unique_ptr<File>> FaultFiles::OpenForWrite(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, real_->OpenForWrite(path));
  ASSIGN_OR_RETURN(int64_t size_bytes, file->ReadSize());
  int node = plan_.NodeAt(path);
  if (node < 0) {
    std::string content(static_cast<size_t>(size_bytes), '\0');
    ASSIGN_OR_RETURN(size_t n, file->ReadAt(0, content));
    content.resize(n);
    node = plan_.NoteFound(path, std::move(content));
  }
  return std::unique_ptr<File>(std::make_unique<FaultFile>(plan_, std::move(file), path, node, size_bytes));
}

Status FaultFiles::CreateFolder(const std::string& path) {
  if (std::filesystem::exists(path)) return real_->CreateFolder(path);
  RETURN_IF_ERROR(Judge(FaultPlan::Op::kCreateFolder, "create folder " + path));
  RETURN_IF_ERROR(real_->CreateFolder(path));
  plan_.NoteCreatedFolder(path);
  return OkStatus();
}

Status FaultFiles::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(Judge(FaultPlan::Op::kRename, "rename " + from + " to " + to));
  // It may be on its way into a folder that is lost with the power.
  if (plan_.NodeAt(from) == -1 && std::filesystem::is_regular_file(from)) RETURN_IF_ERROR(OpenForWrite(from).status());
  RETURN_IF_ERROR(real_->Rename(from, to));
  plan_.NoteRename(from, to);
  return OkStatus();
}

Status FaultFiles::Remove(const std::string& path) {
  RETURN_IF_ERROR(Judge(FaultPlan::Op::kRemove, "remove " + path));
  RETURN_IF_ERROR(real_->Remove(path));
  plan_.NoteRemove(path);
  return OkStatus();
}

Status FaultFiles::RemoveTree(const std::string& path) {
  RETURN_IF_ERROR(Judge(FaultPlan::Op::kRemove, "remove " + path));
  RETURN_IF_ERROR(real_->RemoveTree(path));
  plan_.NoteRemove(path);
  return OkStatus();
}

Status FaultFiles::SyncFolder(const std::string& path) {
  RETURN_IF_ERROR(Judge(FaultPlan::Op::kSyncFolder, "sync folder " + path));
  plan_.NoteSyncFolder(path);
  return OkStatus();
}

}  // namespace kprof
