// The side tables of a kernel report: what a profiler of kernels, such as Nsight Compute, measured of each launch
// (docs/trace_format.md#kernel-reports). Numbers stand in the side table `metric` (metric_table.h); here is what is no
// number of a launch as a whole. A report without events is a part as well.
//
// Rows name their launch by its number, counted from 0 through the part as in `metric`. Pure; any thread.
#pragma once

#include <cstdint>

#include "storage/trace/format/side_table.h"

namespace kprof {

// A row for each launch, or range of launches, that was measured.
enum class LaunchColumn : uint8_t {
  kLaunch,
  kKernel,    // demangled, with its parameters; of a range: its name
  kFunction,  // the bare name
  kMangled,   // as the compiler wrote it; nothing where the report does not say
  kKind,      // kernel, range
  kProcessId,
  kProcess,  // its executable's name, without folders
  kDevice,   // the number that CUDA gives it
  kDeviceName,
  kComputeCapability,  // "9.0"
  kContext,
  kStream,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kUnixNs,  // when the result was made
  kRange,   // the NVTX ranges around it, outermost first, with '/' between
};
const SideTable& LaunchSideTable();

// Metrics of a launch whose value is a text: "CachePreferNone".
enum class TextMetricColumn : uint8_t { kKernel, kLaunch, kName, kText };
const SideTable& TextMetricSideTable();

// The values that one metric of a launch has for each of its instances: an opcode, an instruction, a unit of the
// device.
enum class InstanceColumn : uint8_t {
  kLaunch,
  kName,    // of the metric
  kKey,     // a text: "FFMA"; nothing where it is a number
  kNumber,  // a number: an instruction's address
  kValue,   // a number; nothing where it is a text
  kText,
};
const SideTable& InstanceSideTable();

// The conclusions of the profiler's own rules, a row for each message.
enum class RuleColumn : uint8_t {
  kLaunch,
  kKernel,
  kRule,     // its identifier: "SOLBottleneck"
  kTitle,    // for people
  kSection,  // the identifier of the section that it belongs to
  kType,     // OPT, INF, WRN
  kMessage,
  kSpeedupType,  // local, global; nothing: it makes no estimate
  kSpeedupPercent,
  kMetric,       // that it rests on most
  kMetricValue,  // as the rule copied it
  kReason,       // how it was compared
};
const SideTable& RuleSideTable();

// The sections of a launch and the metrics that head each: a row for each of those, or one where it heads none.
enum class SectionColumn : uint8_t {
  kLaunch,
  kSection,  // its identifier: "SpeedOfLight"
  kTitle,
  kPlace,  // where it stands among the sections
  kMetric,
  kLabel,  // of the metric, for people
};
const SideTable& SectionSideTable();

// The machine code of a kernel, a row for each instruction, with the line that it comes from.
enum class InstructionColumn : uint8_t {
  kLaunch,
  kAddress,  // as kernel_instance's number has it
  kOffset,   // in bytes, from the function's start
  kSass,     // its text; nothing where nobody disassembled it
  kPtx,      // of the PTX instruction that it comes from
  kFile,
  kLine,  // from 1
};
const SideTable& InstructionSideTable();

// The lines of files that kernels were made from, and their PTX.
enum class SourceTextColumn : uint8_t {
  kFile,
  kLanguage,  // cuda, ptx, sass
  kLine,      // from 1
  kText,
};
const SideTable& SourceTextSideTable();

// Facts that the report has of each device.
enum class DeviceAttributeColumn : uint8_t { kDevice, kName, kValue, kText };
const SideTable& DeviceAttributeSideTable();

}  // namespace kprof
