#include "daemon/analysis/functions/neuron/device_profile.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

constexpr std::string_view kTableFact = "neuron_table";
constexpr std::string_view kNoKernelName = "device profile";  // as the readers say it: profile_rows.cc

struct EngineAlias {
  std::string_view alias;
  std::string_view engine;
};
constexpr EngineAlias kEngineAliases[] = {
    {"tensormatrix", "tensor"}, {"pe", "tensor"},   {"dve", "vector"},      {"act", "scalar"},
    {"activation", "scalar"},   {"pool", "gpsimd"}, {"gpsimdsb", "gpsimd"}, {"sp", "sync"},
};

size_t PlaceOfEngine(std::string_view engine) {
  return static_cast<size_t>(std::find(std::begin(kEngineNames), std::end(kEngineNames), engine) -
                             std::begin(kEngineNames));
}

void AddTo(std::optional<int64_t>& sum, int64_t value) {
  if (value == kNoValue) return;
  int64_t made = 0;
  sum = __builtin_add_overflow(sum.value_or(0), value, &made) ? INT64_MAX : made;
}

void AddTo(int64_t& sum, int64_t value) {
  if (value == kNoValue || __builtin_add_overflow(sum, value, &sum)) sum = value == kNoValue ? sum : INT64_MAX;
}

Status ReadCounters(const AnalysisTraces& traces, const StopSignal& stop, DeviceProfile& profile) {
  using enum MetricColumn;
  return ForEachProfileRow<MetricColumn>(traces, profile, MetricSideTable(), {kKernel, kName, kValue}, stop,
                                         [&](const ReportRow<MetricColumn>& row, ProfileTexts& texts) -> Status {
                                           ASSIGN_OR_RETURN(const std::string* const kernel, texts.Find(row[kKernel]));
                                           ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kName]));
                                           // A summary of a system's profile is of no device.
                                           if (kernel->starts_with("s_")) return OkStatus();
                                           if (profile.kernel.empty() && *kernel != kNoKernelName)
                                             profile.kernel = *kernel;
                                           if (std::isfinite(row.real(kValue)))
                                             profile.counters.try_emplace(*name, row.real(kValue));
                                           return OkStatus();
                                         });
}

// Engines by their names in a part, so each text is looked at once.
class EngineFinder {
 public:
  explicit EngineFinder(ProfileWork& work) : work_(work) {}

  Result<size_t> Find(ProfileTexts& texts, int64_t name, int64_t core) {
    Recent& recent = recent_[static_cast<size_t>(name) % kRecent];
    if (recent.reader == texts.reader() && recent.name == name && recent.core == core) return recent.place;
    ASSIGN_OR_RETURN(const size_t place, Look(texts, name, core));
    recent = {texts.reader(), name, core, place};
    return place;
  }

 private:
  Result<size_t> Look(ProfileTexts& texts, int64_t name, int64_t core) {
    const auto [known, is_new] = places_.try_emplace({texts.reader(), name, core}, 0);
    if (!is_new) return known->second;
    ASSIGN_OR_RETURN(const std::string* const text, texts.Find(name));
    const std::string engine = EngineNameOf(*text);
    for (size_t i = 0; i < work_.engines.size(); ++i) {
      if (work_.engines[i].engine == engine && work_.engines[i].core == core) return known->second = i;
    }
    work_.engines.emplace_back();
    work_.engines.back().engine = engine;
    work_.engines.back().core = core;
    return known->second = work_.engines.size() - 1;
  }

  static constexpr size_t kRecent = 64;
  struct Recent {
    const PartReader* reader = nullptr;
    int64_t name = 0;
    int64_t core = 0;
    size_t place = 0;
  };
  ProfileWork& work_;
  std::array<Recent, kRecent> recent_;
  std::map<std::tuple<const PartReader*, int64_t, int64_t>, size_t> places_;
};

class WorkReader {
 public:
  WorkReader(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
             std::optional<int64_t> core, const StopSignal& stop)
      : traces_(traces), profile_(profile), window_(window), core_(core), stop_(stop) {
    work_.charge = std::make_unique<MemoryCharge>(traces.take_memory());
    work_.first_ns = INT64_MAX;
    work_.last_ns = INT64_MIN;
  }

