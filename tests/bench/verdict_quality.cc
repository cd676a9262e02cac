// How often a verdict is right: machines with all kinds of noise are simulated, and two equal sides, or two that differ
// by a known ratio, are judged by our procedure and by three that are in use.
//
//     build/release/bin/bench_verdict_quality [TRIALS [RESAMPLES [NAME]]]     # 1000, 2000; rows whose name has NAME
//
// Ours looks as the daemon does: after 5, 7, 10... up to 56 blocks of four processes, and stops at a verdict. The
// others: the mean of 100 samples of one process each, the candidate's half a run after the baseline's, the smaller one
// is faster; Mann-Whitney at 5 % over all samples of the first 10 blocks, as if none depended on another; the bootstrap
// of the ratio of means over the same samples at 95 %, with a difference of less than 1 % taken for none.
//
// F, S, = and ? are the shares of FASTER, SLOWER, SAME and INCONCLUSIVE in percent.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/verdict/look_schedule.h"
#include "daemon/analysis/verdict/random_draws.h"
#include "daemon/analysis/verdict/verdict.h"
#include "tests/unit/verdict/made_samples.h"

namespace {

using namespace kprof;

constexpr int64_t kMostBlocks = 56;
constexpr int64_t kPooledBlocks = 10;
constexpr int kBootstrapTurns = 400;

struct Scenario {
  std::string name;
  MadeMachine machine;
  int64_t most_blocks = kMostBlocks;
};

struct Shares {
  std::array<int, 4> counts{};  // by VerdictKind
  double blocks = 0;

  void Add(VerdictKind kind) { ++counts[static_cast<size_t>(kind)]; }
};

double MeanOf(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

VerdictKind MeanOf100(const MadeMachine& machine, RandomDraws& draws) {
  MadeMachine longer = machine;
  longer.samples = 100;
  const double slow = draws.Unit() < 0.2 ? 1 + machine.throttle_both : 1;
  const double baseline = MeanOf(MadeProcess(longer, 0.2, slow, draws).ns);
  const double slow_later = draws.Unit() < 0.2 ? 1 + machine.throttle_both : 1;
  const double candidate = MeanOf(MadeProcess(longer, 0.7, slow_later * machine.ratio, draws).ns);
  return candidate < baseline ? VerdictKind::kFaster : VerdictKind::kSlower;
}

struct Pools {
  std::vector<double> candidate;
  std::vector<double> baseline;
};

Pools PoolsOf(const VerdictCase& measured, int64_t blocks) {
  Pools pools;
  for (int64_t i = 0; i < blocks && i < static_cast<int64_t>(measured.blocks.size()); ++i) {
    for (const ProcessSamples& process : measured.blocks[i].candidate) {
      pools.candidate.insert(pools.candidate.end(), process.ns.begin(), process.ns.end());
    }
    for (const ProcessSamples& process : measured.blocks[i].baseline) {
      pools.baseline.insert(pools.baseline.end(), process.ns.begin(), process.ns.end());
    }
  }
  return pools;
}

VerdictKind MannWhitney(const Pools& pools) {
  struct Value {
    double ns;
    bool is_candidate;
  };
  std::vector<Value> all;
  for (const double ns : pools.candidate) all.push_back({ns, true});
  for (const double ns : pools.baseline) all.push_back({ns, false});
  std::sort(all.begin(), all.end(), [](const Value& a, const Value& b) { return a.ns < b.ns; });
  const auto m = static_cast<double>(pools.candidate.size());
  const auto n = static_cast<double>(pools.baseline.size());
  double ranks = 0;
  double ties = 0;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].ns == all[begin].ns) ++end;
    const auto equal = static_cast<double>(end - begin);
    ties += equal * (equal * equal - 1);
    for (size_t i = begin; i < end; ++i) ranks += all[i].is_candidate ? static_cast<double>(begin + end + 1) / 2 : 0;
    begin = end;
  }
  const double u = ranks - m * (m + 1) / 2;
  const double variance = m * n / 12 * (m + n + 1 - ties / ((m + n) * (m + n - 1)));
  const double z = variance > 0 ? (u - m * n / 2) / std::sqrt(variance) : 0;
  if (std::erfc(std::abs(z) / std::numbers::sqrt2) >= 0.05) return VerdictKind::kInconclusive;
  return z < 0 ? VerdictKind::kFaster : VerdictKind::kSlower;
}

VerdictKind PooledBootstrap(const Pools& pools, RandomDraws& draws) {
  std::vector<double> ratios;
  const auto resampled_mean = [&](const std::vector<double>& values) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[draws.Below(values.size())];
    return sum / static_cast<double>(values.size());
  };
  for (int turn = 0; turn < kBootstrapTurns; ++turn) {
    ratios.push_back(resampled_mean(pools.candidate) / resampled_mean(pools.baseline));
  }
  std::sort(ratios.begin(), ratios.end());
  const double low = ratios[kBootstrapTurns / 40];
  const double high = ratios[kBootstrapTurns - 1 - kBootstrapTurns / 40];
  if (low <= 1 && high >= 1) return VerdictKind::kInconclusive;  // "no change was detected"
  if (low >= 0.99 && high <= 1.01) return VerdictKind::kSame;    // "within the noise threshold"
  if (high < 0.99) return VerdictKind::kFaster;
  if (low > 1.01) return VerdictKind::kSlower;
  return VerdictKind::kInconclusive;
}

