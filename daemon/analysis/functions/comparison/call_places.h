// The calls of a side's host as one tree: calls with the same name within the same caller are one node, over all
// threads and parts. Nodes are operators, modules and annotations; Python frames and calls of the runtime belong to the
// node that they are in. Each node has the time of the device work that it launched itself.
//
// On the readers' thread. Costs a pass over the slices of the host (host_calls.h) and the work of the devices
// (device_launches.h). Memory, which is asked for: about 100 bytes for each node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/communication/communication_calls.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"

namespace kprof {

struct CallPlace {
  uint32_t label = 0;  // a number of TextNumbers: HostCallName
  uint32_t parent = 0;
  CallRole role = CallRole::kOther;
  int64_t calls = 0;
  int64_t host_ns = 0;    // of its calls
  int64_t device_ns = 0;  // of what it launched itself
  int64_t kernels = 0;
  std::vector<uint32_t> children;
};

class CallPlaces {
 public:
  // `texts` must outlive it; two sides that are compared have the same.
  CallPlaces(TextNumbers& texts, MemoryCharge& charge) : texts_(texts), charge_(charge), nodes_(1) {}

  // Adds the calls of a part, and the work that they launched in the scope's time.
  Status Add(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop);

  // By number; 0 is the root. Its own device time is that of launches outside of all nodes.
  const std::vector<CallPlace>& nodes() const { return nodes_; }
  // The operator that launched the most of the work of that name; empty: none did.
  std::string LauncherOf(std::string_view kernel) const;

 private:
  class Visitor;

  // Where it cannot be made, `failed` says why.
  uint32_t ChildOf(uint32_t parent, uint32_t label, CallRole role, Status& failed);

  TextNumbers& texts_;
  MemoryCharge& charge_;
  std::vector<CallPlace> nodes_;
  std::unordered_map<uint64_t, uint32_t> places_;                              // by parent and label
  std::map<std::string, std::map<uint32_t, int64_t>, std::less<>> launchers_;  // by kernel: ns by operator
};

}  // namespace kprof
