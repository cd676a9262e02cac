#include "daemon/ingest/trace_import.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "daemon/ingest/assemble/trace_assembler.h"
#include "daemon/ingest/channel/ingest_process.h"
#include "daemon/ingest/channel/ingest_protocol.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/message_coder.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/write/part_writer.h"

namespace kprof {
namespace {

constexpr int64_t kSmallSourceBytes = 256 << 10;
constexpr int kLookMs = 100;  // how long a request to stop may wait
constexpr int kLookAtGrowthMs = 20;
constexpr int64_t kTellBytes = 1 << 20;  // more of a source, while there is something else to do
constexpr int64_t kCpuSecondsAtLeast = 600;
constexpr int64_t kCpuSecondsOfMiB = 5;  // of the source
constexpr int64_t kCpuSecondsOf100MiBOfText = 25;

Status NotUnderstood() {
  return Fail(ErrorCode::kInternal, "hear from kprof-ingest", "it says what is not to be understood",
              "restart kprofd: its programs may be of different builds");
}

// What is said about one source, put into its part.
class Import {
 public:
  // `file_bytes`: its size, where it does not come any more.
  Import(const ImportSource& source, const ImportLimits& limits, int64_t file_bytes, IngestProcess process,
         PartWriter& part, const std::stop_token& stop, const std::function<void(const ImportProgress&)>& progress)
      : source_(source),
        limits_(limits),
        file_bytes_(file_bytes),
        process_(std::move(process)),
        part_(part),
        stop_(stop),
        progress_(progress) {}

  Status Run() {
    auto heard = std::chrono::steady_clock::now();
    while (!done_) {
      if (stop_.stop_requested()) return Fail(ErrorCode::kCancelled, "import " + source_.name, "it was cancelled");
      Result<std::optional<ReceivedFrame>> received = process_.Receive(Comes() ? kLookAtGrowthMs : kLookMs);
      if (!received.ok()) return WhyEnded(received.status());
      const std::optional<ReceivedFrame>& frame = *received;
      RETURN_IF_ERROR(TellGrowth(!frame));
      const auto now = std::chrono::steady_clock::now();
      if (frame) {
        RETURN_IF_ERROR(Take(*frame));
        heard = now;
      } else if (source_.growth != nullptr && !source_.growth->state().is_whole) {
        heard = now;  // it may have nothing to read
      } else if (now - heard > std::chrono::milliseconds(limits_.silent_ms)) {
        return Fail(ErrorCode::kInternal, "read it",
                    "nothing was heard of its reader for " + std::to_string(limits_.silent_ms / 1000) + " s");
      }
    }
    // What it says of a source of which it has not seen the end is no news of that.
    return Comes() ? NotUnderstood() : OkStatus();
  }

  const IngestDone& done() const { return *done_; }
  // Of the source; 0: not known yet.
  int64_t source_bytes() const {
    if (source_.growth == nullptr) return file_bytes_;
    const SourceGrowth::State state = source_.growth->state();
    return state.is_whole ? state.bytes : 0;
  }
  std::optional<int64_t> rank() const { return rank_; }
  // Why the source is no trace at all, where that is why Run failed.
  const std::optional<Status>& no_trace() const { return no_trace_; }

 private:
  // Whether its reader does not know yet that it is whole.
  bool Comes() const { return source_.growth != nullptr && !told_.is_whole; }

  Status TellGrowth(bool is_idle) {
    if (!Comes()) return OkStatus();
    const SourceGrowth::State grown = source_.growth->state();
    if (grown == told_ || (!is_idle && !grown.is_whole && grown.bytes - told_.bytes < kTellBytes)) return OkStatus();
    ASSIGN_OR_RETURN(const bool was_told, process_.Tell(grown));
    if (was_told) told_ = grown;
    return OkStatus();
  }

