#include "daemon/launch/given/stage_costs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "daemon/launch/given/json_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostStages = 256;
constexpr size_t kMostNameBytes = 1000;
constexpr size_t kMostDtypeBytes = 64;
constexpr size_t kShownNameBytes = 80;

using Kind = GivenJson::Kind;

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

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// The member that a word stands for: itself, or one of another case or without the s. Empty: it is none of ours.
std::string_view MeantMember(std::string_view member) {
  if (member == "times") return "times";
  std::string stem(member);
  for (char& c : stem) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  if (stem.ends_with('s')) stem.pop_back();
  return stem == "flop" ? "flops" : stem == "byte" ? "bytes" : stem == "dtype" ? "dtype" : "";
}

// The dtype of all stages in an object around them; empty: it tells none.
std::string DtypeAround(const GivenJson& json) {
  const GivenJson* dtype = json.Find("dtype");
  const bool is_one = dtype != nullptr && dtype->kind == Kind::kText && dtype->text.size() <= kMostDtypeBytes;
  return is_one ? dtype->text : "";
}

// Null: `params` name no stages.
const GivenJson* StagesOfParams(const GivenJson& params) {
  const GivenJson* stages = params.Find("stages");
  if (stages == nullptr) return nullptr;
  const bool is_list = stages->kind == Kind::kList && !stages->items.empty() && stages->items[0].kind == Kind::kObject;
  return is_list || stages->kind == Kind::kObject ? stages : nullptr;
}

class StageReader {
 public:
  explicit StageReader(const std::string& what) : what_(what) {}

  Result<std::vector<StageCost>> Read(const GivenJson& json) {
    const GivenJson* const within = json.Find("stages");
    const GivenJson& stages = within == nullptr ? json : *within;
    if (within != nullptr) dtype_ = PeakDtype(DtypeAround(json));
    if (stages.kind != Kind::kObject && stages.kind != Kind::kList) {
      return Bad(stages, "stages are an object or a list of objects");
    }
    for (size_t i = 0; i < stages.items.size(); ++i) {
      const GivenJson& stage = stages.items[i];
      if (stages.kind == Kind::kObject) {
        RETURN_IF_ERROR(Add(stages.names[i], stage));
        continue;
      }
      const GivenJson* name = stage.Find("name");
      if (name == nullptr || name->kind != Kind::kText) return Bad(stage, "a stage of a list has no text as its name");
      RETURN_IF_ERROR(Add(name->text, stage));
    }
    if (costs_.empty()) return Bad(stages, "it names no stage");
    return std::move(costs_);
  }

 private:
  Status Bad(const GivenJson& at, const std::string& why) const {
    return Fail(ErrorCode::kUsage, "read " + what_, "byte " + std::to_string(at.at) + ": " + why,
                R"(write {"STAGE": {"flops": NUMBER, "bytes": NUMBER, "dtype": "bf16"}, ...}, or a list with names)");
  }

  Status Add(const std::string& name, const GivenJson& stage) {
    if (costs_.size() == kMostStages) return Bad(stage, "there are more than " + std::to_string(kMostStages));
    if (name.empty() || name.size() > kMostNameBytes || HasControl(name)) {
      return Bad(stage, "a stage's name is empty, too long, or of several lines");
    }
    const std::string shown = "stage '" + ClippedText(name, kShownNameBytes) + "'";
    const auto is_same = [&](const StageCost& known) { return known.stage == name; };
    if (std::any_of(costs_.begin(), costs_.end(), is_same)) return Bad(stage, shown + " is there twice");
    if (stage.kind != Kind::kObject) return Bad(stage, shown + " is no object");
    StageCost cost{.stage = name, .flops = {}, .bytes = {}, .dtype = dtype_, .times = {}};
    for (size_t i = 0; i < stage.names.size(); ++i) {
      RETURN_IF_ERROR(AddMember(stage.names[i], stage.items[i], shown, cost));
    }
    costs_.push_back(std::move(cost));
    return OkStatus();
  }

  Status AddMember(const std::string& member, const GivenJson& value, const std::string& of, StageCost& cost) const {
    const std::string_view meant = MeantMember(member);
    if (meant.empty()) return OkStatus();
    if (member != meant) return Bad(value, of + " has '" + ReadableText(member) + "': " + std::string(meant) + "?");
    if (value.kind == Kind::kNull) return OkStatus();
    if (meant == "dtype") {
      if (value.kind != Kind::kText || value.text.size() > kMostDtypeBytes || HasControl(value.text)) {
        return Bad(value, "the dtype of " + of + " is no short text");
      }
      if (!value.text.empty()) cost.dtype = PeakDtype(value.text);
      return OkStatus();
    }
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [at, error] = std::from_chars(value.text.data(), end, number);
    if (value.kind != Kind::kNumber || error != std::errc() || at != end || !std::isfinite(number) || number < 0) {
      return Bad(value, member + " of " + of + " must be a number from 0 on");
    }
    (meant == "flops" ? cost.flops : meant == "bytes" ? cost.bytes : cost.times) = number;
    return OkStatus();
  }

  const std::string& what_;
  std::string dtype_;  // of stages that have none
  std::vector<StageCost> costs_;
};

}  // namespace

Result<std::vector<StageCost>> ReadStageCosts(std::string_view text, const std::string& what) {
  ASSIGN_OR_RETURN(const GivenJson json, ReadJson(text, what));
  return StageReader(what).Read(json);
}

Result<std::vector<StageCost>> ReadGivenStages(std::string_view stages, std::string_view params) {
  GivenJson parameters;
  if (!params.empty()) {
    ASSIGN_OR_RETURN(parameters, ReadJson(params, "--params"));
  }
  std::vector<StageCost> costs;
  if (!stages.empty()) {
    ASSIGN_OR_RETURN(costs, ReadStageCosts(stages, "--stages"));
    const std::string dtype = PeakDtype(DtypeAround(parameters));
    for (StageCost& cost : costs) {
      if (cost.dtype.empty()) cost.dtype = dtype;
    }
  } else if (StagesOfParams(parameters) != nullptr) {
    const std::string what = "--params";
    ASSIGN_OR_RETURN(costs, StageReader(what).Read(parameters));
  }
  return costs;
}

Result<std::string> GivenStagesText(std::string_view stages, std::string_view params) {
  GivenJson parameters;
  if (Result<GivenJson> read = ReadJson(params, "params.json"); read.ok()) parameters = *std::move(read);
  GivenJson given;
  const GivenJson* found = StagesOfParams(parameters);
  std::string dtype;
  if (!stages.empty()) {
    ASSIGN_OR_RETURN(given, ReadJson(stages, "stages.json"));
    found = given.Find("stages");
    if (found == nullptr) {
      found = &given;
    } else {
      dtype = DtypeAround(given);
    }
  }
  if (found == nullptr) return std::string();
  if (dtype.empty()) dtype = DtypeAround(parameters);
  return "{" + (dtype.empty() ? std::string() : "\"dtype\":" + JsonQuoted(dtype) + ",") +
         "\"stages\":" + JsonOf(*found) + "}";
}

}  // namespace kprof