  Result<ProfileWork> Read() {
    RETURN_IF_ERROR(ReadInstructions());
    RETURN_IF_ERROR(ReadDma());
    if (work_.first_ns > work_.last_ns) work_.first_ns = work_.last_ns = 0;
    const auto before = [](const EngineWork& one, const EngineWork& other) {
      return std::tuple(one.core, PlaceOfEngine(one.engine), one.engine) <
             std::tuple(other.core, PlaceOfEngine(other.engine), other.engine);
    };
    std::sort(work_.engines.begin(), work_.engines.end(), before);
    std::sort(work_.dma.begin(), work_.dma.end(),
              [](const DmaWork& one, const DmaWork& other) { return one.core < other.core; });
    for (const EngineWork& engine : work_.engines) work_.cores.push_back(engine.core);
    for (const DmaWork& dma : work_.dma) work_.cores.push_back(dma.core);
    std::sort(work_.cores.begin(), work_.cores.end());
    work_.cores.erase(std::unique(work_.cores.begin(), work_.cores.end()), work_.cores.end());
    return std::move(work_);
  }

 private:
  // The part of a row that is in the window. False: none of it.
  bool Take(int64_t start, int64_t duration, int64_t& begin, int64_t& end) {
    if (start == kNoValue) return false;
    begin = SafeTime(start);
    end = SafeEndOf(begin, duration);
    work_.first_ns = std::min(work_.first_ns, begin);
    work_.last_ns = std::max(work_.last_ns, end);
    if (window_.is_whole()) return true;
    // One without a length is where it begins.
    if (begin == end) return begin >= window_.from_ns && begin < window_.to_ns;
    return window_.Clip(begin, end);
  }
  // A core that the row does not name is the only one.
  std::optional<int64_t> CoreOf(int64_t core) const {
    const int64_t number = core == kNoValue ? 0 : core;
    return !core_ || *core_ == number ? std::optional(number) : std::nullopt;
  }

  Status ReadInstructions() {
    using enum NeuronInstructionColumn;
    EngineFinder engines(work_);
    return ForEachProfileRow<NeuronInstructionColumn>(
        traces_, profile_, NeuronInstructionSideTable(),
        {kEngine, kCore, kOpcode, kStart, kDuration, kWait, kDmaWait, kKind, kFlops, kTransposeFlops, kAdjustedFlops,
         kHbmRead, kHbmWrite, kSbufRead, kSbufWrite, kPsumRead, kPsumWrite, kSpillSave, kSpillReload},
        stop_, [&](const ReportRow<NeuronInstructionColumn>& row, ProfileTexts& texts) -> Status {
          work_.has_instructions = true;
          int64_t begin = 0;
          int64_t end = 0;
          const std::optional<int64_t> core = CoreOf(row[kCore]);
          if (!core || !Take(row[kStart], row[kDuration], begin, end)) return OkStatus();
          ASSIGN_OR_RETURN(const size_t place, engines.Find(texts, row[kEngine], *core));
          EngineWork& engine = work_.engines[place];
          ASSIGN_OR_RETURN(const OpcodeTraits opcode, TraitsOf(texts, row[kOpcode]));
          ++engine.instructions;
          AddTo(engine.rows_ns, end - begin);
          AddTo(engine.wait_ns, row[kWait]);
          AddTo(engine.dma_wait_ns, row[kDmaWait]);
          if (opcode.is_semaphore) {
            ++engine.semaphores;
            AddTo(engine.semaphore_ns, end - begin);
          } else {
            ++engine.work;
            AddTo(engine.work_ns, end - begin);
            const size_t before = engine.busy.size();
            engine.busy.Add(begin, end);
            const size_t grown = engine.busy.size() - before;
            if (grown > 0) RETURN_IF_ERROR(work_.charge->Grow(static_cast<int64_t>(grown * sizeof(Interval))));
          }
          if (sums_ == nullptr || sums_core_ != *core) {
            sums_ = &work_.sums[*core];
            sums_core_ = *core;
          }
          return Sum(row, texts, opcode.is_product, *sums_);
        });
  }

  struct OpcodeTraits {
    bool is_semaphore = false;
    bool is_product = false;
  };
  // Most rows have the opcode of one of the few before them.
  Result<OpcodeTraits> TraitsOf(ProfileTexts& texts, int64_t opcode) {
    RecentOpcode& recent = recent_opcodes_[static_cast<size_t>(opcode) % kRecentOpcodes];
    if (recent.reader != texts.reader() || recent.opcode != opcode) {
      ASSIGN_OR_RETURN(const std::string* const text, texts.Find(opcode));
      recent = {texts.reader(), opcode, {*text == kSemaphoreOpcode, *text == "MATMUL"}};
    }
    return recent.traits;
  }

