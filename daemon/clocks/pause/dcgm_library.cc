#include "daemon/clocks/pause/dcgm_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <vector>

namespace kprof {
namespace {

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

}  // namespace

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

}  // namespace kprof
