#include "storage/sandbox/temp_space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "storage/base/status.h"

namespace kprof {
namespace {

// SQLite allocates it; made by Open, ended by Close.
struct TempFile {
  sqlite3_file file;  // first: SQLite sees only this
  TempSpace* space;
  int fd;
  int64_t size_bytes;
};

TempFile& Of(sqlite3_file* file) {
  return *reinterpret_cast<TempFile*>(file);
}

int OpenNameless(const std::string& folder) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  // Some network file systems know no O_TMPFILE.
  std::string path = folder + "/query-XXXXXX";
  fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(path.c_str());
  return fd;
}

int Close(sqlite3_file* file) noexcept {
  TempFile& temp = Of(file);
  ::close(temp.fd);
  temp.space->Take(-temp.size_bytes);
  return SQLITE_OK;
}

int Read(sqlite3_file* file, void* out, int amount, sqlite3_int64 offset) noexcept {
  char* at = static_cast<char*>(out);
  while (amount > 0) {
    const ssize_t n = ::pread(Of(file).fd, at, static_cast<size_t>(amount), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SQLITE_IOERR_READ;
    if (n == 0) {
      std::memset(at, 0, static_cast<size_t>(amount));  // SQLite wants the rest zeroed
      return SQLITE_IOERR_SHORT_READ;
    }
    at += n;
    offset += n;
    amount -= static_cast<int>(n);
  }
  return SQLITE_OK;
}

int Write(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 offset) noexcept {
  TempFile& temp = Of(file);
  const int64_t growth = offset + amount - temp.size_bytes;
  if (growth > 0) {
    if (!temp.space->Take(growth)) return SQLITE_FULL;
    temp.size_bytes += growth;
  }
  const char* at = static_cast<const char*>(bytes);
  while (amount > 0) {
    const ssize_t n = ::pwrite(temp.fd, at, static_cast<size_t>(amount), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    at += n;
    offset += n;
    amount -= static_cast<int>(n);
  }
  return SQLITE_OK;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) noexcept {
  TempFile& temp = Of(file);
  if (size >= temp.size_bytes) return SQLITE_OK;
  if (::ftruncate(temp.fd, size) != 0) return SQLITE_IOERR_TRUNCATE;
  temp.space->Take(size - temp.size_bytes);
  temp.size_bytes = size;
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) noexcept {
  *size = Of(file).size_bytes;
  return SQLITE_OK;
}

// Temporary files are read by nobody else and need not survive: no locks, no syncing.
int Sync(sqlite3_file*, int) noexcept {
  return SQLITE_OK;
}
int Lock(sqlite3_file*, int) noexcept {
  return SQLITE_OK;
}
int CheckReservedLock(sqlite3_file*, int* out) noexcept {
  *out = 0;
  return SQLITE_OK;
}
int FileControl(sqlite3_file*, int, void*) noexcept {
  return SQLITE_NOTFOUND;
}
int SectorSize(sqlite3_file*) noexcept {
  return 4096;
}
int DeviceCharacteristics(sqlite3_file*) noexcept {
  return 0;
}

constexpr sqlite3_io_methods kTempFileMethods = {
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
};

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) noexcept {
  file->pMethods = nullptr;  // SQLite then does not call Close
  if (name != nullptr) return SQLITE_CANTOPEN;
  TempFile& temp = Of(file);
  temp.space = static_cast<TempSpace*>(vfs->pAppData);
  temp.size_bytes = 0;
  temp.fd = OpenNameless(temp.space->folder());
  if (temp.fd < 0) return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_CANTOPEN;
  temp.file.pMethods = &kTempFileMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char*, int) noexcept {
  return SQLITE_IOERR_DELETE;
}

int Access(sqlite3_vfs*, const char*, int, int* out) noexcept {
  *out = 0;
  return SQLITE_OK;
}

int FullPathname(sqlite3_vfs*, const char* name, int size, char* out) noexcept {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

std::string NextName() {
  static std::atomic<uint64_t> count = 0;  // names must differ between the queries that live side by side
  return "kprof-query-" + std::to_string(++count);
}

}  // namespace

TempSpace::TempSpace(std::string folder, int64_t limit_bytes)
    : folder_(std::move(folder)), name_(NextName()), limit_bytes_(limit_bytes) {
  const sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  KPROF_CHECK(system != nullptr);
  vfs_ = *system;  // the clock, randomness and sleep are the system's
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = sizeof(TempFile);
  vfs_.iVersion = 2;
  vfs_.xOpen = Open;
  vfs_.xDelete = Delete;
  vfs_.xAccess = Access;
  vfs_.xFullPathname = FullPathname;
  vfs_.xDlOpen = nullptr;
  vfs_.xDlError = nullptr;
  vfs_.xDlSym = nullptr;
  vfs_.xDlClose = nullptr;
  KPROF_CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

TempSpace::~TempSpace() {
  sqlite3_vfs_unregister(&vfs_);
}

bool TempSpace::Take(int64_t difference_bytes) noexcept {
  if (difference_bytes > 0 && used_bytes_ + difference_bytes > limit_bytes_) {
    exceeded_ = true;
    return false;
  }
  used_bytes_ += difference_bytes;
  if (used_bytes_ > peak_bytes_) peak_bytes_ = used_bytes_;
  return true;
}

}  // namespace kprof
