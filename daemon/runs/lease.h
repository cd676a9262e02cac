// Who has which devices for oneself: a single run, or a session. A value; who gives and takes them is leases.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

struct Lease {
  uint32_t uid = 0;
  std::string run_id;                // empty: a session holds it
  std::string session_id;            // empty: a single run holds it
  std::vector<std::string> devices;  // may be empty: a place among those without a device
};

// Nothing for a run within a session, whose lease it is.
std::optional<Lease> LeaseOf(const RunRow& row);
Lease LeaseOf(const SessionRow& row);

}  // namespace kprof
