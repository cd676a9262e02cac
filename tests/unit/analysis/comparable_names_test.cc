#include "daemon/analysis/functions/comparison/comparable_names.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(ComparableNames, OneKernelHasOneSpellingWhoeverWroteIt) {
  struct Spelling {
    const char* one;
    const char* other;
  };
  const Spelling same[] = {
      {"void at::native::fill<4, float>(int, float*)", "at::native::fill<(int)4, float>"},
      {"_ZN2at6native10layer_normEPfi", "at::native::layer_norm(float*, int)"},
      {"void f<std::array<char*, 2ul> >(int)", "void f<std::array<char *, (unsigned long)2>>(int, T2, T3)"},
      {"void f<true>(int)", "void f<(bool)1>(int)"},
      {"g<h(T&)::{lambda(float)#1}>(int)", "g<h(T &)::[lambda(float) (instance 1)]>(int)"},
      {"void (anonymous namespace)::k<int>(int*)", "<unnamed>::k<int>"},
      {"triton_poi_fused_mul_0", "triton_poi_fused_mul_12"},
      {"gemm", "gemm"},
  };
  for (const Spelling& pair : same) EXPECT_EQ(PlainKernelName(pair.one), PlainKernelName(pair.other)) << pair.one;
  EXPECT_NE(PlainKernelName("f<4>(int)"), PlainKernelName("f<8>(int)"));
  EXPECT_EQ(PlainKernelName("Memcpy HtoD (Pageable -> Device)"), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(PlainKernelName(""), "");
  EXPECT_EQ(PlainKernelName("((("), "(((");
}

TEST(ComparableNames, KernelsOfOneTemplateAreAFamily) {
  const char* const mul =
      "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
      "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)";
  EXPECT_EQ(KernelFamilyName(mul), "elementwise(MulFunctor)");
  EXPECT_EQ(KernelFamilyName("void at::native::elementwise_kernel_manual_unroll<128, 8, "
                             "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda()>()>(int)"),
            "elementwise(direct_copy_kernel_cuda)");
  EXPECT_EQ(KernelFamilyName("void n::softmax<8, float>(int)"), KernelFamilyName("void n::softmax<16, float>(int)"));
  EXPECT_NE(KernelFamilyName("void n::softmax<8, float>(int)"), KernelFamilyName("void n::softmax<8, half>(int)"));
  EXPECT_EQ(KernelFamilyName("Memcpy DtoH (Device -> Pageable)"), KernelFamilyName("Memcpy DtoH (Device -> Host)"));
  EXPECT_EQ(KernelFamilyName("ampere_sgemm_128x64_tn"), "");
  EXPECT_EQ(KernelFamilyName("f<1, 2>"), "");
}

TEST(ComparableNames, AHostileNameStaysSmall) {
  std::string hostile = "_Z1fISt4pairIiiE";
  for (int i = 0; i < 200; ++i) hostile += "St4pairIS1_S1_E";
  EXPECT_LE(DemangledName(hostile + "EvT_").size(), hostile.size() + 8);
  EXPECT_EQ(
      DemangledName("_ZN2at6native4copyIS0_S1_S2_S3_S4_S5_S6_S7_S8_S9_SA_SB_SC_SD_SE_SF_SG_SH_SI_SJ_SK_SL_SM_SN_SO_E"),
      "at::native::copy");
  EXPECT_EQ(DemangledName("_ZN99999999999999999999x"), "_ZN99999999999999999999x");
  EXPECT_EQ(DemangledName("plain"), "plain");
}

TEST(ComparableNames, CallsOfTheHostLoseTheirNumbers) {
  EXPECT_EQ(HostCallName("nn.Module: Linear_12"), "nn.Module: Linear");
  EXPECT_EQ(HostCallName("aten::mm, seq = 12, op_id = 33, sizes = [[2,3]]"), "aten::mm");
  EXPECT_EQ(HostCallName("aten::add_"), "aten::add_");
  EXPECT_EQ(HostCallName("layer_3"), "layer_3");
}

}  // namespace
}  // namespace kprof