  Status Take(const ReceivedFrame& frame) {
    if (!greeted_) return TakeHello(frame);
    switch (frame.type) {
      case IngestFrame::kString: {
        const std::optional<NumberedText> text = DecodeString(frame.message);
        if (!text) return NotUnderstood();
        text_bytes_ += static_cast<int64_t>(text->text.size());
        return part_.AddString(text->id, text->text);
      }
      case IngestFrame::kTrack: {
        const std::optional<TrackRow> track = DecodeTrack(frame.message);
        return track ? part_.AddTrack(*track) : NotUnderstood();
      }
      case IngestFrame::kShape: {
        const std::optional<NumberedShape> shape = DecodeShape(frame.message);
        if (!shape) return NotUnderstood();
        ++shapes_;
        return part_.AddShape(shape->id, shape->shape);
      }
      case IngestFrame::kSegment: {
        const std::optional<EncodedSegment> segment = DecodeSegment(frame.message);
        return segment ? part_.AddSegment(*segment) : NotUnderstood();
      }
      case IngestFrame::kSideTable: {
        const std::optional<NumberedSideTable> table = DecodeSideTable(frame.message);
        return table ? part_.AddSideTable(table->id, table->table) : NotUnderstood();
      }
      case IngestFrame::kSideSegment: {
        const std::optional<EncodedSideSegment> segment = DecodeSideSegment(frame.message);
        return segment ? part_.AddSideSegment(*segment) : NotUnderstood();
      }
      case IngestFrame::kText: {
        const std::optional<NamedText> fact = DecodeText(frame.message);
        return fact ? part_.SetFact(fact->name, fact->text) : NotUnderstood();
      }
      case IngestFrame::kInteger:
        return TakeInteger(frame);
      case IngestFrame::kProgress: {
        const std::optional<IngestProgress> progress = DecodeProgress(frame.message);
        if (!progress) return NotUnderstood();
        progress_({progress->bytes, source_bytes(), progress->events});
        return OkStatus();
      }
      case IngestFrame::kDone:
        done_ = DecodeDone(frame.message);
        return done_ ? OkStatus() : NotUnderstood();
      case IngestFrame::kFailed: {
        const std::optional<Status> failure = DecodeFailure(frame.message);
        return failure ? TakeFailure(*failure) : NotUnderstood();
      }
      default:
        return NotUnderstood();
    }
  }

  // Of one that had too little memory nobody says for what: but what came of it before does.
  Status WhyEnded(const Status& why) const {
    if (why.remedy() != kMoreMemory) return why;
    return Fail(why.code(), why.what(),
                why.why() + "; by then it had " + std::to_string(text_bytes_ >> 20) + " MiB of different texts, and " +
                    std::to_string(shapes_) + " kinds of argument lists",
                why.remedy());
  }

  Status TakeFailure(const Status& failure) {
    if (failure.code() != ErrorCode::kNotFound) return failure;
    no_trace_ = Status(ErrorCode::kBadInput, failure.what(), failure.why(), failure.remedy());
    return *no_trace_;
  }

  Status TakeHello(const ReceivedFrame& frame) {
    MessageDecoder message(frame.message);
    uint32_t protocol = 0;
    message.Read(protocol);
    greeted_ = frame.type == IngestFrame::kHello && message.Ok() && protocol == kIngestProtocol;
    return greeted_ ? OkStatus() : NotUnderstood();
  }

  // The rank that the caller says stands above the source's own.
  Status TakeInteger(const ReceivedFrame& frame) {
    const std::optional<NamedInteger> fact = DecodeInteger(frame.message);
    if (!fact) return NotUnderstood();
    if (fact->name == "rank") {
      rank_ = source_.rank.value_or(fact->value);
      return part_.SetFact("rank", *rank_);
    }
    return part_.SetFact(fact->name, fact->value);
  }

