#include "daemon/ingest/ncu/kernel_sources.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/ingest/ncu/cubin_file.h"
#include "daemon/ingest/ncu/line_table.h"
#include "daemon/ingest/source/proto_fields.h"

namespace kprof {
namespace {

constexpr int64_t kMostInstructions = 4 << 20;  // of all launches
constexpr size_t kMostSources = 65'536;
constexpr size_t kMostWaiting = 65'536;
constexpr size_t kMostFunctions = 1 << 20;  // of a source
constexpr int64_t kInstructionsPerLook = 4096;
constexpr int64_t kInstructionBytes = 16;
constexpr int64_t kOldInstructionBytes = 8;  // before Volta
constexpr uint64_t kVoltaSm = 7;

std::string_view LineOfText(const std::vector<std::string_view>& lines, uint32_t line) {
  if (line == 0 || line > lines.size()) return {};
  std::string_view text = lines[line - 1];
  const size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

std::vector<std::string_view> LinesOf(std::string_view text, char end) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t at = std::min(text.find(end), text.size());
    std::string_view line = text.substr(0, at);
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return lines;
}

}  // namespace

struct KernelSources::Source {
  std::string text;
  std::string intermediate;
  std::string cubin;
  uint64_t sm_major = 0;
  std::map<std::string, uint64_t, std::less<>> functions;  // their addresses, by their mangled names

  // Of the cubin, once it is looked into.
  bool is_open = false;
  std::vector<CubinSection> sections;
  std::map<std::string_view, uint32_t> sections_by_name;
  LineTable lines;
  LineTable ptx_lines;
  std::vector<std::string_view> ptx;

