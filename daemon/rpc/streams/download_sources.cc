#include "daemon/rpc/streams/download_sources.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/exports/export_pipe.h"
#include "daemon/exports/trace_export.h"
#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/stream_limits.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "daemon/rpc/streams/trace_question.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/object_lookup.h"
#include "storage/base/files.h"
#include "storage/base/readable_text.h"
#include "storage/base/status.h"
#include "storage/crypto/sha256.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

// A file as the messages of a stream: its bytes in chunks, and last their sha256, by which a client knows that it has
// all of them.
//
// One thread at a time; NextPart blocks.
class FileChunks {
 public:
  // Once.
  void Open(std::unique_ptr<File> file) { file_ = std::move(file); }
  bool open() const { return file_ != nullptr; }

  // Sets `data` or `sha256` of the message, or says that the latter was the last. Fails as File::ReadAt.
  // REQUIRES: open().
  template <typename Message>
  Result<Pulled> NextPart(Message& message) {
    if (ended_) return Pulled::kEnd;
    std::string bytes(StreamLimits::kChunkBytes, '\0');
    ASSIGN_OR_RETURN(size_t size, file_->ReadAt(offset_bytes_, bytes));
    if (size == 0) {
      ended_ = true;
      message.set_sha256(sum_.Finish());
      return Pulled::kMessage;
    }
    bytes.resize(size);
    offset_bytes_ += static_cast<int64_t>(size);
    sum_.Add(bytes);
    message.set_data(std::move(bytes));
    return Pulled::kMessage;
  }

 private:
  std::unique_ptr<File> file_;
  int64_t offset_bytes_ = 0;
  Sha256 sum_;
  bool ended_ = false;
};

class BackUpSource final : public PullSource<v1::BackUpCatalogResponse> {
 public:
  BackUpSource(const ServiceContext& context, const Caller& caller) : context_(context), caller_(caller) {}

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

std::unique_ptr<PullSource<v1::BackUpCatalogResponse>> MakeBackUpSource(const ServiceContext& context,
                                                                        const Caller& caller) {
  return std::make_unique<BackUpSource>(context, caller);
}

namespace {

constexpr size_t kMostNamedParts = 8;

int64_t RowsOf(const TracePartRow& part) {
  return part.slices + part.instants + part.counters + part.flows;
}

// "rank 0, rank 1 and 6 more", for who named one that is not there.
std::string PartNames(const RunRow& run) {
  std::string names;
  for (size_t i = 0; i < std::min(run.trace.size(), kMostNamedParts); ++i) {
    const TracePartRow& part = run.trace[i];
    names += (i == 0 ? "" : ", ") + (part.rank ? "rank " + std::to_string(*part.rank) : "'" + part.name + "'");
  }
  if (run.trace.size() > kMostNamedParts)
    names += " and " + std::to_string(run.trace.size() - kMostNamedParts) + " more";
  return names;
}

// The parts that are asked for.
Result<std::vector<TracePartRow>> Choose(const RunRow& run, const v1::ExportRunRequest& request,
                                         const std::string& act) {
  if (run.trace.empty()) {
    return Fail(ErrorCode::kUsage, act, "the run has no trace", "name one that has: kprofctl show tells");
  }
  if (request.has_part()) {
    if (request.part() >= 0 && static_cast<size_t>(request.part()) < run.trace.size()) {
      return std::vector{run.trace[static_cast<size_t>(request.part())]};
    }
    return Fail(ErrorCode::kUsage, act, "its trace has no part " + std::to_string(request.part()),
                "it has " + std::to_string(run.trace.size()) + ", from 0 on");
  }
  if (!request.has_rank()) return run.trace;
  for (const TracePartRow& part : run.trace) {
    if (part.rank == request.rank()) return std::vector{part};
  }
  return Fail(ErrorCode::kUsage, act, "its trace has no rank " + std::to_string(request.rank()),
              "it has " + PartNames(run));
}

std::string FileName(const RunRow& run, const std::vector<TracePartRow>& chosen, const ExportFormat& format) {
  const bool is_one_of_many = chosen.size() == 1 && run.trace.size() > 1;
  return run.id + (is_one_of_many ? "-" + chosen.front().name : "") + std::string(format.file_ending);
}

class ExportSource final : public PullSource<v1::ExportRunResponse> {
 public:
  ExportSource(const ServiceContext& context, const Caller& caller, const v1::ExportRunRequest& request)
      : context_(context), caller_(caller), request_(request) {}

  Result<Pulled> Next(v1::ExportRunResponse& message, std::stop_token stop) override {
    if (ended_) return Pulled::kEnd;
    if (!pipe_) {
      RETURN_IF_ERROR(Begin(*message.mutable_header(), stop));
      return Pulled::kMessage;
    }
    ASSIGN_OR_RETURN(std::string bytes, pipe_->Take(StreamLimits::kChunkBytes, stop));
    if (bytes.empty()) {
      ended_ = true;
      message.set_sha256(sum_.Finish());
      for (const std::string& note : left_out_) message.add_notes(ReadableText(note));
      for (const std::string& note : pipe_->TakeNotes()) message.add_notes(ReadableText(note));
      return Pulled::kMessage;
    }
    sum_.Add(bytes);
    message.set_data(std::move(bytes));
    message.set_rows(pipe_->rows());
    return Pulled::kMessage;
  }

 private:
  using PartPlace = std::pair<std::string, std::optional<int64_t>>;  // its path, its rank

