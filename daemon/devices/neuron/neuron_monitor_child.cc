#include "daemon/devices/neuron/neuron_monitor_child.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>

namespace kprof {
namespace {

using MonitorClock = std::chrono::steady_clock;

constexpr size_t kLineLimitBytes = 4 << 20;
constexpr int kEndGraceMs = 1000;
constexpr int kEndWaitMs = 1000;  // between closing its output and its end
constexpr const char* kRunMonitorAct = "hear from neuron-monitor";

// A link that somebody put in its place is not followed.
Status WriteConfig(const std::string& path, const std::string& text) {
  const std::string act = "write " + path;
  ::unlink(path.c_str());  // of one that was killed
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return FailErrno(errno, act);
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int why = errno;
      ::unlink(path.c_str());
      return FailErrno(why, act);
    }
    done += static_cast<size_t>(wrote);
  }
  return OkStatus();
}

}  // namespace

std::string NeuronMonitorConfig(int period_s) {
  return R"({"period":")" + std::to_string(period_s) + R"(s",)" +
         R"("neuron_runtimes":[{"tag_filter":".*","metrics":[)" +
         R"({"type":"neuroncore_counters"},{"type":"memory_used"},{"type":"execution_stats"}]}],)" +
         R"("system_metrics":[{"type":"neuron_hw_counters"}]})" + "\n";
}

Result<NeuronMonitorProcess> NeuronMonitorProcess::Start(const NeuronMonitorOptions& options) {
  ASSIGN_OR_RETURN(const std::string program, FindNeuronTool("neuron-monitor", options.place));
  const std::string config_path = options.config_folder + "/neuron-monitor.json";
  RETURN_IF_ERROR(WriteConfig(config_path, NeuronMonitorConfig(std::max(options.period_s, 1))));
  Result<ToolProcess> child = ToolProcess::Start({program, "-c", config_path}, options.place.environment, options.own);
  if (!child.ok()) {
    ::unlink(config_path.c_str());
    return child.status();
  }
  return NeuronMonitorProcess(*std::move(child), config_path);
}

NeuronMonitorProcess::NeuronMonitorProcess(NeuronMonitorProcess&& other) noexcept
    : child_(std::move(other.child_)),
      config_path_(std::exchange(other.config_path_, "")),
      bytes_(std::move(other.bytes_)),
      searched_(other.searched_),
      skipping_(other.skipping_),
      ended_(std::move(other.ended_)) {}

NeuronMonitorProcess::~NeuronMonitorProcess() {
  child_.End(kEndGraceMs);
  if (!config_path_.empty()) ::unlink(config_path_.c_str());
}

Result<std::optional<NeuronReport>> NeuronMonitorProcess::Next(int wait_ms) {
  const auto until = MonitorClock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    while (const std::optional<Line> line = TakeLine()) {
      if (line->too_long) {
        return Fail(ErrorCode::kBadInput, kRunMonitorAct,
                    "a line has more than " + std::to_string(kLineLimitBytes) + " bytes");
      }
      if (!line->text.starts_with('{')) continue;
      Result<NeuronReport> report = ParseNeuronMonitorLine(line->text);
      if (!report.ok()) return report.status();
      return std::optional(*std::move(report));
    }
    if (ended_) return *ended_;
    // Of the whole line: one that comes byte by byte must not hold up who waits.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - MonitorClock::now()).count();
    if (left < 0) return std::optional<NeuronReport>();
    const ToolProcess::Heard heard = child_.Read(bytes_, static_cast<int>(std::min<int64_t>(left, INT_MAX)));
    if (heard == ToolProcess::Heard::kNothing) return std::optional<NeuronReport>();
    if (heard == ToolProcess::Heard::kEnd) ended_ = WhyEnded();
  }
}

std::optional<NeuronMonitorProcess::Line> NeuronMonitorProcess::TakeLine() {
  while (true) {
    const size_t end = bytes_.find('\n', searched_);
    if (end == bytes_.npos) {
      searched_ = bytes_.size();
      if (bytes_.size() <= kLineLimitBytes) return std::nullopt;
      bytes_.clear();
      searched_ = 0;
      if (std::exchange(skipping_, true)) return std::nullopt;
      return Line{"", true};
    }
    Line line{bytes_.substr(0, end), end > kLineLimitBytes};
    bytes_.erase(0, end + 1);
    searched_ = 0;
    if (std::exchange(skipping_, false)) continue;  // the end of one that was told of
    return line;
  }
}

Status NeuronMonitorProcess::WhyEnded() {
  const std::optional<int> ended = child_.AwaitEnd(kEndWaitMs);
  if (!ended) child_.End(0);
  const std::string tail = child_.ErrorTail();
  return Fail(
      ErrorCode::kToolFailed, kRunMonitorAct,
      (ended ? "it ended with " + HowItEnded(*ended) : "it closed its output") + (tail.empty() ? "" : ": " + tail),
      "see whether it works by hand: neuron-monitor");
}

}  // namespace kprof
