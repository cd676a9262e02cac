#include "daemon/rpc/streams/log_source.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "daemon/launch/output_log.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/object_lookup.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

// What Runs says of an open run: told on the io loop, asked by a source. Shared by both, for either may be the last.
class FollowedRun {
 public:
  enum class Phase { kUnknown, kPrinting, kCollecting, kEnded, kNotOpen };

  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  // The logs as they stay. REQUIRES: kEnded.
  const RunRow& end() const { return end_; }

  // Io loop, all.
  static void Follow(Runs& runs, const std::string& id, const std::shared_ptr<FollowedRun>& self,
                     const std::function<void()>& wake) {
    std::optional<Runs::View> open = runs.FindOpen(id);
    if (open) {
      self->Tell(open->row);
      self->watch_ = runs.Watch(id, [self, wake](const Runs::View& view) {
        self->Tell(view.row);
        wake();
      });
    } else {
      self->phase_.store(Phase::kNotOpen, std::memory_order_release);
    }
    wake();
  }
  void Unfollow(Runs& runs, const std::string& id) {
    if (watch_) runs.Unwatch(id, *watch_);
  }

 private:
  void Tell(const RunRow& row) {
    if (phase() == Phase::kEnded) return;  // told again once its end is stored
    Phase phase = Phase::kPrinting;        // also before it runs: it may have a step of --prepare
    if (row.state == RunState::kCollecting) phase = Phase::kCollecting;
    // Its files may be imported for long after its logs have been collected.
    const bool logs_are_kept = phase == Phase::kCollecting && row.stdout_bytes + row.stderr_bytes > 0;
    if (IsTerminal(row.state) || logs_are_kept) {
      phase = Phase::kEnded;
      // Of the command, which may be long, nothing is needed.
      end_.id = row.id;
      end_.artifacts = row.artifacts;
      end_.stdout_bytes = row.stdout_bytes;
      end_.stdout_dropped_bytes = row.stdout_dropped_bytes;
      end_.stderr_bytes = row.stderr_bytes;
      end_.stderr_dropped_bytes = row.stderr_dropped_bytes;
    }
    phase_.store(phase, std::memory_order_release);
  }

  std::atomic<Phase> phase_{Phase::kUnknown};
  RunRow end_;                    // before phase_ is kEnded: io loop; then it stays as it is
  std::optional<WatchId> watch_;  // io loop
};

class LogSource final : public PullSource<v1::ReadLogResponse> {
 public:
  LogSource(const ServiceContext& context, const Caller& caller, const v1::ReadLogRequest& request)
      : context_(context), caller_(caller), request_(request), offset_(request.offset_bytes()) {}

  ~LogSource() override {
    if (!followed_) return;
    context_.loop.Post(
        [&context = context_, followed = followed_, id = run_id_] { followed->Unfollow(context.runs, id); });
  }

  void WakeBy(std::function<void()> wake) override { wake_ = std::move(wake); }

  Result<Pulled> Next(v1::ReadLogResponse& message, std::stop_token stop) override {
    if (offset_ < 0) return Fail(ErrorCode::kUsage, "read log", "the offset is negative");
    if (kept_) return NextOfKept(message);
    if (!followed_) {
      ASSIGN_OR_RETURN(RunRow run, ReadRunRow(stop));
      if (IsTerminal(run.state)) return BeginKept(run, message);
      followed_ = std::make_shared<FollowedRun>();
      context_.loop.Post([&context = context_, followed = followed_, id = run.id, wake = wake_] {
        FollowedRun::Follow(context.runs, id, followed, wake);
      });
      return Pulled::kNothingYet;
    }
    switch (followed_->phase()) {
      case FollowedRun::Phase::kUnknown:
      case FollowedRun::Phase::kCollecting:  // a matter of moments
        return Pulled::kNothingYet;
      case FollowedRun::Phase::kPrinting:
        return NextOfLive(message, stop);
      case FollowedRun::Phase::kEnded:
        return BeginKept(followed_->end(), message);
      case FollowedRun::Phase::kNotOpen:
        break;
    }
    // It ended between the read and now: its end is in the catalog.
    ASSIGN_OR_RETURN(RunRow run, ReadRunRow(stop));
    if (IsTerminal(run.state)) return BeginKept(run, message);
    return request_.follow() ? Pulled::kNothingYet : Pulled::kEnd;
  }

