#include "tests/fakes/storage/fault_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "storage/base/status.h"

namespace kprof {

namespace {

// What the VFS points to.
struct Door {
  FaultPlan* plan;
  sqlite3_vfs* real;
};

std::string FolderOf(const char* path) {
  return std::filesystem::path(path).parent_path().string();
}

// Our part of an open file; the system's lies right behind it in memory.
struct OpenFile {
  sqlite3_file base;
  FaultPlan* plan;  // null: not counted
  int node;
  bool syncs_folder;  // with its next sync
  const char* path;   // SQLite keeps it while the file is open
};

sqlite3_file* RealOf(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(OpenFile));
}
OpenFile& Of(sqlite3_file* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
const sqlite3_io_methods& RealMethods(sqlite3_file* file) {
  return *RealOf(file)->pMethods;
}

int Close(sqlite3_file* file) {
  return RealMethods(file).xClose(RealOf(file));
}

int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  return RealMethods(file).xRead(RealOf(file), out, size, offset);
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  OpenFile& open = Of(file);
  if (open.plan == nullptr) return RealMethods(file).xWrite(RealOf(file), data, size, offset);
  FaultPlan::Verdict verdict = open.plan->Judge(FaultPlan::Op::kWrite, static_cast<size_t>(size));
  int written = verdict.error == 0 ? size : static_cast<int>(verdict.part_bytes);
  if (written > 0) {
    int result = RealMethods(file).xWrite(RealOf(file), data, written, offset);
    if (result != SQLITE_OK) return result;
    open.plan->NoteWrite(open.node, offset, {static_cast<const char*>(data), static_cast<size_t>(written)});
  }
  if (verdict.error == 0) return SQLITE_OK;
  errno = verdict.error;
  return verdict.error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  OpenFile& open = Of(file);
  if (open.plan != nullptr) {
    FaultPlan::Verdict verdict = open.plan->Judge(FaultPlan::Op::kTruncate);
    if (verdict.error != 0) {
      errno = verdict.error;
      return SQLITE_IOERR_TRUNCATE;
    }
    open.plan->NoteTruncate(open.node, size);
  }
  return RealMethods(file).xTruncate(RealOf(file), size);
}

int Sync(sqlite3_file* file, int flags) {
  OpenFile& open = Of(file);
  if (open.plan == nullptr) return RealMethods(file).xSync(RealOf(file), flags);
  FaultPlan::Verdict verdict = open.plan->Judge(FaultPlan::Op::kSync);
  if (verdict.error != 0) {
    errno = verdict.error;
    return SQLITE_IOERR_FSYNC;
  }
  open.plan->NoteSync(open.node);
  if (open.syncs_folder) open.plan->NoteSyncFolder(FolderOf(open.path));
  open.syncs_folder = false;
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return RealMethods(file).xFileSize(RealOf(file), size);
}
int Lock(sqlite3_file* file, int level) {
  return RealMethods(file).xLock(RealOf(file), level);
}
int Unlock(sqlite3_file* file, int level) {
  return RealMethods(file).xUnlock(RealOf(file), level);
}
int CheckReserved(sqlite3_file* file, int* out) {
  return RealMethods(file).xCheckReservedLock(RealOf(file), out);
}
int FileControl(sqlite3_file* file, int op, void* arg) {
  return RealMethods(file).xFileControl(RealOf(file), op, arg);
}
int SectorSize(sqlite3_file* file) {
  return RealMethods(file).xSectorSize(RealOf(file));
}
int Characteristics(sqlite3_file* file) {
  return RealMethods(file).xDeviceCharacteristics(RealOf(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return RealMethods(file).xShmMap(RealOf(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return RealMethods(file).xShmLock(RealOf(file), offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) {
  RealMethods(file).xShmBarrier(RealOf(file));
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return RealMethods(file).xShmUnmap(RealOf(file), remove);
}

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 2,  // with shared memory for the WAL, without mmap
    .xClose = Close,
    .xRead = Read,
    .xWrite = Write,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Unlock,
    .xCheckReservedLock = CheckReserved,
    .xFileControl = FileControl,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = Characteristics,
    .xShmMap = ShmMap,
    .xShmLock = ShmLock,
    .xShmBarrier = ShmBarrier,
    .xShmUnmap = ShmUnmap,
};

Door& DoorOf(sqlite3_vfs* vfs) {
  return *static_cast<Door*>(vfs->pAppData);
}

// Through SQLite's own descriptor: opening and closing another would drop SQLite's locks on the file.
int ReadWhole(sqlite3_file* real, std::string& content) {
  sqlite3_int64 size = 0;
  int result = real->pMethods->xFileSize(real, &size);
  content.resize(static_cast<size_t>(size));
  if (result == SQLITE_OK && size > 0) result = real->pMethods->xRead(real, content.data(), static_cast<int>(size), 0);
  return result;
}

int Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  Door& door = DoorOf(vfs);
  constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  const bool counts = path != nullptr && (flags & (SQLITE_OPEN_MAIN_DB | kJournals)) != 0;
  const bool creates = counts && (flags & SQLITE_OPEN_CREATE) != 0 && !std::filesystem::exists(path);
  file->pMethods = nullptr;  // SQLite closes only what has methods
  if (creates) {
    FaultPlan::Verdict verdict = door.plan->Judge(FaultPlan::Op::kCreate);
    if (verdict.error != 0) {
      errno = verdict.error;
      return SQLITE_CANTOPEN;
    }
  }
  int result = door.real->xOpen(door.real, path, RealOf(file), flags, out_flags);
  if (result != SQLITE_OK) return result;
  OpenFile& open = Of(file);
  open = {{&kMethods},
          counts ? door.plan : nullptr,
          -1,
          (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kJournals) != 0,
          path};
  if (creates) {
    open.node = door.plan->NoteCreated(path);
  } else if (counts) {
    open.node = door.plan->NodeAt(path);
  }
  if (counts && open.node < 0) {
    std::string content;
    result = ReadWhole(RealOf(file), content);
    if (result == SQLITE_OK) open.node = door.plan->NoteFound(path, std::move(content));
  }
  return result;
}

int Delete(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  Door& door = DoorOf(vfs);
  if (!std::filesystem::exists(path)) return door.real->xDelete(door.real, path, 0);
  FaultPlan::Verdict verdict = door.plan->Judge(FaultPlan::Op::kRemove);
  if (verdict.error != 0) {
    errno = verdict.error;
    return SQLITE_IOERR_DELETE;
  }
  int result = door.real->xDelete(door.real, path, 0);
  if (result != SQLITE_OK) return result;
  door.plan->NoteRemove(path);
  if (sync_folder != 0) door.plan->NoteSyncFolder(FolderOf(path));
  return SQLITE_OK;
}

int Access(sqlite3_vfs* vfs, const char* path, int flags, int* out) {
  return DoorOf(vfs).real->xAccess(DoorOf(vfs).real, path, flags, out);
}
int FullPathname(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  return DoorOf(vfs).real->xFullPathname(DoorOf(vfs).real, path, size, out);
}
int Randomness(sqlite3_vfs* vfs, int size, char* out) {
  return DoorOf(vfs).real->xRandomness(DoorOf(vfs).real, size, out);
}
int Sleep(sqlite3_vfs* vfs, int us) {
  return DoorOf(vfs).real->xSleep(DoorOf(vfs).real, us);
}
int CurrentTime(sqlite3_vfs* vfs, double* out) {
  return DoorOf(vfs).real->xCurrentTime(DoorOf(vfs).real, out);
}
int CurrentTimeInt64(sqlite3_vfs* vfs, sqlite3_int64* out) {
  return DoorOf(vfs).real->xCurrentTimeInt64(DoorOf(vfs).real, out);
}
int LastError(sqlite3_vfs*, int, char*) {
  return errno;
}

}  // namespace

struct FaultVfs::State {
  Door door;
  std::string name;
  sqlite3_vfs vfs{};
};

FaultVfs::FaultVfs(FaultPlan& plan) : state_(std::make_unique<State>()) {
  static std::atomic<int> count = 0;
  State& state = *state_;
  state.door = {&plan, sqlite3_vfs_find(nullptr)};
  state.name = "fault-" + std::to_string(++count);
  state.vfs = {
      .iVersion = 2,
      .szOsFile = static_cast<int>(sizeof(OpenFile)) + state.door.real->szOsFile,
      .mxPathname = state.door.real->mxPathname,
      .zName = state.name.c_str(),
      .pAppData = &state.door,
      .xOpen = Open,
      .xDelete = Delete,
      .xAccess = Access,
      .xFullPathname = FullPathname,
      .xRandomness = Randomness,
      .xSleep = Sleep,
      .xCurrentTime = CurrentTime,
      .xGetLastError = LastError,
      .xCurrentTimeInt64 = CurrentTimeInt64,
  };
  KPROF_CHECK(sqlite3_vfs_register(&state.vfs, 0) == SQLITE_OK);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
}

const char* FaultVfs::name() const {
  return state_->name.c_str();
}

}  // namespace kprof
