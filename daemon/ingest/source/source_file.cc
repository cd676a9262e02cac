#include "daemon/ingest/source/source_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace kprof {

void SourceGrowth::Tell(const State& state) {
  {
    MutexLock lock(mu_);
    KPROF_CHECK(state.bytes >= state_.bytes && !(state_.is_whole && state != state_));
    state_ = state;
  }
  has_grown_.notify_all();
}

void SourceGrowth::BreakOff() {
  {
    MutexLock lock(mu_);
    broke_off_ = true;
  }
  has_grown_.notify_all();
}

SourceGrowth::State SourceGrowth::state() const {
  MutexLock lock(mu_);
  return state_;
}

Result<SourceGrowth::State> SourceGrowth::WaitFor(int64_t bytes) const {
  MutexLock lock(mu_);
  has_grown_.wait(mu_, [&]() KPROF_REQUIRES(mu_) { return state_.bytes >= bytes || state_.is_whole || broke_off_; });
  if (state_.bytes >= bytes || state_.is_whole) return state_;
  return Fail(ErrorCode::kCancelled, "wait for more of it", "it broke off");
}

Result<int64_t> SourceGrowth::WaitUntilWhole() const {
  ASSIGN_OR_RETURN(const State state, WaitFor(std::numeric_limits<int64_t>::max()));
  return state.bytes;
}

Result<SourceFile> SourceFile::Open(int fd, std::string name) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return FailErrno(errno, "look at " + name);
  if (!S_ISREG(status.st_mode)) return Fail(ErrorCode::kBadInput, "read " + name, "it is no regular file");
  return SourceFile(fd, std::move(name), status.st_size, nullptr);
}

Result<SourceFile> SourceFile::OpenGrowing(int fd, std::string name, const SourceGrowth& growth) {
  ASSIGN_OR_RETURN(SourceFile file, Open(fd, std::move(name)));
  file.growth_ = &growth;
  return file;
}

int64_t SourceFile::size_bytes() const {
  if (growth_ == nullptr) return size_bytes_;
  const SourceGrowth::State state = growth_->state();
  return state.is_whole ? state.bytes : std::numeric_limits<int64_t>::max();
}

Status SourceFile::WaitUntilWhole() const {
  return growth_ == nullptr ? OkStatus() : growth_->WaitUntilWhole().status();
}

bool SourceFile::HasComeTo(int64_t offset_bytes) const {
  if (growth_ == nullptr) return true;
  const SourceGrowth::State state = growth_->state();
  return state.is_whole || state.bytes >= offset_bytes;
}

Status SourceFile::WhyShorter(int64_t end_bytes) const {
  return Fail(ErrorCode::kBadInput, "read " + name_,
              "it became shorter while it was read: of its " + std::to_string(size_bytes()) + " bytes only " +
                  std::to_string(end_bytes) + " were there");
}

Result<size_t> SourceFile::ReadAt(int64_t offset_bytes, std::span<char> out) const {
  if (growth_ != nullptr) {
    ASSIGN_OR_RETURN(const SourceGrowth::State state,
                     growth_->WaitFor(offset_bytes + static_cast<int64_t>(out.size())));
    const int64_t rest_bytes = std::max<int64_t>(0, state.bytes - offset_bytes);
    out = out.first(static_cast<size_t>(std::min(rest_bytes, static_cast<int64_t>(out.size()))));
  }
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset_bytes) + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, "read " + name_ + " at byte " + std::to_string(offset_bytes));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace kprof
