#include "daemon/ingest/ncu/line_table.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace kprof {
namespace {

constexpr size_t kMostPathBytes = 4096;
constexpr uint32_t kWideUnit = 0xffffffff;  // begins a unit whose length has 64 bits

// Reads a section's bytes one after the other. What is not there is 0, and ends the reading.
class LineBytes {
 public:
  explicit LineBytes(std::string_view bytes, uint64_t offset = 0) : bytes_(bytes), offset_(offset) {}

  uint64_t Number(size_t size) {
    if (bytes_.size() - at_ < size) return Break();
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return value;
  }
  uint64_t Unsigned() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const uint64_t byte = Number(1);
      value |= (byte & 0x7f) << (shift & 63);
      if (byte < 0x80) return value;
    }
    return Break();
  }
  int64_t Signed() {
    uint64_t value = 0;
    int shift = 0;
    uint64_t byte = 0;
    do {
      byte = Number(1);
      value |= (byte & 0x7f) << (shift & 63);
      shift += 7;
    } while (byte >= 0x80 && shift < 70);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  std::string_view Text() {
    const size_t end = bytes_.find('\0', at_);
    if (end == bytes_.npos) {
      Break();
      return {};
    }
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }
  std::string_view Take(uint64_t size) {
    if (bytes_.size() - at_ < size) {
      Break();
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  bool at_end() const { return at_ >= bytes_.size(); }
  bool is_broken() const { return is_broken_; }
  uint64_t offset() const { return offset_ + at_; }  // in the section

 private:
  uint64_t Break() {
    at_ = bytes_.size();
    is_broken_ = true;
    return 0;
  }

  std::string_view bytes_;
  uint64_t offset_;
  size_t at_ = 0;
  bool is_broken_ = false;
};

std::string JoinedPath(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  return std::string(folder) + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

class LineReading {
 public:
  LineReading(const std::vector<CubinSection>& sections, std::string_view name)
      : relocations_(ReadCubinRelocations(sections, name)) {
    const CubinSection* lines = FindCubinSection(sections, name);
    if (lines != nullptr) bytes_ = lines->bytes;
    if (const CubinSection* texts = FindCubinSection(sections, ".debug_line_str")) line_texts_ = texts->bytes;
    if (const CubinSection* texts = FindCubinSection(sections, ".debug_str")) texts_ = texts->bytes;
    for (size_t i = 0; i < sections.size(); ++i) {
      if (!sections[i].name.starts_with(".text.")) continue;
      only_code_ = has_code_ ? 0 : static_cast<uint32_t>(i);
      has_code_ = true;
    }
    table_.files.emplace_back();
  }

  LineTable Read() {
    LineBytes section(bytes_);
    while (!section.at_end()) {
      uint64_t length = section.Number(4);
      const bool is_wide = length == kWideUnit;
      if (is_wide) length = section.Number(8);
      const uint64_t offset = section.offset();
      const std::string_view unit = section.Take(length);
      if (section.is_broken()) break;
      ReadUnit(LineBytes(unit, offset), is_wide ? 8 : 4);
    }
    std::stable_sort(table_.rows.begin(), table_.rows.end(), [](const LineRow& a, const LineRow& b) {
      // Where one sequence ends another may begin: the end first.
      return std::tuple(a.section, a.offset, !a.ends) < std::tuple(b.section, b.offset, !b.ends);
    });
    return std::move(table_);
  }

 private:
  struct Unit {
    uint64_t version = 0;
    size_t offset_bytes = 4;
    uint64_t least_instruction = 1;
    int64_t line_base = 0;
    uint64_t line_range = 1;
    uint64_t opcode_base = 13;
    std::vector<uint64_t> operands;  // of each standard opcode
    std::vector<std::string> folders;
    std::vector<uint32_t> files;  // the numbers in the table, by those in the unit
  };
  struct State {
    uint32_t section = 0;
    uint64_t offset = 0;
    uint64_t file = 1;
    uint64_t line = 1;  // wraps around: programs may be anything
  };

  void ReadUnit(LineBytes bytes, size_t offset_bytes) {
    constexpr uint64_t kLeastVersion = 2;
    constexpr uint64_t kMostVersion = 5;
    Unit unit;
    unit.offset_bytes = offset_bytes;
    unit.version = bytes.Number(2);
    if (unit.version < kLeastVersion || unit.version > kMostVersion) return;
    if (unit.version >= 5) bytes.Number(2);  // sizes of an address and of a segment
    const uint64_t head_length = bytes.Number(offset_bytes);
    const uint64_t head_offset = bytes.offset();
    LineBytes head(bytes.Take(head_length), head_offset);
    if (bytes.is_broken()) return;
    unit.least_instruction = head.Number(1);
    if (unit.version >= 4) head.Number(1);  // operations of an instruction
    head.Number(1);                         // whether rows are statements at first
    const auto base = static_cast<int64_t>(head.Number(1));
    unit.line_base = base < 128 ? base : base - 256;  // a byte with a sign
    unit.line_range = std::max<uint64_t>(head.Number(1), 1);
    unit.opcode_base = std::max<uint64_t>(head.Number(1), 1);
    for (uint64_t i = 1; i < unit.opcode_base; ++i) unit.operands.push_back(head.Number(1));
    if (unit.version >= 5) {
      ReadEntries(head, unit, true);
      ReadEntries(head, unit, false);
    } else {
      ReadOldEntries(head, unit);
    }
    if (!head.is_broken()) Run(bytes, unit);
  }

  uint32_t AddFile(const std::string& path) {
    if (table_.files.size() >= kMostLineFiles) return 0;
    table_.files.push_back(path.substr(0, kMostPathBytes));
    return static_cast<uint32_t>(table_.files.size() - 1);
  }

  void ReadOldEntries(LineBytes& head, Unit& unit) {
    unit.folders.emplace_back();  // where it was compiled, which is said elsewhere
    while (!head.at_end()) {
      const std::string_view folder = head.Text();
      if (folder.empty()) break;
      unit.folders.emplace_back(folder);
    }
    unit.files.push_back(0);
    while (!head.at_end()) {
      const std::string_view name = head.Text();
      if (name.empty()) break;
      const uint64_t folder = head.Unsigned();
      head.Unsigned();  // when it was changed
      head.Unsigned();  // its size
      unit.files.push_back(AddFile(JoinedPath(folder < unit.folders.size() ? unit.folders[folder] : "", name)));
    }
  }

  // Folders, or files, of DWARF 5: first what is said of each, and in which form.
  void ReadEntries(LineBytes& head, Unit& unit, bool are_folders) {
    struct EntryFormat {
      uint64_t what = 0;
      uint64_t form = 0;
    };
    std::vector<EntryFormat> formats(head.Number(1));
    for (EntryFormat& format : formats) {
      format.what = head.Unsigned();
      format.form = head.Unsigned();
    }
    const uint64_t count = head.Unsigned();
    for (uint64_t i = 0; i < count && !head.is_broken() && !formats.empty() && i < kMostLineFiles; ++i) {
      constexpr uint64_t kPathOf = 1;
      constexpr uint64_t kFolderOf = 2;
      std::string_view path;
      uint64_t folder = 0;
      for (const EntryFormat& format : formats) {
        uint64_t number = 0;
        const std::string_view text = ReadForm(head, format.form, unit.offset_bytes, number);
        if (format.what == kPathOf) path = text;
        if (format.what == kFolderOf) folder = number;
      }
      if (are_folders) {
        unit.folders.emplace_back(path);
      } else {
        unit.files.push_back(AddFile(JoinedPath(folder < unit.folders.size() ? unit.folders[folder] : "", path)));
      }
    }
  }

  std::string_view ReadForm(LineBytes& head, uint64_t form, size_t offset_bytes, uint64_t& number) const {
    enum Form : uint64_t {
      kFormData2 = 0x05,
      kFormData4 = 0x06,
      kFormData8 = 0x07,
      kFormString = 0x08,
      kFormBlock = 0x09,
      kFormData1 = 0x0b,
      kFormStrp = 0x0e,
      kFormUdata = 0x0f,
      kFormData16 = 0x1e,
      kFormLineStrp = 0x1f,
    };
    switch (form) {
      case kFormString:
        return head.Text();
      case kFormLineStrp:
        return LineBytes(line_texts_.substr(std::min<uint64_t>(head.Number(offset_bytes), line_texts_.size()))).Text();
      case kFormStrp:
        return LineBytes(texts_.substr(std::min<uint64_t>(head.Number(offset_bytes), texts_.size()))).Text();
      case kFormData1:
        number = head.Number(1);
        return {};
      case kFormData2:
        number = head.Number(2);
        return {};
      case kFormData4:
        number = head.Number(4);
        return {};
      case kFormData8:
        number = head.Number(8);
        return {};
      case kFormData16:
        head.Take(16);
        return {};
      case kFormUdata:
        number = head.Unsigned();
        return {};
      case kFormBlock:
        head.Take(head.Unsigned());
        return {};
      default:
        head.Take(UINT64_MAX);  // nobody knows how long it is
        return {};
    }
  }

  void AddRow(const Unit& unit, const State& state, bool ends) {
    if (table_.rows.size() >= kMostLineRows) return;
    const bool is_line = state.line > 0 && state.line <= INT32_MAX;
    table_.rows.push_back({.section = state.section,
                           .offset = state.offset,
                           .file = state.file < unit.files.size() ? unit.files[state.file] : 0,
                           .line = is_line ? static_cast<uint32_t>(state.line) : 0,
                           .ends = ends});
  }

  // The address is that of a symbol, put in by a relocation, as the code has no address of its own yet.
  void SetAddress(State& state, uint64_t place, uint64_t address) const {
    const auto found =
        std::lower_bound(relocations_.begin(), relocations_.end(), place,
                         [](const CubinRelocation& relocation, uint64_t at) { return relocation.offset < at; });
    if (found != relocations_.end() && found->offset == place) {
      state.section = found->section;
      state.offset = found->value + static_cast<uint64_t>(found->addend) + address;
    } else {
      state.section = only_code_;
      state.offset = address;
    }
  }

  void Run(LineBytes& program, const Unit& unit) {
    enum Opcode : uint64_t {
      kExtended = 0,
      kCopy = 1,
      kAdvancePc = 2,
      kAdvanceLine = 3,
      kSetFile = 4,
      kSetColumn = 5,
      kConstAddPc = 8,
      kFixedAdvancePc = 9,
    };
    enum ExtendedOpcode : uint64_t { kEndSequence = 1, kSetAddress = 2, kDefineFile = 3 };
    constexpr uint64_t kLastOpcode = 255;
    State state;
    while (!program.at_end() && table_.rows.size() < kMostLineRows) {
      const uint64_t opcode = program.Number(1);
      if (opcode >= unit.opcode_base) {
        const uint64_t adjusted = opcode - unit.opcode_base;
        state.offset += adjusted / unit.line_range * unit.least_instruction;
        state.line += static_cast<uint64_t>(unit.line_base) + adjusted % unit.line_range;
        AddRow(unit, state, false);
        continue;
      }
      switch (opcode) {
        case kExtended: {
          const uint64_t length = program.Unsigned();
          const uint64_t offset = program.offset();
          LineBytes operands(program.Take(length), offset);
          if (program.is_broken() || length == 0) break;
          const uint64_t extended = operands.Number(1);
          if (extended == kEndSequence) {
            AddRow(unit, state, true);
            state = State();
          } else if (extended == kSetAddress) {
            SetAddress(state, offset + 1, operands.Number(std::min<uint64_t>(length - 1, 8)));
          }
          break;  // NVIDIA's own, of inlined calls, are passed over
        }
        case kCopy:
          AddRow(unit, state, false);
          break;
        case kAdvancePc:
          state.offset += program.Unsigned() * unit.least_instruction;
          break;
        case kAdvanceLine:
          state.line += static_cast<uint64_t>(program.Signed());
          break;
        case kSetFile:
          state.file = program.Unsigned();
          break;
        case kConstAddPc:
          state.offset += (kLastOpcode - unit.opcode_base) / unit.line_range * unit.least_instruction;
          break;
        case kFixedAdvancePc:
          state.offset += program.Number(2);
          break;
        default:
          for (uint64_t i = 0; i < unit.operands[opcode - 1]; ++i) program.Unsigned();
      }
    }
  }

  std::vector<CubinRelocation> relocations_;
  std::string_view bytes_;
  std::string_view line_texts_;
  std::string_view texts_;
  bool has_code_ = false;
  uint32_t only_code_ = 0;  // where one section alone has code
  LineTable table_;
};

}  // namespace

LineTable ReadLineTable(const std::vector<CubinSection>& sections, std::string_view name) {
  return LineReading(sections, name).Read();
}

const LineRow* FindLine(const LineTable& table, uint32_t section, uint64_t offset) {
  const auto behind = std::upper_bound(table.rows.begin(), table.rows.end(), std::pair(section, offset),
                                       [](const std::pair<uint32_t, uint64_t>& place, const LineRow& row) {
                                         return place < std::pair(row.section, row.offset);
                                       });
  if (behind == table.rows.begin()) return nullptr;
  const LineRow& row = *(behind - 1);
  return row.section == section && !row.ends && row.line != 0 ? &row : nullptr;
}

}  // namespace kprof
