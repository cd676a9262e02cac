// The lines of source that instructions of a device profile come from: the place that the profile names, else the
// frames of its stack, through the profile's tables of frames. And patterns for such places.
//
// One thread, that of the readers. Memory: the tables of frames.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/operators/text_expression.h"

namespace kprof {

// Line 0: not known.
struct SourceLine {
  std::string file;
  int64_t line = 0;
};

class SourceLines {
 public:
  // Fails as reading does.
  static Result<SourceLines> Read(const AnalysisTraces& traces, const DeviceProfile& profile, const StopSignal& stop);

  // The number of the line of an instruction; 0: it has none. Lines are counted from 1.
  Result<size_t> Find(ProfileTexts& texts, int64_t file, int64_t line, int64_t frames, int64_t kernel_instruction);
  const SourceLine& line(size_t number) const { return lines_[number]; }
  size_t size() const { return lines_.size(); }

 private:
  struct Frame {
    std::string parent;
    std::string place;
    std::string file;
    int64_t line = 0;
  };
  struct Place {
    std::string file_id;
    int64_t line = 0;
  };
  size_t NumberOf(const std::string& file, int64_t line);
  // The line of a list of frames, "[3,7]" or "3": that of the innermost frame with a file.
  size_t OfFrames(const std::string& frames);
  std::optional<SourceLine> OfFrame(const std::string& id) const;

  std::vector<SourceLine> lines_{SourceLine()};
  std::map<std::pair<std::string, int64_t>, size_t> numbers_;
  std::map<std::tuple<const PartReader*, int64_t, int64_t>, size_t> known_;
  std::map<std::pair<const PartReader*, int64_t>, size_t> known_frames_;
  std::map<std::pair<const PartReader*, int64_t>, size_t> known_instructions_;
  std::map<std::string, Frame> frames_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> files_;
  std::map<std::string, SourceLine> instructions_;  // by the names of kernel instructions, the innermost place
};

// A pattern for "file:line": between slashes a regular expression (text_expression.h), as `/./`, which fits every
// place; else a text that stands in it.
class SourcePattern {
 public:
  static constexpr size_t kMostBytes = 256;

  // Fails with kUsage for a pattern that is too long, and as TextExpression::Read does.
  static Result<SourcePattern> Read(const std::string& text);
  bool Fits(std::string_view place) const;

 private:
  std::optional<TextExpression> expression_;
  std::string text_;
};

}  // namespace kprof
