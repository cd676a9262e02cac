#include "daemon/devices/peaks/peak_table.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "daemon/devices/peaks/peak_checks.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kFields = 9;

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Takes the text behind an opening quote off `rest`, with the quote that closes it. False where none does.
bool TakeQuoted(std::string_view& rest, std::string& field) {
  while (true) {
    const size_t quote = rest.find('"');
    if (quote == rest.npos) return false;
    field += rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with('"')) return true;
    field += '"';  // two of them stand for one
    rest.remove_prefix(1);
  }
}

// Returns what is wrong with the line, or null.
const char* SplitFields(std::string_view line, std::vector<std::string>& fields) {
  while (true) {
    std::string field;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    size_t comma = line.find(',');
    if (line.starts_with('"')) {
      line.remove_prefix(1);
      if (!TakeQuoted(line, field)) return "a quote is not closed";
      comma = line.find(',');
      if (!WithoutSpaces(line.substr(0, comma)).empty()) return "there is text behind a closing quote";
    } else {
      field = WithoutSpaces(line.substr(0, comma));
      if (field.find('"') != field.npos) return "there is a quote within a field that does not begin with one";
    }
    fields.push_back(std::move(field));
    if (comma == line.npos) return nullptr;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

Status PeakFileMistake(const std::string& file, uint64_t line, std::string why, std::string remedy) {
  return Fail(ErrorCode::kBadInput, file + ":" + std::to_string(line), std::move(why), std::move(remedy));
}

Result<std::vector<PeakLine>> ReadPeakLines(std::string_view text, const std::string& file) {
  if (text.size() > kMostPeakFileBytes) {
    return PeakFileMistake(file, 1, "the file has " + std::to_string(text.size()) + " bytes",
                           "leave at most " + std::to_string(kMostPeakFileBytes));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // some editors' mark of UTF-8
  std::vector<PeakLine> lines;
  bool has_header = false;
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++number > kMostPeakFileLines) {
      return PeakFileMistake(file, number, "the file has too many lines",
                             "leave at most " + std::to_string(kMostPeakFileLines));
    }
    if (line.size() > kMostPeakLineBytes) {
      return PeakFileMistake(file, number, "the line has " + std::to_string(line.size()) + " bytes",
                             "leave at most " + std::to_string(kMostPeakLineBytes));
    }
    line = WithoutSpaces(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (TerminalText(line) != line) {
      return PeakFileMistake(file, number, "the line is not plain text in UTF-8: " + TerminalText(line.substr(0, 60)),
                             "remove control characters");
    }
    if (!has_header) {
      if (line != kPeakFileHeader) {
        return PeakFileMistake(file, number, "the header is missing",
                               "begin with the line " + std::string(kPeakFileHeader));
      }
      has_header = true;
      continue;
    }
    std::vector<std::string> fields;
    if (const char* why = SplitFields(line, fields)) {
      return PeakFileMistake(file, number, why,
                             R"(put a field with commas or quotes in quotes, and write "" for a quote)");
    }
    if (fields.size() != kFields) {
      return PeakFileMistake(file, number, "the line has " + std::to_string(fields.size()) + " fields, not 9",
                             "they are " + std::string(kPeakFileHeader) + "; quote one that has commas");
    }
    lines.push_back({number, std::move(fields[0]), std::move(fields[1]), std::move(fields[2]), std::move(fields[3]),
                     std::move(fields[4]), std::move(fields[5]), std::move(fields[6]), std::move(fields[7]),
                     std::move(fields[8])});
  }
  if (!has_header) {
    return PeakFileMistake(file, std::max<uint64_t>(number, 1), "the header is missing",
                           "begin with the line " + std::string(kPeakFileHeader));
  }
  return lines;
}

namespace {

constexpr size_t kMostNameBytes = 128;

std::string_view VendorOf(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "";
    case DeviceKind::kNvidia:
      return "nvidia";
    case DeviceKind::kNeuron:
      return "aws";
    case DeviceKind::kAmd:
      return "amd";
  }
  return "";
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// "NVIDIA  H200 " is "nvidia h200".
std::string NormalName(std::string_view name) {
  std::string normal;
  for (char c : name) {
    if (c == ' ' || c == '\t') {
      if (!normal.empty() && normal.back() != ' ') normal += ' ';
    } else {
      normal += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  if (normal.ends_with(' ')) normal.pop_back();
  return normal;
}

bool IsDeviceName(std::string_view text) {
  if (text.empty() || text.size() > kMostNameBytes) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
           c == '.' || c == '+';
  });
}

// "9.0"
bool IsComputeCapability(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == text.npos || dot == 0 || dot + 1 == text.size() || text.size() > 8) return false;
  return text.find_first_not_of("0123456789.") == text.npos && text.find('.', dot + 1) == text.npos;
}

std::string QuotedCell(std::string_view text) {
  return "'" + ClippedText(text, 60) + "'";
}

}  // namespace

// Puts the lines of one file into a table.
class PeakTable::FileReader {
 public:
  // Table and file must outlive it.
  FileReader(PeakTable& table, const std::string& file, PeakOrigin origin)
      : table_(table), file_(file), origin_(origin), base_devices_(table.devices_.size()) {
    for (size_t i = 0; i < base_devices_; ++i) by_device_.emplace(table.devices_[i].device, i);
  }

  Status Take(const std::vector<PeakLine>& lines);

 private:
  Status TakeLine(const PeakLine& line);
  Result<size_t> DeviceOf(const PeakLine& line);
  Status TakeFact(const PeakLine& line, size_t device);
  Status TakeNumber(const PeakLine& line, size_t device);
  Status TakeName(const PeakLine& line, size_t device);
  Status CheckDevice(size_t device);
  uint64_t LineOf(size_t device, const Peak& peak) const;  // 0: this file says nothing of it
  Status Mistake(const PeakLine& line, const std::string& why, std::string remedy) const;

  PeakTable& table_;
  const std::string& file_;
  const PeakOrigin origin_;
  const size_t base_devices_;  // those that were there before this file, first in the table
  std::set<size_t> named_;     // devices that this file gives a name
  std::map<std::string, size_t> by_device_;
  std::map<size_t, uint64_t> first_lines_;  // of each device that the file is about
  // Where the file said what: device, quantity, dtype, accumulate; of names the name in place of the dtype.
  std::map<std::tuple<size_t, std::string, std::string, std::string>, uint64_t> said_;
};

Status PeakTable::FileReader::Mistake(const PeakLine& line, const std::string& why, std::string remedy) const {
  return PeakFileMistake(file_, line.number, ClippedText(line.device, 60) + ": " + why, std::move(remedy));
}

Status PeakTable::FileReader::Take(const std::vector<PeakLine>& lines) {
  for (const PeakLine& line : lines) {
    if (line.quantity != "name") RETURN_IF_ERROR(TakeLine(line));
  }
  // Names belong to a vendor, which may stand behind them.
  for (const PeakLine& line : lines) {
    if (line.quantity == "name") RETURN_IF_ERROR(TakeLine(line));
  }
  for (const auto& [device, line] : first_lines_) RETURN_IF_ERROR(CheckDevice(device));
  return OkStatus();
}

Status PeakTable::FileReader::TakeLine(const PeakLine& line) {
  ASSIGN_OR_RETURN(const size_t device, DeviceOf(line));
  const bool is_name = line.quantity == "name";
  const auto [said, is_new] = said_.try_emplace(
      {device, line.quantity, is_name ? NormalName(line.value) : line.dtype, line.accumulate}, line.number);
  if (!is_new) {
    return Mistake(line, "line " + std::to_string(said->second) + " says the same", "leave one of them");
  }
  if (is_name) return TakeName(line, device);
  const bool is_fact = IsOneOf(line.quantity, {"vendor", "architecture", "compute_capability", "core_kind"});
  return is_fact ? TakeFact(line, device) : TakeNumber(line, device);
}

// Makes the device when it is new.
Result<size_t> PeakTable::FileReader::DeviceOf(const PeakLine& line) {
  if (!IsDeviceName(line.device)) {
    return PeakFileMistake(file_, line.number, "the device " + QuotedCell(line.device) + " has no name that fits",
                           "use letters, digits, '-', '_', '.' and '+'");
  }
  const auto [known, is_new] = by_device_.try_emplace(line.device, table_.devices_.size());
  if (is_new) {
    if (table_.devices_.size() == kMostDevices) {
      return Mistake(line, "it is one device too many", "leave at most " + std::to_string(kMostDevices));
    }
    table_.devices_.emplace_back().device = line.device;
  }
  const auto [first, is_first] = first_lines_.try_emplace(known->second, line.number);
  first->second = std::min(first->second, line.number);
  return known->second;
}

Status PeakTable::FileReader::TakeFact(const PeakLine& line, size_t device) {
  DevicePeaks& peaks = table_.devices_[device];
  if (!line.dtype.empty() || !line.accumulate.empty() || !line.unit.empty()) {
    return Mistake(line, line.quantity + " has neither dtype nor accumulate nor unit", "leave them empty");
  }
  if (line.value.empty() || line.value.size() > kMostNameBytes) {
    return Mistake(line, "the value of " + line.quantity + " is empty or too long",
                   "give it from 1 to " + std::to_string(kMostNameBytes) + " bytes");
  }
  if (line.quantity == "vendor") {
    if (!IsOneOf(line.value, {"nvidia", "amd", "aws"})) {
      return Mistake(line, "the vendor " + QuotedCell(line.value) + " is not known", "use nvidia, amd or aws");
    }
    if (!peaks.vendor.empty() && peaks.vendor != line.value) {
      return Mistake(line, "its vendor is " + peaks.vendor, "give a device of another vendor its own name");
    }
    peaks.vendor = line.value;
  } else if (line.quantity == "architecture") {
    peaks.architecture = line.value;
  } else if (line.quantity == "compute_capability") {
    if (!IsComputeCapability(line.value)) {
      return Mistake(line, QuotedCell(line.value) + " is no compute capability", "write it as 9.0");
    }
    peaks.compute_capability = line.value;
  } else {
    if (!IsOneOf(line.value, {"SM", "CU", "NeuronCore"})) {
      return Mistake(line, "the core kind " + QuotedCell(line.value) + " is not known", "use SM, CU or NeuronCore");
    }
    peaks.core_kind = line.value;
  }
  return OkStatus();
}

Status PeakTable::FileReader::TakeNumber(const PeakLine& line, size_t device) {
  Peak peak{.quantity = line.quantity,
            .dtype = line.dtype,
            .accumulate = line.accumulate,
            .unit = line.unit,
            .source = line.source,
            .note = line.note,
            .origin = origin_};
  const char* const end = line.value.data() + line.value.size();
  const auto [stop, error] = std::from_chars(line.value.data(), end, peak.value);
  if (line.value.empty() || error != std::errc() || stop != end) {
    return Mistake(line, "the value " + QuotedCell(line.value) + " is not a number that can be kept",
                   "write it as 989 or 494.5");
  }
  if (std::optional<PeakComplaint> complaint = CheckPeak(peak)) {
    return Mistake(line, complaint->why, complaint->remedy);
  }
  const std::optional<PeakConfidence> confidence = PeakConfidenceByName(line.confidence);
  if (!confidence) {
    return Mistake(line, "the confidence " + QuotedCell(line.confidence) + " is not known", "use high, medium or low");
  }
  peak.confidence = *confidence;
  if (line.source.empty()) return Mistake(line, "the number has no source", "say who gives it");
  std::vector<Peak>& peaks = table_.devices_[device].peaks;
  auto same = std::find_if(peaks.begin(), peaks.end(), [&](const Peak& other) { return IsSameQuantity(other, peak); });
  if (same == peaks.end()) {
    peaks.push_back(std::move(peak));
  } else {
    *same = std::move(peak);
  }
  return OkStatus();
}

Status PeakTable::FileReader::TakeName(const PeakLine& line, size_t device) {
  if (!line.dtype.empty() || !line.accumulate.empty() || !line.unit.empty()) {
    return Mistake(line, "a name has neither dtype nor accumulate nor unit", "leave them empty");
  }
  std::string name = NormalName(line.value);
  if (name.empty() || name.size() > kMostNameBytes) {
    return Mistake(line, "the name is empty or too long",
                   "give it from 1 to " + std::to_string(kMostNameBytes) + " bytes");
  }
  const std::string& vendor = table_.devices_[device].vendor;
  const auto [known, is_new] = table_.by_name_.try_emplace({vendor, std::move(name)}, device);
  if (!is_new && known->second != device) {
    return Mistake(line, QuotedCell(line.value) + " is the name of " + table_.devices_[known->second].device,
                   "change that device's numbers instead");
  }
  named_.insert(device);
  return OkStatus();
}

uint64_t PeakTable::FileReader::LineOf(size_t device, const Peak& peak) const {
  const auto said = said_.find({device, peak.quantity, peak.dtype, peak.accumulate});
  return said == said_.end() ? 0 : said->second;
}

// When all of it is in place: what a device must have, and what only shows of several numbers together.
Status PeakTable::FileReader::CheckDevice(size_t device) {
  const DevicePeaks& peaks = table_.devices_[device];
  const uint64_t first_line = first_lines_.at(device);
  const bool has_name = device < base_devices_ || named_.contains(device);
  if (peaks.vendor.empty() || !has_name) {
    return PeakFileMistake(file_, first_line,
                           peaks.device + ": it has no " + (peaks.vendor.empty() ? "vendor" : "name"),
                           "add a line for its vendor and one for each name, or write it as the device that is meant");
  }
  for (const PeakComplaint& complaint : CheckPeaks(peaks)) {
    uint64_t line = LineOf(device, peaks.peaks[complaint.peak]);
    if (line == 0 && complaint.beside) line = LineOf(device, peaks.peaks[*complaint.beside]);
    if (line == 0) continue;  // told with the file that says it
    Status mistake = PeakFileMistake(file_, line, peaks.device + ": " + complaint.why, complaint.remedy);
    if (complaint.refuses) return mistake;
    table_.warnings_.push_back(mistake.ToString());
  }
  return OkStatus();
}

Result<PeakTable> PeakTable::Parse(std::string_view text, const std::string& file) {
  ASSIGN_OR_RETURN(const std::vector<PeakLine> lines, ReadPeakLines(text, file));
  PeakTable table;
  RETURN_IF_ERROR(FileReader(table, file, PeakOrigin::kTable).Take(lines));
  return table;
}

Result<PeakTable> PeakTable::Overridden(PeakTable base, std::string_view text, const std::string& file) {
  ASSIGN_OR_RETURN(const std::vector<PeakLine> lines, ReadPeakLines(text, file));
  RETURN_IF_ERROR(FileReader(base, file, PeakOrigin::kOverride).Take(lines));
  return base;
}

const DevicePeaks* PeakTable::Find(DeviceKind kind, std::string_view runtime_name) const {
  const auto found = by_name_.find({std::string(VendorOf(kind)), NormalName(runtime_name)});
  return found == by_name_.end() ? nullptr : &devices_[found->second];
}

std::string BuiltInPeaksText();  // made of peaks.csv by embed_text.cmake

Result<PeakTable> LoadBuiltInPeaks() {
  return PeakTable::Parse(BuiltInPeaksText(), "the built-in peaks.csv");
}

}  // namespace kprof
