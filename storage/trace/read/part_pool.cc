#include "storage/trace/read/part_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kprof {

void ReturnPart::operator()(PartReader* reader) const {
  pool->Return(std::unique_ptr<PartReader>(reader));
}

Result<PartLease> PartPool::Borrow(const std::string& path) {
  if (std::unique_ptr<PartReader> kept = Take(path)) {
    const Result<std::string> identity = PartReader::ReadIdentity(path);
    if (identity.ok() && *identity == kept->identity()) return PartLease(kept.release(), ReturnPart{this});
  }
  ASSIGN_OR_RETURN(std::unique_ptr<PartReader> opened, PartReader::Open(path, columns_));
  return PartLease(opened.release(), ReturnPart{this});
}

std::unique_ptr<PartReader> PartPool::Take(const std::string& path) {
  const MutexLock lock(mu_);
  const auto found =
      std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.reader->path() == path; });
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<PartReader> reader = std::move(found->reader);
  idle_.erase(found);
  return reader;
}

void PartPool::Return(std::unique_ptr<PartReader> reader) {
  if (limits_.most_idle == 0) return;
  reader->Forget();
  const std::string path = reader->path();
  const std::string identity = reader->identity();
  std::list<Idle> closed;  // without the lock
  {
    const MutexLock lock(mu_);
    idle_.push_front({std::move(reader), Clock::now()});
    if (idle_.size() > limits_.most_idle) closed.splice(closed.end(), idle_, std::prev(idle_.end()));
  }
  // Who removes a folder removes it first and closes what is below it then; whoever of us is the later sees it.
  const Result<std::string> now = PartReader::ReadIdentity(path);
  if (!now.ok() || *now != identity) CloseBelow(path);
}

void PartPool::CloseOld() {
  const Clock::time_point oldest = Clock::now() - std::chrono::milliseconds(limits_.idle_ms);
  std::list<Idle> closed;
  const MutexLock lock(mu_);
  const auto first = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.since <= oldest; });
  closed.splice(closed.end(), idle_, first, idle_.end());
}

void PartPool::CloseBelow(const std::string& folder) {
  const auto is_below = [&](const std::string& path) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
  };
  std::list<Idle> closed;
  {
    const MutexLock lock(mu_);
    for (auto idle = idle_.begin(); idle != idle_.end();) {
      const auto next = std::next(idle);
      if (is_below(idle->reader->path())) closed.splice(closed.end(), idle_, idle);
      idle = next;
    }
  }
  for (const Idle& idle : closed) columns_.DropPart(idle.reader->identity());
}

size_t PartPool::idle() const {
  const MutexLock lock(mu_);
  return idle_.size();
}

}  // namespace kprof
