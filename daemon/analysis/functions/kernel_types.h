// What a kernel, a copy or a fill is for, told by its name: all that most traces say of it.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kprof {

enum class KernelType : uint8_t { kCompute, kCommunication, kMemory, kOther };
constexpr size_t kKernelTypes = 3;  // that an analysis tells apart; kOther is HolisticTraceAnalysis' alone

// "compute", "communication", "memory", "other".
std::string_view KernelTypeName(KernelType type);

// Collectives of any library, and those that frameworks write themselves, are communication; copies and fills are
// memory; all else is compute.
KernelType TypeOfKernel(std::string_view name);

// What HolisticTraceAnalysis takes it for (checked against its results, ../shared/data): a collective that is not
// called after NCCL is compute, anything with "dma" in its name is other.
KernelType HtaTypeOfKernel(std::string_view name);

}  // namespace kprof
