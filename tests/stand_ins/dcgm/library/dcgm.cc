// DCGM's library as programs find it: its names, its types, what it returns; what it is in lies in a file (state.h).
// Without one no host engine runs.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string>
#include <thread>

#include "daemon/clocks/pause/dcgm_abi.h"
#include "tests/stand_ins/dcgm/state.h"

#define KPROF_DCGM_EXPORT extern "C" __attribute__((visibility("default")))

namespace kprof::dcgm_stand_in {
namespace {

using dcgm::Return;

constexpr dcgm::Handle kHandle = 0x7fffffff;
constexpr int64_t kMicrosPerSecond = 1'000'000;

// A C library has to have globals.
int g_inits = 0;
int g_connections = 0;

std::string Path() {
  const char* path = std::getenv(kStateVariable);
  return path == nullptr ? "" : path;
}

// Waits while the function is to hang, and says what it is to return instead of working.
Return Faults(const char* function) {
  while (State(Path()).Text("hang") == function) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  State state(Path());
  const std::string key = std::string("error_") + function;
  const long error = state.Number(key);
  if (error == 0) return dcgm::kOk;
  if (const long times = state.Number("error_times"); times > 0) {
    state.Set("error_times", times - 1);
    if (times == 1) state.Set(key, 0);
  }
  return static_cast<Return>(error);
}

void Kill(const std::string& pids) {
  std::istringstream words(pids);
  bool kills_self = false;
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "self") {
      kills_self = true;
    } else if (word == "parent") {
      ::kill(::getppid(), SIGKILL);
    } else {
      ::kill(static_cast<pid_t>(std::atol(word.c_str())), SIGKILL);
    }
  }
  if (!kills_self) return;
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();  // the signal may reach another thread first
}

// Pauses or resumes; may be killed at either side of it.
Return Change(const char* function, const char* count, bool pauses) {
  std::string killed_after;
  std::string killed_before;
  if (const Return fault = Faults(function); fault != dcgm::kOk) {
    State(Path()).Count(count);
    return fault;
  }
  {
    State state(Path());
    state.Count(count);
    const long left = state.Number("kill_at");
    if (left > 0) state.Set("kill_at", left - 1);
    if (left == 1) (state.Text("kill_moment") == "after" ? killed_after : killed_before) = state.Text("kill_pids");
  }
  if (!killed_before.empty()) Kill(killed_before);
  {
    State state(Path());
    if (state.Number("engine") == 0) return dcgm::kConnectionNotValid;
    if (state.Number("profiles") == 0) return dcgm::kNotSupported;
    state.Set("paused", pauses ? 1 : 0);
  }
  if (!killed_after.empty()) Kill(killed_after);
  return dcgm::kOk;
}

Return Check(dcgm::Handle handle) {
  if (g_inits == 0) return dcgm::kUninitialized;
  return handle == kHandle && g_connections > 0 ? dcgm::kOk : dcgm::kBadParam;
}

}  // namespace
}  // namespace kprof::dcgm_stand_in

using namespace kprof;                 // NOLINT(google-build-using-namespace): what follows is C's
using namespace kprof::dcgm_stand_in;  // NOLINT(google-build-using-namespace)

KPROF_DCGM_EXPORT dcgm::Return dcgmInit() {
  if (Path().empty()) return dcgm::kInitError;
  if (const dcgm::Return fault = Faults("init"); fault != dcgm::kOk) return fault;
  ++g_inits;
  return dcgm::kOk;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmShutdown() {
  if (g_inits == 0) return dcgm::kUninitialized;
  --g_inits;
  return dcgm::kOk;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmConnect_v2(const char* address, dcgm::ConnectParams* params, dcgm::Handle* handle) {
  if (address == nullptr || *address == '\0' || params == nullptr || handle == nullptr) return dcgm::kBadParam;
  if (g_inits == 0) return dcgm::kUninitialized;
  if (params->version != dcgm::kConnectParamsVersion2) return dcgm::kVersionMismatch;
  if (const dcgm::Return fault = Faults("connect"); fault != dcgm::kOk) return fault;
  State state(Path());
  state.Count("connects");
  if (state.Number("engine") == 0) return dcgm::kConnectionNotValid;
  ++g_connections;
  *handle = kHandle;
  return dcgm::kOk;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmDisconnect(dcgm::Handle handle) {
  const dcgm::Return checked = Check(handle);
  if (checked == dcgm::kOk) --g_connections;
  return checked;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmProfPause(dcgm::Handle handle) {
  const dcgm::Return checked = Check(handle);
  return checked == dcgm::kOk ? Change("pause", "pauses", true) : checked;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmProfResume(dcgm::Handle handle) {
  const dcgm::Return checked = Check(handle);
  return checked == dcgm::kOk ? Change("resume", "resumes", false) : checked;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmGetAllSupportedDevices(dcgm::Handle handle, unsigned* ids, int* count) {
  if (const dcgm::Return checked = Check(handle); checked != dcgm::kOk) return checked;
  const State state(Path());
  *count = static_cast<int>(state.Number("devices"));
  for (int i = 0; i < *count; ++i) ids[i] = static_cast<unsigned>(i);
  return dcgm::kOk;
}

KPROF_DCGM_EXPORT dcgm::Return dcgmEntityGetLatestValues(dcgm::Handle handle, unsigned group, int entity,
                                                         unsigned short* fields, unsigned count,
                                                         dcgm::FieldValue* values) {
  if (const dcgm::Return checked = Check(handle); checked != dcgm::kOk) return checked;
  if (const dcgm::Return fault = Faults("values"); fault != dcgm::kOk) return fault;
  const State state(Path());
  if (group != dcgm::kEntityGpu || entity < 0 || entity >= state.Number("devices")) return dcgm::kBadParam;
  const bool is_watched = state.Number("watched") != 0;
  for (unsigned i = 0; i < count; ++i) {
    dcgm::FieldValue& value = values[i];
    std::memset(&value, 0, sizeof value);
    value.version = dcgm::kFieldValueVersion1;
    value.field_id = fields[i];
    value.field_type = 'd';
    value.status = is_watched ? dcgm::kOk : dcgm::kNotWatched;
    value.unix_us = static_cast<int64_t>(std::time(nullptr)) * kMicrosPerSecond;
    value.value.number = is_watched && state.Number("paused") == 0 ? 0.25 : dcgm::kBlank;
  }
  return dcgm::kOk;
}

KPROF_DCGM_EXPORT const char* errorString(dcgm::Return returned) {
  switch (returned) {
    case dcgm::kOk:
      return "Success";
    case dcgm::kBadParam:
      return "Bad parameter passed to function";
    case dcgm::kNotSupported:
      return "This request is not supported";
    case dcgm::kUninitialized:
      return "DCGM has not been initialized";
    case dcgm::kTimeout:
      return "The request timed out";
    case dcgm::kNoPermission:
      return "Insufficient permission";
    case dcgm::kConnectionNotValid:
      return "Host engine connection invalid/disconnected";
    case dcgm::kProfilingLibraryError:
      return "The third-party Profiling module returned an unrecoverable error";
    case dcgm::kPaused:
      return "The hostengine and all modules are paused";
    default:
      return "Generic unspecified error";
  }
}