 private:
  Result<Pulled> NextOfLive(v1::ReadLogResponse& message, std::stop_token stop) {
    Result<OutputPiece> piece = ReadLiveOutput(context_.files, Path(run_id_, LogName()), Path(run_id_, kProgressName),
                                               Stream(), offset_, StreamLimits::kChunkBytes);
    // The files change their form once it has ended, and Runs says so before; what was read across that moment does
    // not count.
    if (followed_->phase() != FollowedRun::Phase::kPrinting) return Next(message, stop);
    if (piece.status().code() == ErrorCode::kNotFound) return request_.follow() ? Pulled::kNothingYet : Pulled::kEnd;
    if (!piece.ok()) return piece.status();
    if (piece->bytes.empty() && piece->dropped_bytes == 0)
      return request_.follow() ? Pulled::kNothingYet : Pulled::kEnd;
    offset_ = piece->next_offset;
    live_limits_ = piece->limits;
    message.set_data(std::move(piece->bytes));
    message.set_dropped_bytes(piece->dropped_bytes);
    return Pulled::kMessage;
  }

  Result<Pulled> BeginKept(const RunRow& run, v1::ReadLogResponse& message) {
    RETURN_IF_ERROR(OpenKept(run));
    return NextOfKept(message);
  }

  OutputStream Stream() const {
    return request_.stream() == v1::OUTPUT_STREAM_STDERR ? OutputStream::kStderr : OutputStream::kStdout;
  }
  std::string_view LogName() const { return Stream() == OutputStream::kStderr ? kStderrName : kStdoutName; }
  std::string Path(const std::string& run_id, std::string_view name) const {
    return context_.catalog.layout().ArtifactPath(run_id, name);
  }

  Result<RunRow> ReadRunRow(std::stop_token stop) {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop));
    if (!run_id_.empty()) return ReadRun(*reader, run_id_);
    ASSIGN_OR_RETURN(RunRow run, LookUpStoredRun(*reader, &context_.audit, caller_, request_.id(), Rpc::kReadLog,
                                                 "read log of run"));
    run_id_ = run.id;
    return run;
  }

  // Finds where in the kept log to go on. Its bytes are those printed, except for one line in place of what was
  // dropped.
  Status OpenKept(const RunRow& run) {
    kept_ = true;
    const int64_t printed_bytes = Stream() == OutputStream::kStderr ? run.stderr_bytes : run.stdout_bytes;
    const int64_t dropped_bytes =
        Stream() == OutputStream::kStderr ? run.stderr_dropped_bytes : run.stdout_dropped_bytes;
    const ArtifactRow* log = FindArtifact(run, LogName());
    if (log == nullptr) return OkStatus();
    if (live_limits_ && dropped_bytes > 0 && offset_ > live_limits_->head_bytes) {
      int64_t left_bytes = printed_bytes - offset_;
      int64_t there_bytes = std::min(left_bytes, live_limits_->tail_bytes);
      missed_bytes_ = left_bytes - there_bytes;
      offset_ = log->size_bytes - there_bytes;
    }
    offset_ = std::min(offset_, log->size_bytes);  // read no further than a file can have
    ASSIGN_OR_RETURN(file_, context_.files.OpenForRead(Path(run.id, LogName())));
    if (!request_.follow() || dropped_bytes == 0) return OkStatus();
    // A follower wants what was printed, and to be told of the gap; the line that stands there is for readers.
    ASSIGN_OR_RETURN(gap_, FindGap(*file_, dropped_bytes));
    if (gap_ && offset_ > gap_->offset_bytes) gap_.reset();
    return OkStatus();
  }

  Result<Pulled> NextOfKept(v1::ReadLogResponse& message) {
    if (!file_) return Pulled::kEnd;
    if (gap_ && offset_ == gap_->offset_bytes) {
      offset_ += gap_->line_bytes;
      missed_bytes_ += gap_->dropped_bytes;
      gap_.reset();
    }
    size_t limit_bytes = StreamLimits::kChunkBytes;
    if (gap_) limit_bytes = std::min(limit_bytes, static_cast<size_t>(gap_->offset_bytes - offset_));
    std::string bytes(limit_bytes, '\0');
    ASSIGN_OR_RETURN(size_t size, file_->ReadAt(offset_, bytes));
    if (size == 0 && missed_bytes_ == 0) return Pulled::kEnd;
    bytes.resize(size);
    offset_ += static_cast<int64_t>(size);
    message.set_data(std::move(bytes));
    message.set_dropped_bytes(std::exchange(missed_bytes_, 0));
    return Pulled::kMessage;
  }

  const ServiceContext& context_;
  const Caller caller_;
  const v1::ReadLogRequest request_;
  std::function<void()> wake_;
  std::string run_id_;
  std::shared_ptr<FollowedRun> followed_;  // none: not looked up, or it had ended
  int64_t offset_;
  int64_t missed_bytes_ = 0;
  std::optional<OutputLimits> live_limits_;  // once something was read from the live log
  bool kept_ = false;
  std::optional<LogGap> gap_;  // ahead of offset_, of a follower
  std::unique_ptr<File> file_;
};

}  // namespace

std::unique_ptr<PullSource<v1::ReadLogResponse>> MakeLogSource(const ServiceContext& context, const Caller& caller,
                                                               const v1::ReadLogRequest& request) {
  return std::make_unique<LogSource>(context, caller, request);
}

}  // namespace kprof
