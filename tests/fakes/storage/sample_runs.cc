#include "tests/fakes/storage/sample_runs.h"

#include <cmath>
#include <limits>

namespace kprof {
namespace {

int64_t RandomInteger(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return static_cast<int64_t>(random() % 1000);
    case 2:
      return std::numeric_limits<int64_t>::min();
    default:
      return static_cast<int64_t>(random());
  }
}

std::optional<int64_t> MaybeInteger(std::mt19937_64& random) {
  if (random() % 2 == 0) return std::nullopt;
  return RandomInteger(random);
}

// Any bytes but those that `without` names.
std::string RandomText(std::mt19937_64& random, std::string_view without = {}) {
  std::string text;
  size_t size = random() % 50 == 0 ? 10'000 : random() % 20;
  while (text.size() < size) {
    char c = random() % 2 == 0 ? static_cast<char>(random()) : static_cast<char>('a' + random() % 26);
    if (without.find(c) == without.npos) text.push_back(c);
  }
  return text;
}

constexpr std::string_view kZero("\0", 1);
constexpr std::string_view kZeroAndEquals("\0=", 2);

}  // namespace

RunRow SampleRun(const std::string& id) {
  RunRow run;
  run.id = id;
  run.uid = 1000;
  run.tool = "command";
  run.argv = {"/bin/true"};
  run.cwd = "/";
  run.devices = {"cpu"};
  run.queued_ns = 1'700'000'000'000'000'000;
  return run;
}

RunRow EndedRun(const std::string& id, int64_t ended_ns, int64_t artifact_bytes) {
  RunRow run = SampleRun(id);
  run.state = RunState::kDone;
  run.started_ns = ended_ns;
  run.ended_ns = ended_ns;
  run.exit_code = 0;
  run.artifacts = {{"report", artifact_bytes, "00"}};
  return run;
}

RunRow RandomRun(std::mt19937_64& random, const std::string& id) {
  RunRow run;
  run.id = id;
  run.uid = static_cast<uint32_t>(random());
  run.tool = RandomText(random);
  run.state = static_cast<RunState>(random() % 7);
  for (uint64_t i = random() % 5; i > 0; --i) run.argv.push_back(RandomText(random, kZero));
  run.cwd = RandomText(random);
  for (uint64_t i = random() % 5; i > 0; --i) {
    run.environment.emplace_back(RandomText(random, kZeroAndEquals), RandomText(random, kZero));
  }
  for (uint64_t i = random() % 4; i > 0; --i) run.labels[RandomText(random)] = RandomText(random);
  for (uint64_t i = random() % 4; i > 0; --i) run.devices.push_back(RandomText(random));
  run.pinned = random() % 2 == 0;
  run.shared = random() % 2 == 0;
  run.attached = random() % 2 == 0;
  if (random() % 2 == 0) run.idempotency_key = id + RandomText(random);
  if (random() % 2 == 0) {
    run.session_id = id + RandomText(random);
    run.round = RandomInteger(random);
  }
  run.priority = RandomInteger(random);
  run.starter = static_cast<RunStarter>(random() % 3);
  run.timeout_ms = RandomInteger(random);
  run.queue_timeout_ms = RandomInteger(random);
  run.queued_ns = RandomInteger(random);
  run.started_ns = MaybeInteger(random);
  run.ended_ns = MaybeInteger(random);
  run.exit_code = MaybeInteger(random);
  run.signal = MaybeInteger(random);
  if (random() % 2 == 0) run.error = RunError{RandomText(random), RandomText(random), RandomText(random)};
  run.clocks = RandomText(random);
  run.cool_down_ms = RandomInteger(random);
  run.exclusive = random() % 2 == 0;
  if (random() % 2 == 0) {
    run.verdict = RunVerdict{RandomText(random), 0.5, std::nullopt, 1.25, {"noise_high", "drift"}};
    if (random() % 2 == 0) run.verdict->reasons.clear();
  }
  run.stdout_bytes = RandomInteger(random);
  run.stdout_dropped_bytes = RandomInteger(random);
  run.stderr_bytes = RandomInteger(random);
  run.stderr_dropped_bytes = RandomInteger(random);
  for (uint64_t i = random() % 4; i > 0; --i) run.trust.push_back({RandomText(random), RandomText(random)});
  for (uint64_t i = 0; i < random() % 4; ++i) {
    // By name, as they are read back.
    run.artifacts.push_back(
        {std::to_string(i) + RandomText(random), static_cast<int64_t>(random() % 100'000'000), RandomText(random)});
  }
  for (uint64_t i = random() % 6; i > 0; --i) {
    MetricRow metric;
    metric.name = RandomText(random);
    metric.value = random() % 10 == 0
                       ? std::numeric_limits<double>::infinity()
                       : std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
    metric.unit = RandomText(random);
    metric.kernel = RandomText(random);
    metric.launch = MaybeInteger(random);
    run.metrics.push_back(std::move(metric));
  }
  return run;
}

}  // namespace kprof
