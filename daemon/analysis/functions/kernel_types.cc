#include "daemon/analysis/functions/kernel_types.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace kprof {
namespace {

constexpr std::string_view kMemoryBegins[] = {"Memcpy", "Memset", "hipMemcpy", "hipMemset"};
// In small letters, without underscores. NCCL, RCCL and HCCL; NVSHMEM; kernels of PyTorch's symmetric memory, of vLLM
// and of TensorRT-LLM.
constexpr std::string_view kCollectives[] = {
    "nccl", "rccl", "hccl", "nvshmem", "allreduce", "allgather", "alltoall", "reducescatter", "crossdevicereduce",
};

// "multimem_all_reduce_kernel" becomes "multimemallreducekernel".
std::string WithoutCase(std::string_view name) {
  std::string letters;
  letters.reserve(name.size());
  for (const char c : name) {
    if (c != '_') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

bool HasPiece(std::string_view name, std::string_view piece) {
  return name.find(piece) != std::string_view::npos;
}

}  // namespace

std::string_view KernelTypeName(KernelType type) {
  switch (type) {
    case KernelType::kCompute:
      return "compute";
    case KernelType::kCommunication:
      return "communication";
    case KernelType::kMemory:
      return "memory";
    case KernelType::kOther:
      break;
  }
  return "other";
}

KernelType TypeOfKernel(std::string_view name) {
  const auto begins = [name](std::string_view word) { return name.starts_with(word); };
  if (std::any_of(std::begin(kMemoryBegins), std::end(kMemoryBegins), begins)) return KernelType::kMemory;
  const std::string letters = WithoutCase(name);
  const auto has = [&letters](std::string_view word) { return HasPiece(letters, word); };
  if (std::any_of(std::begin(kCollectives), std::end(kCollectives), has)) return KernelType::kCommunication;
  return KernelType::kCompute;
}

KernelType HtaTypeOfKernel(std::string_view name) {
  if (name.starts_with("nccl") || name.starts_with("hip") || name.starts_with("hccl") || HasPiece(name, "ncclKernel")) {
    return KernelType::kCommunication;
  }
  if (name.starts_with("Memcpy") || name.starts_with("Memset") || name.starts_with("dma")) return KernelType::kMemory;
  if (HasPiece(name, "Memcpy") || HasPiece(name, "Memset") || HasPiece(name, "dma") || HasPiece(name, "Sync") ||
      name.starts_with("Stream Wait Event") || name.starts_with("runFunction") ||
      (name.starts_with("cuda") && HasPiece(name, "LaunchKernel"))) {
    return KernelType::kOther;
  }
  return KernelType::kCompute;
}

}  // namespace kprof
