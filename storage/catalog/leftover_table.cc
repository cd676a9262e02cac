#include "storage/catalog/leftover_table.h"

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

}  // namespace kprof
