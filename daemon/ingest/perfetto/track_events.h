// Takes a TrackEvent apart, and the values of its annotations (perfetto.protos, by their numbers).
//
// Pure; any thread. Texts are valid as long as the packet is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

enum class TrackEventType : uint8_t { kUnknown = 0, kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4, kComplete = 200 };

struct PerfettoTrackEvent {
  TrackEventType type = TrackEventType::kUnknown;
  std::optional<uint64_t> track;
  std::optional<uint64_t> name_iid;
  std::string_view name;
  std::optional<uint64_t> category_iid;  // the first, here and below
  std::string_view category;
  std::optional<int64_t> duration_us;  // of a complete one, as Chrome writes them
  std::optional<int64_t> count;        // of a counter
  std::optional<double> value;
  std::vector<std::string_view> annotations;
  std::vector<uint64_t> flows;
  std::vector<uint64_t> last_flows;       // those that end here
  std::vector<uint64_t> launched_events;  // ids of render stages: extension 3000 of PyTorch
  std::optional<uint64_t> correlation;
  std::vector<uint64_t> counter_tracks;  // of values beside it
  std::vector<int64_t> counts;
  std::vector<uint64_t> value_tracks;
  std::vector<double> values;

  // Takes another one, and keeps the room of its lists. Of a list at most kMostOfEach are kept.
  void Read(std::string_view bytes);
  static constexpr size_t kMostOfEach = 4096;
};

// A name and a value as an annotation, an argument of a kernel or a pair of texts has them.
struct PerfettoArg {
  enum class Type : uint8_t { kNothing, kBool, kInteger, kUnsigned, kReal, kText, kTextIid, kJson, kNested };
  std::optional<uint64_t> name_iid;
  std::string_view name;
  Type type = Type::kNothing;
  uint64_t bits = 0;  // of a number
  double real = 0;
  std::string_view text;     // of a text or JSON
  std::string_view message;  // the whole annotation, of one that has more in it
};

PerfettoArg ReadAnnotation(std::string_view bytes);
// GpuRenderStageEvent.ExtraComputeArg.
PerfettoArg ReadComputeArg(std::string_view bytes);
// GpuRenderStageEvent.ExtraData.
PerfettoArg ReadExtraData(std::string_view bytes);

}  // namespace kprof