  Status Sum(const ReportRow<NeuronInstructionColumn>& row, ProfileTexts& texts, bool is_product,
             InstructionSums& sums) {
    using enum NeuronInstructionColumn;
    AddTo(sums.flops, row[kFlops]);
    AddTo(sums.hbm_read, row[kHbmRead]);
    AddTo(sums.hbm_write, row[kHbmWrite]);
    AddTo(sums.sbuf_read, row[kSbufRead]);
    AddTo(sums.sbuf_write, row[kSbufWrite]);
    AddTo(sums.psum_read, row[kPsumRead]);
    AddTo(sums.psum_write, row[kPsumWrite]);
    AddTo(sums.spill_save, row[kSpillSave]);
    AddTo(sums.spill_reload, row[kSpillReload]);
    if (row[kFlops] == kNoValue && row[kAdjustedFlops] == kNoValue) return OkStatus();
    ASSIGN_OR_RETURN(const std::string* const kind, texts.Find(row[kKind]));
    const bool is_transpose = *kind == "TRANSPOSE";
    if (row[kTransposeFlops] != kNoValue) {
      AddTo(sums.transpose_flops, row[kTransposeFlops]);
    } else if (row[kFlops] != kNoValue) {
      AddTo(sums.transpose_flops, is_transpose ? row[kFlops] : 0);
    }
    if (!is_product) return OkStatus();
    AddTo(sums.matmul_flops, row[kFlops]);
    AddTo(sums.matmul_adjusted_flops, row[kAdjustedFlops]);
    if (row[kAdjustedFlops] != kNoValue) AddTo(sums.useful_adjusted_flops, is_transpose ? 0 : row[kAdjustedFlops]);
    return OkStatus();
  }

  Status ReadDma() {
    using enum NeuronDmaColumn;
    std::map<std::pair<const PartReader*, int64_t>, std::string> types;
    return ForEachProfileRow<NeuronDmaColumn>(
        traces_, profile_, NeuronDmaSideTable(),
        {kQueueType, kCore, kStart, kDuration, kBytes, kVariable, kAggregated, kDuplicate}, stop_,
        [&](const ReportRow<NeuronDmaColumn>& row, ProfileTexts& texts) -> Status {
          int64_t begin = 0;
          int64_t end = 0;
          const std::optional<int64_t> core = CoreOf(row[kCore]);
          if (!core) return OkStatus();
          DmaWork& dma = DmaOf(*core);
          if (row[kDuplicate] == 1) {
            ++dma.duplicates;
            return OkStatus();
          }
          if (!Take(row[kStart], row[kDuration], begin, end)) return OkStatus();
          if (row[kAggregated] == 1) {
            ++dma.transfers;
            AddTo(dma.transfer_ns, end - begin);
            AddTo(dma.transfer_bytes, row[kBytes]);
            return OkStatus();
          }
          work_.has_packets = true;
          const auto [type, is_new] = types.try_emplace({texts.reader(), row[kQueueType]});
          if (is_new) {
            ASSIGN_OR_RETURN(const std::string* const text, texts.Find(row[kQueueType]));
            type->second = *text;
          }
          ASSIGN_OR_RETURN(const std::string* const variable, texts.Find(row[kVariable]));
          ++dma.packets;
          if (variable->empty() || *variable == "unknown") ++dma.unknown;
          AddTo(dma.packet_ns, end - begin);
          AddTo(dma.packet_bytes, row[kBytes]);
          if (type->second != "instruction" && row[kBytes] > 4) AddTo(dma.payload_bytes, row[kBytes]);
          BusyUnion& of_type = dma.by_type[type->second];
          const size_t before = dma.busy.size() + of_type.size();
          dma.busy.Add(begin, end);
          of_type.Add(begin, end);
          return work_.charge->Grow(
              static_cast<int64_t>((dma.busy.size() + of_type.size() - before) * sizeof(Interval)));
        });
  }

