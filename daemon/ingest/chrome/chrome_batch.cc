#include "daemon/ingest/chrome/chrome_batch.h"

#include <utility>

namespace kprof {

ChromeBatch::ChromeBatch(uint32_t source) {
  batch_.source = source;
  shapes_.emplace(ArgShape(), kNoArgs);
}

uint32_t ChromeBatch::Track(const TrackKey& key) {
  const auto [found, is_new] = tracks_.try_emplace(key, static_cast<uint32_t>(tracks_.size()));
  if (is_new) batch_.tracks.push_back(key);
  return found->second;
}

uint32_t ChromeBatch::Thread(uint32_t pid, uint32_t tid) {
  const auto [found, is_new] = threads_.try_emplace(uint64_t{pid} << 32 | tid, 0);
  if (is_new) found->second = Track({TrackKey::Family::kThread, pid, tid, 0, 0});
  return found->second;
}

uint32_t ChromeBatch::Shape(const ArgShape& shape) {
  const auto [found, is_new] = shapes_.try_emplace(shape, static_cast<uint32_t>(shapes_.size()));
  if (is_new) batch_.shapes.push_back(shape);
  return found->second;
}

TraceBatch ChromeBatch::Take(std::vector<std::string> strings) {
  batch_.strings = std::move(strings);
  TraceBatch next;
  next.source = batch_.source;
  // The next one will be about as large.
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    for (size_t column = 0; column < kEventColumns; ++column) {
      next.rows[kind].columns[column].reserve(batch_.rows[kind].columns[column].size());
    }
  }
  return std::exchange(batch_, std::move(next));
}

}  // namespace kprof
