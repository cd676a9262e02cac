// Collectives by their names: PyTorch, NCCL and each framework call the same operation by another one. Also the
// factors from algorithmic to bus bandwidth, as nccl-tests has them, and the bytes of an element by its type's name.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kprof {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendReceive,
  kOther,
};

// "all_reduce", "send_receive"; "other".
std::string_view NameOfCollective(CollectiveKind kind);

// The kind by any name of it: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "_allgather_base", "nccl:all_to_all".
CollectiveKind KindOfCollective(std::string_view name);

// True if no rank can be done before the last one has begun: then all end at about the same time.
bool EndsTogether(CollectiveKind kind);

// Bus bandwidth is algorithmic bandwidth times this, for a collective over `ranks` ranks. Nothing for kOther.
std::optional<double> BusFactor(CollectiveKind kind, int64_t ranks);

// By a type's name as PyTorch writes it: "BFloat16", "c10::BFloat16", "long int". Nothing: not known.
std::optional<int64_t> BytesOfElement(std::string_view type);

}  // namespace kprof
