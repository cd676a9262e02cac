#include "daemon/clocks/pause/dcgm_tool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "daemon/process/worker/tool_process.h"
#include "storage/base/program_path.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Less than what kprofd takes for a call that hangs.
constexpr auto kLimit = std::chrono::seconds(8);
constexpr size_t kOutputLimitBytes = 64 << 10;
constexpr size_t kSaidLimitBytes = 300;

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  return environment;
}

int MsUntil(SteadyClock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

// On one line.
std::string Said(const std::string& output) {
  std::string said = ReadableText(output.substr(0, kSaidLimitBytes));
  std::replace(said.begin(), said.end(), '\n', ' ');
  said.erase(said.find_last_not_of(' ') + 1);
  return said;
}

}  // namespace

std::unique_ptr<DcgmDoor> DcgmTool::Find(const std::string& tool_path, CallPage& page) {
  std::vector<std::string> places = {"PATH=" + PathIn(OwnEnvironment())};
  if (!tool_path.empty()) places.insert(places.begin(), "PATH=" + tool_path);
  for (const std::string& place : places) {
    std::string path;
    const bool is_found = FindProgram("dcgmi", {place}, path) == 0 && path.starts_with('/');
    if (is_found) return std::unique_ptr<DcgmDoor>(new DcgmTool(std::move(path), page));
  }
  return nullptr;
}

Status DcgmTool::Pause() {
  return Run("--pause", "dcgmi profile --pause", "pause DCGM's profiling");
}

Status DcgmTool::Resume() {
  return Run("--resume", "dcgmi profile --resume", "resume DCGM's profiling");
}

// It ends with what the library returned, of which the lowest byte is left.
Status DcgmTool::Run(const char* option, const char* call, const std::string& act) {
  page_.Begin(call);
  const auto end = SteadyClock::now() + kLimit;
  std::string output;
  const auto run = [&]() -> Result<int> {
    ASSIGN_OR_RETURN(ToolProcess child, ToolProcess::Start({path_, "profile", option}, OwnEnvironment(), nullptr));
    while (output.size() < kOutputLimitBytes) {
      if (child.Read(output, MsUntil(end)) != ToolProcess::Heard::kBytes) break;
    }
    const std::optional<int> status = child.AwaitEnd(MsUntil(end));
    if (status) return *status;
    return Fail(ErrorCode::kTimedOut, act, path_ + " gave no answer in time",
                "see whether DCGM's host engine hangs: run " + std::string(call) + " by hand");
  };
  Result<int> status = run();
  page_.End();
  if (!status.ok()) return status.status();
  const std::string said = path_ + ": " + Said(output);
  if (!WIFEXITED(*status)) return Fail(ErrorCode::kToolFailed, act, said + " " + HowItEnded(*status));
  const auto returned = static_cast<dcgm::Return>(static_cast<signed char>(WEXITSTATUS(*status)));
  const bool found_no_engine = output.find("Unable to connect to host engine") != std::string::npos;
  if (returned == dcgm::kConnectionNotValid || found_no_engine) return NoHostEngine(act);
  const bool says_error = output.find("Error") != std::string::npos;
  if (returned == dcgm::kOk && says_error) return DcgmStatus(dcgm::kGenericError, act, said);
  return DcgmStatus(returned, act, said);
}

}  // namespace kprof
