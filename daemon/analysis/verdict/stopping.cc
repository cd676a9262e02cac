#include "daemon/analysis/verdict/stopping.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "daemon/analysis/verdict/quantiles.h"

namespace kprof {
namespace {

constexpr int64_t kMostInvalidNoises = 64;
constexpr double kSteadyVariation = 0.05;
constexpr size_t kMostEntropies = 299;
constexpr NoiseTrail::Rules kNoiseOfSamples;
constexpr NoiseTrail::Rules kNoiseOfProcesses = {
    .first_count = 3, .most_recent = 64, .least_recent = 8, .look_every = 1};

std::string PercentText(double share) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %%", share * 100);
  return text;
}

std::string SecondsText(double ns) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g s", ns / 1e9);
  return text;
}

// The condition that both stdrel and the rule over processes end with, if any.
StopCause CauseOfNoise(const NoiseTrail& noise, bool has_time, double most_noise) {
  if (noise.invalid_in_row() >= kMostInvalidNoises) return StopCause::kNoiseUndefined;
  if (!has_time || !noise.has_noise() || noise.invalid_in_row() > 0) return StopCause::kNone;
  if (noise.noise() < most_noise) return StopCause::kNoiseLow;
  return noise.IsSteady() ? StopCause::kNoiseSteady : StopCause::kNone;
}

std::string TextOfNoiseEnd(StopCause cause, const NoiseTrail& noise, double most_noise, const std::string& things) {
  const std::string after = " after " + std::to_string(noise.count()) + " " + things;
  switch (cause) {
    case StopCause::kNoiseLow:
      return "The noise is " + PercentText(noise.noise()) + after + ", below " + PercentText(most_noise) + ".";
    case StopCause::kNoiseSteady:
      return "The noise is steady at " + PercentText(noise.noise()) + after + ": its last " +
             std::to_string(noise.recent()) + " values vary by " + PercentText(noise.RecentVariation()) +
             ", so more would not bring it below " + PercentText(most_noise) + ".";
    case StopCause::kNoiseUndefined:
      return "The noise of the last " + std::to_string(noise.invalid_in_row()) + " " + things +
             " is no number: times are zero, infinite or missing.";
    default:
      return "There are " + std::to_string(noise.count()) + " " + things + ", as many as may be.";
  }
}

void AddUnmetNoise(const NoiseTrail& noise, double most_noise, const std::string& things,
                   std::vector<std::string>& unmet) {
  if (!noise.has_noise() || noise.invalid_in_row() > 0) {
    unmet.push_back("noise below " + PercentText(most_noise) + ": it is not known after " +
                    std::to_string(noise.count()) + " " + things);
    return;
  }
  if (noise.noise() >= most_noise) {
    unmet.push_back("noise below " + PercentText(most_noise) + ": it is " + PercentText(noise.noise()));
  }
  const size_t least = noise.rules().least_recent;
  if (noise.recent() <= least) {
    unmet.push_back("steady noise: more than " + std::to_string(least) + " values of it, there are " +
                    std::to_string(noise.recent()));
  } else {
    unmet.push_back("steady noise: its last " + std::to_string(noise.recent()) + " values vary by " +
                    PercentText(noise.RecentVariation()) + ", the limit is " + PercentText(kSteadyVariation));
  }
}

void AddUnmetCount(int64_t count, int64_t least, const std::string& things, std::vector<std::string>& unmet) {
  if (count >= least) return;
  unmet.push_back(std::to_string(least) + " " + things + ": there are " + std::to_string(count));
}

void AddUnmetTime(double time_ns, double least_ns, std::vector<std::string>& unmet) {
  if (time_ns > least_ns) return;
  unmet.push_back("more than " + SecondsText(least_ns) + " measured: it is " + SecondsText(time_ns));
}

}  // namespace

std::string_view StopCauseName(StopCause cause) {
  switch (cause) {
    case StopCause::kNone:
      return "";
    case StopCause::kNoiseLow:
      return "noise_low";
    case StopCause::kNoiseSteady:
      return "noise_steady";
    case StopCause::kEntropySteady:
      return "entropy_steady";
    case StopCause::kNoiseUndefined:
      return "noise_undefined";
    case StopCause::kMost:
      return "most_samples";
  }
  return "";
}

void RecentValues::Add(double value) {
  if (values_.size() < most_) {
    values_.push_back(value);
    return;
  }
  values_[oldest_] = value;
  oldest_ = (oldest_ + 1) % most_;
}

void NoiseTrail::Add(double value) {
  ++count_;
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (value - mean_);
  if (count_ < rules_.first_count) return;
  const double noise = std::sqrt(squares_ / static_cast<double>(count_ - 1)) / mean_;
  if (!std::isfinite(noise)) {
    ++invalid_in_row_;
    return;
  }
  invalid_in_row_ = 0;
  recent_.Add(noise);
}

double NoiseTrail::RecentVariation() const {
  const size_t count = recent_.size();
  if (count < 2) return 0;
  double mean = 0;
  for (size_t i = 0; i < count; ++i) mean += recent_.At(i) / static_cast<double>(count);
  double squares = 0;
  for (size_t i = 0; i < count; ++i) squares += (recent_.At(i) - mean) * (recent_.At(i) - mean);
  return mean > 0 ? std::sqrt(squares / static_cast<double>(count - 1)) / mean : 0;
}

bool NoiseTrail::IsSteady() const {
  return recent_.size() > rules_.least_recent && count_ % rules_.look_every == 0 &&
         RecentVariation() < kSteadyVariation;
}

SampleStop::SampleStop(const StopRules& rules) : rules_(rules), noise_(kNoiseOfSamples), entropies_(kMostEntropies) {}

