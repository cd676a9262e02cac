#include "daemon/exports/scalene_export.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_executions.h"
#include "daemon/analysis/functions/neuron/neuron_lines.h"
#include "daemon/exports/json_bytes.h"
#include "daemon/exports/scalene_profile.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kShownPathBytes = 200;
constexpr double kNsPerMs = 1e6;
constexpr double kNsPerSecond = 1e9;

// Members that each merge makes anew: those of an earlier one go.
constexpr std::string_view kLineKeys[] = {"nc_time_ms",
                                          "nc_core_time_ms",
                                          "nc_percent",
                                          "nc_execute_count",
                                          "nrt_time_ms",
                                          "nrt_percent",
                                          "nrt_execute_count",
                                          "neuron_time_ms",
                                          "nc_nrt_ratio",
                                          "neuron_execution",
                                          "cpu_samples_nc_overlap_percent",
                                          "cpu_samples_nc_overlap_count",
                                          "cpu_samples_total_count"};

std::string NumberJson(double number) {
  return ShortestNumber(number);
}

std::string Quoted(std::string_view text) {
  std::string json;
  AppendJsonText(json, text);
  return json;
}

// Sets the times of a line or a function.
void SetTimes(const NeuronSums& sums, const NeuronSums& all, JsonMembers& members) {
  const auto percent = [](int64_t part, int64_t whole) {
    return NumberJson(whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0);
  };
  members.Set("nc_time_ms", NumberJson(static_cast<double>(sums.nc_ns) / kNsPerMs));
  members.Set("nc_core_time_ms", NumberJson(static_cast<double>(sums.nc_core_ns) / kNsPerMs));
  members.Set("nc_percent", percent(sums.nc_ns, all.nc_ns));
  members.Set("nc_execute_count", std::to_string(sums.executions));
  members.Set("nrt_time_ms", NumberJson(static_cast<double>(sums.nrt_ns) / kNsPerMs));
  members.Set("nrt_percent", percent(sums.nrt_ns, all.nrt_ns));
  members.Set("nrt_execute_count", std::to_string(sums.host_calls));
  members.Set("neuron_time_ms", NumberJson(static_cast<double>(sums.nrt_ns) / kNsPerMs));
  if (const std::optional<double> ratio = sums.ratio()) members.Set("nc_nrt_ratio", NumberJson(*ratio));
  members.Set("neuron_execution", Quoted(sums.reading.word()));
}

// The moments of a line's samples, in ns since 1970. A clock that the profile does not tell gives none.
std::vector<int64_t> SampleTimes(const JsonMembers& line, double start_absolute_s, double start_perf_s) {
  std::vector<int64_t> times;
  const std::string* const list = line.Find("cpu_samples_list");
  if (list == nullptr) return times;
  const char* at = list->data();
  const char* const end = list->data() + list->size();
  while (at < end) {
    double sample_s = 0;
    const auto [next, error] = std::from_chars(at, end, sample_s);
    if (error != std::errc()) {
      ++at;
      continue;
    }
    at = next;
    const double since_start_ns = (sample_s - start_perf_s) * kNsPerSecond;
    if (!std::isfinite(since_start_ns) || std::abs(since_start_ns) > 1e18) continue;
    times.push_back(static_cast<int64_t>(std::llround(start_absolute_s * kNsPerSecond)) +
                    static_cast<int64_t>(std::llround(since_start_ns)));
  }
  return times;
}

struct Overlap {
  int64_t samples = 0;
  // Samples at which a NeuronCore ran. A sample at which two of four ran counts as half of one.
  double within = 0;
  double percent() const { return samples > 0 ? 100.0 * within / static_cast<double>(samples) : 0; }
  std::string count() const { return std::to_string(std::llround(within)); }
};

// How many NeuronCores run at a time. Both ends of an execution belong to it.
class RunningCores {
 public:
  // `busy` of one core: disjoint, in order. Nothing in it is no core.
  void Add(const std::vector<Interval>& busy, int64_t base_ns) {
    if (!busy.empty()) ++cores_;
    for (const Interval& one : busy) {
      begins_.push_back(SafeTime(one.begin_ns) + SafeTime(base_ns));
      ends_.push_back(SafeTime(one.end_ns) + SafeTime(base_ns));
    }
  }
  void Sort() {
    std::sort(begins_.begin(), begins_.end());
    std::sort(ends_.begin(), ends_.end());
  }
  bool empty() const { return cores_ == 0; }
  // REQUIRES: it is sorted, and not empty.
  double ShareAt(int64_t time_ns) const {
    const auto begun = std::upper_bound(begins_.begin(), begins_.end(), time_ns) - begins_.begin();
    const auto ended = std::lower_bound(ends_.begin(), ends_.end(), time_ns) - ends_.begin();
    return static_cast<double>(begun - ended) / static_cast<double>(cores_);
  }