  const ImportSource& source_;
  const ImportLimits& limits_;
  const int64_t file_bytes_;
  IngestProcess process_;  // until the part is finished: its end takes some time
  PartWriter& part_;
  const std::stop_token& stop_;
  const std::function<void(const ImportProgress&)>& progress_;
  SourceGrowth::State told_;  // how far the reader knows that the source is
  bool greeted_ = false;
  std::optional<int64_t> rank_;
  int64_t text_bytes_ = 0;
  int64_t shapes_ = 0;
  std::optional<IngestDone> done_;
  std::optional<Status> no_trace_;
};

Result<IngestProcess> StartReader(const ImportSource& source, const ImportLimits& limits, int64_t file_bytes) {
  const bool grows = source.growth != nullptr;
  const int64_t most_bytes = grows ? limits.unpacked_bytes : file_bytes;
  return IngestProcess::Start(limits.program, source.fd,
                              {.name = source.name,
                               .format = source.format,
                               .threads = limits.threads,
                               .unpacked_bytes = limits.unpacked_bytes,
                               .memory_bytes = limits.memory_bytes,
                               .cpu_seconds = MostCpuSeconds(most_bytes, limits.unpacked_bytes),
                               .grows = grows},
                              limits.own);
}

Result<ImportedPart> ImportInto(const std::string& part_path, Files& files, const ImportSource& source,
                                const ImportLimits& limits, const std::stop_token& stop,
                                const std::function<void(const ImportProgress&)>& progress) {
  ASSIGN_OR_RETURN(const SourceFile file, SourceFile::Open(source.fd, source.name));
  ASSIGN_OR_RETURN(IngestProcess reader, StartReader(source, limits, file.size_bytes()));
  // While that starts.
  const bool is_small = source.growth == nullptr && file.size_bytes() < kSmallSourceBytes;
  const int page_bytes = is_small ? kSmallPartPageBytes : kPartPageBytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<PartWriter> written,
                   PartWriter::Create(files, part_path, nullptr, page_bytes));
  PartWriter& part = *written;
  Import import(source, limits, file.size_bytes(), std::move(reader), part, stop, progress);
  ImportedPart imported;
  const Status run = import.Run();
  if (!run.ok() && source.may_be_none && import.no_trace()) {
    imported.no_trace = import.no_trace();
    return imported;
  }
  RETURN_IF_ERROR(run);
  imported.rank = import.rank();
  const bool is_said = imported.rank.has_value();
  if (!is_said) imported.rank = source.rank;
  imported.told_rank = imported.rank ? imported.rank : source.rank_if_unsaid;
  if (!is_said && imported.told_rank) RETURN_IF_ERROR(part.SetFact("rank", *imported.told_rank));
  imported.format = import.done().format;
  imported.source_bytes = import.source_bytes();
  imported.source_hash = import.done().hash;
  imported.warnings = import.done().warnings;
  RETURN_IF_ERROR(part.SetFact("source_name", source.name));
  RETURN_IF_ERROR(part.SetFact("source_format", imported.format));
  RETURN_IF_ERROR(part.SetFact("source_bytes", imported.source_bytes));
  RETURN_IF_ERROR(part.SetFact("source_hash", imported.source_hash));
  if (source.dropped_events > 0) RETURN_IF_ERROR(part.SetFact("capture.dropped_events", source.dropped_events));
  if (!limits.made_by.empty()) RETURN_IF_ERROR(part.SetFact("made_by", limits.made_by));
  ASSIGN_OR_RETURN(imported.bytes, part.Finish(stop));
  for (std::string& warning : DepthWarnings(part.made_depths())) imported.warnings.push_back(std::move(warning));
  imported.slices = part.rows(EventKind::kSlice);
  imported.instants = part.rows(EventKind::kInstant);
  imported.counters = part.rows(EventKind::kCounter);
  imported.flows = part.rows(EventKind::kFlow);
  imported.tracks = part.tracks();
  imported.has_metrics = part.HasSideTable(MetricSideTable().name);
  return imported;
}

}  // namespace

int64_t MostCpuSeconds(int64_t source_bytes, int64_t unpacked_bytes) {
  const int64_t of_source = (source_bytes >> 20) * kCpuSecondsOfMiB;
  const int64_t of_text = (std::max(source_bytes, unpacked_bytes) >> 20) / 100 * kCpuSecondsOf100MiBOfText;
  return kCpuSecondsAtLeast + std::min(of_source, of_text);
}

Result<ImportedPart> ImportTrace(const ImportSource& source, const ImportLimits& limits, Files& files,
                                 const std::string& part_path, const std::stop_token& stop,
                                 const std::function<void(const ImportProgress&)>& progress) {
  Result<ImportedPart> imported = ImportInto(part_path, files, source, limits, stop, progress);
  if (imported.ok() || imported.status().what().find(source.name) != std::string::npos) return imported;
  return imported.status().In("import " + source.name);
}

}  // namespace kprof