void SampleStop::Add(double ns) {
  time_ns_ += ns;
  noise_.Add(ns);
  if (rules_.criterion == StopCriterion::kEntropy) AddEntropy(ns);
  if (cause_ == StopCause::kNone) cause_ = CauseNow();
}

// H = log2(n) - (1 / n) * sum(c * log2(c)), where c are the counts of values that are exactly equal.
void SampleStop::AddEntropy(double ns) {
  const auto term = [](int64_t count) {
    return count == 0 ? 0 : static_cast<double>(count) * std::log2(static_cast<double>(count));
  };
  int64_t& count = counts_[std::bit_cast<uint64_t>(ns)];
  count_logs_ += term(count + 1) - term(count);
  ++count;
  const auto all = static_cast<double>(noise_.count());
  entropies_.Add(std::max(0.0, std::log2(all) - count_logs_ / all));
}

SampleStop::EntropyLine SampleStop::LineThroughEntropy() const {
  const size_t count = entropies_.size();
  const auto n = static_cast<double>(count);
  const double mean_place = (n - 1) / 2;
  double mean = 0;
  for (size_t i = 0; i < count; ++i) mean += entropies_.At(i) / n;
  double places = 0;
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(i) - mean_place;
    const double distance = entropies_.At(i) - mean;
    places += place * place;
    products += place * distance;
    squares += distance * distance;
  }
  EntropyLine line;
  const double slope = places > 0 ? products / places : 0;
  line.angle_degrees = std::atan(slope) * 180 / std::numbers::pi;
  // A flat line fits, though there is nothing for it to explain.
  line.r2 = squares < std::numeric_limits<double>::epsilon() ? 1 : slope * products / squares;
  return line;
}

StopCause SampleStop::CauseNow() const {
  const bool has_least = noise_.count() >= rules_.least_samples;
  StopCause cause = StopCause::kNone;
  if (rules_.criterion == StopCriterion::kStdrel) {
    cause = CauseOfNoise(noise_, time_ns_ > rules_.least_time_ns, rules_.most_noise);
  } else if (entropies_.size() >= 2 && noise_.count() % 2 == 0 && has_least) {
    const EntropyLine line = LineThroughEntropy();
    if (line.angle_degrees <= rules_.most_angle_degrees && line.r2 >= rules_.least_r2) {
      cause = StopCause::kEntropySteady;
    }
  }
  if (cause != StopCause::kNone && has_least) return cause;
  return noise_.count() >= rules_.most_samples ? StopCause::kMost : StopCause::kNone;
}

StopAnswer SampleStop::Answer() const {
  StopAnswer answer;
  answer.cause = cause_;
  answer.is_over = is_over();
  const EntropyLine line = entropies_.size() >= 2 ? LineThroughEntropy() : EntropyLine();
  char figures[128];
  std::snprintf(figures, sizeof figures, "it rises by %.3g degrees, R^2 is %.2f", line.angle_degrees, line.r2);
  if (cause_ == StopCause::kEntropySteady) {
    answer.text = "The entropy is steady after " + std::to_string(noise_.count()) + " samples: " + figures + ".";
  } else if (answer.is_over) {
    answer.text = TextOfNoiseEnd(cause_, noise_, rules_.most_noise, "samples");
  }
  if (answer.is_over) return answer;
  AddUnmetCount(noise_.count(), rules_.least_samples, "samples", answer.unmet);
  if (rules_.criterion == StopCriterion::kStdrel) {
    AddUnmetTime(time_ns_, rules_.least_time_ns, answer.unmet);
    AddUnmetNoise(noise_, rules_.most_noise, "samples", answer.unmet);
  } else {
    char limits[128];
    std::snprintf(limits, sizeof limits, "at most %.3g degrees and R^2 of at least %.2f are wanted",
                  rules_.most_angle_degrees, rules_.least_r2);
    answer.unmet.push_back(std::string("steady entropy: ") + figures + ", " + limits);
  }
  return answer;
}

ProcessStop::ProcessStop(const ProcessStopRules& rules) : rules_(rules), noise_(kNoiseOfProcesses) {}

void ProcessStop::Add(std::span<const double> samples_ns) {
  if (samples_ns.empty()) return;
  std::vector<double> sorted;
  for (const double ns : samples_ns) {
    time_ns_ += ns;
    if (!std::isnan(ns)) sorted.push_back(ns);
  }
  std::sort(sorted.begin(), sorted.end());
  noise_.Add(sorted.empty() ? std::numeric_limits<double>::quiet_NaN() : SortedQuantile(sorted, 0.5));
  if (cause_ == StopCause::kNone) cause_ = CauseNow();
}

StopCause ProcessStop::CauseNow() const {
  const StopCause cause = CauseOfNoise(noise_, time_ns_ > rules_.least_time_ns, rules_.most_noise);
  if (cause != StopCause::kNone && noise_.count() >= rules_.least_processes) return cause;
  return noise_.count() >= rules_.most_processes ? StopCause::kMost : StopCause::kNone;
}

StopAnswer ProcessStop::Answer() const {
  StopAnswer answer;
  answer.cause = cause_;
  answer.is_over = is_over();
  if (answer.is_over) {
    answer.text = TextOfNoiseEnd(cause_, noise_, rules_.most_noise, "processes");
    return answer;
  }
  AddUnmetCount(noise_.count(), rules_.least_processes, "processes", answer.unmet);
  AddUnmetTime(time_ns_, rules_.least_time_ns, answer.unmet);
  AddUnmetNoise(noise_, rules_.most_noise, "processes", answer.unmet);
  return answer;
}

}  // namespace kprof
