#include "daemon/runs/run_end.h"

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMessageLimitBytes = 4096;

}  // namespace

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
