// The purpose of a kernel, a copy or a fill, told by its name: most traces say no more of it.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kprof {

enum class KernelType : uint8_t { kCompute, kCommunication, kMemory, kOther };
constexpr size_t kKernelTypes = 3;  // the first three; kOther is HolisticTraceAnalysis' alone

// "compute", "communication", "memory", "other".
std::string_view KernelTypeName(KernelType type);

// Collectives of any library, and those that frameworks write themselves, are communication; copies and fills are
// memory; all else is compute.
KernelType TypeOfKernel(std::string_view name);

// The type that HolisticTraceAnalysis takes (checked against its results, ../shared/data): a collective that is not
// named after NCCL is compute, most names with "dma" in them are other.
KernelType HtaTypeOfKernel(std::string_view name);

}  // namespace kprof
