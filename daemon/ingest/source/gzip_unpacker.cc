#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "daemon/ingest/source/text_source.h"

namespace kprof {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
// Of a repetition that it does not make, as it would be of what there is not, it counts all 258 bytes that one may
// have; beside that up to 24 were seen.
constexpr size_t kDoubtfulBytes = 258 + 64;

const char* ErrorText(int error) {
  switch (error) {
    case ISAL_INVALID_BLOCK:
      return "a block of it is of no known kind";
    case ISAL_INVALID_SYMBOL:
      return "it has a symbol that there is not";
    case ISAL_INVALID_LOOKBACK:
      return "it refers to what was before it began";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return "its header is none";
    case ISAL_INCORRECT_CHECKSUM:
      return "its checksum is of other bytes";
    default:
      return "it cannot be unpacked";
  }
}

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() { Begin(); }

  Result<Step> Unpack(std::span<const char> in, std::span<char> out) override {
    if (!failure_.ok()) return failure_;
    if (state_.block_state == ISAL_BLOCK_FINISH) {  // another one behind it, or the zeros that tar and tapes leave
      if (!in.empty() && in.front() == '\0') {
        const size_t zeros = Zeros(in);
        taken_bytes_ += static_cast<int64_t>(zeros);
        return Step{zeros, 0};
      }
      if (in.empty()) return Step{};
      if (!MayBegin(in)) return failure_ = NotPackedBehind("gzip", taken_bytes_);
      Begin();
    }
    state_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(in.data()));  // which it does not write to
    state_.avail_in = static_cast<uint32_t>(std::min<size_t>(in.size(), INT_MAX));
    state_.next_out = reinterpret_cast<uint8_t*>(out.data());
    state_.avail_out = static_cast<uint32_t>(std::min<size_t>(out.size(), INT_MAX));
    const uint32_t had_in = state_.avail_in;
    const uint32_t had_out = state_.avail_out;
    const int result = isal_inflate(&state_);
    began_ |= had_in > state_.avail_in;
    Step step{had_in - state_.avail_in, had_out - state_.avail_out};
    if (result < 0) {
      failure_ = Fail(ErrorCode::kBadInput, "unpack gzip", ErrorText(result), kPackAgain);
      // It may count bytes of the step before once more, and some that it did not come to write.
      step.taken = std::min(step.taken, in.size());
      if (result != ISAL_INCORRECT_CHECKSUM) step.made -= std::min(step.made, kDoubtfulBytes);
    }
    taken_bytes_ += static_cast<int64_t>(step.taken);
    if (!failure_.ok() && step.made == 0) return failure_;
    return step;
  }

  bool AtEnd() const override { return !began_ || state_.block_state == ISAL_BLOCK_FINISH; }

 private:
  static size_t Zeros(std::span<const char> in) {
    return static_cast<size_t>(std::find_if(in.begin(), in.end(), [](char c) { return c != '\0'; }) - in.begin());
  }
  // As far as it is there.
  static bool MayBegin(std::span<const char> in) {
    return in.front() == kGzipMagic[0] && (in.size() == 1 || in[1] == kGzipMagic[1]);
  }
  void Begin() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    began_ = false;
  }

  inflate_state state_ = {};  // it may read of its history what was never there
  bool began_ = false;
  int64_t taken_bytes_ = 0;  // of the source
  Status failure_;           // said once what was made before it is taken
};

}  // namespace

bool LooksLikeGzip(std::span<const char> first) {
  return std::string_view(first.data(), first.size()).starts_with(kGzipMagic);
}

std::unique_ptr<Unpacker> MakeGzipUnpacker() {
  return std::make_unique<GzipUnpacker>();
}

}  // namespace kprof
