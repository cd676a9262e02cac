// Events of a Chrome trace as no tool would write them, and cut anywhere. The reader stays within its text, stops where
// it says, and makes whole rows, the same ones of what it took once it is alone and its layouts are known.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/text/json_scan.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {
namespace {

// Its own memory of just this size: who reads behind it is seen.
class Padded {
 public:
  explicit Padded(std::string_view text) : size_(text.size()), bytes_(new char[text.size() + kScanSlackBytes]()) {
    std::memcpy(bytes_.get(), text.data(), text.size());
  }
  const char* begin() const { return bytes_.get(); }
  const char* end() const { return bytes_.get() + size_; }

 private:
  size_t size_;
  std::unique_ptr<char[]> bytes_;
};

size_t RowsOf(TraceBatch batch) {
  size_t all = 0;
  for (size_t index = 0; index < kEventKinds; ++index) {
    const auto kind = static_cast<EventKind>(index + 1);
    EventRows& rows = batch.of(kind);
    for (const EventColumn column : ColumnsOf(kind)) KPROF_CHECK(rows.of(column).size() == rows.size());
    all += rows.size();
    if (rows.size() == 0) continue;
    SegmentMaker maker(kind, rows, 100);
    for (size_t i = 0; i < maker.segments(); ++i) {
      for (const EncodedSegment::Column& column : maker.Encode(i).columns) {
        std::vector<int64_t> values(column.rows);
        KPROF_CHECK(DecodeColumn(column.encoded.codec, column.encoded.bytes, values).ok());
      }
    }
  }
  return all;
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const Padded whole({reinterpret_cast<const char*>(data), size});
  ChromeEvents events(0);
  const ChromeEvents::Stop stop = events.Add(whole.begin(), whole.end(), whole.end());
  KPROF_CHECK(stop.at >= whole.begin() && stop.at <= whole.end());
  if (stop.why == ChromeEvents::Stopped::kAtBracket) KPROF_CHECK(*stop.at == ']');
  const size_t rows = RowsOf(events.TakeBatch());

  // Without what it did not take, the same once more: all of it is events now.
  const Padded front({whole.begin(), static_cast<size_t>(stop.at - whole.begin())});
  ChromeEvents again(0);
  const ChromeEvents::Stop end = again.Add(front.begin(), front.end(), front.end());
  KPROF_CHECK(end.why == ChromeEvents::Stopped::kAtLimit && again.events() == events.events());
  const ChromeEvents::Stop twice = again.Add(front.begin(), front.end(), front.end());
  KPROF_CHECK(twice.why == ChromeEvents::Stopped::kAtLimit && again.events() == 2 * events.events());
  KPROF_CHECK(RowsOf(again.TakeBatch()) == 2 * rows);
  return 0;
}
