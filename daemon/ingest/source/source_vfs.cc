#include "daemon/ingest/source/source_vfs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace kprof {
namespace {

struct VfsFile {
  sqlite3_file base;
  SourceVfs* vfs;
};

SourceVfs& Of(sqlite3_file* file) {
  return *reinterpret_cast<VfsFile*>(file)->vfs;
}

int Close(sqlite3_file*) {
  return SQLITE_OK;
}
int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  return Of(file).Read(out, size, offset);
}
int Write(sqlite3_file*, const void*, int, sqlite3_int64) {
  return SQLITE_READONLY;
}
int Truncate(sqlite3_file*, sqlite3_int64) {
  return SQLITE_READONLY;
}
int Sync(sqlite3_file*, int) {
  return SQLITE_OK;
}
int FileSize(sqlite3_file* file, sqlite3_int64* out) {
  *out = Of(file).claimed_bytes();
  return SQLITE_OK;
}
int Lock(sqlite3_file*, int) {
  return SQLITE_OK;
}
int CheckReservedLock(sqlite3_file*, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int FileControl(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}
int SectorSize(sqlite3_file*) {
  return 4096;
}
int DeviceCharacteristics(sqlite3_file*) {
  return SQLITE_IOCAP_IMMUTABLE;
}

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,  // no shared memory, no mapping
    .xClose = Close,
    .xRead = Read,
    .xWrite = Write,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Lock,
    .xCheckReservedLock = CheckReservedLock,
    .xFileControl = FileControl,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = DeviceCharacteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  if (path == nullptr || (flags & SQLITE_OPEN_MAIN_DB) == 0 || (flags & SQLITE_OPEN_READONLY) == 0) {
    return SQLITE_CANTOPEN;
  }
  new (file) VfsFile{{&kMethods}, static_cast<SourceVfs*>(vfs->pAppData)};
  if (out_flags != nullptr) *out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char*, int) {
  return SQLITE_READONLY;
}
int Access(sqlite3_vfs*, const char*, int, int* out) {
  *out = 0;  // nothing is there
  return SQLITE_OK;
}
int FullPathname(sqlite3_vfs*, const char* path, int size, char* out) {
  const std::string_view text(path);
  if (text.size() >= static_cast<size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, text.size() + 1);
  return SQLITE_OK;
}
// What is read does not depend on it.
int Randomness(sqlite3_vfs*, int size, char* out) {
  std::memset(out, 0, static_cast<size_t>(size));
  return size;
}
int Sleep(sqlite3_vfs*, int) {
  return 0;
}
int CurrentTime(sqlite3_vfs*, double* out) {
  *out = 0;
  return SQLITE_OK;
}
int LastError(sqlite3_vfs*, int, char*) {
  return 0;
}

uint32_t BigEndian(std::span<const char> bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

int64_t ClaimedBytes(const SourceFile& source) {
  std::array<char, 100> header;
  const Result<size_t> got = source.ReadAt(0, header);
  if (!got.ok() || *got < header.size()) return source.size_bytes();
  const std::span<const char> bytes(header);
  uint32_t page_bytes = BigEndian(bytes.subspan(16, 2));
  if (page_bytes == 1) page_bytes = 65536;
  // The number of pages counts where it was written by who wrote last.
  const bool counts = BigEndian(bytes.subspan(24, 4)) == BigEndian(bytes.subspan(92, 4));
  const int64_t claimed = counts ? int64_t{page_bytes} * BigEndian(bytes.subspan(28, 4)) : 0;
  return std::max(source.size_bytes(), claimed);
}

}  // namespace

SourceVfs::SourceVfs(const SourceFile& source)
    : source_(source),
      name_("kprof-source-" + std::to_string(reinterpret_cast<uintptr_t>(this))),
      claimed_bytes_(ClaimedBytes(source)) {
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(VfsFile);
  vfs_.mxPathname = 64;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = Open;
  vfs_.xDelete = Delete;
  vfs_.xAccess = Access;
  vfs_.xFullPathname = FullPathname;
  vfs_.xRandomness = Randomness;
  vfs_.xSleep = Sleep;
  vfs_.xCurrentTime = CurrentTime;
  vfs_.xGetLastError = LastError;
  KPROF_CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

SourceVfs::~SourceVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

int SourceVfs::Read(void* out, int size, int64_t offset_bytes) noexcept {
  const std::span<char> bytes(static_cast<char*>(out), static_cast<size_t>(size));
  Result<size_t> got = source_.ReadAt(offset_bytes, bytes);
  if (!got.ok()) {
    if (status_.ok()) status_ = got.status();
    return SQLITE_IOERR_READ;
  }
  if (*got == bytes.size()) return SQLITE_OK;
  std::memset(bytes.data() + *got, 0, bytes.size() - *got);
  return SQLITE_IOERR_SHORT_READ;  // to SQLite no failure: zeros
}

}  // namespace kprof
