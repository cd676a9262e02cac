#include "daemon/ingest/parquet/page_codecs.h"

#include <cstdint>
#include <cstring>
#include <memory>

#include "daemon/ingest/source/text_source.h"

namespace kprof {
namespace {

// The place for unpacked bytes, which may copy what stands before them.
class UnpackedBytes {
 public:
  explicit UnpackedBytes(std::span<char> out) : out_(out) {}

  bool Append(std::span<const char> bytes) {
    if (bytes.size() > out_.size() - at_) return false;
    if (!bytes.empty()) std::memcpy(out_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
    return true;
  }
  // `size` bytes from `distance` before; they may overlap what they make.
  bool Copy(size_t distance, size_t size) {
    if (distance == 0 || distance > at_ || size > out_.size() - at_) return false;
    char* const to = out_.data() + at_;
    const char* const from = to - distance;
    if (distance >= size) {
      std::memcpy(to, from, size);
    } else {
      for (size_t i = 0; i < size; ++i) to[i] = from[i];
    }
    at_ += size;
    return true;
  }
  bool is_full() const { return at_ == out_.size(); }

 private:
  std::span<char> out_;
  size_t at_ = 0;
};

uint8_t ByteAt(std::span<const char> in, size_t at) {
  return static_cast<uint8_t>(in[at]);
}

// Hadoop's frame around LZ4: blocks, each with its sizes before it, the highest byte first.
bool UnpackFramedLz4(std::span<const char> in, std::span<char> out) {
  const auto size_at = [&](size_t at) {
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = size << 8 | ByteAt(in, at + i);
    return size;
  };
  while (!in.empty()) {
    if (in.size() < 8) return false;
    const size_t made = size_at(0);
    const size_t packed = size_at(4);
    if (packed > in.size() - 8 || made > out.size()) return false;
    if (!UnpackLz4(in.subspan(8, packed), out.first(made))) return false;
    in = in.subspan(8 + packed);
    out = out.subspan(made);
  }
  return out.empty();
}

bool UnpackBy(Unpacker& unpacker, std::span<const char> in, std::span<char> out) {
  while (!out.empty()) {
    const Result<Unpacker::Step> step = unpacker.Unpack(in, out);
    if (!step.ok() || (step->taken == 0 && step->made == 0)) return false;
    in = in.subspan(step->taken);
    out = out.subspan(step->made);
  }
  return true;
}

}  // namespace

bool UnpackSnappy(std::span<const char> in, std::span<char> out) {
  uint64_t size = 0;
  size_t at = 0;
  for (int shift = 0;; shift += 7) {
    if (at >= in.size() || shift > 28) return false;
    const uint8_t byte = ByteAt(in, at++);
    size |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  if (size != out.size()) return false;
  UnpackedBytes made(out);
  while (at < in.size()) {
    const uint8_t tag = ByteAt(in, at++);
    const uint8_t kind = tag & 3;
    if (kind == 0) {  // the bytes themselves
      size_t length = (tag >> 2) + 1U;
      if (length > 60) {
        const size_t extra = length - 60;
        if (extra > in.size() - at) return false;
        length = 0;
        for (size_t i = 0; i < extra; ++i) length |= static_cast<size_t>(ByteAt(in, at + i)) << (8 * i);
        ++length;
        at += extra;
      }
      if (length > in.size() - at || !made.Append(in.subspan(at, length))) return false;
      at += length;
      continue;
    }
    const size_t extra = kind == 1 ? 1 : kind == 2 ? 2 : 4;
    if (extra > in.size() - at) return false;
    size_t distance = 0;
    for (size_t i = 0; i < extra; ++i) distance |= static_cast<size_t>(ByteAt(in, at + i)) << (8 * i);
    at += extra;
    size_t length = (tag >> 2) + 1U;
    if (kind == 1) {
      distance |= static_cast<size_t>(tag >> 5) << 8;
      length = ((tag >> 2) & 7U) + 4;
    }
    if (!made.Copy(distance, length)) return false;
  }
  return made.is_full();
}

bool UnpackLz4(std::span<const char> in, std::span<char> out) {
  UnpackedBytes made(out);
  size_t at = 0;
  const auto take_length = [&](size_t length) -> std::ptrdiff_t {
    if (length != 15) return static_cast<std::ptrdiff_t>(length);
    while (at < in.size()) {
      const uint8_t more = ByteAt(in, at++);
      length += more;
      if (more != 255) return static_cast<std::ptrdiff_t>(length);
      if (length > out.size()) break;
    }
    return -1;
  };
  while (at < in.size()) {
    const uint8_t token = ByteAt(in, at++);
    const std::ptrdiff_t literals = take_length(token >> 4);
    if (literals < 0 || static_cast<size_t>(literals) > in.size() - at) return false;
    if (!made.Append(in.subspan(at, static_cast<size_t>(literals)))) return false;
    at += static_cast<size_t>(literals);
    if (at == in.size()) break;  // the last sequence has no copy
    if (in.size() - at < 2) return false;
    const size_t distance = ByteAt(in, at) | static_cast<size_t>(ByteAt(in, at + 1)) << 8;
    at += 2;
    const std::ptrdiff_t length = take_length(token & 15);
    if (length < 0 || !made.Copy(distance, static_cast<size_t>(length) + 4)) return false;
  }
  return made.is_full();
}

Status UnpackPage(ParquetCodec codec, std::span<const char> in, std::span<char> out) {
  bool is_whole = false;
  switch (codec) {
    case ParquetCodec::kNone:
      is_whole = in.size() == out.size();
      if (is_whole && !in.empty()) std::memcpy(out.data(), in.data(), in.size());
      break;
    case ParquetCodec::kSnappy:
      is_whole = UnpackSnappy(in, out);
      break;
    case ParquetCodec::kGzip:
      is_whole = UnpackBy(*MakeGzipUnpacker(), in, out);
      break;
    case ParquetCodec::kZstd:
      is_whole = UnpackBy(*MakeZstdUnpacker(), in, out);
      break;
    case ParquetCodec::kLz4Raw:
      is_whole = UnpackLz4(in, out);
      break;
    case ParquetCodec::kLz4Framed:
      is_whole = UnpackFramedLz4(in, out) || UnpackLz4(in, out);
      break;
    default:
      return Fail(ErrorCode::kBadInput, "unpack a page", "it is packed with LZO, Brotli or something newer",
                  "write it with zstd, Snappy, gzip, LZ4, or without packing");
  }
  if (is_whole) return OkStatus();
  return Fail(ErrorCode::kBadInput, "unpack a page", "its packed bytes are damaged");
}

}  // namespace kprof
