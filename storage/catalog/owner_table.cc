#include "storage/catalog/owner_table.h"

#include "storage/db/statement.h"

namespace kprof {

Result<OwnedSums> ReadOwned(Db& db, uint32_t uid) {
  Statement select(db, "SELECT runs, sessions, bytes FROM owners WHERE uid = ?1");
  select.Bind(1, int64_t{uid});
  OwnedSums sums;
  if (select.Next()) sums = {select.Integer(0), select.Integer(1), select.Integer(2)};
  RETURN_IF_ERROR(select.status());
  return sums;
}

}  // namespace kprof
