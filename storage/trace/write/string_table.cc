#include "storage/trace/write/string_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace kprof {
namespace {

constexpr size_t kFirstStringPlaces = 1024;
constexpr size_t kBlockBytes = 1 << 16;
constexpr int64_t kStringCostBytes = sizeof(std::string_view) + 2 * sizeof(uint64_t);

}  // namespace

StringTable::StringTable() : places_(kFirstStringPlaces) {
  Add("");
}

uint32_t StringTable::Add(std::string_view text) {
  const auto hash = static_cast<uint32_t>(XXH3_64bits(text.data(), text.size()));
  const size_t mask = places_.size() - 1;
  size_t at = hash & mask;
  while (places_[at].id_and_one != 0) {
    const Place& place = places_[at];
    if (place.hash == hash && texts_[place.id_and_one - 1] == text) return place.id_and_one - 1;
    at = (at + 1) & mask;
  }
  texts_.push_back(Keep(text));
  places_[at] = {hash, size()};
  if (texts_.size() * 2 > places_.size()) Grow();
  return size() - 1;
}

void StringTable::Grow() {
  std::vector<Place> places(places_.size() * 2);
  const size_t mask = places.size() - 1;
  for (const Place& place : places_) {
    if (place.id_and_one == 0) continue;
    size_t at = place.hash & mask;
    while (places[at].id_and_one != 0) at = (at + 1) & mask;
    places[at] = place;
  }
  places_ = std::move(places);
}

std::string_view StringTable::Keep(std::string_view text) {
  size_bytes_ += kStringCostBytes + static_cast<int64_t>(text.size());
  if (text.empty()) return {};
  if (text.size() > kBlockBytes / 4) {  // has its own
    blocks_.push_back(std::make_unique<char[]>(text.size()));
    std::memcpy(blocks_.back().get(), text.data(), text.size());
    return {blocks_.back().get(), text.size()};
  }
  if (text.size() > free_bytes_) {
    blocks_.push_back(std::make_unique<char[]>(kBlockBytes));
    free_ = blocks_.back().get();
    free_bytes_ = kBlockBytes;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view kept(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return kept;
}

}  // namespace kprof
