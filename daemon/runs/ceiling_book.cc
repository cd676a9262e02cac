#include "daemon/runs/ceiling_book.h"

#include <utility>

namespace kprof {

std::string CeilingBook::KeyOf(const Device& device, const DeviceFacts& facts) {
  if (facts.nvidia && !facts.nvidia->uuid.empty()) return facts.nvidia->uuid;
  if (!device.uuid.empty()) return device.uuid;
  return device.kind == DeviceKind::kNvidia ? "" : device.id;
}

std::vector<MeasuredCeiling> CeilingBook::Of(const std::string& key) const {
  std::vector<MeasuredCeiling> found;
  for (const CeilingRow& row : rows_) {
    if (row.device == key) found.push_back(MeasuredCeilingOf(row));
  }
  return found;
}

void CeilingBook::Record(CeilingRow ceiling, AuditEntry entry, std::function<void(const Status&)> done) {
  Change([ceiling](Db& db) { return PutCeiling(db, ceiling); }, std::move(entry),
         [this, ceiling] {
           std::erase_if(rows_, [&](const CeilingRow& row) {
             return row.device == ceiling.device && row.quantity == ceiling.quantity && row.dtype == ceiling.dtype &&
                    row.accumulate == ceiling.accumulate;
           });
           rows_.push_back(ceiling);
         },
         std::move(done));
}

void CeilingBook::Forget(const std::string& key, AuditEntry entry, std::function<void(const Status&)> done) {
  Change([key](Db& db) { return DropCeilings(db, key); }, std::move(entry),
         [this, key] { std::erase_if(rows_, [&](const CeilingRow& row) { return row.device == key; }); },
         std::move(done));
}

void CeilingBook::Change(std::function<Status(Db&)> job, AuditEntry entry, std::function<void()> then,
                         std::function<void(const Status&)> done) {
  KPROF_ON_IO_LOOP(loop_);
  catalog_.writer().Submit(
      [job = std::move(job), entry = std::move(entry)](Db& db) -> Status {
        RETURN_IF_ERROR(job(db));
        return AppendAudit(db, entry);
      },
      [this, then = std::move(then), done = std::move(done)](const Status& stored) {
        loop_.Post([then, done, stored] {
          if (stored.ok()) then();
          done(stored);
        });
      });
}

}  // namespace kprof
