// What the tests of the stand-in for NVML share: its library within this process, and other processes beside it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/devices/nvidia/nvml_library.h"
#include "tests/fakes/devices/nvml_model.h"

namespace kprof {

inline constexpr const char* kStandInLibrary = KPROF_BIN_DIR "/libnvml_stand_in.so";
inline constexpr const char* kStandInControl = KPROF_BIN_DIR "/nvml_stand_in";
inline constexpr unsigned kLongMs = 60'000;  // no test waits for it

// Runs it in a process of its own. Its status, as waitpid tells it; 0: it came to its end.
inline int StatusOf(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

inline bool WasKilled(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

// A process that waits to be killed, by its name as the kernel knows it. Gone with this.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> environment = {}) {
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<char*> entries;
      for (std::string& entry : environment) entries.push_back(entry.data());
      entries.push_back(nullptr);
      const char* const arguments[] = {"sleep", "600", nullptr};
      ::execve("/bin/sleep", const_cast<char* const*>(arguments), entries.data());
      ::_exit(127);
    }
    // Until the exec its name and its environment are those of this program.
    while (Comm() != "sleep\n") {
      KPROF_CHECK(::waitpid(pid_, nullptr, WNOHANG) == 0);
      ::usleep(1000);
    }
  }
  ~Sleeper() { End(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t pid() const { return pid_; }
  // Kills it and waits for it.
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // Waits until somebody else has killed it.
  bool IsKilledByOther() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WasKilled(status);
  }
  bool IsAlive() const { return ::kill(pid_, 0) == 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  std::string Comm() const {
    std::ifstream stream("/proc/" + std::to_string(pid_) + "/comm");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  pid_t pid_ = 0;
};

struct ControlOutput {
  int exit_status = -1;
  std::string text;  // both streams
};
inline ControlOutput Control(const std::string& arguments) {
  ControlOutput output;
  FILE* pipe = ::popen((std::string(kStandInControl) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  for (size_t read = 0; (read = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.text.append(buffer.data(), read);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) output.exit_status = WEXITSTATUS(status);
  return output;
}

class NvmlStandIn : public testing::Test {
 protected:
  // Makes the model that this process's library answers from. Everybody may set, whoever runs the tests.
  void Begin(const std::string& profiles) {
    library_.reset();  // else it would keep the model of before
    model_.emplace(profiles);
    model_->SetNode("permission all");
    ::setenv("KPROF_NVML_STAND_IN", model_->path().c_str(), 1);
    Result<NvmlLibrary> opened = NvmlLibrary::Open(kStandInLibrary);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    library_ = std::make_unique<NvmlLibrary>(*std::move(opened));
  }
  void TearDown() override { ::unsetenv("KPROF_NVML_STAND_IN"); }

  NvmlModel& model() { return *model_; }
  const nvml::Functions& nvml() { return library_->functions(); }

  nvml::DeviceHandle Handle(unsigned index = 0) {
    nvml::DeviceHandle handle = nullptr;
    EXPECT_EQ(nvml().handle_by_index(index, &handle), nvml::kSuccess);
    return handle;
  }
  nvml::DeviceHandle Instance(unsigned index) {
    nvml::DeviceHandle instance = nullptr;
    EXPECT_EQ(nvml().mig_handle(Handle(), index, &instance), nvml::kSuccess);
    return instance;
  }
  std::string Uuid(nvml::DeviceHandle handle) {
    char uuid[nvml::kUuidBytes] = "";
    EXPECT_EQ(nvml().uuid(handle, uuid, sizeof(uuid)), nvml::kSuccess);
    return uuid;
  }
  std::string Name(nvml::DeviceHandle handle) {
    char name[nvml::kNameBytes] = "";
    EXPECT_EQ(nvml().name(handle, name, sizeof(name)), nvml::kSuccess);
    return name;
  }
  unsigned Clock(nvml::ClockType type = nvml::kClockGraphics, unsigned index = 0) {
    unsigned mhz = 0;
    EXPECT_EQ(nvml().clock(Handle(index), type, &mhz), nvml::kSuccess);
    return mhz;
  }
  unsigned long long Reasons() {
    unsigned long long reasons = 0;
    EXPECT_EQ(nvml().event_reasons(Handle(), &reasons), nvml::kSuccess);
    return reasons;
  }
  std::vector<unsigned> GraphicsClocks(unsigned memory_mhz) {
    unsigned count = 0;
    EXPECT_EQ(nvml().graphics_clocks(Handle(), memory_mhz, &count, nullptr), nvml::kInsufficientSize);
    std::vector<unsigned> clocks(count);
    EXPECT_EQ(nvml().graphics_clocks(Handle(), memory_mhz, &count, clocks.data()), nvml::kSuccess);
    return clocks;
  }
  nvml::EventSet Register(unsigned long long types, unsigned index = 0) {
    nvml::EventSet set = nullptr;
    EXPECT_EQ(nvml().create_event_set(&set), nvml::kSuccess);
    EXPECT_EQ(nvml().register_events(Handle(index), types, set), nvml::kSuccess);
    return set;
  }

 private:
  std::optional<NvmlModel> model_;
  std::unique_ptr<NvmlLibrary> library_;  // goes before the model
};

}  // namespace kprof
