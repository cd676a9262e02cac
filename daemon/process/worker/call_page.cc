#include "daemon/process/worker/call_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "storage/base/clock.h"

namespace kprof {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<CallPage> CallPage::Make() {
  UniqueFd fd(::memfd_create("kprof-calls", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return FailErrno(errno, "make a page for a worker's calls", "raise the limit of open files");
  if (::ftruncate(fd.get(), sizeof(Page)) != 0 || ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return FailErrno(errno, "make a page for a worker's calls");
  }
  return Map(std::move(fd));
}

Result<CallPage> CallPage::Map(UniqueFd fd) {
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return FailErrno(errno, "map a worker's calls");
  if (facts.st_size < static_cast<off_t>(sizeof(Page))) {
    return Fail(ErrorCode::kInternal, "map a worker's calls", "the file is too short");
  }
  void* page = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) return FailErrno(errno, "map a worker's calls");
  return CallPage(std::move(fd), static_cast<Page*>(page));
}

bool CallPage::IsSealed(int fd) {
  struct stat facts {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals && ::fstat(fd, &facts) == 0 && facts.st_size == sizeof(Page);
}

CallPage::~CallPage() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Page));
}

CallPage::CallPage(CallPage&& other) noexcept
    : fd_(std::move(other.fd_)),
      page_(std::exchange(other.page_, nullptr)),
      limit_s_(other.limit_s_),
      other_alarm_s_(other.other_alarm_s_),
      begun_mono_ns_(other.begun_mono_ns_) {}

CallPage& CallPage::operator=(CallPage&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(page_, other.page_);
  std::swap(limit_s_, other.limit_s_);
  std::swap(other_alarm_s_, other.other_alarm_s_);
  std::swap(begun_mono_ns_, other.begun_mono_ns_);
  return *this;
}

void CallPage::EndProcessAfter(unsigned seconds) {
  ::signal(SIGALRM, SIG_DFL);
  limit_s_ = seconds;
}

void CallPage::Begin(const char* call) {
  begun_mono_ns_ = RealClock().mono_ns();
  if (limit_s_ != 0) {
    other_alarm_s_ = ::alarm(limit_s_);
    if (other_alarm_s_ != 0 && other_alarm_s_ < limit_s_) ::alarm(other_alarm_s_);
  }
  std::strncpy(page_->name, call, sizeof page_->name - 1);
  page_->since_mono_ns.store(begun_mono_ns_, std::memory_order_release);
}

void CallPage::End() {
  if (limit_s_ != 0) {
    const auto took_s = static_cast<unsigned>((RealClock().mono_ns() - begun_mono_ns_) / kNanosPerSecond);
    ::alarm(other_alarm_s_ == 0 ? 0 : other_alarm_s_ - std::min(took_s, other_alarm_s_ - 1));
  }
  page_->since_mono_ns.store(0, std::memory_order_release);
}

std::optional<CallPage::Call> CallPage::Now() const {
  const int64_t since = page_->since_mono_ns.load(std::memory_order_acquire);
  if (since == 0) return std::nullopt;
  return Call{std::string(page_->name, ::strnlen(page_->name, sizeof page_->name)), since};
}

}  // namespace kprof
