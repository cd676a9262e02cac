#include "daemon/runs/artifact_upload.h"

#include "daemon/runs/command/run_folder.h"
#include "storage/base/files.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/retention.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

Status Taken(const std::string& act, const std::string& name) {
  return Fail(ErrorCode::kUsage, act, "the run has an artifact of that name", "choose another name than " + name);
}

Status CheckRoom(const RunRow& run, const std::string& act) {
  if (run.artifacts.size() < ArtifactUpload::kLimitPerRun) return OkStatus();
  return Fail(ErrorCode::kUsage, act,
              "the run has " + std::to_string(run.artifacts.size()) + " artifacts, which is the limit",
              "put many files into an archive, and add that");
}

}  // namespace

ArtifactUpload::ArtifactUpload(Catalog& catalog, Files& files, UploadBytes& bytes, const RunRow& run, std::string name)
    : catalog_(catalog), files_(files), bytes_(bytes), run_id_(run.id), owner_(run.uid), name_(std::move(name)) {}

ArtifactUpload::~ArtifactUpload() {
  file_.reset();
  if (!temporary_path_.empty()) (void)files_.Remove(temporary_path_);
  bytes_.Shrink(owner_, size_bytes_);
}

Result<std::unique_ptr<ArtifactUpload>> ArtifactUpload::Begin(Catalog& catalog, Files& files, UploadBytes& bytes,
                                                              const RunRow& run, const std::string& name) {
  const std::string act = "add artifact '" + ClippedText(name, 200) + "' to run " + run.id;
  if (!IsTerminal(run.state)) return Fail(ErrorCode::kUsage, act, "the run has not ended", "wait for it first");
  if (IsReservedArtifactName(name)) {
    return Fail(ErrorCode::kUsage, act, "that name is kprofd's own", "choose another");
  }
  if (!IsSafeName(name)) {
    return Fail(ErrorCode::kUsage, act, "that is not a usable name",
                "use 1 to 200 letters, digits and . _ - + = @ , not starting with a dot");
  }
  if (FindArtifact(run, name) != nullptr) return Taken(act, name);
  RETURN_IF_ERROR(CheckRoom(run, act));
  std::unique_ptr<ArtifactUpload> upload(new ArtifactUpload(catalog, files, bytes, run, name));
  RETURN_IF_ERROR(upload->ReadWhatIsThere());
  RETURN_IF_ERROR(upload->Grow(0));
  std::string path = catalog.layout().TemporaryFolder() + "/" + RandomName();
  ASSIGN_OR_RETURN(upload->file_, files.Create(path));
  upload->temporary_path_ = std::move(path);
  return upload;
}

Status ArtifactUpload::ReadWhatIsThere() {
  const StorageLimits& limits = bytes_.limits();
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog_.readers().Borrow());
  if (limits.artifact_bytes() > 0) {
    ASSIGN_OR_RETURN(beside_.lasting_bytes, ReadLastingArtifactBytes(*reader, run_id_));
  }
  ASSIGN_OR_RETURN(const OwnedSums owned, ReadOwned(*reader, owner_));
  beside_.owned_bytes = owned.bytes;
  return OkStatus();
}

Status ArtifactUpload::Add(std::span<const char> bytes) {
  if (size_bytes_ + static_cast<int64_t>(bytes.size()) > kLimitBytes) {
    return Fail(ErrorCode::kUsage, "add artifact " + name_, "it is over the limit of 16 GiB");
  }
  RETURN_IF_ERROR(Grow(static_cast<int64_t>(bytes.size())));
  RETURN_IF_ERROR(file_->Append(bytes));
  sum_.Add(bytes);
  return OkStatus();
}

Status ArtifactUpload::Grow(int64_t by_bytes) {
  RETURN_IF_ERROR(bytes_.Grow(owner_, by_bytes, beside_, "add artifact " + name_));
  size_bytes_ += by_bytes;
  return OkStatus();
}

Result<ArtifactRow> ArtifactUpload::Finish(const std::string& expected_sha256) {
  const Layout& layout = catalog_.layout();
  ArtifactRow artifact{name_, size_bytes_, sum_.Finish()};
  if (expected_sha256 != artifact.sha256) {
    return Fail(ErrorCode::kBadInput, "add artifact " + name_,
                "its sha256 is " + artifact.sha256 + ", not " + ClippedText(expected_sha256, 64) + " as sent",
                "send it again");
  }
  RETURN_IF_ERROR(file_->Sync());
  file_.reset();
  // On the writer thread, where nobody else adds or deletes: row, file and both folders, then the commit. A job may be
  // run twice (writer.h); the file is moved once.
  RETURN_IF_ERROR(catalog_.writer().SubmitAndWait([&](Db& db) -> Status {
    ASSIGN_OR_RETURN(RunRow run, ReadRun(db, run_id_));
    if (FindArtifact(run, name_) != nullptr) return Taken("add artifact " + name_, name_);
    RETURN_IF_ERROR(CheckRoom(run, "add artifact " + name_));
    // Others of this owner's may have ended meanwhile.
    RETURN_IF_ERROR(bytes_.limits().CheckBytes(db, owner_, size_bytes_, "add artifact " + name_));
    RETURN_IF_ERROR(AddArtifact(db, run_id_, artifact));
    RETURN_IF_ERROR(files_.CreateFolder(layout.RunFolder(run_id_)));
    if (!temporary_path_.empty()) {
      RETURN_IF_ERROR(files_.Rename(temporary_path_, layout.ArtifactPath(run_id_, name_)));
      temporary_path_.clear();
    }
    RETURN_IF_ERROR(files_.SyncFolder(layout.RunFolder(run_id_)));
    return files_.SyncFolder(layout.RunsFolder());
  }));
  return artifact;
}

}  // namespace kprof