  Status Begin(v1::ExportRunResponse::Header& header, std::stop_token stop) {
    ASSIGN_OR_RETURN(const ExportFormat format, FindExportFormat(request_.format()));
    if (TraceQuestion::IsLabel(request_.id())) return BeginOfLabel(header, format);
    RunRow run;
    {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop));
      ASSIGN_OR_RETURN(
          run, LookUpStoredRun(*reader, &context_.audit, caller_, request_.id(), Rpc::kExportRun, "export run"));
    }
    const std::string act = ActOn("export run", run.id);
    ASSIGN_OR_RETURN(const std::vector<TracePartRow> chosen, Choose(run, request_, act));
    ASSIGN_OR_RETURN(Places::Place place, context_.limits.exports.Take(caller_.account(), act, "exports"));
    place_.emplace(std::move(place));
    header.set_run_id(run.id);
    header.set_file_name(FileName(run, chosen, format));
    header.set_parts(static_cast<int32_t>(run.trace.size()));
    std::vector<PartPlace> places;
    int64_t rows = 0;
    for (const TracePartRow& part : chosen) {
      places.emplace_back(context_.catalog.layout().TracePartPath(run.id, part.name), part.rank);
      rows += RowsOf(part);
    }
    header.set_rows(rows);
    Write(std::move(places), format);
    return OkStatus();
  }

  // Of all runs with a label, as ranks of a job that are runs of their own.
  Status BeginOfLabel(v1::ExportRunResponse::Header& header, const ExportFormat& format) {
    const std::string act = ActOn("export runs", request_.id());
    if (format.name != "scalene") {
      return Fail(ErrorCode::kUsage, act, "a label may name several runs, and --format scalene alone adds ranks up",
                  "export one run, by its id: kprofctl runs --label K=V");
    }
    if (request_.has_part()) {
      return Fail(ErrorCode::kUsage, act, "the ranks become one profile, and no folder of files",
                  "name a file with -o");
    }
    TraceQuestion question(context_, caller_, "export");
    google::protobuf::RepeatedPtrField<std::string> names;
    names.Add(std::string(request_.id()));
    RETURN_IF_ERROR(question.FindRuns(names, Rpc::kExportRun));
    std::vector<PartPlace> places;
    int64_t rows = 0;
    for (const RunRow& run : question.runs()) {
      const std::optional<int64_t> rank = RankInLabels(run);
      for (const TracePartRow& part : run.trace) {
        const std::optional<int64_t> of_part = part.rank ? part.rank : rank;
        if (request_.has_rank() && of_part != request_.rank()) continue;
        places.emplace_back(context_.catalog.layout().TracePartPath(run.id, part.name), of_part);
        rows += RowsOf(part);
      }
    }
    if (places.empty()) {
      return Fail(ErrorCode::kUsage, act, "no run has rank " + std::to_string(request_.rank()), "leave --rank out");
    }
    for (const TrustReason& reason : question.left_out()) left_out_.push_back(reason.code + ": " + reason.message);
    ASSIGN_OR_RETURN(Places::Place place, context_.limits.exports.Take(caller_.account(), act, "exports"));
    place_.emplace(std::move(place));
    header.set_run_id(request_.id());
    header.set_file_name("runs-of-label" + std::string(format.file_ending));
    header.set_parts(1);
    header.set_rows(rows);
    Write(std::move(places), format);
    return OkStatus();
  }

  static std::optional<int64_t> RankInLabels(const RunRow& run) {
    const auto label = run.labels.find("rank");
    int64_t rank = 0;
    if (label == run.labels.end()) return std::nullopt;
    const std::string& text = label->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(rank) : std::nullopt;
  }

  void Write(std::vector<PartPlace> places, const ExportFormat& format) {
    std::vector<PathMap> path_maps;
    for (const v1::ExportRunRequest::PathMap& map : request_.path_maps()) path_maps.push_back({map.from(), map.to()});
    auto write_all = [places = std::move(places), write = format.write, &cache = context_.trace_columns](
                         const ExportSink& sink, const ExportWatch& watch) -> Status {
      std::vector<std::unique_ptr<PartReader>> open;
      std::vector<ExportPart> exported;
      for (const auto& [path, rank] : places) {
        ASSIGN_OR_RETURN(std::unique_ptr<PartReader> part, PartReader::Open(path, cache));
        exported.push_back({part.get(), rank});
        open.push_back(std::move(part));
      }
      return write(exported, sink, watch);
    };
    pipe_.emplace(std::move(write_all), std::move(path_maps));
  }

  const ServiceContext& context_;
  const Caller caller_;
  const v1::ExportRunRequest request_;
  std::optional<Places::Place> place_;
  std::optional<ExportPipe> pipe_;
  std::vector<std::string> left_out_;  // of runs
  Sha256 sum_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<PullSource<v1::ExportRunResponse>> MakeExportSource(const ServiceContext& context, const Caller& caller,
                                                                    const v1::ExportRunRequest& request) {
  return std::make_unique<ExportSource>(context, caller, request);
}

namespace {

class DownloadSource final : public PullSource<v1::DownloadArtifactResponse> {
 public:
  DownloadSource(const ServiceContext& context, const Caller& caller, const v1::DownloadArtifactRequest& request)
      : context_(context), caller_(caller), request_(request) {}

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
    const ServiceContext& context, const Caller& caller, const v1::DownloadArtifactRequest& request) {
  return std::make_unique<DownloadSource>(context, caller, request);
}

}  // namespace kprof
