#include "daemon/runs/run_observer.h"

namespace kprof {

std::optional<Lease> LeaseOf(const RunRow& row) {
  if (!row.session_id.empty()) return std::nullopt;
  return Lease{.uid = row.uid, .run_id = row.id, .devices = row.devices};
}

Lease LeaseOf(const SessionRow& row) {
  return {.uid = row.uid, .session_id = row.id, .devices = row.devices};
}

}  // namespace kprof
