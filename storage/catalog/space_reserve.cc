#include "storage/catalog/space_reserve.h"

#include <algorithm>
#include <random>
#include <vector>

namespace kprof {
namespace {

// Of no pattern: some file systems would store zeros in no space at all.
std::vector<char> Noise() {
  std::vector<char> bytes(SpaceReserve::kBytes);
  std::minstd_rand random(1);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
  return bytes;
}

bool IsFilled(Files& files, const std::string& path) {
  Result<std::unique_ptr<File>> file = files.OpenForRead(path);
  if (!file.ok()) return false;
  Result<int64_t> size = (*file)->ReadSize();
  return size.ok() && *size == SpaceReserve::kBytes;
}

}  // namespace

bool SpaceReserve::Release() {
  MutexLock lock(mu_);
  return IsFilled(files_, path_) && files_.Remove(path_).ok();
}

Status SpaceReserve::Fill() {
  MutexLock lock(mu_);
  if (IsFilled(files_, path_)) return OkStatus();
  RETURN_IF_ERROR(files_.Remove(path_));  // of a try that a crash cut short
  Status filled = [&]() -> Status {
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.Create(path_));
    RETURN_IF_ERROR(file->Append(Noise()));
    return file->Sync();  // some file systems choose the blocks only now
  }();
  if (!filled.ok()) (void)files_.Remove(path_);
  return filled.In("reserve space");
}

}  // namespace kprof
