// Samples as machines make them, for tests and the simulation of tests/bench/verdict_quality.cc: the same on each
// machine for one seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/verdict/random_draws.h"
#include "daemon/analysis/verdict/verdict.h"

namespace kprof {

inline double NormalDraw(RandomDraws& draws) {
  const double radius = std::sqrt(-2 * std::log(1 - draws.Unit()));
  return radius * std::cos(2 * std::numbers::pi * draws.Unit());
}

// Of mean 1.
inline double ExponentialDraw(RandomDraws& draws) {
  return -std::log(1 - draws.Unit());
}

// A machine on which both sides run.
struct MadeMachine {
  double ratio = 1;             // candidate / baseline
  int samples = 20;             // of a process
  double sample_noise = 0.01;   // of a sample, as a part of its time
  double process_noise = 0.01;  // of all samples of a process
  double drift = 0;             // over `whole_blocks`, as a part of the time
  double step = 0;              // what the time rises by, half way
  double mode = 0;              // half of the processes take so much longer
  double throttle_both = 0;     // a fifth of the blocks takes so much longer
  double throttle_turn = 0;     // one turn of a fifth of the blocks does
  double spike = 0;             // a tenth of the turns takes so much longer on average, by an exponential distribution
  double correlation = 0;       // of a sample with the one before
  bool is_lognormal = false;    // the sample noise is, instead of normal
  double clock_step_ns = 0;
  int64_t whole_blocks = 56;
};

constexpr double kMadeNs = 100'000;

// `at` is where in the run the process is, from 0 to 1; `slower` multiplies its times.
inline ProcessSamples MadeProcess(const MadeMachine& machine, double at, double slower, RandomDraws& draws) {
  double level = kMadeNs * slower * (1 + machine.drift * at) * (at >= 0.5 ? 1 + machine.step : 1);
  level *= std::exp(machine.process_noise * NormalDraw(draws));
  if (draws.Unit() < 0.5) level *= 1 + machine.mode;
  if (draws.Unit() < 0.1) level *= 1 + machine.spike * ExponentialDraw(draws);
  ProcessSamples process;
  double noise = NormalDraw(draws);
  for (int i = 0; i < machine.samples; ++i) {
    noise = machine.correlation * noise + std::sqrt(1 - machine.correlation * machine.correlation) * NormalDraw(draws);
    double ns =
        level * (machine.is_lognormal ? std::exp(machine.sample_noise * noise) : 1 + machine.sample_noise * noise);
    if (machine.clock_step_ns > 0) ns = std::round(ns / machine.clock_step_ns) * machine.clock_step_ns;
    process.ns.push_back(ns);
  }
  return process;
}

inline VerdictBlock MadeBlock(const MadeMachine& machine, int64_t number, RandomDraws& draws) {
  const bool is_abba = draws.Unit() < 0.5;
  const double all_slower = draws.Unit() < 0.2 ? 1 + machine.throttle_both : 1;
  const bool has_slow_turn = draws.Unit() < 0.2;
  const int slow_turn = static_cast<int>(draws.Below(4));
  VerdictBlock block;
  for (int turn = 0; turn < 4; ++turn) {
    const bool is_candidate = (turn == 0 || turn == 3) == is_abba;
    const double at = (static_cast<double>(number) + turn / 4.0) / static_cast<double>(machine.whole_blocks);
    double slower = all_slower * (is_candidate ? machine.ratio : 1);
    if (has_slow_turn && turn == slow_turn) slower *= 1 + machine.throttle_turn;
    (is_candidate ? block.candidate : block.baseline).push_back(MadeProcess(machine, at, slower, draws));
  }
  return block;
}

inline VerdictCase MadeCase(const MadeMachine& machine, int64_t blocks, uint64_t seed, std::string name = "made") {
  RandomDraws draws(seed);
  VerdictCase made;
  made.name = std::move(name);
  for (int64_t i = 0; i < blocks; ++i) made.blocks.push_back(MadeBlock(machine, i, draws));
  return made;
}

}  // namespace kprof
