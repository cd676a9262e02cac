#include "daemon/analysis/functions/neuron/source_lines.h"

#include <algorithm>
#include <vector>

namespace kprof {
namespace {

constexpr int kMostFrames = 64;  // above each other
constexpr size_t kMostStars = 8;

// Numbers of a text, in their order: the ids of frames.
std::vector<std::string> IdsIn(const std::string& text) {
  std::vector<std::string> ids;
  std::string id;
  for (const char c : text + ",") {
    if (c == ',' || c == '[' || c == ']' || c == ' ' || c == '"') {
      if (!id.empty()) ids.push_back(std::move(id));
      id.clear();
    } else {
      id += c;
    }
  }
  return ids;
}

// A small matcher after Kernighan and Pike, over characters that may be escaped.
class Expression {
 public:
  explicit Expression(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '^' && i == 0) {
        at_begin_ = true;
      } else if (text[i] == '$' && i + 1 == text.size()) {
        at_end_ = true;
      } else if (text[i] == '*' && !units_.empty() && !units_.back().any_number && stars_ < kMostStars) {
        units_.back().any_number = true;
        ++stars_;
      } else if (text[i] == '\\' && i + 1 < text.size()) {
        units_.push_back({text[++i], false, false});
      } else {
        units_.push_back({text[i], text[i] == '.', false});
      }
    }
  }

  bool Fits(std::string_view text) const {
    // Which units are reached, for each place: no way back, so the cost is the product of both lengths.
    std::vector<bool> now(units_.size() + 1, false);
    std::vector<bool> next(units_.size() + 1, false);
    for (size_t at = 0;; ++at) {
      if (at == 0 || !at_begin_) now[0] = true;
      for (size_t u = 0; u < units_.size(); ++u) {
        if (now[u] && units_[u].any_number) now[u + 1] = true;
      }
      if (now[units_.size()] && (!at_end_ || at == text.size())) return true;
      if (at == text.size()) return false;
      std::fill(next.begin(), next.end(), false);
      for (size_t u = 0; u < units_.size(); ++u) {
        if (!now[u] || !(units_[u].any_character || units_[u].character == text[at])) continue;
        next[units_[u].any_number ? u : u + 1] = true;
      }
      now.swap(next);
    }
  }

 private:
  struct Unit {
    char character = 0;
    bool any_character = false;
    bool any_number = false;
  };
  std::vector<Unit> units_;
  bool at_begin_ = false;
  bool at_end_ = false;
  size_t stars_ = 0;
};

}  // namespace

Result<SourceLines> SourceLines::Read(const AnalysisTraces& traces, const DeviceProfile& profile,
                                      const StopSignal& stop) {
  using enum NeuronFrameColumn;
  SourceLines lines;
  std::map<std::string, int64_t> depths;  // of the innermost place of each kernel instruction
  RETURN_IF_ERROR(ForEachProfileRow<NeuronFrameColumn>(
      traces, profile, NeuronFrameSideTable(), {kTable, kId, kParent, kPlace, kFileId, kFile, kLine, kDepth}, stop,
      [&](const ReportRow<NeuronFrameColumn>& row, ProfileTexts& texts) -> Status {
        ASSIGN_OR_RETURN(const std::string* const table, texts.Find(row[kTable]));
        ASSIGN_OR_RETURN(const std::string* const id, texts.Find(row[kId]));
        ASSIGN_OR_RETURN(const std::string* const file, texts.Find(row[kFile]));
        ASSIGN_OR_RETURN(const std::string* const parent, texts.Find(row[kParent]));
        const int64_t line = std::max<int64_t>(row[kLine], 0);
        if (*table == "StackFrameFileName") {
          lines.files_[*id] = *file;
        } else if (*table == "StackFrameFileLocation") {
          ASSIGN_OR_RETURN(const std::string* const file_id, texts.Find(row[kFileId]));
          lines.places_[*id] = {*file_id, line};
        } else if (*table == "StackFrame" || *table == "KernelStackFrames") {
          ASSIGN_OR_RETURN(const std::string* const place, texts.Find(row[kPlace]));
          lines.frames_[*id] = {*parent, *place, *file, line};
        } else if (*table == "KernelInstructions" && line > 0) {
          const auto [depth, is_new] = depths.try_emplace(*id, row[kDepth]);
          if (is_new || row[kDepth] > depth->second) {
            depth->second = row[kDepth];
            lines.instructions_[*id] = {*file, line};
          }
        }
        return OkStatus();
      }));
  return lines;
}

