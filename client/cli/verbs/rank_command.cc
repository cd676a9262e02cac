#include "client/cli/verbs/rank_command.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "client/cli/grammar/verb_set.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr int64_t kMostRanks = 1 << 20;
constexpr int kMostCoreNumber = 1 << 16;
constexpr size_t kShownValueBytes = 80;

// One that is not there is `usual`.
Result<int64_t> RankNumber(const ReadVariable& read, const char* name, int64_t usual) {
  const std::optional<std::string> text = read(name);
  if (!text || text->empty()) return usual;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error == std::errc() && end == text->data() + text->size() && number >= 0 && number <= kMostRanks) return number;
  return Usage(std::string(name) + " is '" + ClippedText(*text, kShownValueBytes) + "', which is no rank or count",
               "start it by torchrun --no-python, or set RANK, LOCAL_RANK and WORLD_SIZE to numbers");
}

std::optional<int> CoreNumber(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_one = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_one && number <= kMostCoreNumber ? std::optional(number) : std::nullopt;
}

std::string CoreList(const std::vector<int>& cores) {
  std::string text;
  for (const int core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

// As the launcher calls it, else where its ranks meet.
std::string JobName(const ReadVariable& read) {
  std::string id = read("TORCHELASTIC_RUN_ID").value_or("");
  if (!id.empty() && id != "none") return id;  // torchrun's word for an id that nobody gave
  const std::string address = read("MASTER_ADDR").value_or("");
  const std::string port = read("MASTER_PORT").value_or("");
  return address + (address.empty() || port.empty() ? "" : ":" + port);
}

bool IsPython(const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

}  // namespace

Result<RankOfJob> ReadRankOfJob(const ReadVariable& read, const std::string& launched) {
  RankOfJob job;
  ASSIGN_OR_RETURN(job.rank, RankNumber(read, "RANK", 0));
  ASSIGN_OR_RETURN(job.ranks, RankNumber(read, "WORLD_SIZE", 1));
  ASSIGN_OR_RETURN(job.local_rank, RankNumber(read, "LOCAL_RANK", 0));
  ASSIGN_OR_RETURN(job.local_ranks, RankNumber(read, "LOCAL_WORLD_SIZE", std::max(job.local_rank + 1, job.ranks)));
  if (job.rank >= job.ranks || job.local_rank >= job.local_ranks) {
    return Usage("rank " + std::to_string(job.rank) + " (" + std::to_string(job.local_rank) + " here) is not one of " +
                     std::to_string(job.ranks) + " ranks (" + std::to_string(job.local_ranks) + " here)",
                 "check RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE");
  }
  ASSIGN_OR_RETURN(job.restart, RankNumber(read, "TORCHELASTIC_RESTART_COUNT", 0));
  job.job = JobName(read);
  const bool are_all_here = job.local_ranks == job.ranks;
  if (read("RANK") && are_all_here && !launched.empty()) job.job += (job.job.empty() ? "" : "/") + launched;
  if (job.restart > 0 && !job.job.empty()) job.job += "/restart" + std::to_string(job.restart);
  return job;
}

std::optional<std::vector<int>> CoreNumbers(const std::string& text) {
  std::vector<int> cores;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (part.empty()) continue;
    const size_t dash = part.find('-');
    const std::optional<int> first = CoreNumber(part.substr(0, dash));
    const std::optional<int> last = dash == std::string_view::npos ? first : CoreNumber(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
  }
  return cores;
}

Result<RankPlace> PlaceOfRank(const RankOfJob& rank, const std::vector<LeasableDevice>& devices,
                              const std::string& visible, std::optional<bool> gave_cores) {
  std::vector<int> all;
  bool has_others = false;
  for (const LeasableDevice& device : devices) {
    all.insert(all.end(), device.cores.begin(), device.cores.end());
    has_others |= device.kind != "cpu" && device.kind != "neuron";
  }
  std::sort(all.begin(), all.end());
  if (all.empty()) {
    if (!has_others) return RankPlace{.device = "none", .cores = {}};
    return Usage("this node has no Neuron devices, and which of its others a rank takes is not known here",
                 "name it: --device");
  }
  if (!visible.empty()) {
    const std::optional<std::vector<int>> named = CoreNumbers(visible);
    if (!named) {
      return Usage(
          "NEURON_RT_VISIBLE_CORES is '" + ClippedText(visible, kShownValueBytes) + "', which is no list of cores",
          "write it like 0-3 or 0,2");
    }
    std::erase_if(all, [&](int core) { return std::find(named->begin(), named->end(), core) == named->end(); });
  }
  const auto ranks = static_cast<size_t>(rank.local_ranks);
  const bool is_given = ranks > 1 && !visible.empty() && !all.empty() && gave_cores.value_or(all.size() < ranks);
  if (!is_given && (all.empty() || all.size() % ranks != 0)) {
    return Usage(
        (visible.empty() ? std::to_string(all.size()) + " NeuronCores"
                         : "the " + std::to_string(all.size()) + " NeuronCores of this node that " +
                               "NEURON_RT_VISIBLE_CORES=" + ClippedText(visible, kShownValueBytes) + " names") +
            " cannot be shared out to " + std::to_string(ranks) + " ranks",
        visible.empty()
            ? "start as many ranks as divide the cores, or name those of all ranks in NEURON_RT_VISIBLE_CORES"
            : "name as many cores for each rank, or start fewer ranks");
  }
  RankPlace place;
  if (is_given) {
    place.cores = all;
  } else {
    const size_t share = all.size() / ranks;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<size_t>(rank.local_rank));
    place.cores.assign(begin, begin + static_cast<std::ptrdiff_t>(share));
  }
  const std::set<int> own(place.cores.begin(), place.cores.end());
  for (const LeasableDevice& device : devices) {
    // The job's first core of the device: the rank that has it leases the device for all that share it. The cores that
    // a launcher gave to the other ranks are not known here: then it is the device's own first.
    const auto first = std::find_if(device.cores.begin(), device.cores.end(), [&](int core) {
      return is_given || std::find(all.begin(), all.end(), core) != all.end();
    });
    if (first == device.cores.end() || !own.contains(*first)) continue;
    place.device += (place.device.empty() ? "" : ",") + device.id;
  }
  place.sets_cores = place.device.empty();
  if (place.device.empty()) place.device = "none";
  return place;
}

std::vector<std::string> InterpreterOf(const std::vector<std::string>& command) {
  if (command.empty() || !IsPython(command[0])) return {};
  size_t at = 1;
  while (at < command.size() && command[at].starts_with('-') && command[at] != "-" && command[at] != "-m" &&
         !command[at].starts_with("-c")) {
    const bool takes_value = command[at] == "-W" || command[at] == "-X" || command[at] == "--check-hash-based-pycs";
    at += takes_value ? 2 : 1;
  }
  return {command.begin(), command.begin() + static_cast<std::ptrdiff_t>(std::min(at, command.size()))};
}

Result<std::vector<std::string>> WithRecorder(const std::vector<std::string>& command, const std::string& recorder,
                                              const std::vector<std::string>& recorder_options) {
  std::vector<std::string> words = InterpreterOf(command);
  if (words.empty()) return command;
  const size_t at = words.size();
  if (at < command.size() && command[at].starts_with("-c")) {
    return Usage("kernel calls of 'python -c' cannot be told by file and line", "put the program into a file");
  }
  if (at >= command.size() || command[at] == "-") {
    return Usage("there is no program for Python to run", "write it after --: kprofctl rank-exec -- python train.py");
  }
  words.push_back(recorder);
  words.insert(words.end(), recorder_options.begin(), recorder_options.end());
  words.insert(words.end(), command.begin() + static_cast<std::ptrdiff_t>(at), command.end());
  return words;
}

std::vector<std::string> RankCaptureWords(const RankExecArgs& args, const RankOfJob& rank, const RankPlace& place,
                                          const std::vector<std::string>& command) {
  std::vector<std::string> words = {"capture", "command", "--device", args.device.empty() ? place.device : args.device};
  const auto label = [&words](const std::string& name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {"--label", name + "=" + value});
  };
  label("job", args.job.empty() ? rank.job : args.job);
  label("rank", std::to_string(rank.rank));
  label("world_size", std::to_string(rank.ranks));
  label("local_rank", std::to_string(rank.local_rank));
  if (rank.restart > 0) label("restart", std::to_string(rank.restart));
  for (const auto& [name, value] : args.labels) label(name, value);
  words.insert(words.end(), {"--queue-timeout", args.queue_timeout});
  if (!args.timeout.empty()) words.insert(words.end(), {"--timeout", args.timeout});
  if (args.quiet) words.emplace_back("--quiet");
  words.emplace_back("--");
  if (place.sets_cores && args.device.empty()) {
    words.insert(words.end(), {"/usr/bin/env", "NEURON_RT_VISIBLE_CORES=" + CoreList(place.cores)});
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace kprof::cli
