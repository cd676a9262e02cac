#include "daemon/analysis/functions/communication/collective_names.h"

#include <iterator>
#include <string>

namespace kprof {
namespace {

struct NamedCollective {
  std::string_view word;  // in small letters, without underscores
  CollectiveKind kind;
};

// The first that is in a name decides.
constexpr NamedCollective kCollectiveWords[] = {
    {"allreduce", CollectiveKind::kAllReduce},     {"crossdevicereduce", CollectiveKind::kAllReduce},
    {"allgather", CollectiveKind::kAllGather},     {"reducescatter", CollectiveKind::kReduceScatter},
    {"alltoall", CollectiveKind::kAllToAll},       {"barrier", CollectiveKind::kAllReduce},
    {"broadcast", CollectiveKind::kBroadcast},     {"sendrecv", CollectiveKind::kSendReceive},
    {"sendreceive", CollectiveKind::kSendReceive}, {"send", CollectiveKind::kSendReceive},
    {"recv", CollectiveKind::kSendReceive},        {"scatter", CollectiveKind::kScatter},
    {"gather", CollectiveKind::kGather},           {"reduce", CollectiveKind::kReduce},
};

struct ElementSize {
  std::string_view type;
  int64_t bytes;
};

constexpr ElementSize kElements[] = {
    {"Float", 4},       {"float", 4},  {"Double", 8},   {"double", 8},        {"Half", 2},
    {"c10::Half", 2},   {"Int", 4},    {"int", 4},      {"Long", 8},          {"long int", 8},
    {"long", 8},        {"Short", 2},  {"Byte", 1},     {"Char", 1},          {"unsigned char", 1},
    {"Bool", 1},        {"bool", 1},   {"BFloat16", 2}, {"short", 2},         {"char", 1},
    {"signed char", 1}, {"UInt16", 2}, {"UInt32", 4},   {"c10::BFloat16", 2}, {"UInt64", 8},
};

}  // namespace

std::string_view NameOfCollective(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
    case CollectiveKind::kSendReceive:
      return "send_receive";
    case CollectiveKind::kOther:
      break;
  }
  return "other";
}

CollectiveKind KindOfCollective(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t end = name.find('(');
  while (end != std::string_view::npos && name.substr(end).starts_with(kAnonymous)) end = name.find('(', end + 1);
  std::string letters;
  for (const char c : name.substr(0, end)) {
    if (c != '_') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const NamedCollective& one : kCollectiveWords) {
    if (letters.find(one.word) != std::string::npos) return one.kind;
  }
  return CollectiveKind::kOther;
}

bool EndsTogether(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
         kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll;
}

std::optional<double> BusFactor(CollectiveKind kind, int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return (n - 1) / n;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSendReceive:
      return 1;
    case CollectiveKind::kOther:
      break;
  }
  return std::nullopt;
}

std::optional<int64_t> BytesOfElement(std::string_view type) {
  if (type.find("Float8") != std::string_view::npos) return 1;
  for (const ElementSize& one : kElements) {
    if (one.type == type) return one.bytes;
  }
  return std::nullopt;
}

}  // namespace kprof
