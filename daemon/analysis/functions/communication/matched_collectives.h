// Collectives matched across ranks: which kernel of one rank is the same collective as which of another, and by how
// much the ranks' clocks differ.
//
// Kernels with a sequence number match by process group, sequence and kind. Without it they match by their order within
// the process group; where groups are not known, within the streams that carry communication, the first with the
// first. Traces of ranks need not begin with the same collective: the order is shifted so that kinds and sizes agree
// and ends are apart by the same time.
//
// A collective such as an all-reduce ends at the same time on all ranks: what ends of one rank are early or late, on
// the median, is its clock's offset.
//
// Where only lengths are known (CommunicationCall::has_times), a collective that ends at the same time on all ranks
// gets times by which it does. Another one gets times by which it begins together, of which nobody should tell.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/functions/communication/communication_calls.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// Times of calls lie within this, so that differences of differences have a place in 64 bits: 18 years.
constexpr int64_t kLastCallNs = kLastTimeNs / 8;

// A rank, or a device of a part with several, and its communication in the order of time. The times of all of them
// count from one point: that of the parts' bases.
struct Communicator {
  size_t part = 0;
  int64_t number = 0;  // its rank; else its device
  std::vector<CommunicationCall> calls;
};

enum class ClockState : uint8_t {
  kUnknown,    // nothing matches, or ends disagree now so and now so: times are as they are
  kCommon,     // ends agree: times are as they are
  kEstimated,  // ends disagree by the same time: offset_ns is taken off
};

struct RankClock {
  ClockState state = ClockState::kUnknown;
  int64_t offset_ns = 0;            // this clock is so much ahead of the others
  std::optional<int64_t> error_ns;  // the median distance of its ends, corrected, from those of the others
};

// A rank's share of a collective; times are corrected by its clock's offset.
struct CollectiveMember {
  uint32_t rank = 0;  // a place in the list of communicators
  uint32_t call = 0;  // of its calls
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  int64_t length_ns() const { return end_ns - begin_ns; }
};

struct MatchedCollective {
  std::vector<CollectiveMember> members;  // by rank
};

struct MatchedCollectives {
  std::vector<MatchedCollective> collectives;  // in the order of their first begins
  std::vector<RankClock> clocks;               // of each communicator
};

// The collectives of one run. Memory: about 64 bytes for each call, which `charge` is asked for.
Result<MatchedCollectives> MatchCollectives(std::span<const Communicator> ranks, MemoryCharge& charge,
                                            const StopSignal& stop);

}  // namespace kprof
