// When a side that is measured alone has enough samples, by the rules of nvbench:
//
//     stdrel    the noise (sample deviation / mean, from the 5th sample on) is below a limit, or it is steady: of the
//               last 512 noises, more than 64, the variance is below (0.05 * their mean)^2; looked at every 16 samples.
//               Neither before a least time was measured.
//     entropy   the entropy of the samples, taken as exact values, no longer rises: a line through its last 299 values
//               rises by at most an angle, and R^2 of the line is not below a limit; looked at every 2 samples
//
// A comparison of two sides needs none of this: its verdict says when it has enough (look_schedule.h).
//
// It always ends: at a most number of samples, and after 64 noises in a row that are no numbers, as those of zeros are.
// The answer says which condition ended it, or which are not met.
//
// Values with a state; any thread, one at a time. A sample costs about 10 ns, with entropy about 500 ns and 50 bytes
// for each value that differs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kprof {

enum class StopCriterion : uint8_t { kStdrel, kEntropy };

struct StopRules {
  StopCriterion criterion = StopCriterion::kStdrel;
  int64_t least_samples = 10;
  int64_t most_samples = 1'000'000;
  // The limits of stdrel.
  double most_noise = 0.005;
  double least_time_ns = 5e8;
  // The limits of entropy.
  double most_angle_degrees = 0.048;
  double least_r2 = 0.36;
};

// A few samples of each of many processes, whose medians are the values: from the 3rd process on their noise is known,
// and it is steady when more than 8 noises vary that little. Noise within a process does not count: a process that
// measures longer lowers it, more processes do not.
struct ProcessStopRules {
  int64_t least_processes = 5;
  int64_t most_processes = 100;
  double most_noise = 0.005;
  double least_time_ns = 5e8;  // of the samples of all processes
};

enum class StopCause : uint8_t {
  kNone,            // not over
  kNoiseLow,        // below the limit
  kNoiseSteady,     // above the limit, and more samples will not change it
  kEntropySteady,   // new samples tell nothing new
  kNoiseUndefined,  // 64 noises in a row are no numbers
  kMost,            // as many samples or processes as may be
};

// "noise_low", "noise_steady", "entropy_steady", "noise_undefined", "most_samples"; empty for kNone.
std::string_view StopCauseName(StopCause cause);

struct StopAnswer {
  bool is_over = false;
  StopCause cause = StopCause::kNone;
  std::string text;                // why it is over: one sentence with figures; empty if it is not
  std::vector<std::string> unmet;  // if it is not: the conditions that are missing, with how far they are
};

// The last values of a series, at most `most`.
class RecentValues {
 public:
  explicit RecentValues(size_t most) : most_(most) {}

  void Add(double value);
  size_t size() const { return values_.size(); }
  // From the oldest to the latest: 0 to size() - 1.
  double At(size_t i) const { return values_[(oldest_ + i) % values_.size()]; }

 private:
  size_t most_;
  size_t oldest_ = 0;
  std::vector<double> values_;
};

// The noise of values as they come.
class NoiseTrail {
 public:
  struct Rules {
    int64_t first_count = 5;   // of values for a noise
    size_t most_recent = 512;  // noises that are kept
    size_t least_recent = 64;  // a steady noise has more
    int64_t look_every = 16;   // values
  };
  explicit NoiseTrail(const Rules& rules) : rules_(rules), recent_(rules.most_recent) {}

  void Add(double value);
  int64_t count() const { return count_; }
  bool has_noise() const { return recent_.size() > 0; }
  // The last one that is a number. REQUIRES: has_noise().
  double noise() const { return recent_.At(recent_.size() - 1); }
  int64_t invalid_in_row() const { return invalid_in_row_; }
  size_t recent() const { return recent_.size(); }
  // The deviation of the recent noises as a part of their mean; 0 if there are less than 2.
  double RecentVariation() const;
  // Only at every `look_every`-th value.
  bool IsSteady() const;

  const Rules& rules() const { return rules_; }

 private:
  Rules rules_;
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // the sum of squared distances from the mean
  int64_t invalid_in_row_ = 0;
  RecentValues recent_;
};

class SampleStop {
 public:
  explicit SampleStop(const StopRules& rules);

  // A sample, in the order of time. Once it is over it stays so.
  void Add(double ns);
  StopAnswer Answer() const;
  bool is_over() const { return cause_ != StopCause::kNone; }

 private:
  struct EntropyLine {
    double angle_degrees = 0;
    double r2 = 0;
  };

  StopCause CauseNow() const;
  void AddEntropy(double ns);
  EntropyLine LineThroughEntropy() const;

  StopRules rules_;
  double time_ns_ = 0;
  NoiseTrail noise_;
  std::unordered_map<uint64_t, int64_t> counts_;  // by the bits of a value
  double count_logs_ = 0;                         // the sum of c * log2(c) over counts
  RecentValues entropies_;
  StopCause cause_ = StopCause::kNone;
};

class ProcessStop {
 public:
  explicit ProcessStop(const ProcessStopRules& rules);

  // The samples of a process that has ended. One without samples does not count.
  void Add(std::span<const double> samples_ns);
  StopAnswer Answer() const;
  bool is_over() const { return cause_ != StopCause::kNone; }

 private:
  StopCause CauseNow() const;

  ProcessStopRules rules_;
  double time_ns_ = 0;
  NoiseTrail noise_;
  StopCause cause_ = StopCause::kNone;
};

}  // namespace kprof
