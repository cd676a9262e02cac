#include "daemon/ingest/ncu/line_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/ingest/ncu/cubin_file.h"

namespace kprof {
namespace {

std::string LineNumberBytes(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string UnitOf(uint64_t version, const std::string& head, const std::string& program) {
  std::string unit = LineNumberBytes(version, 2);
  if (version >= 5) unit += std::string("\x08\x00", 2);
  unit += LineNumberBytes(head.size(), 4) + head + program;
  return LineNumberBytes(unit.size(), 4) + unit;
}

// One byte for an instruction, lines from -5 in steps of 14, ten opcodes.
std::string HeadBegin(uint64_t version) {
  std::string begin("\x01", 1);
  if (version >= 4) begin += '\x01';
  return begin + std::string("\x01\xfb\x0e\x0a\x00\x01\x01\x01\x01\x00\x00\x00\x01", 13);
}

const std::string kFilesOfTwo = std::string("/src\0\0", 6) + std::string("a.cu\0\x01\x00\x00", 8) +
                                std::string("/b.h\0\x00\x00\x00", 8) + std::string("\0", 1);
// At 0 line 3 of file 1; from 16 on line 7 of file 2; up to 32.
const std::string kProgramOfTwo = std::string("\x00\x09\x02\x00\x00\x00\x00\x00\x00\x00\x00", 11) +
                                  std::string("\x03\x02\x01", 3) + std::string("\x02\x10\x04\x02\x03\x04\x01", 7) +
                                  std::string("\x02\x10\x00\x01\x01", 5);

LineTable TableOf(const std::string& lines) {
  return ReadLineTable({{.name = ""}, {.name = ".text.f"}, {.name = ".debug_line", .bytes = lines}}, ".debug_line");
}

std::string LineAt(const LineTable& table, uint64_t offset) {
  const LineRow* row = FindLine(table, 1, offset);
  return row == nullptr ? "none" : table.files.at(row->file) + ":" + std::to_string(row->line);
}

TEST(LineTable, TellsTheLineOfEachInstruction) {
  for (const uint64_t version : {2, 3, 4}) {
    const LineTable table = TableOf(UnitOf(version, HeadBegin(version) + kFilesOfTwo, kProgramOfTwo));
    EXPECT_EQ(LineAt(table, 0), "/src/a.cu:3") << version;
    EXPECT_EQ(LineAt(table, 15), "/src/a.cu:3");
    EXPECT_EQ(LineAt(table, 16), "/b.h:7");
    EXPECT_EQ(LineAt(table, 32), "none");
    EXPECT_EQ(FindLine(table, 2, 0), nullptr);
  }
}

TEST(LineTable, ReadsFilesOfTheFifthVersion) {
  // Folders: their paths as texts. Files: a path as a text, a folder's number of a byte.
  const std::string entries = std::string("\x01\x01\x08\x01/src\0", 9) + std::string(
                                                                             "\x02\x01\x08\x02\x0b\x03"
                                                                             "0\0\0a.cu\0\0/b.h\0\0",
                                                                             21);
  const LineTable table = TableOf(UnitOf(5, HeadBegin(5) + entries, kProgramOfTwo));
  EXPECT_EQ(LineAt(table, 0), "/src/a.cu:3");
  EXPECT_EQ(LineAt(table, 16), "/b.h:7");
}

TEST(LineTable, StepsAddressAndLineByOneOpcode) {
  // 10 + (line + 5) + 14 * address: two lines on and 16 bytes.
  const std::string program = std::string("\x00\x09\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01", 12) +
                              static_cast<char>(10 + (2 + 5) + 14 * 16) + std::string("\x02\x10\x00\x01\x01", 5);
  const LineTable table = TableOf(UnitOf(2, HeadBegin(2) + kFilesOfTwo, program));
  EXPECT_EQ(LineAt(table, 0), "/src/a.cu:1");
  EXPECT_EQ(LineAt(table, 16), "/src/a.cu:3");
}

TEST(LineTable, KeepsTheUnitsBeforeABrokenOne) {
  const std::string whole = UnitOf(2, HeadBegin(2) + kFilesOfTwo, kProgramOfTwo);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(LineAt(TableOf(whole + whole.substr(0, size)), 0), "/src/a.cu:3") << size;
  }
  EXPECT_TRUE(TableOf(UnitOf(9, HeadBegin(2) + kFilesOfTwo, kProgramOfTwo)).rows.empty());
}

TEST(CubinFile, WhatIsNoElfFileHasNoSections) {
  EXPECT_TRUE(ReadCubinSections("").empty());
  EXPECT_TRUE(ReadCubinSections(std::string(200, 'x')).empty());
  EXPECT_TRUE(ReadCubinSections(std::string("\x7f"
                                            "ELF",
                                            4) +
                                std::string(60, '\0'))
                  .empty());
}

}  // namespace
}  // namespace kprof
