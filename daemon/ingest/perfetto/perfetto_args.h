// The texts that packets of a sequence name by numbers, and the arguments of one event.
//
// One thread. Memory: what is interned, up to kMostInterned entries of all sequences together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/perfetto/packet_stream.h"
#include "daemon/ingest/perfetto/track_events.h"
#include "daemon/ingest/text/private_names.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

struct PerfettoName {
  uint32_t number = 0;  // of the batch; 0: the empty text
  EnvironmentEvent event = EnvironmentEvent::kNone;
  std::string_view text;  // valid until the next one
};

// A lane or a kind of work of a GPU.
struct PerfettoStage {
  std::string name;
  uint64_t category = 0;  // 1 graphics, 2 compute
};

struct PerfettoCounterSpec {
  std::string name;
  std::optional<int64_t> gpu;
};

// The arguments that an event has, as far as they tell its category.
struct SeenPerfettoArgs {
  bool correlation = false;
  bool stream = false;
  bool grid = false;
  bool external_id = false;
  bool python_id = false;
};

// Kineto's category of a slice whose writer tells none: by its arguments. Empty: they tell nothing.
std::string_view CategoryByArguments(std::string_view name, const SeenPerfettoArgs& seen, bool is_on_gpu);
// The same of a render stage.
std::string_view CategoryOfStage(const PerfettoStage& stage, std::string_view name);

class PerfettoArgs {
 public:
  static constexpr size_t kMostInterned = 1 << 21;

  // `batch` is borrowed.
  explicit PerfettoArgs(BatchBuilder& batch) : batch_(batch) {}

  // Takes what the packet interns, and forgets what it clears. Call it for each packet, before its event.
  void See(const TracePacket& packet);
  // GpuCounterDescriptor, by its number.
  void SeeCounterSpecs(uint64_t sequence, uint64_t descriptor, std::string_view bytes);

  PerfettoName NameOf(uint64_t sequence, uint64_t iid);
  PerfettoName NameOf(std::string_view text);
  uint32_t CategoryOf(uint64_t sequence, uint64_t iid);
  PerfettoName KernelOf(uint64_t sequence, uint64_t iid, std::string_view& arch);
  PerfettoStage StageOf(uint64_t sequence, uint64_t iid) const;
  std::optional<int64_t> ProcessOf(uint64_t sequence, uint64_t context) const;
  PerfettoCounterSpec CounterOf(uint64_t sequence, uint64_t descriptor, uint64_t counter) const;
  // Names by numbers that no packet told.
  int64_t unnamed() const { return unnamed_; }

  // The arguments of an event, one after the other. `event`: whether the event's name is one of an environment.
  void Begin(EnvironmentEvent event);
  void Add(uint64_t sequence, const PerfettoArg& arg);
  // A name and a text; a text that is a number becomes one.
  void AddText(const PerfettoArg& arg);
  void AddInteger(std::string_view key, int64_t value);
  void AddPlain(std::string_view key, std::string_view text);
  void AddJson(std::string_view key, std::string_view json);
  void AddCorrelation(int64_t correlation);
  // ComputeKernelLaunch; the sizes as Kineto has them.
  void AddLaunch(uint64_t sequence, std::string_view bytes);

  std::span<const EventArg> args() const { return out_; }
  int64_t correlation() const { return correlation_; }  // kNoValue: none
  const SeenPerfettoArgs& seen() const { return seen_; }

 private:
  using Texts = std::unordered_map<uint64_t, std::string>;
  struct Known {
    uint32_t number = 0;
    EnvironmentEvent event = EnvironmentEvent::kNone;
  };
  struct Name {
    std::string text;
    std::optional<Known> known;
  };
  struct Kernel {
    Name name;
    std::string arch;
  };
  struct Interned {
    std::unordered_map<uint64_t, Name> names;
    std::unordered_map<uint64_t, Name> categories;
    std::unordered_map<uint64_t, Name> keys;
    std::unordered_map<uint64_t, Name> arg_names;  // of kernels
    Texts values;
    std::unordered_map<uint64_t, PerfettoStage> stages;
    std::unordered_map<uint64_t, int64_t> contexts;
    std::unordered_map<uint64_t, Kernel> kernels;
    std::unordered_map<uint64_t, std::unordered_map<uint64_t, PerfettoCounterSpec>> counters;
    size_t size = 0;
  };

  Interned* OfSequence(uint64_t sequence) const;
  void Intern(Interned& to, uint32_t field, std::string_view bytes);
  PerfettoName Resolve(Name& name);
  std::string_view KeyText(uint64_t sequence, const PerfettoArg& arg, bool is_launch_arg);
  void AddValue(uint64_t sequence, std::string_view key, const PerfettoArg& arg);
  void AddString(std::string_view key, std::string_view text);
  void AddReal(std::string_view key, double value);
  void AppendJson(uint64_t sequence, std::string_view annotation, int depth, std::string& json);
  void Push(std::string_view key, ArgType type, int64_t value);

  BatchBuilder& batch_;
  // Found by each packet: the last one first.
  mutable std::unordered_map<uint64_t, Interned> sequences_;
  mutable uint64_t last_sequence_ = 0;
  mutable Interned* last_ = nullptr;
  size_t interned_ = 0;
  int64_t unnamed_ = 0;
  std::string inline_name_;
  std::vector<EventArg> out_;
  EnvironmentEvent of_event_ = EnvironmentEvent::kNone;
  int64_t correlation_ = kNoValue;
  SeenPerfettoArgs seen_;
};

}  // namespace kprof
