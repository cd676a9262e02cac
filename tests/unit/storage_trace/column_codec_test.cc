#include "storage/trace/format/column_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace kprof {
namespace {

using Values = std::vector<int64_t>;
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Values Made(size_t count, const std::function<int64_t(size_t)>& of) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = of(i);
  return values;
}

// Its codec, after the way there and back.
ColumnCodec RoundTrip(const Values& values) {
  const EncodedColumn encoded = EncodeColumn(values);
  EXPECT_EQ(encoded.min, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(encoded.max, *std::max_element(values.begin(), values.end()));
  Values back(values.size(), 12345);
  const Status status = DecodeColumn(encoded.codec, encoded.bytes, back);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(back, values);
  return encoded.codec;
}

TEST(ColumnCodec, ChoosesByTheValues) {
  std::mt19937_64 random(7);
  EXPECT_EQ(RoundTrip(Values(1000, -5)), ColumnCodec::kConstant);
  EXPECT_EQ(RoundTrip(Made(1000, [](size_t i) { return static_cast<int64_t>(i / 100); })), ColumnCodec::kRuns);
  EXPECT_EQ(RoundTrip(Made(1000, [&](size_t) { return static_cast<int64_t>(random() % 1000); })), ColumnCodec::kPacked);
  int64_t sum = int64_t{1} << 60;
  EXPECT_EQ(RoundTrip(Made(1000, [&](size_t) { return sum += static_cast<int64_t>(random() % 1000); })),
            ColumnCodec::kDeltaPacked);
  EXPECT_EQ(RoundTrip(Made(1000, [](size_t i) { return static_cast<int64_t>(i * i % 7 * 1000); })),
            ColumnCodec::kPlanes);
  sum = 0;
  EXPECT_EQ(RoundTrip(Made(1000, [&](size_t i) { return sum += static_cast<int64_t>(i % 9 * 999'983); })),
            ColumnCodec::kDeltaPlanes);
}

TEST(ColumnCodec, GivesBackWhateverItWasGiven) {
  RoundTrip({0});
  RoundTrip({kLeast});
  RoundTrip({kLeast, kMost});
  RoundTrip({kMost, kLeast, kMost, 0, -1});
  RoundTrip(Values(kMaxSegmentRows, kLeast));
  std::mt19937_64 random(8);
  for (const size_t count : {2, 127, 128, 129, 4096, 65'536}) {
    for (int width = 1; width <= 64; width += 7) {
      RoundTrip(Made(count, [&](size_t) { return static_cast<int64_t>(random() >> (64 - width)); }));
      RoundTrip(Made(count,
                     [&](size_t i) { return static_cast<int64_t>(random() >> (64 - width)) * (i % 2 == 0 ? 1 : -1); }));
    }
    RoundTrip(Made(count, [&](size_t i) { return i % 40 == 0 ? kMost : kLeast; }));
  }
}

TEST(ColumnCodec, TakesFewBytesForWhatTracesAreMadeOf) {
  int64_t time = 1'700'000'000'000'000'000;
  std::mt19937_64 random(9);
  const Values times = Made(65'536, [&](size_t) { return time += static_cast<int64_t>(random() % 4000); });
  EXPECT_LT(EncodeColumn(times).bytes.size(), 65'536u * 2);
  const Values tracks = Made(65'536, [](size_t i) { return static_cast<int64_t>(i / 5000); });
  EXPECT_LT(EncodeColumn(tracks).bytes.size(), 100u);
}

TEST(ColumnCodec, RefusesWhatIsCutOffOrTooLongOrOfOtherRows) {
  std::mt19937_64 random(10);
  const Values columns[] = {Values(300, 4), Made(300, [](size_t i) { return static_cast<int64_t>(i / 100); }),
                            Made(300, [&](size_t) { return static_cast<int64_t>(random() % 1000); }),
                            Made(300, [](size_t i) { return static_cast<int64_t>(i % 7 * 1000); })};
  for (const Values& values : columns) {
    const EncodedColumn encoded = EncodeColumn(values);
    Values back(values.size());
    for (size_t size = 0; size < encoded.bytes.size(); ++size) {
      const std::string cut = encoded.bytes.substr(0, size);
      EXPECT_FALSE(DecodeColumn(encoded.codec, cut, back).ok())
          << static_cast<int>(encoded.codec) << " cut to " << size;
    }
    EXPECT_FALSE(DecodeColumn(encoded.codec, encoded.bytes + "x", back).ok()) << static_cast<int>(encoded.codec);
    if (encoded.codec == ColumnCodec::kConstant) continue;
    Values fewer(values.size() - 130);
    Values more(values.size() + 130);
    EXPECT_FALSE(DecodeColumn(encoded.codec, encoded.bytes, fewer).ok()) << static_cast<int>(encoded.codec);
    EXPECT_FALSE(DecodeColumn(encoded.codec, encoded.bytes, more).ok()) << static_cast<int>(encoded.codec);
  }
}

TEST(ColumnCodec, RefusesACodecThatThereIsNot) {
  Values back(3);
  const Status status = DecodeColumn(static_cast<ColumnCodec>(99), "12345678", back);
  EXPECT_EQ(status.code(), ErrorCode::kStorageBroken);
  EXPECT_NE(status.ToString().find("codec 99"), std::string::npos) << status.ToString();
}

TEST(ColumnCodec, IsNotMisledByRandomBytes) {
  std::mt19937_64 random(11);
  Values back(200);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    static_cast<void>(DecodeColumn(static_cast<ColumnCodec>(random() % 8), bytes, back));
  }
}

}  // namespace
}  // namespace kprof