 private:
  int64_t cores_ = 0;
  std::vector<int64_t> begins_;
  std::vector<int64_t> ends_;
};

Overlap OverlapOf(const std::vector<int64_t>& times, const RunningCores& running) {
  Overlap overlap{.samples = static_cast<int64_t>(times.size())};
  for (const int64_t time_ns : times) overlap.within += running.ShareAt(time_ns);
  return overlap;
}

class ScaleneMerge {
 public:
  ScaleneMerge(std::span<const ExportPart> parts, const ExportWatch& watch)
      : parts_(parts), traces_(TracesOf(parts)), watch_(watch), stop_(watch.stop) {}

  Status Merge() {
    RETURN_IF_ERROR(ReadProfile());
    profile_.path_maps = watch_.path_maps;
    NoteUnusedMaps();
    const std::vector<NeuronRank> ranks = NeuronRanksOf(traces_);
    if (!has_profile_ && ranks.empty()) {
      return Fail(ErrorCode::kUsage, "export it as scalene",
                  "it has neither a profile of Scalene nor calls or events of a Neuron runtime",
                  "import such a profile beside the trace, or export it as chrome or perfetto");
    }
    // The profile is that of one process: the device of its own rank is what its lines run beside. One that tells no
    // rank is the first one's, as Scalene runs on one rank alone.
    const auto same =
        std::find_if(ranks.begin(), ranks.end(), [this](const NeuronRank& rank) { return rank.rank == profile_rank_; });
    const NeuronRank* const of_profile = ranks.empty() ? nullptr : same != ranks.end() ? &*same : &ranks.front();
    MemoryCharge charge;
    for (const NeuronRank& rank : ranks) {
      ASSIGN_OR_RETURN(const NeuronEvents events, ReadNeuronEvents(traces_, rank, charge, stop_));
      lines_.Add(NeuronLinesOf(events));
      std::vector<std::string> notes;
      const std::optional<Interval> wall = NeuronWallOf(events, notes);
      if (wall) wall_ns_ = std::max(wall_ns_, wall->end_ns - wall->begin_ns);
      const std::optional<int64_t> base_ns = BaseOf(*parts_[events.parts.front()].reader);
      if (wall && base_ns && !begun_unix_ns_) begun_unix_ns_ = SafeTime(*base_ns) + SafeTime(wall->begin_ns);
      if (!base_ns || &rank != of_profile) continue;
      for (const auto& [core, busy] : NeuronBusyOf(events)) running_.Add(busy, *base_ns);
    }
    running_.Sort();
    Forget();
    if (!ranks.empty()) {
      if (has_profile_) NoteWhatIsNotJoined();
      AddOverlaps();
      AddLines();
      AddFunctions();
      AddTotals();
    }
    profile_.Complete();
    return OkStatus();
  }

  Status Write(ExportOutput& output) {
    std::string& out = output.bytes();
    out += '{';
    profile_.members.AppendMembersTo(out);
    out += ",\n\"files\":{";
    for (size_t i = 0; i < profile_.files.size(); ++i) {
      const ScaleneFile& file = profile_.files[i];
      out += i == 0 ? "\n" : ",\n";
      AppendJsonText(out, file.name);
      out += ":{";
      file.members.AppendMembersTo(out);
      RETURN_IF_ERROR(WriteList(",\"functions\":[", file.functions, output));
      RETURN_IF_ERROR(WriteList("],\"lines\":[", file.lines, output));
      out += "]}";
    }
    out += "}}\n";
    return output.Flush();
  }

 private:
  static AnalysisTraces TracesOf(std::span<const ExportPart> parts) {
    std::vector<TracePart> open;
    for (const ExportPart& part : parts) {
      TracePart one = PartOf(*part.reader);
      one.rank = part.rank();
      open.push_back(one);
    }
    return {open, std::vector<std::string>(parts.size(), "")};
  }

  // In ns since 1970. Times of a runtime are such times, also where they are too small for a reader to be sure.
  static std::optional<int64_t> BaseOf(const PartReader& part) {
    const std::optional<int64_t> base_ns = part.IntegerFact("base_unix_ns");
    return base_ns ? base_ns : part.IntegerFact("base_source_ns");
  }

