#include "daemon/runs/run_end.h"

#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMessageLimitBytes = 4096;

}  // namespace

void SetCollected(RunRow& row, Collected collected) {
  row.artifacts = std::move(collected.artifacts);
  row.stdout_bytes = collected.stdout_log.printed_bytes;
  row.stdout_dropped_bytes = collected.stdout_log.dropped_bytes;
  row.stderr_bytes = collected.stderr_log.printed_bytes;
  row.stderr_dropped_bytes = collected.stderr_log.dropped_bytes;
  std::string dropped;
  auto add_dropped = [&](const char* stream, const FinishedOutput& log) {
    if (log.dropped_bytes <= 0) return;
    dropped += dropped.empty() ? "" : " and ";
    dropped += std::to_string(log.dropped_bytes) + " of " + std::to_string(log.printed_bytes) + " bytes of " + stream;
  };
  add_dropped("stdout", collected.stdout_log);
  add_dropped("stderr", collected.stderr_log);
  if (dropped.empty()) return;
  row.trust.push_back({"output_dropped", dropped + " are not kept, between head and tail; this concerns the logs "
                                                   "alone, nothing that was measured"});
}

void SetEnd(RunRow& row, const std::optional<Status>& error, int64_t now_unix_ns) {
  if (!row.ended_ns) row.ended_ns = now_unix_ns;
  if (!error) {
    row.state = RunState::kDone;
    row.error.reset();
    return;
  }
  bool cancelled = error->code() == ErrorCode::kCancelled || error->code() == ErrorCode::kClientGone;
  row.state = cancelled ? RunState::kCancelled : RunState::kFailed;
  row.error = RunError{std::string(ErrorName(error->code())),
                       ClippedText(error->what() + ": " + error->why(), kMessageLimitBytes),
                       ClippedText(error->remedy(), kMessageLimitBytes)};
}

Status StatusOfEnd(const RunRow& row) {
  if (!row.error) return OkStatus();
  std::string why = row.error->message;
  // The stored message begins with the act; what follows is the cause.
  std::string what = "run " + row.id;
  if (why.starts_with(what + ": ")) why = why.substr(what.size() + 2);
  return Fail(ErrorCodeByName(row.error->code).value_or(ErrorCode::kInternal), what, why, row.error->remedy);
}

}  // namespace kprof
