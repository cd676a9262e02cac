// A side of a comparison as it is read: its times, steps, kernels, devices and the shapes of its operators, per run.
//
// On the readers' thread. Costs what DeviceTimes, FindProfilerSteps, an aggregate of the work of the devices and
// CallPlaces cost, and a pass over the operators' names and shapes. Memory, which is asked for: about 128 bytes for
// each name of a kernel, and the texts of shapes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/comparison/call_places.h"
#include "daemon/analysis/functions/comparison/compared_sides.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// The time of something on one side, per run.
struct SideSum {
  int64_t count = 0;
  int64_t ns = 0;

  void Add(const SideSum& other) {
    count += other.count;
    ns = SaturatingSum(ns, other.ns);
  }
  AnalysisValue mean_ns() const {
    return count == 0 ? AnalysisValue() : AnalysisValue(static_cast<double>(ns) / static_cast<double>(count));
  }
};

// A side as it is read; sums are per run.
struct SideFacts {
  int64_t total_ns = 0;  // of the longest part
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  std::array<int64_t, kKernelTypes> of_type_ns{};
  std::map<int64_t, SideSum> steps;  // by number: of all ranks and runs
  std::map<std::string, SideSum> kernels;
  SideSum all_kernels;
  std::set<std::string> devices;
  std::map<std::string, std::set<std::string>> shapes;  // of operators
  int64_t operators = 0;                                // how often they were called
  int64_t runs = 1;
};

// Fills `places` with the side's calls, which is empty before. Fails with kUsage for a step or a device that no part of
// the side has, and as reading and `charge` do.
Result<SideFacts> ReadSide(const ComparedSide& side, const StopSignal& stop, MemoryCharge& charge, CallPlaces& places);

// Operators that both sides have, and how many of them were called with other shapes.
struct ShapeChanges {
  int64_t compared = 0;
  int64_t differing = 0;
  std::string example;  // the first that differs: "aten::mm [[2, 3]], now [[2, 4]]"
};

ShapeChanges CompareShapes(const OfSides<SideFacts>& sides);

}  // namespace kprof
