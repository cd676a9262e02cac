#include "daemon/clocks/pause/dcgm_door.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/worker/tool_process.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// DCGM through its library, found at run time: a node without it works, and nothing of it is linked. Connects anew for
// each act, so that a host engine may be restarted meanwhile.
class DcgmLibrary : public DcgmDoor {
 public:
  // `path`: empty for the usual names. `page` must outlive it. Fails with kNotFound where there is none of the usual
  // ones, kToolFailed for one that is named and cannot be loaded, lacks what every version has, or does not begin.
  static Result<std::unique_ptr<DcgmDoor>> Open(const std::string& path, CallPage& page);
  ~DcgmLibrary() override;
  DcgmLibrary(const DcgmLibrary&) = delete;
  DcgmLibrary& operator=(const DcgmLibrary&) = delete;

  std::optional<bool> ReadPaused() override;
  Status Pause() override;
  Status Resume() override;

 private:
  class Connection;

  explicit DcgmLibrary(CallPage& page) : page_(page) {}
  std::string TextOf(dcgm::Return returned) const;
  std::optional<bool> ReadPausedOf(const Connection& connection, unsigned device);

  CallPage& page_;
  void* handle_ = nullptr;
  bool has_begun_ = false;
  dcgm::Functions functions_;
};

constexpr std::array kUsualNames = {"libdcgm.so.4", "libdcgm.so.3"};
constexpr const char* kAddress = "127.0.0.1";  // at its usual port
constexpr unsigned kConnectLimitMs = 3000;

void FindAll(void* library, dcgm::Functions& functions) {
  const auto find = [library]<typename F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(::dlsym(library, name));
  };
  find(functions.init, "dcgmInit");
  find(functions.shutdown, "dcgmShutdown");
  find(functions.connect, "dcgmConnect_v2");
  find(functions.disconnect, "dcgmDisconnect");
  find(functions.pause, "dcgmProfPause");
  find(functions.resume, "dcgmProfResume");
  find(functions.supported_devices, "dcgmGetAllSupportedDevices");
  find(functions.latest_values, "dcgmEntityGetLatestValues");
  find(functions.error_text, "errorString");
}

bool IsComplete(const dcgm::Functions& functions) {
  return functions.init != nullptr && functions.shutdown != nullptr && functions.connect != nullptr &&
         functions.disconnect != nullptr && functions.pause != nullptr && functions.resume != nullptr;
}

// Notes a call for who watches whether it hangs.
template <typename Call>
auto Watched(CallPage& page, const char* name, Call call) {
  page.Begin(name);
  auto returned = call();
  page.End();
  return returned;
}

class DcgmLibrary::Connection {
 public:
  explicit Connection(DcgmLibrary& library) : library_(library) {
    dcgm::ConnectParams params{};
    params.version = dcgm::kConnectParamsVersion2;
    params.timeout_ms = kConnectLimitMs;
    returned_ = Watched(library.page_, "dcgmConnect_v2",
                        [&] { return library.functions_.connect(kAddress, &params, &handle_); });
  }
  ~Connection() {
    if (returned_ != dcgm::kOk) return;
    Watched(library_.page_, "dcgmDisconnect", [&] { return library_.functions_.disconnect(handle_); });
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status StatusFor(const std::string& act) const {
    if (returned_ == dcgm::kConnectionNotValid) return NoHostEngine(act);
    return DcgmStatus(returned_, act, library_.TextOf(returned_));
  }
  bool ok() const { return returned_ == dcgm::kOk; }
  dcgm::Handle handle() const { return handle_; }

 private:
  DcgmLibrary& library_;
  dcgm::Handle handle_ = 0;
  dcgm::Return returned_;
};

Result<std::unique_ptr<DcgmDoor>> DcgmLibrary::Open(const std::string& path, CallPage& page) {
  std::unique_ptr<DcgmLibrary> library(new DcgmLibrary(page));
  const std::string act = "open " + (path.empty() ? std::string("DCGM's library") : path);
  std::vector<std::string> names = {path};
  if (path.empty()) names.assign(kUsualNames.begin(), kUsualNames.end());
  for (const std::string& name : names) {
    library->handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library->handle_ != nullptr) break;
  }
  if (library->handle_ == nullptr) {
    const char* why = ::dlerror();
    return Fail(path.empty() ? ErrorCode::kNotFound : ErrorCode::kToolFailed, act,
                why == nullptr ? "it cannot be loaded" : why,
                "check what KPROF_DCGM_LIBRARY or [devices] dcgm_library names");
  }
  FindAll(library->handle_, library->functions_);
  if (!IsComplete(library->functions_)) {
    return Fail(ErrorCode::kToolFailed, act, "it lacks functions that versions 3 and 4 of DCGM have",
                "check what KPROF_DCGM_LIBRARY or [devices] dcgm_library names");
  }
  const dcgm::Return begun = Watched(page, "dcgmInit", [&] { return library->functions_.init(); });
  if (begun != dcgm::kOk) return DcgmStatus(begun, act, library->TextOf(begun));
  library->has_begun_ = true;
  return std::unique_ptr<DcgmDoor>(std::move(library));
}

DcgmLibrary::~DcgmLibrary() {
  if (has_begun_) Watched(page_, "dcgmShutdown", [&] { return functions_.shutdown(); });
  // It has threads that may still be within it: it stays loaded.
}

std::string DcgmLibrary::TextOf(dcgm::Return returned) const {
  const char* text = functions_.error_text == nullptr ? nullptr : functions_.error_text(returned);
  return (text == nullptr ? "it failed" : std::string(text)) + " (" + std::to_string(static_cast<int>(returned)) + ")";
}

