#include "daemon/analysis/functions/kernel_types.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

struct NamedKernel {
  const char* name;
  KernelType type;
  KernelType hta;
};

TEST(KernelTypes, GoByTheName) {
  using enum KernelType;
  const NamedKernel kernels[] = {
      {"ampere_sgemm_128x64_nn", kCompute, kCompute},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kCommunication, kCommunication},
      {"void ncclKernel_Broadcast", kCommunication, kCommunication},
      {"hcclAllReduce", kCommunication, kCommunication},
      {"multimem_all_reduce_kernel<float>", kCommunication, kCompute},
      {"void vllm::cross_device_reduce_1stage<__half, 8>", kCommunication, kCompute},
      {"reduce_scatter_kernel", kCommunication, kCompute},
      {"nvshmemi_put", kCommunication, kCompute},
      {"reduce_kernel<512, 1>", kCompute, kCompute},
      {"Memcpy HtoD (Pageable -> Device)", kMemory, kMemory},
      {"Memset (Device)", kMemory, kMemory},
      {"hipMemcpyAsync", kMemory, kCommunication},
      {"dma_copy", kCompute, kMemory},
      {"my_dma_kernel", kCompute, kOther},
      {"Stream Wait Event", kCompute, kOther},
      {"Context Sync", kCompute, kOther},
      {"", kCompute, kCompute},
  };
  for (const NamedKernel& kernel : kernels) {
    EXPECT_EQ(TypeOfKernel(kernel.name), kernel.type) << kernel.name;
    EXPECT_EQ(HtaTypeOfKernel(kernel.name), kernel.hta) << kernel.name;
  }
}

}  // namespace
}  // namespace kprof
