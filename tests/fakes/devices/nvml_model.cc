#include "tests/fakes/devices/nvml_model.h"

#include <cstdio>
#include <sstream>

#include "tests/stand_ins/nvml/commands.h"
#include "tests/stand_ins/nvml/model_file.h"
#include "tests/stand_ins/nvml/setter_journal.h"

namespace kprof {
namespace {

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void CheckRight(const std::string& command, const std::string& wrong) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "NvmlModel: %s: %s\n", command.c_str(), wrong.c_str());
  KPROF_CHECK(wrong.empty());
}

}  // namespace

NvmlModel::NvmlModel(const std::string& profiles) : path_(folder_ / "nvml.model") {
  CheckRight("create it with " + profiles, nvml_stand_in::CreateModel(path_, profiles));
  const nvml_stand_in::MappedModel mapped = nvml_stand_in::MapModel(path_);
  CheckRight("map it", mapped.why);
  model_ = mapped.model;
}

NvmlModel::~NvmlModel() {
  nvml_stand_in::UnmapModel(model_);
}

std::string NvmlModel::Environment() const {
  return std::string(nvml_stand_in::kModelVariable) + "=" + path_;
}

void NvmlModel::Set(unsigned device, const std::string& command) {
  SetFor(std::to_string(device), command);
}

void NvmlModel::SetAll(const std::string& command) {
  SetFor("all", command);
}

void NvmlModel::SetNode(const std::string& command) {
  SetFor("node", command);
}

void NvmlModel::SetFor(const std::string& target, const std::string& command) {
  CheckRight("set " + target + " " + command, nvml_stand_in::Set(*model_, target, WordsOf(command)));
}

void NvmlModel::TellEvent(unsigned device, const std::string& event) {
  CheckRight("event " + event, nvml_stand_in::TellEvent(*model_, std::to_string(device), WordsOf(event)));
}

NvmlState NvmlModel::State(unsigned device) {
  const nvml_stand_in::ModelLock lock(*model_);
  KPROF_CHECK(device < model_->device_count);
  const nvml_stand_in::Device& now = model_->devices[device];
  return {.locked_min = now.gpu_lock.min_mhz,
          .locked_max = now.gpu_lock.max_mhz,
          .locked_mem_min = now.memory_lock.min_mhz,
          .locked_mem_max = now.memory_lock.max_mhz,
          .persistence = now.persistence,
          .power_limit_mw = now.power_limit_mw,
          .app_graphics = now.app_graphics_mhz,
          .app_memory = now.app_memory_mhz,
          .app_clocks_are_set = now.app_clocks_are_set};
}

nvml_stand_in::Readings NvmlModel::Sensors(unsigned device) {
  const nvml_stand_in::ModelLock lock(*model_);
  KPROF_CHECK(device < model_->device_count);
  return nvml_stand_in::ReadSensors(model_->devices[device]);
}

std::string NvmlModel::Uuid(unsigned device) {
  const nvml_stand_in::ModelLock lock(*model_);
  KPROF_CHECK(device < model_->device_count);
  return model_->devices[device].uuid;
}

std::vector<NvmlCall> NvmlModel::Calls() {
  const nvml_stand_in::ModelLock lock(*model_);
  std::vector<NvmlCall> calls;
  for (const nvml_stand_in::SetterCall& call : nvml_stand_in::KeptCalls(*model_)) {
    calls.push_back({.sequence = call.sequence,
                     .mono_ns = call.mono_ns,
                     .pid = call.pid,
                     .device = call.device,
                     .function = nvml_stand_in::FunctionName(call.function),
                     .first = call.first,
                     .second = call.second,
                     .returned = call.returned});
  }
  return calls;
}

uint64_t NvmlModel::Count(const std::string& function) {
  const auto found = nvml_stand_in::FindFunction(function);
  KPROF_CHECK(found.has_value());
  const nvml_stand_in::ModelLock lock(*model_);
  return model_->counts[static_cast<unsigned>(*found)];
}

}  // namespace kprof
