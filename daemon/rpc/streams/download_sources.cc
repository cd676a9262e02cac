#include "daemon/rpc/streams/download_sources.h"

#include <string>
#include <utility>

#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/streams/file_chunks.h"
#include "daemon/runs/object_lookup.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

class DownloadSource final : public PullSource<v1::DownloadArtifactResponse> {
 public:
  DownloadSource(const ServiceContext& parts, const Caller& caller, const v1::DownloadArtifactRequest& request)
      : context_(parts), caller_(caller), request_(request) {}

  Result<Pulled> Next(v1::DownloadArtifactResponse& message, std::stop_token stop) override {
    if (!chunks_.open()) {
      ASSIGN_OR_RETURN(ArtifactRow artifact, Open(stop));
      FillArtifact(artifact, *message.mutable_artifact());
      return Pulled::kMessage;
    }
    return chunks_.NextPart(message);
  }

 private:
  Result<ArtifactRow> Open(std::stop_token stop) {
    RunRow run;
    {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop));
      ASSIGN_OR_RETURN(run, LookUpStoredRun(*reader, &context_.audit, caller_, request_.id(), Rpc::kDownloadArtifact,
                                            "read an artifact of run"));
    }
    // Only names that the catalog has become paths.
    const ArtifactRow* found = FindArtifact(run, request_.name());
    if (found == nullptr) {
      return Fail(ErrorCode::kNotFound, "read artifact '" + ClippedText(request_.name(), 200) + "' of run " + run.id,
                  "the run has none of that name", "list them with kprofctl artifacts " + run.id);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                     context_.files.OpenForRead(context_.catalog.layout().ArtifactPath(run.id, found->name)));
    chunks_.Open(std::move(file));
    return *found;
  }

  const ServiceContext& context_;
  const Caller caller_;
  const v1::DownloadArtifactRequest request_;
  FileChunks chunks_;
};

}  // namespace

std::unique_ptr<PullSource<v1::DownloadArtifactResponse>> MakeDownloadSource(
    const ServiceContext& parts, const Caller& caller, const v1::DownloadArtifactRequest& request) {
  return std::make_unique<DownloadSource>(parts, caller, request);
}

}  // namespace kprof