// While it is paused it writes down that it has no number. Where nobody watches anything there is nothing to tell by.
std::optional<bool> DcgmLibrary::ReadPaused() {
  if (functions_.supported_devices == nullptr || functions_.latest_values == nullptr) return std::nullopt;
  const Connection connection(*this);
  if (!connection.ok()) return std::nullopt;
  std::array<unsigned, dcgm::kMostDevices> devices{};
  int count = 0;
  const dcgm::Return listed = Watched(page_, "dcgmGetAllSupportedDevices", [&] {
    return functions_.supported_devices(connection.handle(), devices.data(), &count);
  });
  if (listed != dcgm::kOk) return std::nullopt;
  std::optional<bool> all_paused;
  for (int i = 0; i < std::clamp<int>(count, 0, dcgm::kMostDevices); ++i) {
    const std::optional<bool> paused = ReadPausedOf(connection, devices.at(i));
    if (paused == false) return false;
    if (paused) all_paused = paused;
  }
  return all_paused;
}

std::optional<bool> DcgmLibrary::ReadPausedOf(const Connection& connection, unsigned device) {
  std::optional<bool> paused;
  for (unsigned short field : {dcgm::kFieldGraphicsActive, dcgm::kFieldSmActive, dcgm::kFieldDramActive}) {
    std::array<dcgm::FieldValue, 2> values{};  // twice the room: another version's may be longer
    const dcgm::Return read = Watched(page_, "dcgmEntityGetLatestValues", [&] {
      return functions_.latest_values(connection.handle(), dcgm::kEntityGpu, static_cast<int>(device), &field, 1,
                                      values.data());
    });
    const dcgm::FieldValue& value = values[0];
    const bool is_number = read == dcgm::kOk && value.version == dcgm::kFieldValueVersion1 &&
                           value.status == dcgm::kOk && value.field_type == 'd';
    if (!is_number) continue;
    if (value.value.number < dcgm::kBlank) return false;
    paused = true;
  }
  return paused;
}

Status DcgmLibrary::Pause() {
  const std::string act = "pause DCGM's profiling";
  const Connection connection(*this);
  if (!connection.ok()) return connection.StatusFor(act);
  const dcgm::Return paused = Watched(page_, "dcgmProfPause", [&] { return functions_.pause(connection.handle()); });
  return DcgmStatus(paused, act, TextOf(paused));
}

Status DcgmLibrary::Resume() {
  const std::string act = "resume DCGM's profiling";
  const Connection connection(*this);
  if (!connection.ok()) return connection.StatusFor(act);
  const dcgm::Return resumed = Watched(page_, "dcgmProfResume", [&] { return functions_.resume(connection.handle()); });
  return DcgmStatus(resumed, act, TextOf(resumed));
}

// DCGM through its tool, `dcgmi profile --pause` and `--resume`, where there is no library: slower, and it does not
// tell whether somebody else has paused before us.
class DcgmTool : public DcgmDoor {
 public:
  // In `tool_path`, folders with a colon between them, then in our PATH; absolute ones only. Null: nowhere. `page` must
  // outlive it.
  static std::unique_ptr<DcgmDoor> Find(const std::string& tool_path, CallPage& page);

  std::optional<bool> ReadPaused() override { return std::nullopt; }
  Status Pause() override;
  Status Resume() override;

 private:
  DcgmTool(std::string path, CallPage& page) : path_(std::move(path)), page_(page) {}
  Status Run(const char* option, const char* call, const std::string& act);

  const std::string path_;
  CallPage& page_;
};

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

}  // namespace

Result<std::unique_ptr<DcgmDoor>> OpenDcgm(const std::string& library, const std::string& tool_path, CallPage& page) {
  Result<std::unique_ptr<DcgmDoor>> door = DcgmLibrary::Open(library, page);
  if (door.ok() || door.status().code() != ErrorCode::kNotFound) return door;
  if (std::unique_ptr<DcgmDoor> tool = DcgmTool::Find(tool_path, page)) return tool;
  return Fail(ErrorCode::kNotFound, "find DCGM", "this node has neither its library (libdcgm.so) nor its tool (dcgmi)",
              "where it is installed elsewhere, name it: [devices] dcgm_library, or KPROF_DCGM_LIBRARY");
}

Status NoHostEngine(const std::string& act) {
  return Fail(ErrorCode::kNotFound, act, "no host engine of DCGM's runs on this node",
              "where one should, start it (nv-hostengine)");
}

Status DcgmStatus(dcgm::Return returned, const std::string& act, std::string_view said) {
  const std::string text(said);
  switch (returned) {
    case dcgm::kOk:
      return OkStatus();
    case dcgm::kNotSupported:
    case dcgm::kModuleNotLoaded:
    case dcgm::kProfilingNotSupported:
      return Fail(ErrorCode::kToolMissing, act, "DCGM has no profiling that it could pause: " + text,
                  "nothing is to be done on Hopper and newer; on others see dcgmi modules -l");
    case dcgm::kNoPermission:
    case dcgm::kRequiresRoot:
      return Fail(ErrorCode::kNotPermitted, act, text, "let DCGM's host engine run as root");
    case dcgm::kPaused:
      return Fail(ErrorCode::kToolFailed, act, "all of DCGM is paused, for a diagnostic say: " + text,
                  "wait until that is over");
    case dcgm::kTimeout:
      return Fail(ErrorCode::kTimedOut, act, "DCGM's host engine does not answer: " + text,
                  "see its log, and dmesg for what the driver says");
    default:
      return Fail(ErrorCode::kToolFailed, act, text.empty() ? "DCGM failed" : text,
                  "see the log of DCGM's host engine; dcgmi profile --pause and --resume do the same by hand");
  }
}

}  // namespace kprof