  void Open() {
    if (is_open) return;
    is_open = true;
    sections = ReadCubinSections(cubin);
    for (size_t i = 0; i < sections.size(); ++i)
      sections_by_name.try_emplace(sections[i].name, static_cast<uint32_t>(i));
    lines = ReadLineTable(sections, ".debug_line");
    ptx_lines = ReadLineTable(sections, ".nv_debug_line_sass");
    const CubinSection* texts = FindCubinSection(sections, ".nv_debug_ptx_txt");
    ptx = texts != nullptr ? LinesOf(texts->bytes, '\0') : LinesOf(intermediate, '\n');
  }
  void Describe(ReportInstruction& instruction, uint32_t section, uint64_t offset) const {
    if (const LineRow* line = FindLine(lines, section, offset)) {
      if (instruction.file.empty()) instruction.file = lines.files[line->file];
      if (!instruction.line) instruction.line = line->line;
    }
    const LineRow* ptx_line = instruction.ptx.empty() ? FindLine(ptx_lines, section, offset) : nullptr;
    if (ptx_line != nullptr) instruction.ptx = LineOfText(ptx, ptx_line->line);
  }
  std::optional<uint32_t> SectionOf(std::string_view mangled) const {
    const auto found = sections_by_name.find(".text." + std::string(mangled));
    return found == sections_by_name.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<uint64_t> AddressOf(std::string_view mangled) const {
    const auto found = functions.find(mangled);
    return found == functions.end() ? std::nullopt : std::optional(found->second);
  }
};

KernelSources::KernelSources(int64_t most_bytes) : most_bytes_(most_bytes) {}

KernelSources::~KernelSources() = default;

void KernelSources::Add(std::string_view message) {
  enum SourceField : uint32_t {
    kNumberField = 1,
    kTextField = 2,
    kIntermediateField = 3,
    kCubinField = 4,
    kSmField = 6,
    kFunctionsField = 9,
  };
  if (bytes_ + static_cast<int64_t>(message.size()) > most_bytes_ || sources_.size() >= kMostSources) {
    ++too_large_;
    return;
  }
  bytes_ += static_cast<int64_t>(message.size());
  uint64_t number = 0;
  ProtoFields find(message);
  while (find.Next()) {
    if (find.number() == kNumberField && find.is_number()) number = find.value();
  }
  std::unique_ptr<Source>& source = sources_[number];
  if (source == nullptr) source = std::make_unique<Source>();
  ProtoFields fields(message);
  while (fields.Next()) {
    const auto keep = [&](std::string& text) {
      if (text.empty()) text = fields.bytes();
    };
    switch (fields.number()) {
      case kTextField:
        keep(source->text);
        break;
      case kIntermediateField:
        keep(source->intermediate);
        break;
      case kCubinField:
        if (source->cubin.empty() && !source->is_open) source->cubin = fields.bytes();
        break;
      case kSmField:
        if (fields.is_number()) source->sm_major = fields.value() >> 16;
        break;
      case kFunctionsField: {
        ProtoFields functions(fields.bytes());
        while (functions.Next() && source->functions.size() < kMostFunctions) {
          if (functions.number() != 1) continue;
          std::string_view name;
          uint64_t address = 0;
          ProtoFields function(functions.bytes());
          while (function.Next()) {
            if (function.number() == 1 && !function.is_number()) name = function.bytes();
            if (function.number() == 2 && function.is_number()) address = function.value();
          }
          source->functions.try_emplace(std::string(name), address);
        }
        break;
      }
      default:
        break;
    }
  }
}

bool KernelSources::HasRoom() {
  if (instructions_ < kMostInstructions) return true;
  ++launches_without_;
  return false;
}

Status KernelSources::AddInstructions(ReportRows& rows, int64_t launch, uint64_t source, std::string_view mangled,
                                      const std::vector<ToldInstruction>& told) {
  const auto found = sources_.find(source);
  Source* const of = found == sources_.end() ? nullptr : found->second.get();
  if (!told.empty()) return AddTold(rows, launch, of, mangled, told);
  if (of == nullptr || of->cubin.empty()) {
    if (!mangled.empty() && waiting_.size() < kMostWaiting) waiting_.push_back({launch, source, std::string(mangled)});
    return OkStatus();
  }
  return AddOfCubin(rows, launch, *of, mangled);
}

Status KernelSources::AddWaiting(ReportRows& rows) {
  for (const Waiting& each : std::exchange(waiting_, {})) {
    const auto found = sources_.find(each.source);
    if (found == sources_.end() || found->second->cubin.empty()) continue;
    RETURN_IF_ERROR(AddOfCubin(rows, each.launch, *found->second, each.mangled));
  }
  return OkStatus();
}

Status KernelSources::AddOfCubin(ReportRows& rows, int64_t launch, Source& source, std::string_view mangled) {
  source.Open();
  const std::optional<uint32_t> section = source.SectionOf(mangled);
  if (!section || !HasRoom()) return OkStatus();
  const std::optional<uint64_t> base = source.AddressOf(mangled);
  const bool is_old = source.sm_major != 0 && source.sm_major < kVoltaSm;
  const int64_t step = is_old ? kOldInstructionBytes : kInstructionBytes;
  const auto size = static_cast<int64_t>(source.sections[*section].bytes.size());
  for (int64_t offset = 0; offset + step <= size && instructions_ < kMostInstructions; offset += step) {
    ReportInstruction instruction{.offset_bytes = offset};
    if (base) instruction.address = static_cast<int64_t>(*base + static_cast<uint64_t>(offset));
    source.Describe(instruction, *section, static_cast<uint64_t>(offset));
    rows.AddInstruction(launch, instruction);
    if (++instructions_ % kInstructionsPerLook == 0) RETURN_IF_ERROR(rows.GiveFull());
  }
  return OkStatus();
}

Status KernelSources::AddTold(ReportRows& rows, int64_t launch, Source* source, std::string_view mangled,
                              const std::vector<ToldInstruction>& told) {
  if (!HasRoom()) return OkStatus();
  std::optional<uint32_t> section;
  std::optional<uint64_t> base;
  if (source != nullptr) {
    source->Open();
    section = source->SectionOf(mangled);
    base = source->AddressOf(mangled);
  }
  // Without a base the first one is it.
  if (!base) base = static_cast<uint64_t>(told.front().address);
  for (const ToldInstruction& each : told) {
    if (instructions_ >= kMostInstructions) break;
    const uint64_t offset = static_cast<uint64_t>(each.address) - *base;
    ReportInstruction instruction{.address = each.address,
                                  .offset_bytes = static_cast<int64_t>(offset),
                                  .sass = each.sass,
                                  .ptx = each.ptx,
                                  .file = each.file,
                                  .line = each.line};
    if (section) source->Describe(instruction, *section, offset);
    rows.AddInstruction(launch, instruction);
    if (++instructions_ % kInstructionsPerLook == 0) RETURN_IF_ERROR(rows.GiveFull());
  }
  return OkStatus();
}

Status KernelSources::AddTexts(ReportRows& rows) const {
  std::set<std::string> files;  // whose text is there
  const auto add = [&](const std::string& file, std::string_view language, const std::vector<std::string_view>& lines) {
    int64_t line = 0;
    for (const std::string_view text : lines) {
      rows.AddSourceLine(file, language, ++line, text);
      if (line % kInstructionsPerLook == 0) RETURN_IF_ERROR(rows.GiveFull());
    }
    return rows.GiveFull();
  };
  for (const auto& [number, source] : sources_) {
    source->Open();
    const std::string name = "source " + std::to_string(number);
    // Where all lines are of one file, which stands behind the unknown one, the text is that file's.
    std::string file = source->lines.files.size() == 2 ? source->lines.files[1] : "";
    if (source->text.empty() || file.empty() || !files.insert(file).second) file = name + ".cu";
    RETURN_IF_ERROR(add(file, "cuda", LinesOf(source->text, '\n')));
    RETURN_IF_ERROR(add(name + ".ptx", "ptx", source->ptx));
  }
  return OkStatus();
}

void KernelSources::WarnOf(BatchSink& sink) const {
  if (too_large_ > 0) {
    sink.Warn(std::to_string(too_large_) + " sources are beyond the " + std::to_string(most_bytes_ >> 20) +
              " MiB that are kept: their code and lines are missing");
  }
  if (launches_without_ > 0) {
    sink.Warn("the instructions of " + std::to_string(launches_without_) + " launches are missing: more than " +
              std::to_string(kMostInstructions) + " are not kept");
  }
}

}  // namespace kprof
