// The arithmetic and the traffic that an operator of PyTorch needs at least, from the shapes and types of its inputs as
// the profiler records them (record_shapes=True): matrix products, convolutions and attention, forward and backward;
// and the traffic of sums over ranks in symmetric memory.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

namespace kprof {

struct OperatorCost {
  // Floating-point operations: a multiplication and an addition are two. Additions of a bias, activations and softmax
  // are not counted. Nothing: of sums over ranks, which are told by their traffic.
  std::optional<double> flops;
  // Each input and the result are moved once, in their types. Nothing: a type is not known.
  std::optional<double> bytes;
};

// The arguments are JSON as the source has it: `Input Dims`, `Input type`, `Concrete Inputs`; empty where not recorded.
// Nothing for an operator that is none of these, or whose shapes do not tell.
std::optional<OperatorCost> CostOfOperator(std::string_view name, std::string_view dims, std::string_view types,
                                           std::string_view values);

// Bytes of an element of a type as the profiler writes it: "float", "c10::BFloat16". Nothing: not known.
std::optional<double> BytesOfType(std::string_view type);

}  // namespace kprof
