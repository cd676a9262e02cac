#include "client/cli/waiting/passed_output.h"

#include <algorithm>
#include <utility>

#include "client/cli/text/amounts_and_times.h"

namespace kprof::cli {
namespace {

constexpr int kRounds = 16;  // of a piece of each stream; then others have their turn
constexpr int kPatienceMs = 1000;

constexpr std::array<DirectOutput::Stream, 2> kDirectStreams = {DirectOutput::kOut, DirectOutput::kErr};

bool HasBegun(v1::RunState state) {
  return state != v1::RUN_STATE_QUEUED && state != v1::RUN_STATE_PREPARING;
}

}  // namespace

PassedOutput::PassedOutput(RunFollower::Connect connect, const Options& options, ProgressLine& line, Output& output)
    : connect_(std::move(connect)), options_(options), line_(line), output_(output) {
  streams_[DirectOutput::kErr].place = Output::Place::kNotes;
  if (options.to == PassOutput::kToNotes) streams_[DirectOutput::kOut].place = Output::Place::kNotes;
}

void PassedOutput::OnUpdate(const v1::Run& run) {
  if (options_.to == PassOutput::kNowhere || log_) return;
  if (options_.direct != nullptr && options_.direct->is_in_use()) return;
  const bool has_printed = run.stdout_bytes() + run.stderr_bytes() > 0;
  const bool may_print = !IsEnded(run.state()) && (run.state() != v1::RUN_STATE_QUEUED || options_.prints_while_queued);
  if (options_.is_launched_here && !HasBegun(run.state())) return;
  if (has_printed || may_print) log_.emplace(connect_, run.id(), options_.reconnect_ms);
}

void PassedOutput::OnResumed(const v1::Run& run) {
  // The sockets went with the daemon that held them. A run that had begun is lost, and has printed its last.
  if (options_.direct != nullptr && !HasBegun(run.state())) options_.direct->Close();
}

void PassedOutput::AddWaits(std::vector<pollfd>& waits) const {
  if (options_.to == PassOutput::kNowhere) return;
  for (const Stream& stream : streams_) {
    if (!stream.is_closed) waits.push_back(output_.PassWait(stream.place, !stream.waiting.empty()));
  }
  if (log_ && !SomethingWaits()) waits.push_back({log_->fd(), POLLIN, 0});
  if (options_.direct == nullptr) return;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].waiting.empty()) waits.push_back({options_.direct->fd(kDirectStreams[i]), POLLIN, 0});
  }
}

void PassedOutput::Pass() {
  if (options_.to == PassOutput::kNowhere) return;
  for (int round = 0; round < kRounds; ++round) {
    Refill();
    for (size_t i = 0; i < streams_.size(); ++i) Write(i);
    if (is_idle_) return;
  }
}

void PassedOutput::Refill() {
  is_idle_ = true;
  for (size_t i = 0; i < streams_.size() && options_.direct != nullptr; ++i) {
    if (!streams_[i].waiting.empty()) continue;
    streams_[i].waiting = options_.direct->Take(kDirectStreams[i]);
    is_idle_ = is_idle_ && streams_[i].waiting.empty();
  }
  if (!log_ || SomethingWaits()) return;
  for (const CommandOutput::Piece& piece : log_->Take()) {
    dropped_bytes_ += piece.dropped_bytes;
    streams_[piece.stream == v1::OUTPUT_STREAM_STDOUT ? DirectOutput::kOut : DirectOutput::kErr].waiting += piece.data;
    is_idle_ = false;
  }
}

