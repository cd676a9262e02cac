#include "daemon/analysis/findings/matrix_kernels.h"

#include <algorithm>
#include <span>
#include <string>

namespace kprof {
namespace {

// In small letters. Instructions of tensor cores by their shapes: Volta, Turing and Ampere. They say so in the name of
// a product only.
constexpr std::string_view kShapes[] = {"884", "1688", "16816", "8816"};
// Instructions, and libraries that know nothing else.
constexpr std::string_view kOfUnits[] = {"hmma",     "imma",   "qmma", "wgmma",   "xmma", "nvjet",
                                         "tensorop", "flash_", "fmha", "tcgen05", "mfma", "deep_gemm"};
constexpr std::string_view kOfPlain[] = {"sgemm", "simt", "scudnn"};
constexpr std::string_view kProductWords[] = {"gemm",     "gemv",     "conv2d", "convolve",  "implicit_con",
                                              "wgrad",    "dgrad",    "matmul", "attention", "attn_fwd",
                                              "attn_bwd", "winograd", "cijk_"};

bool HasOneOf(std::string_view text, std::span<const std::string_view> pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [text](std::string_view piece) { return text.find(piece) != std::string_view::npos; });
}

}  // namespace

MatrixKernel MatrixKernelOf(std::string_view name) {
  std::string letters(name);
  for (char& c : letters) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (HasOneOf(letters, kOfUnits)) return MatrixKernel::kUnits;
  const bool is_plain = HasOneOf(letters, kOfPlain);
  if (!is_plain && !HasOneOf(letters, kProductWords)) return MatrixKernel::kNone;
  if (HasOneOf(letters, kShapes)) return MatrixKernel::kUnits;
  if (letters.starts_with("cijk_") && letters.find("_mi") != std::string::npos) return MatrixKernel::kUnits;
  return is_plain ? MatrixKernel::kPlain : MatrixKernel::kUnknown;
}

}  // namespace kprof
