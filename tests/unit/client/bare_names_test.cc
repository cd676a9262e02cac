#include "client/cli/text/bare_names.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(WithoutSignature, LeavesTheNameAndItsTemplate) {
  EXPECT_EQ(WithoutSignature("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*, int)"),
            "cunn_SoftMaxForward<8, float>");
  EXPECT_EQ(WithoutSignature("void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm>(Kernel::Params)"),
            "Kernel<cutlass_80_tensorop_bf16_s16816gemm>");
  EXPECT_EQ(WithoutSignature("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"),
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(WithoutSignature("void k<std::array<char*, 2ul>, f(int)::{lambda(int)#1}>(int, void (*)(int))"),
            "k<std::array<char*, 2ul>, f(int)::{lambda(int)#1}>");
  EXPECT_EQ(WithoutSignature("copy_blocked[v1,cw51cX](Array<long long, 1, C, mutable, aligned>, long long)"),
            "copy_blocked");
}

TEST(WithoutSignature, LeavesOtherNamesAsTheyAre) {
  for (const char* name : {"aten::mm", "Memcpy HtoD (Host -> Device)", "torch/nn/module.py(28): forward", "gemm", "",
                           "nccl:all_reduce", "(", ")", "()", "a)", "::(x)", "f(", "Cijk_Alik_Bljk_BBS_BH"}) {
    const std::string shown = WithoutSignature(name);
    EXPECT_FALSE(std::string(name).size() > 3 && shown.empty()) << name;
    if (std::string(name).find("::(") == std::string::npos) {
      EXPECT_EQ(shown, name);
    }
  }
}

TEST(BareName, HasNoTemplateEither) {
  EXPECT_EQ(BareName("void at::native::vectorized_elementwise_kernel<4, F>(int, F)"), "vectorized_elementwise_kernel");
  EXPECT_EQ(BareName("Memcpy DtoD (Device -> Device)"), "Memcpy DtoD (Device -> Device)");
}

}  // namespace
}  // namespace kprof::cli
