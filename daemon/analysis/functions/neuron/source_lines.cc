#include "daemon/analysis/functions/neuron/source_lines.h"

#include <algorithm>
#include <vector>

namespace kprof {
namespace {

constexpr int kMostFrames = 64;  // above each other

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

Result<SourcePattern> SourcePattern::Read(const std::string& text) {
  constexpr const char* kAct = "read option source";
  if (text.size() > kMostBytes) {
    return Fail(ErrorCode::kUsage, kAct, "it has more than 256 bytes", "give a shorter one");
  }
  SourcePattern pattern;
  pattern.text_ = text;
  if (text.size() >= 2 && text.front() == '/' && text.back() == '/') {
    ASSIGN_OR_RETURN(pattern.expression_,
                     TextExpression::Read(std::string_view(text).substr(1, text.size() - 2), kAct));
  }
  return pattern;
}

bool SourcePattern::Fits(std::string_view place) const {
  return expression_ ? expression_->Fits(place) : place.find(text_) != std::string_view::npos;
}

}  // namespace kprof
