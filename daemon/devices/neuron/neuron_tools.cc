#include "daemon/devices/neuron/neuron_tools.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <optional>
#include <utility>

#include "storage/base/descriptors.h"
#include "storage/base/environment.h"

namespace kprof {
namespace {

using ToolClock = std::chrono::steady_clock;

constexpr size_t kOutputLimitBytes = 16 << 20;

// What a worker that waits for a child can be woken by.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop)
      : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), stop_(stop), wake_(stop, Wake{fd_.get()}) {}
  int fd() const { return fd_.get(); }
  bool stopped() const { return stop_.stop_requested(); }

 private:
  struct Wake {
    int fd;
    void operator()() const { ::eventfd_write(fd, 1); }
  };

  UniqueFd fd_;
  const std::stop_token stop_;
  std::stop_callback<Wake> wake_;
};

struct LsAnswer {
  int wait_status = 0;
  std::string output;
  std::string error_tail;
};

// Whether it did not know the option, by what tools say then. Not sure: each has its own words.
bool RefusesOption(const LsAnswer& answer) {
  std::string said = answer.output.substr(0, 4096) + answer.error_tail;
  for (char& c : said) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* word : {"unknown", "unrecognized", "not defined", "invalid option", "no such option", "usage",
                           "no longer supported", "removed"}) {
    if (said.find(word) != said.npos) return true;
  }
  return false;
}

std::string Behind(const std::string& error_tail) {
  return error_tail.empty() ? "" : ": " + error_tail;
}

// One run, until it has ended.
Result<LsAnswer> RunOnce(const std::vector<std::string>& argv, const NeuronToolPlace& place, OwnChildren* own,
                         ToolClock::time_point until, const StopSignal& stop) {
  const auto left_ms = [&] {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - ToolClock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
  };
  ASSIGN_OR_RETURN(ToolProcess child, ToolProcess::Start(argv, place.environment, own));
  const std::string act = "ask neuron-ls";
  const auto too_slow = [&] {
    return Fail(ErrorCode::kTimedOut, act, "it gave no answer in time" + Behind(child.ErrorTail()),
                "see whether the Neuron driver hangs: run neuron-ls by hand");
  };
  LsAnswer answer;
  ToolProcess::Heard heard = ToolProcess::Heard::kBytes;
  while (heard != ToolProcess::Heard::kEnd) {
    heard = child.Read(answer.output, left_ms(), stop.fd());
    if (stop.stopped()) return Fail(ErrorCode::kCancelled, act, "it was told to stop");
    if (answer.output.size() > kOutputLimitBytes) {
      return Fail(ErrorCode::kToolFailed, act, "it printed more than " + std::to_string(kOutputLimitBytes) + " bytes");
    }
    if (heard != ToolProcess::Heard::kEnd && left_ms() == 0) return too_slow();
  }
  const std::optional<int> ended = child.AwaitEnd(left_ms());
  if (!ended) return too_slow();
  answer.wait_status = *ended;
  answer.error_tail = child.ErrorTail();
  return answer;
}

Result<NeuronInventory> Read(const LsAnswer& answer) {
  if (answer.wait_status == 0) return ParseNeuronLs(answer.output);
  // Some end with a failure then, and say it on stderr.
  if (SaysNoNeuronDevices(answer.output) || SaysNoNeuronDevices(answer.error_tail)) return NeuronInventory();
  return Fail(ErrorCode::kToolFailed, "ask neuron-ls",
              "it ended with " + HowItEnded(answer.wait_status) + Behind(answer.error_tail),
              "see whether the Neuron driver is loaded: run neuron-ls by hand");
}

}  // namespace

Result<std::string> FindNeuronTool(std::string_view name, const NeuronToolPlace& place) {
  std::vector<std::string> folders;
  if (!place.folder.empty()) {
    folders.push_back(place.folder);
  } else {
    folders.emplace_back(kNeuronToolFolder);
    const char* path = FindVariable(place.environment, "PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      if (folder.starts_with('/')) folders.emplace_back(folder);
      rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    }
  }
  for (const std::string& folder : folders) {
    std::string path;
    if (FindProgram(folder + "/" + std::string(name), {}, path) == 0) return path;
  }
  const std::string where = place.folder.empty() ? std::string(kNeuronToolFolder) + ", nor in PATH" : place.folder;
  return Fail(ErrorCode::kToolMissing, "find " + std::string(name), "there is no such program in " + where,
              "install the Neuron tools (aws-neuronx-tools), or name their folder");
}

Result<NeuronInventory> RunNeuronLs(const NeuronToolPlace& place, OwnChildren* own, int deadline_ms,
                                    const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::string program, FindNeuronTool("neuron-ls", place));
  const auto until = ToolClock::now() + std::chrono::milliseconds(deadline_ms);
  const StopSignal signal(stop);
  ASSIGN_OR_RETURN(const LsAnswer old, RunOnce({program, "-j"}, place, own, until, signal));
  Result<NeuronInventory> of_old = Read(old);
  if (of_old.ok()) return of_old;
  ASSIGN_OR_RETURN(const LsAnswer recent, RunOnce({program, "--output-format", "json"}, place, own, until, signal));
  Result<NeuronInventory> of_recent = Read(recent);
  // Of two failures the one of the option that it knows.
  return of_recent.ok() || RefusesOption(old) ? of_recent : of_old;
}

Result<std::optional<std::string>> AskNeuronLsForInstance(const NeuronToolPlace& place, OwnChildren* own,
                                                          int deadline_ms, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::string program, FindNeuronTool("neuron-ls", place));
  const auto until = ToolClock::now() + std::chrono::milliseconds(deadline_ms);
  const StopSignal signal(stop);
  ASSIGN_OR_RETURN(const LsAnswer answer, RunOnce({program}, place, own, until, signal));
  return InstanceTypeInText(answer.output);
}

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
