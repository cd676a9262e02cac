// What goes wrong on the way to the disk, and what the disk then holds. One plan stands behind both doors, FaultFiles
// and FaultVfs: it counts every operation that changes something, over both together, lets a chosen one fail, and keeps
// the books of what would survive a loss of power: content is safe once its file was synced, a name once its folder
// was.
//
//   FaultPlan plan;
//   FaultFiles files(plan, MakePosixFiles());
//   FaultVfs vfs(plan);
//   plan.FailAt(17, Fault::kPowerCut);
//   ... until all is closed ...
//   plan.RestoreSynced(FaultPlan::Survives::kNothing);  // the disk as the next start finds it
//
// Files that the plan has not seen created are taken as safe, but for empty ones: somebody has just made them. SQLite's
// temporary files and its shared memory are not counted; the latter is lost with the power. Real syncs are not done:
// the books take their place. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace kprof {

enum class Fault {
  kNoSpace,      // ENOSPC
  kInputOutput,  // EIO
  kTear,         // the first half is written, then EIO; for what is no write: EIO
  kPowerCut,     // the first half is written, then this and everything after fails
};

class FaultPlan {
 public:
  enum class Op { kCreate, kWrite, kTruncate, kSync, kRename, kRemove, kCreateFolder, kSyncFolder };

  // The `at`-th operation from now on fails (1 is the next); `lasting`: and all after it.
  void FailAt(int64_t at, Fault fault, bool lasting = false);
  void Heal();

  int64_t ops() const;      // since the last FailAt or Heal
  bool has_failed() const;  // since then
  Op failed_op() const;     // REQUIRES: has_failed().

  // For the doors: what becomes of the next operation. `error` is 0 or an errno; of a write, `part_bytes` of
  // `size_bytes` are to be written all the same.
  struct Verdict {
    int error = 0;
    size_t part_bytes = 0;
  };
  Verdict Judge(Op op, size_t size_bytes = 0);

  // For the doors: the books. A node is a file's content, whatever its names.
  int NodeAt(const std::string& path) const;  // -1: not seen yet
  int NoteFound(const std::string& path, std::string content);
  int NoteCreated(const std::string& path);
  void NoteWrite(int node, int64_t offset_bytes, std::span<const char> bytes);
  void NoteTruncate(int node, int64_t size_bytes);
  void NoteSync(int node);
  void NoteCreatedFolder(const std::string& path);
  void NoteRename(const std::string& from, const std::string& to);
  void NoteRemove(const std::string& path);  // of a folder: and all below
  void NoteSyncFolder(const std::string& path);

  // What of the unsynced content is on the disk after all, as a disk may have written it early or in any order.
  enum class Survives { kNothing, kEverything, kSome };

  // Turns the files on the real disk into those that outlast the loss of power. Names that were not synced are gone,
  // removed ones are back, if their folder was not synced since; with kEverything it is as after a mere kill.
  // Heals, and begins the books anew.
  // REQUIRES: every file is closed.
  void RestoreSynced(Survives survives, uint64_t seed = 0);

  // Heals, and begins the books anew: what is on the disk now is taken as safe.
  // REQUIRES: every file is closed.
  void Forget();

 private:
  static constexpr int kFolder = -2;  // in the name tables: no content

  struct Change {
    bool is_truncate;
    int64_t offset_bytes;  // or the new size
    std::string bytes;
  };
  struct Node {
    std::string synced;
    std::vector<Change> pending;
  };
  // A folder moves with all that is safe in it.
  struct MovedFolder {
    std::string from;
    std::string to;
    std::map<std::string, int> safe;  // what was, by the new paths
  };
  static void Apply(const Change& change, std::string& content);

  mutable std::mutex mu_;
  int64_t ops_ = 0;      // this and all below: guarded by mu_
  int64_t fail_at_ = 0;  // 0: never
  Fault fault_ = Fault::kNoSpace;
  bool lasting_ = false;
  bool has_failed_ = false;
  Op failed_op_ = Op::kWrite;
  std::vector<Node> nodes_;
  std::map<std::string, int> now_;   // path to node
  std::map<std::string, int> safe_;  // as the disk has it
  std::vector<MovedFolder> moved_folders_;
};

}  // namespace kprof
