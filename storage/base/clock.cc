#include "storage/base/clock.h"

#include <memory>

namespace kprof {
namespace {

constexpr const char* kPath = "/proc/sys/kernel/random/boot_id";
constexpr size_t kLimitBytes = 64;  // it has 37; the kernel says no size, and gives all of it at once

}  // namespace

Result<std::string> ReadBootId(Files& files) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.OpenForRead(kPath));
  std::string text(kLimitBytes, '\0');
  ASSIGN_OR_RETURN(const size_t size, file->ReadAt(0, text));
  text.resize(size);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return Fail(ErrorCode::kInternal, std::string("read ") + kPath, "it is empty");
  return text;
}

int64_t ReadClockNs(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

int64_t RealClock::mono_ns() const {
  return ReadClockNs(CLOCK_MONOTONIC);
}
int64_t RealClock::unix_ns() const {
  return ReadClockNs(CLOCK_REALTIME);
}

}  // namespace kprof