size_t SourceLines::NumberOf(const std::string& file, int64_t line) {
  const auto [known, is_new] = numbers_.try_emplace({file, line}, lines_.size());
  if (is_new) lines_.push_back({file, line});
  return known->second;
}

std::optional<SourceLine> SourceLines::OfFrame(const std::string& id) const {
  std::string at = id;
  for (int i = 0; i < kMostFrames; ++i) {
    const auto frame = frames_.find(at);
    if (frame == frames_.end()) return std::nullopt;
    if (!frame->second.file.empty() && frame->second.line > 0)
      return SourceLine{frame->second.file, frame->second.line};
    const auto place = places_.find(frame->second.place);
    if (place != places_.end() && place->second.line > 0) {
      const auto file = files_.find(place->second.file_id);
      if (file != files_.end()) return SourceLine{file->second, place->second.line};
    }
    at = frame->second.parent;
  }
  return std::nullopt;
}

size_t SourceLines::OfFrames(const std::string& frames) {
  for (const std::string& id : IdsIn(frames)) {
    if (const std::optional<SourceLine> line = OfFrame(id)) return NumberOf(line->file, line->line);
  }
  return 0;
}

Result<size_t> SourceLines::Find(ProfileTexts& texts, int64_t file, int64_t line, int64_t frames,
                                 int64_t kernel_instruction) {
  if (line != kNoValue) {
    const auto [known, is_new] = known_.try_emplace({texts.reader(), file, line}, 0);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string* const name, texts.Find(file));
      known->second = NumberOf(*name, line);
    }
    return known->second;
  }
  if (frames != kNoValue && !frames_.empty()) {
    const auto [known, is_new] = known_frames_.try_emplace({texts.reader(), frames}, 0);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string* const text, texts.Find(frames));
      known->second = OfFrames(*text);
    }
    if (known->second != 0) return known->second;
  }
  if (kernel_instruction != kNoValue && !instructions_.empty()) {
    const auto [known, is_new] = known_instructions_.try_emplace({texts.reader(), kernel_instruction}, 0);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string* const name, texts.Find(kernel_instruction));
      const auto found = instructions_.find(*name);
      if (found != instructions_.end()) known->second = NumberOf(found->second.file, found->second.line);
    }
    return known->second;
  }
  return size_t{0};
}

namespace {

// Signs of other languages of patterns would fit nothing, without a word.
Status CheckExpression(const std::string& text) {
  constexpr std::string_view kOthers = "[](){}|+?";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    const bool is_other =
        is_escape ? kLetters.find(text[i + 1]) != kLetters.npos : kOthers.find(text[i]) != kOthers.npos;
    if (is_other) {
      return Fail(ErrorCode::kUsage, "read option source",
                  "'" + text.substr(i, is_escape ? 2 : 1) + "' at byte " + std::to_string(i + 2) +
                      " is no sign of its patterns",
                  "it knows . * ^ and $; a backslash before any other sign takes that as it is");
    }
    if (is_escape) ++i;
  }
  return OkStatus();
}

}  // namespace

Result<SourcePattern> SourcePattern::Read(const std::string& text) {
  if (text.size() > kMostBytes) {
    return Fail(ErrorCode::kUsage, "read option source", "it has more than 256 bytes", "give a shorter one");
  }
  SourcePattern pattern;
  pattern.is_expression_ = text.size() >= 2 && text.front() == '/' && text.back() == '/';
  pattern.text_ = pattern.is_expression_ ? text.substr(1, text.size() - 2) : text;
  if (pattern.is_expression_) RETURN_IF_ERROR(CheckExpression(pattern.text_));
  return pattern;
}

bool SourcePattern::Fits(std::string_view place) const {
  if (!is_expression_) return place.find(text_) != std::string_view::npos;
  return Expression(text_).Fits(place);
}

}  // namespace kprof
