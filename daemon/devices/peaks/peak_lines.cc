#include "daemon/devices/peaks/peak_lines.h"

#include <algorithm>

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

}  // namespace kprof
