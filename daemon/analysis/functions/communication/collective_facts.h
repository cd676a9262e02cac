// A collective as all ranks that show it tell of it: when it began and ended, who was last, its bytes, its ranks, and
// whether they are on several nodes.
//
// Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "daemon/analysis/functions/communication/communication_calls.h"
#include "daemon/analysis/functions/communication/matched_collectives.h"
#include "daemon/analysis/functions/communication/run_communication.h"

namespace kprof {

struct CollectiveFacts {
  const CommunicationCall* call = nullptr;  // of its first rank
  int64_t first_begin_ns = 0;
  int64_t last_begin_ns = 0;
  int64_t before_last_ns = 0;  // the begin of the last but one
  int64_t last_end_ns = 0;
  int64_t longest_ns = 0;
  size_t last = 0;  // of its members
  std::optional<int64_t> bytes;
  std::optional<int64_t> group_size;
  int64_t ranks = 0;  // of its group, also those that do not show it
  std::optional<bool> between_nodes;
  bool has_times = true;  // false: begins and ends are made up
  int64_t wait_ns = 0;    // for the last one, added up over the members

  int64_t transfer_ns() const { return std::max<int64_t>(last_end_ns - last_begin_ns, 0); }
  // How long that member waited for the last one.
  int64_t WaitOf(const CollectiveMember& member) const {
    return std::max<int64_t>(std::min(last_begin_ns, member.end_ns) - member.begin_ns, 0);
  }
};

// `run` must outlive it.
CollectiveFacts FactsOfCollective(const RunCommunication& run, const MatchedCollective& one, const TextNumbers& texts);

}  // namespace kprof