void PassedOutput::Write(size_t index) {
  Stream& stream = streams_[index];
  if (stream.is_closed) {
    is_in_vain_ = is_in_vain_ || (stream.reader_gone && !stream.waiting.empty());
    stream.waiting.clear();
    return;
  }
  if (!stream.waiting.empty()) line_.Clear();
  std::string_view left = stream.waiting;
  const Output::Passed passed = output_.Pass(stream.place, left);
  const size_t written_bytes = stream.waiting.size() - left.size();
  // A line of a pipe is its reader's own business; notes follow in standard error, whatever that is.
  if (written_bytes > 0 && (stream.place == Output::Place::kNotes || output_.result_is_terminal())) {
    is_in_a_line_ = stream.waiting[written_bytes - 1] != '\n';
  }
  stream.waiting.erase(0, written_bytes);
  if (passed == Output::Passed::kYes) return;
  const bool reader_gone = passed == Output::Passed::kReaderGone;
  is_in_vain_ = is_in_vain_ || (reader_gone && log_ && !stream.waiting.empty());
  Close(index, reader_gone);
}

void PassedOutput::Close(size_t index, bool reader_gone) {
  streams_[index].waiting.clear();
  streams_[index].is_closed = true;
  streams_[index].reader_gone = reader_gone;
  // After another failure, a full disk say, the command goes on: the logs have the rest.
  if (reader_gone && options_.direct != nullptr) options_.direct->TellReaderGone(kDirectStreams[index]);
}

bool PassedOutput::SomethingWaits() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) { return !stream.waiting.empty(); });
}

// The supervisor had sent all its bytes before the run's end was told.
bool PassedOutput::SourceIsOver() const {
  return log_ ? log_->is_over() : is_idle_;
}

bool PassedOutput::CameNowhere(const v1::Run& run) const {
  if (log_ || options_.direct == nullptr || run.stdout_bytes() + run.stderr_bytes() == 0) return false;
  return options_.direct->taken_bytes(DirectOutput::kOut) + options_.direct->taken_bytes(DirectOutput::kErr) == 0 &&
         !streams_[0].is_closed && !streams_[1].is_closed;
}

void PassedOutput::Finish(const v1::Run& run, const Interrupts& interrupts) {
  if (options_.to == PassOutput::kNowhere) return;
  std::vector<pollfd> waits;
  while (true) {
    Pass();
    if (CameNowhere(run)) {  // it was started by a daemon that did not have our sockets any more
      options_.direct->Close();
      log_.emplace(connect_, run.id(), options_.reconnect_ms);
      continue;
    }
    if (SourceIsOver() && !SomethingWaits()) break;
    const bool in_a_hurry = interrupts.first() != 0;
    waits = {pollfd{in_a_hurry ? -1 : interrupts.fd(), POLLIN, 0}};
    AddWaits(waits);
    if (::poll(waits.data(), waits.size(), in_a_hurry ? kPatienceMs : -1) == 0) break;
  }
  line_.Clear();
  if (is_in_a_line_) output_.WriteToTerminal("\n");
  is_in_a_line_ = false;
  // A command that has printed all by then, or takes no notice, is as well as ever.
  if (!log_ && (streams_[0].reader_gone || streams_[1].reader_gone) && run.state() != v1::RUN_STATE_DONE) {
    output_.Note("nobody reads the command's output any more, so the pipe that it prints into was closed (SIGPIPE)");
  }
  const std::string whole = "kprofctl logs " + run.id() + " has what is kept";
  if (log_ && !log_->failure().ok()) output_.Note(log_->failure().ToString() + "; " + whole);
  const int64_t missing_bytes = MissingBytes(run);
  if (missing_bytes > 0) output_.Note(FormatBytes(missing_bytes) + " of what it printed were passed over; " + whole);
}

int64_t PassedOutput::MissingBytes(const v1::Run& run) const {
  int64_t missing_bytes = dropped_bytes_;
  const std::array<int64_t, 2> printed_bytes = {run.stdout_bytes(), run.stderr_bytes()};
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].is_closed) continue;
    missing_bytes += static_cast<int64_t>(streams_[i].waiting.size());
    if (log_ || options_.direct == nullptr) continue;
    missing_bytes += std::max<int64_t>(0, printed_bytes[i] - options_.direct->taken_bytes(kDirectStreams[i]));
  }
  return missing_bytes;
}

}  // namespace kprof::cli