  static Status WriteList(std::string_view before, const std::vector<JsonMembers>& list, ExportOutput& output) {
    output.bytes() += before;
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) output.bytes() += ',';
      output.bytes() += '\n';
      list[i].AppendTo(output.bytes());
      RETURN_IF_ERROR(output.Step());
    }
    return OkStatus();
  }

  // Of several ranks' profiles the first: lines of two processes do not add up to one profile.
  Status ReadProfile() {
    for (const ExportPart& part : parts_) {
      if (!HasScaleneProfile(*part.reader)) continue;
      ASSIGN_OR_RETURN(profile_, ReadScaleneProfile(*part.reader));
      has_profile_ = true;
      profile_rank_ = part.rank();
      return OkStatus();
    }
    return OkStatus();
  }

  // Removes what an earlier merge added.
  void Forget() {
    for (ScaleneFile& file : profile_.files) {
      std::erase_if(file.functions, [](const JsonMembers& one) { return one.Find("nc_time_ms") != nullptr; });
      for (JsonMembers& line : file.lines) {
        for (const std::string_view key : kLineKeys) line.Remove(key);
      }
    }
  }

  void AddOverlaps() {
    const std::optional<double> absolute_s = profile_.members.Number("start_time_absolute");
    const std::optional<double> perf_s = profile_.members.Number("start_time_perf");
    if (running_.empty()) return;
    const bool has_clock = absolute_s && perf_s && *absolute_s > 0 && *perf_s != 0;
    Overlap whole;
    for (ScaleneFile& file : profile_.files) {
      if (!has_clock) break;
      for (JsonMembers& line : file.lines) {
        const Overlap overlap = OverlapOf(SampleTimes(line, *absolute_s, *perf_s), running_);
        if (overlap.samples == 0) continue;
        line.Set("cpu_samples_nc_overlap_percent", NumberJson(overlap.percent()));
        line.Set("cpu_samples_nc_overlap_count", overlap.count());
        line.Set("cpu_samples_total_count", std::to_string(overlap.samples));
        whole.samples += overlap.samples;
        whole.within += overlap.within;
      }
    }
    if (whole.samples == 0 && has_profile_) {
      watch_.note(
          "the Scalene profile has no times of its samples, as those of older releases have none: how much of a "
          "line's CPU time the device was busy is not known");
    }
    if (!has_clock) return;
    profile_.members.Set("cpu_samples_total_with_nc_overlap", whole.count());
    profile_.members.Set("cpu_samples_total", std::to_string(whole.samples));
    profile_.members.Set("cpu_samples_nc_overlap_percent_overall", NumberJson(whole.percent()));
  }

  void NoteUnusedMaps() const {
    for (const PathMap& map : profile_.UnusedMaps()) {
      const std::string which = "--map-path " + ClippedText(map.from, kShownPathBytes) + "=" +
                                ClippedText(map.to, kShownPathBytes) + " changes nothing: ";
      watch_.note(which + (profile_.files.empty() ? "the run has no Scalene profile with files"
                                                  : "no path of the Scalene profile begins so; its first file is " +
                                                        ClippedText(profile_.files.front().name, kShownPathBytes)));
    }
  }

  // A profile of another folder, or another container, has the same files under other paths: its lines and those of the
  // kernels then stand in files of their own.
  void NoteWhatIsNotJoined() const {
    std::set<std::string> called;
    for (const auto& [place, of] : lines_.places) {
      if (!place.file.empty()) called.insert(std::filesystem::path(place.file).lexically_normal().string());
    }
    const std::vector<std::string> sampled = profile_.Places();
    std::vector<std::string> apart;
    size_t joined = 0;
    std::string example;
    for (const std::string& file : called) {
      if (std::find(sampled.begin(), sampled.end(), file) != sampled.end()) {
        ++joined;
        continue;
      }
      apart.push_back(file);
      for (const std::string& other : sampled) {
        if (example.empty() && !called.contains(other)) example = MapBetween(other, file);
      }
    }
    if (apart.empty() || sampled.empty() || (joined > 0 && example.empty())) return;
    const std::string seen = std::to_string(sampled.size()) + " files of the Scalene profile (" +
                             ClippedText(sampled.front(), kShownPathBytes) + (sampled.size() > 1 ? ", ...)" : ")");
    watch_.note((joined == 0 ? "no file that calls kernels is among the "
                             : std::to_string(apart.size()) + " files that call kernels are not among the ") +
                seen + ", so these lines have no CPU times beside them: " +
                ClippedText(apart.front(), kShownPathBytes) + (apart.size() > 1 ? ", ..." : "") +
                "; if they are the same files, as seen in a container or from another folder: --map-path " +
                (example.empty() ? "FROM=TO" : example));
  }

  // "FROM=TO" where both paths end with the same steps; empty where not even their names are the same.
  static std::string MapBetween(std::string from, std::string to) {
    bool is_same = false;
    while (true) {
      const size_t from_slash = from.rfind('/');
      const size_t to_slash = to.rfind('/');
      const size_t from_step = from_slash == std::string::npos ? 0 : from_slash;
      if (to_slash == std::string::npos || to.substr(to_slash + 1) != from.substr(from_step + (from[from_step] == '/')))
        break;
      is_same = true;
      to.resize(to_slash);
      if (from_slash == std::string::npos) {
        from = ".";
        break;
      }
      from.resize(from_slash);
      if (from.empty() || to.empty()) break;
    }
    if (!is_same) return "";
    return (from.empty() ? "/" : from) + "=" + (to.empty() ? "/" : to);
  }

  void AddLines() {
    std::map<std::pair<std::string, int64_t>, NeuronSums> sums;
    for (const auto& [place, of] : lines_.places) {
      if (!place.file.empty()) sums[{place.file, std::max<int64_t>(place.line, 1)}].Add(of);
    }
    for (const auto& [place, of] : sums) {
      SetTimes(of, lines_.totals.all, profile_.FileAt(place.first).LineAt(place.second));
    }
  }

  // A kernel that several lines call stands once in each file.
  void AddFunctions() {
    std::map<std::pair<std::string, std::string>, std::pair<NeuronSums, int64_t>> kernels;  // with the first line
    for (const auto& [place, of] : lines_.places) {
      if (place.file.empty()) {
        nowhere_.Add(of);
        continue;
      }
      auto& [sums, line] = kernels[{place.file, place.kernel}];
      sums.Add(of);
      line = line == 0 ? place.line : std::min(line, place.line);
    }
    for (const auto& [name, of] : kernels) {
      JsonMembers& function =
          profile_.FileAt(name.first).functions.emplace_back(EmptyScaleneLine(name.second, of.second, true));
      SetTimes(of.first, lines_.totals.all, function);
    }
  }

  // Scalene names the file that it was given, which is the recorder of kernel calls: the program is what that ran.
  void SetProgram() {
    const std::string* const named = profile_.members.Find("program");
    const bool is_recorder = named != nullptr && named->ends_with("/kprof/neuron.py\"");
    for (const ExportPart& part : parts_) {
      const std::optional<std::string> program = part.reader->TextFact("neuron.program");
      if (!program || (has_profile_ && (!is_recorder || part.rank() != profile_rank_))) continue;
      profile_.members.Set("program", Quoted(*program));
      return;
    }
  }

  void AddTotals() {
    const NeuronTotals& totals = lines_.totals;
    const auto ms = [](int64_t ns) { return NumberJson(static_cast<double>(ns) / kNsPerMs); };
    JsonMembers& members = profile_.members;
    if (!has_profile_) {
      members.Set("elapsed_time_sec", NumberJson(static_cast<double>(wall_ns_) / kNsPerSecond));
      if (begun_unix_ns_)
        members.Set("start_time_absolute", NumberJson(static_cast<double>(*begun_unix_ns_) / kNsPerSecond));
    }
    SetProgram();
    members.Set("neuron_total_nc_time_ms", ms(totals.all.nc_ns));
    members.Set("neuron_total_time_ms", ms(totals.all.nrt_ns));
    members.Set("neuron_nc_event_count", std::to_string(totals.all.executions));
    members.Set("neuron_event_count", std::to_string(totals.all.host_calls));
    members.Set("neuron_unattributed_nc_time_ms", ms(totals.unattributed.nc_ns + nowhere_.nc_ns));
    members.Set("neuron_unattributed_nrt_time_ms", ms(totals.unattributed.nrt_ns + nowhere_.nrt_ns));
    members.Set("neuron_dropped_events", std::to_string(totals.dropped_events));
  }

  const std::span<const ExportPart> parts_;
  const AnalysisTraces traces_;
  const ExportWatch& watch_;
  const StopSignal stop_;
  ScaleneProfile profile_;
  bool has_profile_ = false;
  std::optional<int64_t> profile_rank_;
  NeuronLines lines_;
  NeuronSums nowhere_;    // of calls whose place nobody knows
  RunningCores running_;  // in ns since 1970
  int64_t wall_ns_ = 0;   // the longest of any rank
  std::optional<int64_t> begun_unix_ns_;
};

}  // namespace

Status ExportScalene(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch) {
  ScaleneMerge merge(parts, watch);
  RETURN_IF_ERROR(merge.Merge());
  ExportOutput output(sink, watch, 0);
  return merge.Write(output);
}

}  // namespace kprof
