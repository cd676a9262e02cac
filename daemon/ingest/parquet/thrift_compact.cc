#include "daemon/ingest/parquet/thrift_compact.h"

namespace kprof {
namespace {

int64_t UnZigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace

uint8_t ThriftReader::Byte() {
  if (!ok_ || at_ >= bytes_.size()) {
    Fail();
    return 0;
  }
  return static_cast<uint8_t>(bytes_[at_++]);
}

uint64_t ThriftReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const uint8_t byte = Byte();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  Fail();
  return 0;
}

ThriftReader::Field ThriftReader::Next(int16_t last) {
  const uint8_t head = Byte();
  Field field{0, static_cast<uint8_t>(head & 0x0f)};
  if (!ok_ || field.type == kStop) return {0, kStop};
  const uint8_t delta = head >> 4;
  const int64_t id = delta != 0 ? last + delta : Integer();
  if (id < 0 || id > INT16_MAX || field.type > kStruct) {
    Fail();
    return {0, kStop};
  }
  field.id = static_cast<int16_t>(id);
  return field;
}

int64_t ThriftReader::Integer() {
  return UnZigzag(Varint());
}

std::string_view ThriftReader::Binary() {
  const uint64_t size = Varint();
  if (!ok_ || size > bytes_.size() - at_) {
    Fail();
    return {};
  }
  const std::string_view value(bytes_.data() + at_, size);
  at_ += size;
  return value;
}

ThriftReader::List ThriftReader::ListHead() {
  const uint8_t head = Byte();
  List list{static_cast<uint32_t>(head >> 4), static_cast<uint8_t>(head & 0x0f)};
  if (list.size == 15) {
    const uint64_t size = Varint();
    // An element takes a byte at least.
    if (!ok_ || size > bytes_.size() - at_) {
      Fail();
      return {};
    }
    list.size = static_cast<uint32_t>(size);
  }
  return ok_ ? list : List();
}

void ThriftReader::Skip(uint8_t type, int depth) {
  if (depth <= 0) Fail();
  if (!ok_) return;
  switch (type) {
    case kTrue:
    case kFalse:
      return;
    case kByte:
      Byte();
      return;
    case kI16:
    case kI32:
    case kI64:
      Varint();
      return;
    case kDouble:
      for (int i = 0; i < 8; ++i) Byte();
      return;
    case kBinary:
      Binary();
      return;
    case kList:
    case kSet: {
      const List list = ListHead();
      for (uint32_t i = 0; ok_ && i < list.size; ++i) {
        if (list.type == kTrue || list.type == kFalse) {
          Byte();  // in a list a boolean is a byte
        } else {
          Skip(list.type, depth - 1);
        }
      }
      return;
    }
    case kMap: {
      const uint64_t size = Varint();
      if (size == 0 || !ok_) return;
      const uint8_t types = Byte();
      for (uint64_t i = 0; ok_ && i < size; ++i) {
        Skip(types >> 4, depth - 1);
        Skip(types & 0x0f, depth - 1);
      }
      return;
    }
    case kStruct: {
      int16_t last = 0;
      while (ok_) {
        const Field field = Next(last);
        if (field.type == kStop) return;
        last = field.id;
        Skip(field.type, depth - 1);
      }
      return;
    }
    default:
      Fail();
  }
}

}  // namespace kprof