VerdictKind Ours(const VerdictCase& measured, int64_t most_blocks, int64_t resamples, uint64_t seed, double& blocks) {
  VerdictRules rules;
  rules.most_looks = LooksUpTo(most_blocks);
  rules.resamples = resamples;
  rules.seed = seed;
  VerdictKind kind = VerdictKind::kInconclusive;
  for (int64_t look = 1; look <= rules.most_looks && kind == VerdictKind::kInconclusive; ++look) {
    VerdictCase seen;
    const auto size = static_cast<ptrdiff_t>(std::min(BlocksOfLook(look), most_blocks));
    seen.blocks.assign(measured.blocks.begin(), measured.blocks.begin() + size);
    kind = JudgeCases({seen}, rules).overall.verdict;
    if (kind != VerdictKind::kInconclusive || look == rules.most_looks) blocks += static_cast<double>(size);
  }
  return kind;
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  const auto add = [&](const std::string& name, MadeMachine machine, std::vector<double> ratios,
                       int64_t most_blocks = kMostBlocks) {
    for (const double ratio : ratios) {
      machine.ratio = ratio;
      char text[32] = "equal";
      if (ratio != 1) std::snprintf(text, sizeof text, "%+.0f %%", (ratio - 1) * 100);
      all.push_back({name + ", " + text, machine, most_blocks});
    }
  };
  add("1 % noise", {}, {1, 0.97, 1.03, 0.98, 1.02, 0.99, 1.01});
  add("drift of 5 %", {.drift = 0.05}, {1, 0.97});
  add("clock falls by 10 % half way", {.step = 0.1}, {1, 0.97});
  add("two modes of processes, 10 % apart", {.mode = 0.1}, {1, 0.97});
  add("samples with correlation 0.9, 3 %", {.sample_noise = 0.03, .correlation = 0.9}, {1, 0.97});
  add("a fifth of blocks throttled by 20 %", {.throttle_both = 0.2}, {1, 0.97});
  add("a turn of a fifth of blocks is", {.throttle_turn = 0.2}, {1, 0.97});
  add("spikes of 30 % in a tenth of turns", {.spike = 0.3}, {1, 0.97});
  add("lognormal samples, 20 %", {.sample_noise = 0.2, .is_lognormal = true}, {1, 0.97});
  add("tiny: 5 blocks, 3 samples", {.samples = 3}, {1, 0.97}, 5);
  add("tiny: 5 blocks, 3 samples, spikes", {.samples = 3, .spike = 0.3}, {1, 0.97}, 5);
  add("clock's step is 2 %", {.clock_step_ns = 2'000}, {1, 0.97});
  return all;
}

void PrintShares(const Shares& shares, int trials) {
  std::printf(" |");
  for (const int count : shares.counts) std::printf(" %5.1f", 100.0 * count / trials);
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const int64_t resamples = argc > 2 ? std::atoll(argv[2]) : 2'000;
  const char* wanted = argc > 3 ? argv[3] : "";
  std::printf("%-42s | %-30s | %-23s | %-23s | %s\n", "", "ours", "mean of 100", "Mann-Whitney, pooled",
              "bootstrap, pooled");
  std::printf("%-42s |     F     S     =     ? blocks", "");
  for (int i = 0; i < 3; ++i) std::printf(" |     F     S     =     ?");
  std::printf("\n");
  uint64_t number = 0;
  for (const Scenario& scenario : Scenarios()) {
    ++number;
    if (scenario.name.find(wanted) == std::string::npos) continue;
    std::array<Shares, 4> shares;
    for (int trial = 0; trial < trials; ++trial) {
      const uint64_t seed = number * 1'000'003 + static_cast<uint64_t>(trial);
      const VerdictCase measured = MadeCase(scenario.machine, scenario.most_blocks, seed);
      RandomDraws draws(~seed);
      shares[0].Add(Ours(measured, scenario.most_blocks, resamples, seed, shares[0].blocks));
      shares[1].Add(MeanOf100(scenario.machine, draws));
      const Pools pools = PoolsOf(measured, kPooledBlocks);
      shares[2].Add(MannWhitney(pools));
      shares[3].Add(PooledBootstrap(pools, draws));
    }
    std::printf("%-42s", scenario.name.c_str());
    PrintShares(shares[0], trials);
    std::printf(" %6.1f", shares[0].blocks / trials);
    for (size_t i = 1; i < shares.size(); ++i) PrintShares(shares[i], trials);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
