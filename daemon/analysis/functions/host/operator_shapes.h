// The operators of a part by the inputs that they were called with, each with the arithmetic and the traffic that one
// call needs, and how long that takes at the device's peaks. See operator_costs.h, device_roof.h.
//
// On the reader's thread. Costs a pass over the arguments of operators. Memory, which is asked for: 36 bytes for each
// operator of the segments at hand, and about 200 for each shape.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/functions/device_roof.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/host/operator_costs.h"
#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// The costs of calls, added up: of those of which they are known.
struct CostSum {
  int64_t with_flops = 0;  // calls of operators whose arithmetic is known
  int64_t with_bytes = 0;
  double flops = 0;
  double bytes = 0;
  int64_t with_roof = 0;     // of calls
  double roof_ns = 0;        // at the device's peaks
  double compute_bound = 0;  // of roof_ns

  void Add(const CostSum& other) {
    with_flops += other.with_flops;
    with_bytes += other.with_bytes;
    flops += other.flops;
    bytes += other.bytes;
    with_roof += other.with_roof;
    roof_ns += other.roof_ns;
    compute_bound += other.compute_bound;
  }
};

// Calls of one operator with the same inputs.
struct ShapeSum {
  int64_t name = 0;
  std::array<int64_t, 3> inputs{};  // strings' numbers of their sizes, types and values; kNoValue: not recorded
  int64_t count = 0;
  int64_t host_ns = 0;
  int64_t device_ns = 0;
  int64_t self_device_ns = 0;
  std::optional<OperatorCost> cost;  // of one call
  std::optional<RoofTime> roof;      // the same

  CostSum cost_sum() const {
    CostSum sum{.with_flops = cost->flops ? 1 : 0,
                .with_bytes = cost->bytes ? 1 : 0,
                .flops = cost->flops.value_or(0),
                .bytes = cost->bytes.value_or(0)};
    if (roof) {
      sum.with_roof = 1;
      sum.roof_ns = roof->ns;
      sum.compute_bound = roof->is_compute_bound ? roof->ns : 0;
    }
    return sum;
  }
};

// The shape of a call, and the id by which the profiler names what it launched.
struct ShapeOfCall {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t number = kNone;  // a place in shapes()
  int64_t external_id = kNoValue;

  bool is_known() const { return number != kNone; }
};

class OperatorShapes {
 public:
  // `has_external_ids`: Of() tells them. The part's reader and `charge` must outlive it.
  static Result<OperatorShapes> Find(const TracePart& part, bool has_external_ids, MemoryCharge& charge);

  // Reads the inputs of the operators of these segments, and forgets those of others.
  Status Read(std::span<const Segment> segments);
  // REQUIRES: the call is of a segment that was read last.
  ShapeOfCall Of(const HostCall& call);

  ShapeSum& at(uint32_t shape) { return shapes_[shape]; }
  const std::vector<ShapeSum>& shapes() const { return shapes_; }
  // True if the costs of an operator are known.
  bool has_costs() const { return has_costs_; }
  const DeviceRoof& roof() const { return roof_; }
  // Fails as `charge` and reading strings did.
  const Status& status() const { return status_; }

 private:
  struct Inputs {
    std::array<int64_t, 3> strings{kNoValue, kNoValue, kNoValue};
    int64_t external_id = kNoValue;
  };
  // The inputs of a segment's operators.
  struct SegmentInputs {
    std::vector<uint32_t> of_rows;  // by row: an index of `all`; empty: there are none
    std::vector<Inputs> all;
  };
  struct Key {
    int64_t name = 0;
    std::array<int64_t, 3> inputs{};
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      auto hash = static_cast<uint64_t>(key.name);
      for (const int64_t input : key.inputs) hash = (hash ^ static_cast<uint64_t>(input)) * 0xff51afd7ed558ccdULL;
      return hash ^ hash >> 32;
    }
  };

  OperatorShapes(PartReader& reader, SliceArgs args, PartFilter operators, DeviceRoof roof, bool has_external_ids,
                 MemoryCharge& charge);

  Status ReadInputs(const Segment& segment, SegmentInputs& inputs);
  Status FindCost(ShapeSum& shape);
  void NoteFailure(Status status);

  PartReader* reader_;
  SliceArgs args_;
  PartFilter operators_;
  DeviceRoof roof_;
  bool has_external_ids_;
  MemoryCharge* charge_;
  Status status_;
  RowSelection selection_;
  std::vector<std::vector<SliceArg>> values_;
  std::unordered_map<int64_t, SegmentInputs> inputs_;  // by segment
  std::unordered_map<Key, uint32_t, KeyHash> numbers_;
  std::vector<ShapeSum> shapes_;
  bool has_costs_ = false;
};

}  // namespace kprof
