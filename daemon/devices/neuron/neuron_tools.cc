#include "daemon/devices/neuron/neuron_tools.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <optional>
#include <utility>

#include "storage/base/environment.h"
#include "storage/base/program_path.h"
#include "storage/base/unique_fd.h"

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

}  // namespace kprof
