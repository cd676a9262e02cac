#include "storage/catalog/device_records.h"

#include <set>
#include <utility>

#include "storage/db/statement.h"

namespace kprof {

Status NoteLeftover(Db& db, const LeftoverRow& leftover) {
  Statement note(db, R"sql(
INSERT INTO leftovers (device, run_id, boot_id) VALUES (?1, ?2, ?3)
ON CONFLICT (device) DO UPDATE SET run_id = excluded.run_id, boot_id = excluded.boot_id
)sql");
  return note.BindText(1, leftover.device).BindText(2, leftover.run_id).BindText(3, leftover.boot_id).Run();
}

Status ForgetLeftover(Db& db, const LeftoverRow& leftover) {
  Statement forget(db, "DELETE FROM leftovers WHERE device = ?1 AND run_id = ?2");
  return forget.BindText(1, leftover.device).BindText(2, leftover.run_id).Run();
}

Result<std::vector<LeftoverRow>> ReadLeftovers(Db& db) {
  std::vector<LeftoverRow> leftovers;
  Statement select(db, "SELECT device, run_id, boot_id FROM leftovers ORDER BY device");
  while (select.Next()) {
    leftovers.push_back({std::string(select.Text(0)), std::string(select.Text(1)), std::string(select.Text(2))});
  }
  RETURN_IF_ERROR(select.status());
  return leftovers;
}

Status PutCeiling(Db& db, const CeilingRow& ceiling) {
  Statement put(db, R"sql(
INSERT INTO ceilings (device, quantity, dtype, accumulate, unit, value, run_id, uid, time_ns, clocks, doubts, device_name)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (device, quantity, dtype, accumulate) DO UPDATE
SET unit = excluded.unit, value = excluded.value, run_id = excluded.run_id, uid = excluded.uid,
    time_ns = excluded.time_ns, clocks = excluded.clocks, doubts = excluded.doubts, device_name = excluded.device_name
)sql");
  return put.BindText(1, ceiling.device)
      .BindText(2, ceiling.quantity)
      .BindText(3, ceiling.dtype)
      .BindText(4, ceiling.accumulate)
      .BindText(5, ceiling.unit)
      .Bind(6, ceiling.value)
      .BindText(7, ceiling.run_id)
      .Bind(8, int64_t{ceiling.uid})
      .Bind(9, ceiling.time_ns)
      .BindText(10, ceiling.clocks)
      .BindText(11, ceiling.doubts)
      .BindText(12, ceiling.device_name)
      .Run();
}

Status DropCeilings(Db& db, const std::string& device) {
  Statement drop(db, "DELETE FROM ceilings WHERE device = ?1");
  return drop.BindText(1, device).Run();
}

Result<std::vector<CeilingRow>> ReadCeilings(Db& db) {
  std::vector<CeilingRow> ceilings;
  Statement select(db, R"sql(
SELECT device, quantity, dtype, accumulate, unit, value, run_id, uid, time_ns, clocks, doubts, device_name FROM ceilings
ORDER BY device, quantity, dtype, accumulate
)sql");
  while (select.Next()) {
    CeilingRow row;
    row.device = select.Text(0);
    row.quantity = select.Text(1);
    row.dtype = select.Text(2);
    row.accumulate = select.Text(3);
    row.unit = select.Text(4);
    row.value = select.Real(5);
    row.run_id = select.Text(6);
    row.uid = static_cast<uint32_t>(select.Integer(7));
    row.time_ns = select.Integer(8);
    row.clocks = select.Text(9);
    row.doubts = select.Text(10);
    row.device_name = select.Text(11);
    ceilings.push_back(std::move(row));
  }
  RETURN_IF_ERROR(select.status());
  return ceilings;
}

Result<KnownCeilings> ReadKnownCeilings(Db& db, std::span<const std::string> runs) {
  KnownCeilings known;
  ASSIGN_OR_RETURN(known.rows, ReadCeilings(db));
  if (known.rows.empty()) return known;
  Statement select(db, "SELECT key FROM run_devices WHERE run_id = ?1 ORDER BY position");
  for (const std::string& run : std::set<std::string>(runs.begin(), runs.end())) {
    select.BindText(1, run);
    std::vector<std::string> keys;
    while (select.Next()) keys.emplace_back(select.Text(0));
    RETURN_IF_ERROR(select.status());
    if (!keys.empty()) known.devices_of_runs[run] = std::move(keys);
  }
  return known;
}

Status PutDeviceKeys(Db& db, const std::string& run_id, std::span<const std::string> keys) {
  Statement put(db, "UPDATE run_devices SET key = nullif(?3, '') WHERE run_id = ?1 AND position = ?2");
  int64_t position = 0;
  for (const std::string& key : keys)
    RETURN_IF_ERROR(put.BindText(1, run_id).Bind(2, position++).BindText(3, key).Run());
  return OkStatus();
}

}  // namespace kprof