  DmaWork& DmaOf(int64_t core) {
    if (DmaWork* const found = work_.FindDma(core)) return *found;
    work_.dma.emplace_back();
    work_.dma.back().core = core;
    return work_.dma.back();
  }

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const ProfileWindow& window_;
  const std::optional<int64_t> core_;
  const StopSignal& stop_;
  ProfileWork work_;
  static constexpr size_t kRecentOpcodes = 64;  // those asked last, by their numbers' last bits
  struct RecentOpcode {
    const PartReader* reader = nullptr;
    int64_t opcode = 0;
    OpcodeTraits traits;
  };
  std::array<RecentOpcode, kRecentOpcodes> recent_opcodes_;
  InstructionSums* sums_ = nullptr;  // of core sums_core_
  int64_t sums_core_ = 0;
};

}  // namespace

std::optional<double> DeviceProfile::Find(std::string_view counter) const {
  const auto found = counters.find(counter);
  return found == counters.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> DeviceProfile::FindWhole(std::string_view counter) const {
  const std::optional<double> value = Find(counter);
  if (!value || !(std::abs(*value) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(std::llround(*value));
}

bool IsDeviceProfile(const TracePart& part) {
  return part.reader->TextFact(kNeuronProfileFact) == kNeuronDeviceProfile;
}

std::optional<int64_t> ExecutionOf(const PartReader& reader) {
  const std::string name = reader.TextFact("source_name").value_or("");
  constexpr std::string_view kWord = "exec_";
  const size_t at = name.rfind(kWord);
  int64_t number = 0;
  if (at == name.npos || (at > 0 && std::isalnum(static_cast<unsigned char>(name[at - 1])) != 0)) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + at + kWord.size(), name.data() + name.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

Result<std::vector<DeviceProfile>> FindDeviceProfiles(const AnalysisTraces& traces, const StopSignal& stop) {
  std::vector<DeviceProfile> profiles;
  std::map<std::pair<std::string, std::optional<int64_t>>, size_t> of_tables;
  for (size_t i = 0; i < traces.parts().size(); ++i) {
    const TracePart& part = traces.parts()[i];
    if (!IsDeviceProfile(part)) continue;
    size_t place = profiles.size();
    if (part.reader->TextFact(kTableFact))
      place = of_tables.try_emplace({traces.run(i), part.rank}, place).first->second;
    if (place == profiles.size()) {
      profiles.emplace_back();
      profiles.back().run = traces.run(i);
      profiles.back().rank = part.rank;
      profiles.back().execution = ExecutionOf(*part.reader);
    }
    DeviceProfile& profile = profiles[place];
    profile.parts.push_back(i);
    if (profile.instance_type.empty()) {
      profile.instance_type = part.reader->TextFact("neuron_instance_type").value_or("");
    }
    if (profile.schema.empty()) profile.schema = part.reader->TextFact(kNeuronSchemaFact).value_or("");
  }
  for (DeviceProfile& profile : profiles) RETURN_IF_ERROR(ReadCounters(traces, stop, profile));
  return profiles;
}

std::string EngineNameOf(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-') lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (lower.ends_with("engine") && lower.size() > 6) lower.resize(lower.size() - 6);
  for (const EngineAlias& one : kEngineAliases) {
    if (lower == one.alias) return std::string(one.engine);
  }
  return lower.empty() ? "unknown" : lower;
}

void BusyUnion::Add(int64_t begin_ns, int64_t end_ns) {
  if (begin_ns >= end_ns) return;
  if (!in_order_ || (!pieces_.empty() && begin_ns < pieces_.back().begin_ns)) {
    in_order_ = false;
    pieces_.push_back({begin_ns, end_ns});
    return;
  }
  AppendInterval(begin_ns, end_ns, pieces_);
}

const std::vector<Interval>& BusyUnion::Pieces() {
  if (!in_order_) {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Interval& one, const Interval& other) { return one.begin_ns < other.begin_ns; });
    size_t last = 0;
    for (size_t i = 1; i < pieces_.size(); ++i) {
      if (pieces_[i].begin_ns <= pieces_[last].end_ns) {
        pieces_[last].end_ns = std::max(pieces_[last].end_ns, pieces_[i].end_ns);
      } else {
        pieces_[++last] = pieces_[i];
      }
    }
    pieces_.resize(pieces_.empty() ? 0 : last + 1);
    in_order_ = true;
  }
  return pieces_;
}

int64_t BusyUnion::LengthNs() {
  return LengthOf(Pieces());
}

int64_t LengthOf(const std::vector<Interval>& pieces) {
  int64_t length = 0;
  for (const Interval& piece : pieces) length = SaturatingSum(length, piece.end_ns - piece.begin_ns);
  return length;
}

std::vector<Interval> UnionOf(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both;
  both.reserve(a.size() + b.size());
  size_t i = 0;
  size_t k = 0;
  while (i < a.size() || k < b.size()) {
    const bool is_of_a = k == b.size() || (i < a.size() && a[i].begin_ns <= b[k].begin_ns);
    const Interval& next = is_of_a ? a[i++] : b[k++];
    AppendInterval(next.begin_ns, next.end_ns, both);
  }
  return both;
}

FilledColumns::FilledColumns(const PartReader& reader, const SideTable& table) {
  const std::optional<std::string> told = reader.TextFact(NeuronColumnsFact(table.name));
  if (!told) return;
  const std::string names = " " + *told + " ";
  for (const SideColumn& column : table.columns) {
    filled_.push_back(names.find(" " + column.name + " ") != names.npos);
  }
}

const DecodedColumn& FilledColumns::Nothing() {
  static const DecodedColumn kNothing = std::make_shared<const std::vector<int64_t>>(kMaxSegmentRows, kNoValue);
  return kNothing;
}

Result<const std::string*> ProfileTexts::Find(int64_t number) {
  if (number == kNoValue) return const_cast<const std::string*>(&empty_);
  Recent& recent = recent_[static_cast<size_t>(number) % kRecent];
  if (recent.number == number) return recent.text;
  std::unique_ptr<std::string>& known = texts_[number];
  if (known == nullptr) {
    ASSIGN_OR_RETURN(std::string text, reader_->ReadString(number));
    known = std::make_unique<std::string>(std::move(text));
  }
  recent = {number, known.get()};
  return recent.text;
}

EngineWork* ProfileWork::Find(std::string_view engine, int64_t core) {
  for (EngineWork& one : engines) {
    if (one.engine == engine && one.core == core) return &one;
  }
  return nullptr;
}

DmaWork* ProfileWork::FindDma(int64_t core) {
  for (DmaWork& one : dma) {
    if (one.core == core) return &one;
  }
  return nullptr;
}

bool ProfileWork::KeepCore(int64_t core) {
  is_one_of_several = std::any_of(cores.begin(), cores.end(), [core](int64_t one) { return one != core; });
  std::erase_if(engines, [core](const EngineWork& one) { return one.core != core; });
  std::erase_if(dma, [core](const DmaWork& one) { return one.core != core; });
  std::erase_if(sums, [core](const auto& one) { return one.first != core; });
  std::erase_if(cores, [core](int64_t one) { return one != core; });
  return !cores.empty();
}

Result<ProfileWork> ReadProfileWork(const AnalysisTraces& traces, const DeviceProfile& profile,
                                    const ProfileWindow& window, std::optional<int64_t> core, const StopSignal& stop) {
  return WorkReader(traces, profile, window, core, stop).Read();
}

Result<ProfileWindow> WindowOf(const AnalysisOptions& options) {
  const ProfileWindow window{options.integer("from").value_or(INT64_MIN), options.integer("to").value_or(INT64_MAX)};
  if (window.from_ns < window.to_ns) return window;
  return Fail(ErrorCode::kUsage, "take a window of time", "from is not before to", "give --from less than --to");
}

ProfileTotal TotalOf(const DeviceProfile& profile, const ProfileWork& work, const ProfileWindow& window) {
  ProfileTotal total;
  const std::optional<int64_t> told = profile.FindWhole("total_time");
  const std::optional<int64_t> last = profile.FindWhole("last_hw_timestamp");
  if (told && *told > 0) {
    total = {*told, "total_time"};
  } else if (last && *last > 0) {
    total = {std::max<int64_t>(*last - profile.FindWhole("first_hw_timestamp").value_or(0), 0), "last_hw_timestamp"};
  } else {
    total = {std::max<int64_t>(work.last_ns - std::min<int64_t>(work.first_ns, 0), 0), "rows"};
  }
  if (!window.is_whole()) {
    const int64_t from = std::max<int64_t>(window.from_ns, 0);
    const int64_t to = std::min(window.to_ns, std::max(total.ns, work.last_ns));
    total.ns = std::max<int64_t>(to - from, 0);
  }
  return total;
}

}  // namespace kprof
