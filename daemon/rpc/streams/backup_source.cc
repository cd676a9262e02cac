#include "daemon/rpc/streams/backup_source.h"

#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/streams/file_chunks.h"
#include "daemon/runs/audit/audited_calls.h"
#include "storage/base/random_name.h"

namespace kprof {
namespace {

class BackUpSource final : public PullSource<v1::BackUpCatalogResponse> {
 public:
  BackUpSource(const ServiceContext& parts, const Caller& caller) : context_(parts), caller_(caller) {}

  Result<Pulled> Next(v1::BackUpCatalogResponse& message, std::stop_token stop) override {
    if (!chunks_.open()) RETURN_IF_ERROR(Open(stop));
    return chunks_.NextPart(message);
  }

 private:
  // The copy loses its name as soon as it is open: whatever ends us, it takes no space any longer. A crash before that
  // leaves it to the next start, which empties the folder.
  Status Open(std::stop_token stop) {
    ASSIGN_OR_RETURN(Places::Place place,
                     context_.limits.backups.Take(caller_.account(), "back up the catalog", "backups"));
    place_.emplace(std::move(place));
    const std::string path = context_.catalog.layout().TemporaryFolder() + "/backup-" + RandomName();
    RETURN_IF_ERROR(context_.catalog.BackUp(path, stop));
    Result<std::unique_ptr<File>> file = context_.files.OpenForRead(path);
    Status removed = context_.files.Remove(path);
    if (!file.ok()) return file.status();
    RETURN_IF_ERROR(removed);
    chunks_.Open(*std::move(file));
    // From here on they have it, or as much as they read.
    AuditEntry entry;
    entry.by = ActorOf(caller_);
    entry.action = audit::kBackUp;
    context_.audit.Record(std::move(entry));
    return OkStatus();
  }

  const ServiceContext& context_;
  const Caller caller_;
  std::optional<Places::Place> place_;
  FileChunks chunks_;
};

}  // namespace

std::unique_ptr<PullSource<v1::BackUpCatalogResponse>> MakeBackUpSource(const ServiceContext& parts,
                                                                        const Caller& caller) {
  return std::make_unique<BackUpSource>(parts, caller);
}

}  // namespace kprof
