// Matrix products, convolutions and attention by the names of their kernels, and whether these say that they use the
// device's matrix units (tensor cores, MFMA).
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace kprof {

enum class MatrixKernel : uint8_t {
  kNone,     // nothing of the kind, as far as the name tells
  kUnits,    // on matrix units: "ampere_fp16_s16816gemm_...", "flash_fwd_kernel", "Cijk_..._MI16x16x16x1_..."
  kPlain,    // on the ordinary units: "volta_sgemm_128x64_nn", "cutlass_80_simt_sgemm_..."
  kUnknown,  // a matrix product whose name does not say it
};

MatrixKernel MatrixKernelOf(std::string_view name);

}  // namespace kprof
