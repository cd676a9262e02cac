#include "client/cli/views/run_outcome.h"

#include <array>
#include <utility>

#include "client/cpp/followers.h"
#include "storage/base/signal_name.h"

namespace kprof::cli {
namespace {

constexpr std::array<std::pair<v1::RunState, std::string_view>, 7> kRunStates = {{
    {v1::RUN_STATE_QUEUED, "queued"},
    {v1::RUN_STATE_PREPARING, "preparing"},
    {v1::RUN_STATE_RUNNING, "running"},
    {v1::RUN_STATE_COLLECTING, "collecting"},
    {v1::RUN_STATE_DONE, "done"},
    {v1::RUN_STATE_FAILED, "failed"},
    {v1::RUN_STATE_CANCELLED, "cancelled"},
}};

}  // namespace

std::string RunStateName(v1::RunState state) {
  for (const auto& [value, name] : kRunStates) {
    if (value == state) return std::string(name);
  }
  return "state-" + std::to_string(static_cast<int>(state));
}

std::optional<v1::RunState> RunStateByName(std::string_view name) {
  for (const auto& [value, known] : kRunStates) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::string ErrorMessage(const v1::Run& run) {
  const std::string name = "run " + run.id() + ": ";
  const std::string& message = run.error().message();
  return message.starts_with(name) ? message.substr(name.size()) : message;
}

Status OutcomeOf(const v1::Run& run) {
  if (!IsEnded(run.state()) || run.state() == v1::RUN_STATE_DONE) return OkStatus();
  bool cancelled = run.state() == v1::RUN_STATE_CANCELLED;
  ErrorCode fallback = cancelled ? ErrorCode::kCancelled : ErrorCode::kInternal;
  std::optional<ErrorCode> known = ErrorCodeByName(run.error().code());
  ErrorCode code = known && *known != ErrorCode::kOk ? *known : fallback;
  std::string why = ErrorMessage(run);
  if (why.empty()) why = run.error().code().empty() ? "no reason is known" : run.error().code();
  return Fail(code, "run " + run.id() + (cancelled ? " was cancelled" : " failed"), why, run.error().remedy());
}

std::string ExitText(const v1::Run& run) {
  if (run.has_exit_code()) return "exit " + std::to_string(run.exit_code());
  return run.has_signal() ? SignalName(run.signal()) : "";
}

int64_t DurationNs(const v1::Run& run, int64_t now_ns) {
  for (const v1::Metric& metric : run.metrics()) {
    const bool whole = metric.kernel().empty() && !metric.has_launch();
    if (whole && metric.name() == "wall_ns") return static_cast<int64_t>(metric.value());
  }
  int64_t begin = run.has_started_unix_ns() ? run.started_unix_ns() : run.queued_unix_ns();
  int64_t end = run.has_ended_unix_ns() ? run.ended_unix_ns() : now_ns;
  return end > begin ? end - begin : 0;
}

}  // namespace kprof::cli
