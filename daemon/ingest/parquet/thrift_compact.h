// Reads Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages. Hostile bytes end
// the reading: ok() is false from then on, and what is read then is 0. Nothing is copied.
//
// A value; any thread. `bytes` must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kprof {

class ThriftReader {
 public:
  enum Type : uint8_t {
    kStop = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI16 = 4,
    kI32 = 5,
    kI64 = 6,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12,
  };
  struct Field {
    int16_t id = 0;
    uint8_t type = kStop;
  };
  struct List {
    uint32_t size = 0;
    uint8_t type = kStop;
  };

  explicit ThriftReader(std::span<const char> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t offset() const { return at_; }

  // The next field of the struct whose last field was `last`; of type kStop at the end of the struct.
  Field Next(int16_t last);
  int64_t Integer();
  // The value of a boolean field: its type says it.
  static bool Boolean(uint8_t type) { return type == kTrue; }
  std::string_view Binary();
  // At most as many elements as there are bytes left.
  List ListHead();
  // Steps over a value of this type, `depth` structs deep at most.
  void Skip(uint8_t type, int depth = 16);

 private:
  uint64_t Varint();
  uint8_t Byte();
  void Fail() { ok_ = false; }

  std::span<const char> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

// Calls `see` for each field of a struct; it reads the field, or returns false to have it stepped over.
template <typename See>
void ForEachThriftField(ThriftReader& in, const See& see) {
  int16_t last = 0;
  while (in.ok()) {
    const ThriftReader::Field field = in.Next(last);
    if (field.type == ThriftReader::kStop) return;
    last = field.id;
    if (!see(field)) in.Skip(field.type);
  }
}

}  // namespace kprof
