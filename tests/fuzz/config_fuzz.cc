// Any text at all as a configuration file. What is taken must be in range, with paths and names that a system call and
// a command's environment take as they are, and the same the second time; what is not taken must be complained about
// line by line, each in text that names the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "daemon/config/config.h"
#include "daemon/runs/command/run_request.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kGibi = int64_t{1} << 30;

bool HoldsControl(const std::string& text) {
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) return true;
  }
  return false;
}

void CheckPath(const std::string& path) {
  KPROF_CHECK(!path.empty() && path[0] == '/' && (path.size() == 1 || path.back() != '/'));
  KPROF_CHECK(!HoldsControl(path));
}

void CheckDevices(const std::vector<Device>& devices) {
  std::set<std::string> ids;
  for (const Device& device : devices) {
    KPROF_CHECK(ids.insert(device.id).second);
    KPROF_CHECK(!device.id.empty() && device.id != "cpu" && device.id != "all" && device.id != "none");
    KPROF_CHECK(device.id.find_first_of(", @") == std::string::npos);
    KPROF_CHECK(!HoldsControl(device.id) && !HoldsControl(device.name) && !HoldsControl(device.uuid));
    KPROF_CHECK(device.kind != DeviceKind::kCpu);
    KPROF_CHECK(device.kind != DeviceKind::kNeuron || !device.cores.empty());
    for (int core : device.cores) KPROF_CHECK(core >= 0 && core <= 65535);
  }
}

void CheckConfig(const Config& config) {
  CheckPath(config.state_folder);
  CheckPath(config.socket_path);
  // In system mode nothing is started by kprofd itself.
  KPROF_CHECK(!HoldsControl(config.launcher_path));
  if (config.mode == Mode::kUser) KPROF_CHECK(::access(config.launcher_path.c_str(), X_OK) == 0);
  KPROF_CHECK(config.log_level >= LogLevel::kDebug && config.log_level <= LogLevel::kError);
  KPROF_CHECK(config.queue.runs >= 1 && config.queue.runs <= 1'000'000);
  KPROF_CHECK(config.queue.running_without_device >= 1 && config.queue.running_without_device <= 1024);
  KPROF_CHECK(config.output.head_bytes >= 0 && config.output.head_bytes <= kGibi);
  KPROF_CHECK(config.output.tail_bytes >= 4096 && config.output.tail_bytes <= kGibi);
  KPROF_CHECK(config.retention.max_age_ns >= 0 && config.retention.max_artifact_bytes >= 0);
  KPROF_CHECK(config.longest_run_ms >= 0 && config.longest_run_ms <= kTimeoutLimitMs);
  KPROF_CHECK(config.storage.runs_per_uid >= 0 && config.storage.bytes_per_uid.value_or(0) >= 0);
  CheckDevices(config.accelerators);
}

// A file of our own that has a name and is on no disk.
class TextFile {
 public:
  TextFile() : fd_(::memfd_create("kprofd.toml", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {}
  const std::string& path() const { return path_; }
  void Put(std::string_view text) {
    KPROF_CHECK(::ftruncate(fd_, 0) == 0);
    KPROF_CHECK(::pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }

 private:
  const int fd_;
  const std::string path_;
};

void CheckConfig(std::string_view input) {
  static TextFile file;
  static const bool prepared = [] {
    return ::setenv("XDG_STATE_HOME", "/state", 1) == 0 && ::unsetenv("XDG_RUNTIME_DIR") == 0;
  }();
  KPROF_CHECK(prepared);
  const ConfigFlags flags{.user = input.size() % 2 == 0, .file = file.path(), .state_folder = "", .socket_path = ""};
  // A supervisor that is there, unless the text names one itself; in system mode it may name none.
  const bool names_one = !flags.user || input.find("launcher") != input.npos;
  std::string text = names_one ? "" : "launcher = '/bin/sh'\n";
  text += input;
  file.Put(text);
  const LoadedConfig loaded = LoadConfig(flags);
  const LoadedConfig again = LoadConfig(flags);
  KPROF_CHECK(loaded.complaints.size() == again.complaints.size());
  if (loaded.ok()) {
    CheckConfig(loaded.config);
    KPROF_CHECK(loaded.config.state_folder == again.config.state_folder);
    KPROF_CHECK(loaded.config.accelerators == again.config.accelerators);
    return;
  }
  for (size_t i = 0; i < loaded.complaints.size(); ++i) {
    const std::string complaint = loaded.complaints[i].ToString();
    KPROF_CHECK(loaded.complaints[i].code() == ErrorCode::kUsage);
    KPROF_CHECK(IsUtf8(complaint) && !HoldsControl(complaint));
    KPROF_CHECK(complaint == again.complaints[i].ToString());
  }
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckConfig(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
