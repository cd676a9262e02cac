#include "daemon/runs/retention/storage_room.h"

#include <string>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/runs/retention/storage_limits.h"

namespace kprof {

Status CheckRoom(Catalog& catalog, Files& files) {
  const std::string& folder = catalog.layout().state_folder;
  ASSIGN_OR_RETURN(const int64_t free_bytes, files.ReadFreeBytes(folder));
  ASSIGN_OR_RETURN(const int64_t little_bytes, LittleFreeBytes(folder));
  const bool has_reserve = catalog.reserve().is_held();
  if (has_reserve && free_bytes >= little_bytes) return OkStatus();
  return Fail(ErrorCode::kStorageFull, has_reserve ? "nearly full" : "full",
              std::to_string(free_bytes >> 10) + " KiB are free where the state folder is, " +
                  (has_reserve ? "and long logs are cut short" : "and nothing is in reserve for the ends of runs"),
              "delete runs (kprofctl delete), or free space on that file system");
}

StorageRoom::StorageRoom(IoLoop& loop, WorkerPool& work, Catalog& catalog, Files& files,
                         std::function<void(const Status& room, bool is_full)> told)
    : loop_(loop), work_(work), catalog_(catalog), files_(files), told_(std::move(told)) {}

void StorageRoom::LookSoon() {
  KPROF_ON_IO_LOOP(loop_);
  if (std::exchange(soon_, true)) return;
  LookIn(kLookSoonNs);
}

void StorageRoom::LookIn(int64_t delay_ns) {
  next_ = loop_.After(delay_ns, [this] { Look(); });
}

void StorageRoom::Look() {
  soon_ = false;
  LookIn(kLookEveryNs);
  (void)work_.Submit([this] {
    (void)catalog_.reserve().Fill();
    const Status room = CheckRoom(catalog_, files_);
    loop_.Post([this, room, is_full = !room.ok() && !catalog_.reserve().is_held()] {
      if (room.ok() && !room_.ok()) LogInfo("there is space again where the state folder is", {});
      if (!room.ok() && room_.ok()) LogWarning("little space is left", {{"storage", room.ToString()}});
      const bool is_news = room.ToString() != room_.ToString();
      room_ = room;
      if (is_news) told_(room, is_full);
    });
  });
}

}  // namespace kprof
