// nvml_stand_in: creates the file that the stand-in for NVML answers from, scripts it, and shows it. Exit status: 2 for
// a command that makes no sense, 1 for one that fails.
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/stand_ins/nvml/commands.h"
#include "tests/stand_ins/nvml/model_file.h"
#include "tests/stand_ins/nvml/model_json.h"
#include "tests/stand_ins/nvml/profiles.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

int Misused(const std::string& why) {
  std::fprintf(stderr, "nvml_stand_in: %s\nnvml_stand_in --help says what there is\n", why.c_str());
  return kMisused;
}

int Help() {
  std::printf(
      "usage: nvml_stand_in FILE init PROFILE[,PROFILE...]\n"
      "       nvml_stand_in FILE set DEVICE KEY VALUE...     DEVICE: a number, all, or node\n"
      "       nvml_stand_in FILE event DEVICE xid N|double_bit_ecc|clock [GPU_INSTANCE COMPUTE_INSTANCE]\n"
      "       nvml_stand_in FILE show [DEVICE]               as JSON\n"
      "       nvml_stand_in FILE calls                       setter calls, a line of JSON each\n"
      "       nvml_stand_in FILE counts                      calls of each function, as JSON\n"
      "profiles: %s\nkeys %s",
      ProfileNames().c_str(), KeysText().c_str());
  return 0;
}

int Init(const std::string& path, const std::vector<std::string>& words) {
  if (words.size() != 1) return Misused("init takes profiles, with commas between them");
  // What is wrong is a profile's name or the file; only the first is misuse.
  for (size_t begin = 0; begin <= words[0].size();) {
    const size_t end = std::min(words[0].find(',', begin), words[0].size());
    Device ignored{};
    const std::string profile = words[0].substr(begin, end - begin);
    if (!FillDevice(profile, 0, ignored)) {
      return Misused("there is no profile '" + profile + "'; there are " + ProfileNames());
    }
    begin = end + 1;
  }
  const std::string wrong = CreateModel(path, words[0]);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "nvml_stand_in: %s\n", wrong.c_str());
  return kFailed;
}

int Show(Model& model, const std::vector<std::string>& words) {
  if (words.size() > 1) return Misused("show takes one device, or none");
  if (words.empty()) {
    std::printf("%s\n", ModelJson(model).c_str());
    return 0;
  }
  unsigned slot = 0;
  const char* const end = words[0].data() + words[0].size();
  const auto [stopped, error] = std::from_chars(words[0].data(), end, slot);
  if (error != std::errc() || stopped != end || slot >= model.device_count) {
    return Misused("there is no device '" + words[0] + "'; there are 0 to " + std::to_string(model.device_count - 1));
  }
  std::printf("%s\n", DeviceJson(model, slot).c_str());
  return 0;
}

int Run(const std::string& path, const std::string& command, std::vector<std::string> words) {
  if (command == "init") return Init(path, words);
  const bool has_device = command == "set" || command == "event";
  if (!has_device && command != "show" && command != "calls" && command != "counts") {
    return Misused("there is no command '" + command + "'");
  }
  const MappedModel mapped = MapModel(path);
  if (mapped.model == nullptr) {
    std::fprintf(stderr, "nvml_stand_in: %s; nvml_stand_in FILE init PROFILE makes one\n", mapped.why.c_str());
    return kFailed;
  }
  Model& model = *mapped.model;
  if (has_device) {
    if (words.empty()) return Misused(command + " lacks a device");
    const std::string device = words.front();
    words.erase(words.begin());
    const std::string wrong = command == "set" ? Set(model, device, words) : TellEvent(model, device, words);
    return wrong.empty() ? 0 : Misused(wrong);
  }
  if (command == "show") return Show(model, words);
  if (!words.empty()) return Misused(command + " takes nothing more");
  std::printf("%s", command == "calls" ? CallsJson(model).c_str() : (CountsJson(model) + "\n").c_str());
  return 0;
}

}  // namespace
}  // namespace kprof::nvml_stand_in

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--help") return kprof::nvml_stand_in::Help();
  if (words.size() < 2) return kprof::nvml_stand_in::Misused("it takes a file and a command");
  return kprof::nvml_stand_in::Run(words[0], words[1], {words.begin() + 2, words.end()});
}
