#include "daemon/analysis/functions/kernel_reports/stage_costs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostStages = 256;
constexpr size_t kMostStageBytes = size_t{64} << 10;

Status BadStages(const std::string& why) {
  return Fail(ErrorCode::kUsage, "read stages", why,
              R"(write {"STAGE": {"flops": NUMBER, "bytes": NUMBER, "dtype": "bf16"}, ...})");
}

// As the table of peaks calls it: frameworks say bfloat16, torch.float16, float8_e4m3fn.
std::string PeakDtype(std::string dtype) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"},   {"float32", "fp32"},
      {"float", "fp32"},    {"float64", "fp64"}, {"double", "fp64"}, {"tfloat32", "tf32"}};
  if (dtype.starts_with("torch.")) dtype.erase(0, 6);
  if (dtype.starts_with("float8_")) return "fp8";
  for (const auto& [name, of_peaks] : kNames) {
    if (dtype == name) return std::string(of_peaks);
  }
  return dtype;
}

// Reads an object of objects of numbers and strings, and no more of JSON than that.
class StageText {
 public:
  explicit StageText(std::string_view text) : text_(text) {}

  Result<std::vector<StageCost>> Read() {
    std::vector<StageCost> stages;
    RETURN_IF_ERROR(ReadMembers([&](std::string name) -> Status {
      if (stages.size() == kMostStages) return Bad("there are more than " + std::to_string(kMostStages) + " stages");
      if (name.empty()) return Bad("a stage has no name");
      for (const StageCost& known : stages) {
        if (known.stage == name) return Bad("stage '" + ReadableText(name) + "' is there twice");
      }
      stages.push_back({.stage = std::move(name)});
      return ReadMembers([&](const std::string& member) { return ReadMember(member, stages.back()); });
    }));
    SkipSpace();
    if (at_ < text_.size()) return Bad("something stands behind it");
    if (stages.empty()) return Bad("there are none");
    return stages;
  }

 private:
  Status Bad(const std::string& why) const { return BadStages("at byte " + std::to_string(at_) + ": " + why); }
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  template <typename See>
  Status ReadMembers(const See& see) {
    if (!Take('{')) return Bad("an object must begin here");
    if (Take('}')) return OkStatus();
    do {
      ASSIGN_OR_RETURN(std::string name, ReadText());
      if (!Take(':')) return Bad("a ':' is missing");
      RETURN_IF_ERROR(see(std::move(name)));
    } while (Take(','));
    return Take('}') ? OkStatus() : Bad("a '}' is missing");
  }

  Status ReadMember(const std::string& member, StageCost& stage) {
    if (member == "dtype") {
      ASSIGN_OR_RETURN(std::string dtype, ReadText());
      stage.dtype = PeakDtype(std::move(dtype));
      return OkStatus();
    }
    std::optional<double>* const number = member == "flops"   ? &stage.flops
                                          : member == "bytes" ? &stage.bytes
                                          : member == "times" ? &stage.times
                                                              : nullptr;
    if (number == nullptr) {
      return Bad("a stage has no member '" + ReadableText(member) + "': flops, bytes, dtype, times");
    }
    SkipSpace();
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return Bad(member + " must be a number from 0 on");
    at_ = static_cast<size_t>(end - text_.data());
    *number = value;
    return OkStatus();
  }

  Result<std::string> ReadText() {
    if (!Take('"')) return Bad("a text in double quotes must begin here");
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (static_cast<unsigned char>(c) < ' ') return Bad("a control character stands in a text");
      if (c == '\\') {
        const char escaped = at_ < text_.size() ? text_[at_++] : '\0';
        if (escaped != '"' && escaped != '\\' && escaped != '/') return Bad("this escape is not known here");
        c = escaped;
      }
      text += c;
    }
    if (!Take('"')) return Bad("a text does not end");
    return text;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

// "outer/attention/inner" has "attention".
bool HasRange(std::string_view ranges, std::string_view name) {
  if (name.find('/') != name.npos) return ranges == name || ranges.ends_with("/" + std::string(name));
  while (!ranges.empty()) {
    const std::string_view one = ranges.substr(0, ranges.find('/'));
    if (one == name) return true;
    ranges.remove_prefix(std::min(ranges.size(), one.size() + 1));
  }
  return false;
}

// The name without its parameters and namespaces: "void ns::f<int>(int*)" is f.
std::string_view BareName(std::string_view name) {
  size_t depth = 0;
  size_t begin = 0;
  size_t end = name.size();
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if ((c == '<' || c == '(') && depth++ == 0 && i > begin) {
      end = i;
      break;
    }
    if (c == ' ' || c == ':') begin = i + 1;
  }
  return name.substr(begin, end - begin);
}

}  // namespace

Result<std::vector<StageCost>> ReadStageCosts(std::string_view text) {
  if (text.size() > kMostStageBytes) return BadStages("they have more than 64 KiB");
  return StageText(text).Read();
}

std::vector<StageLaunches> FindStage(const KernelReports& reports, const StageCost& stage) {
  std::vector<uint8_t> has_range(reports.ranges().size());
  for (size_t i = 0; i < has_range.size(); ++i) has_range[i] = HasRange(reports.ranges()[i], stage.stage);
  using Accepts = bool (*)(const ReportKernel& kernel, const std::string& name);
  constexpr std::pair<std::string_view, Accepts> kWays[] = {
      {"range", nullptr},
      {"function",
       [](const ReportKernel& kernel, const std::string& name) {
         return kernel.name == name || kernel.function == name || BareName(kernel.name) == name;
       }},
      {"name", [](const ReportKernel& kernel, const std::string& name) { return kernel.name.find(name) != name.npos; }},
  };
  for (const auto& [way, accepts] : kWays) {
    std::map<std::pair<std::string, std::optional<int64_t>>, StageLaunches> found;
    for (const ReportKernel& kernel : reports.kernels()) {
      size_t of_kernel = 0;
      double ns = 0;
      std::vector<size_t> launches;
      for (const size_t launch : kernel.launches) {
        const bool is_of_stage =
            accepts == nullptr ? has_range[reports.launches()[launch].range] != 0 : accepts(kernel, stage.stage);
        if (!is_of_stage) continue;
        ++of_kernel;
        ns += reports.DurationNs(launch).value_or(0);
        launches.push_back(launch);
      }
      if (of_kernel == 0) continue;
      StageLaunches& of = found[{kernel.run, kernel.rank}];
      of.run = kernel.run;
      of.rank = kernel.rank;
      of.found_by = way;
      if (of.longest == nullptr) of.longest = &kernel;  // the longest kernels come first
      of.launches.insert(of.launches.end(), launches.begin(), launches.end());
      ++of.kernels;
      of.ns += ns;
      const auto times = static_cast<double>(of_kernel);
      of.times = of.times == 0 ? times : std::min(of.times, times);
    }
    if (found.empty()) continue;
    std::vector<StageLaunches> stages;
    for (auto& [key, of] : found) {
      if (stage.times && *stage.times > 0) of.times = *stage.times;
      stages.push_back(std::move(of));
    }
    return stages;
  }
  return {};
}

}  // namespace kprof
