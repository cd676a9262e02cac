// The slices of a part's host as nested calls: for each thread a stack of slices, each within those before it, as time
// goes by. Operators, nn.Modules and Python frames are told apart by their categories and names.
//
// On the reader's thread. Costs a pass over times, durations, depths, names, categories and correlations of slices of
// the host. Memory: the open slices, and what slice_runs.h takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

enum class CallRole : uint8_t {
  kOperator,    // category cpu_op, Operator; of nvtx, what PyTorch's emit_nvtx writes: "aten::mm, seq = 12, op_id = 34"
  kModule,      // a Python frame called "nn.Module: ..."
  kFrame,       // any other Python frame
  kAnnotation,  // user_annotation, nvtx
  kStep,        // ProfilerStep#N, whatever its category
  kOther,       // calls of the runtime, and all else
};
constexpr size_t kCallRoles = 6;

// The name of a call without what tells one call of an operator from another: "aten::mm". Pure.
std::string_view NameOfCall(std::string_view name);

struct HostCall {
  uint32_t track = 0;
  CallRole role = CallRole::kOther;
  int64_t name = 0;     // a string's number, one for all calls with the same NameOfCall; not checked here
  uint32_t number = 0;  // the same for all calls of one role and name; counted from 0, over all roles but kOther
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known
  int64_t correlation = kNoValue;
  const Segment* segment = nullptr;
  uint32_t row = 0;  // of the segment
};

// Is told of calls by VisitHostCalls.
class HostCallVisitor {
 public:
  virtual ~HostCallVisitor() = default;
  // Comes before the calls of these segments, which overlap no others.
  virtual Status SeeSegments(std::span<const Segment> segments) = 0;
  // Comes before the calls of that track.
  virtual void SeeTrack(uint32_t track) = 0;
  // `calls`: the stack; its last one is new.
  virtual void Begin(const std::vector<HostCall>& calls) = 0;
  // Its last one is over, and leaves the stack next.
  virtual void End(const std::vector<HostCall>& calls) = 0;
};

// Goes through all slices of the part's tracks that are no streams of a device. A slice of which no depth is known is
// alone, and ends what is open on its track. Calls of one track come in the order of their begins; an end comes no
// later than the next begin that it is not around. Fails as reading columns does, and as the visitor does.
Status VisitHostCalls(const TracePart& part, const StopSignal& stop, HostCallVisitor& visitor);

}  // namespace kprof
