#include "daemon/analysis/verdict/block_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "storage/base/status.h"

namespace kprof {
namespace {

// The part of the results whose ends are scaled to other levels, and the normal distribution's quantile at its ends.
constexpr double kMiddleTail = 0.025;
constexpr double kMiddleQuantile = 1.959963985;

}  // namespace

double InterquartileMean(std::span<double> values) {
  KPROF_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double cut = count / 4;
  double sum = 0;
  for (auto i = static_cast<size_t>(cut); i < values.size(); ++i) {
    const auto place = static_cast<double>(i);
    const double part = std::min(place + 1, count - cut) - std::max(place, cut);
    if (part <= 0) break;
    sum += part * values[i];
  }
  return sum / (count - 2 * cut);
}

double BlockDraws::AddSide(std::span<const std::vector<double>> side, double sign, PlacesBySamples& places) {
  const auto processes = static_cast<double>(side.size());
  double sum = 0;
  for (const std::vector<double>& samples : side) {
    auto known = places.find(samples.size());
    if (known == places.end()) known = places.emplace(samples.size(), PlacesOfMedian(samples.size())).first;
    MedianPlaces& table = tables_.emplace_back();
    for (size_t i = 0; i < table.size(); ++i) {
      table[i] = sign / processes * std::log(SortedQuantile(samples, known->second[i]));
    }
    sum += std::log(SortedQuantile(samples, 0.5));
  }
  return sum / processes;
}

void BlockDraws::Add(std::span<const std::vector<double>> candidate, std::span<const std::vector<double>> baseline,
                     PlacesBySamples& places) {
  KPROF_CHECK(!candidate.empty() && !baseline.empty());
  candidate_logs_.push_back(AddSide(candidate, 1, places));
  baseline_logs_.push_back(AddSide(baseline, -1, places));
  log_ratios_.push_back(candidate_logs_.back() - baseline_logs_.back());
  table_ends_.push_back(tables_.size());
}

double BlockDraws::Location() const {
  std::vector<double> log_ratios = log_ratios_;
  return InterquartileMean(log_ratios);
}

double BlockDraws::DrawBlock(size_t block, double part, RandomDraws& draws) const {
  static_assert(std::tuple_size_v<MedianPlaces> == 256);
  double sum = 0;
  uint64_t bits = 0;
  int bytes = 0;
  for (size_t table = block == 0 ? 0 : table_ends_[block - 1]; table < table_ends_[block]; ++table) {
    if (bytes == 0) {
      bits = draws.Bits();
      bytes = 8;
    }
    sum += tables_[table][bits & 0xff];
    bits >>= 8;
    --bytes;
  }
  return log_ratios_[block] + (sum - log_ratios_[block]) * part;
}

Resamples::Resamples(double location, int64_t blocks, std::vector<double> results)
    : location_(location), blocks_(blocks) {
  std::sort(results.begin(), results.end());
  below_ = std::max(0.0, location_ - SortedQuantile(results, kMiddleTail));
  above_ = std::max(0.0, SortedQuantile(results, 1 - kMiddleTail) - location_);
}

LogInterval Resamples::IntervalAt(double alpha) const {
  const auto blocks = static_cast<double>(blocks_);
  const double scale = StudentQuantile(alpha / 2, blocks_ - 1) * std::sqrt(blocks / (blocks - 1)) / kMiddleQuantile;
  return {location_ - below_ * scale, location_ + above_ * scale};
}

JointResamples ResampleCases(std::span<const BlockDraws* const> cases, int64_t resamples, uint64_t seed) {
  KPROF_CHECK(!cases.empty() && resamples >= 100);
  const auto count = static_cast<size_t>(resamples);
  std::vector<std::vector<double>> results(cases.size(), std::vector<double>(count));
  std::vector<double> means(count);
  std::map<size_t, std::vector<size_t>> drawn_blocks;  // by the number of blocks
  for (const BlockDraws* blocks : cases) drawn_blocks[blocks->size()].resize(blocks->size());
  RandomDraws draws(seed);
  std::vector<double> log_ratios;
  for (size_t turn = 0; turn < count; ++turn) {
    for (auto& [size, drawn] : drawn_blocks) {
      for (size_t& block : drawn) block = draws.Below(size);
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      log_ratios.clear();
      const double part = 1 / std::sqrt(static_cast<double>(cases[i]->size()));
      for (const size_t block : drawn_blocks[cases[i]->size()])
        log_ratios.push_back(cases[i]->DrawBlock(block, part, draws));
      results[i][turn] = InterquartileMean(log_ratios);
      means[turn] += results[i][turn] / static_cast<double>(cases.size());
    }
  }
  std::vector<Resamples> found;
  double location = 0;
  size_t least_blocks = cases[0]->size();
  for (size_t i = 0; i < cases.size(); ++i) {
    found.emplace_back(cases[i]->Location(), static_cast<int64_t>(cases[i]->size()), std::move(results[i]));
    location += found.back().location() / static_cast<double>(cases.size());
    least_blocks = std::min(least_blocks, cases[i]->size());
  }
  return {std::move(found), Resamples(location, static_cast<int64_t>(least_blocks), std::move(means))};
}

}  // namespace kprof
