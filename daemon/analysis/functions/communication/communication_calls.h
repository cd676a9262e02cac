// The communication kernels of a part's devices, each with what the trace says of its collective: in arguments of the
// kernel itself (PyTorch 2.2 and later), else in those of the host's slice around its launch (`record_param_comms`,
// `nccl:all_reduce`), else in its name alone. A log of NCCL Inspector has no kernels: its slices are the calls.
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: sizeof(CommunicationCall) for each
// kernel. Costs a pass over the kernels; where arguments are missing also over the launches and those host slices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/communication/collective_names.h"
#include "daemon/analysis/functions/device_scope.h"

namespace kprof {

// Texts of all parts, each once, by numbers from 0 on; 0 is the empty text.
class TextNumbers {
 public:
  TextNumbers() { NumberOf(""); }
  uint32_t NumberOf(std::string_view text);
  const std::string& TextOf(uint32_t number) const { return *texts_[number]; }

 private:
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> texts_;
};

struct CommunicationCall {
  int64_t begin_ns = 0;  // of the part's time
  int64_t end_ns = 0;
  uint32_t track = 0;
  uint32_t kernel = 0;       // a number of TextNumbers, here and below
  uint32_t group = 0;        // the process group's name; 0: not known
  uint32_t group_ranks = 0;  // as the source lists them
  uint32_t type = 0;         // of its elements
  CollectiveKind kind = CollectiveKind::kOther;
  bool is_asked = true;  // it touches the scope's time
  // False: only its length is known, and its times are made up (a log of NCCL Inspector without event traces).
  bool has_times = true;
  std::optional<bool> between_nodes;  // as the source says
  std::optional<int64_t> sequence;
  std::optional<int64_t> in_bytes;
  std::optional<int64_t> out_bytes;
  std::optional<int64_t> group_size;
};

// True for a part that was read from a log of NCCL Inspector: it has collectives, and no devices.
bool IsCollectiveLog(const PartReader& reader);

// Those of the scope's device, in the order of time; also those outside of its time: ranks are matched, and clocks
// compared, by all that there are.
Result<std::vector<CommunicationCall>> FindCommunicationCalls(const AnalysisTraces& traces, size_t part,
                                                              const DeviceScope& scope, const StopSignal& stop,
                                                              TextNumbers& texts, MemoryCharge& charge);

}  // namespace kprof
