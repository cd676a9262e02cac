#include <algorithm>

#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;

void AddPeak(v1::Device& device, const std::string& quantity, double value, const std::string& origin) {
  v1::Peak& peak = *device.add_peaks();
  peak.set_quantity(quantity);
  if (quantity == "dense_rate") peak.set_dtype("bf16");
  if (quantity == "dense_rate") peak.set_accumulate("fp32");
  peak.set_value(value);
  peak.set_unit(quantity == "dense_rate" ? "TFLOP/s" : "GB/s");
  peak.set_confidence("high");
  peak.set_origin(origin);
  peak.set_source(origin == "measured" ? "run 01jd" : "a datasheet");
}

class VerbPeaksTest : public VerbsFixture {
 protected:
  void SetUp() override {
    VerbsFixture::SetUp();
    daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
      for (const char* id : {"0", "1"}) {
        v1::Device& device = *response.add_devices();
        device.set_id(id);
        device.set_uuid(std::string("GPU-") + id);
        AddPeak(device, "memory_bandwidth", 3350, "table");
        AddPeak(device, "dense_rate", 989, "table");
        if (device.id() == "0") AddPeak(device, "memory_bandwidth", 3021.5, "measured");
      }
      return OkStatus();
    };
    v1::Run run = Done();
    run.set_stdout_bytes(40);
    AnswerLookUps(run);
    daemon_.calls.read_log = [this](const v1::ReadLogRequest&, FakeStream<v1::ReadLogResponse> stream) {
      v1::ReadLogResponse piece;
      piece.set_data(printed_);
      stream.write(piece);
      return OkStatus();
    };
    daemon_.calls.record_ceiling = [this](const v1::RecordCeilingRequest& request,
                                          v1::RecordCeilingResponse& response) {
      std::lock_guard lock(mu_);
      recorded_ = request;
      response.set_device_id("0");
      response.mutable_ceiling()->set_quantity(request.quantity());
      response.mutable_ceiling()->set_value(request.value());
      response.mutable_ceiling()->set_unit(request.unit());
      response.mutable_peak()->set_value(3350);
      response.mutable_peak()->set_unit("GB/s");
      response.mutable_peak()->set_origin("table");
      return OkStatus();
    };
    daemon_.calls.forget_ceilings = [](const v1::ForgetCeilingsRequest& request, v1::ForgetCeilingsResponse& response) {
      EXPECT_EQ(request.device_id(), "0");
      response.set_forgotten(2);
      return OkStatus();
    };
    daemon_.Start();
  }

  std::string printed_ = "copying\nkprof-ceiling: 3021.5 GB/s\n";
  v1::RecordCeilingRequest recorded_;
};

TEST_F(VerbPeaksTest, ListsWhatCanBeAndWhatWasReached) {
  EXPECT_EQ(Kprofctl({"peaks", "--device", "GPU-0"}), 0);
  EXPECT_THAT(results_,
              HasSubstr("0       memory_bandwidth            3350 GB/s  3021.5 GB/s (0.902)  high        table"));
  EXPECT_THAT(results_, HasSubstr("0       dense_rate bf16, in fp32  989 TFLOP/s"));
  EXPECT_EQ(std::count(results_.begin(), results_.end(), '\n'), 3) << results_;
}

TEST_F(VerbPeaksTest, ListsThemAsJson) {
  EXPECT_EQ(Kprofctl({"--json", "peaks", "--device", "0"}), 0);
  EXPECT_THAT(results_,
              HasSubstr(R"({"schema":"kprof.peaks.v1","peaks":[{"device":"0","quantity":"memory_bandwidth")"));
  EXPECT_THAT(results_, HasSubstr(R"("value":3021.5,"unit":"GB/s","confidence":"high","origin":"measured")"));
  EXPECT_THAT(results_, testing::Not(HasSubstr(R"("device":"1")")));
}

TEST_F(VerbPeaksTest, KnowsNoOtherDevice) {
  EXPECT_EQ(Kprofctl({"peaks", "--device", "7"}), 4);
  EXPECT_THAT(notes_, HasSubstr("this node has no device '7'"));
}

TEST_F(VerbPeaksTest, RecordsWhatTheRunSays) {
  EXPECT_EQ(Kprofctl({"peaks", "record", "@last", "--of", "copy"}), 0);
  EXPECT_EQ(results_, "device 0: memory_bandwidth reached 3021.5 GB/s, 0.902 of its peak of 3350 GB/s (table)\n");
  EXPECT_EQ(recorded_.run_id(), "01jd") << "the whole id: @last moves on";
  EXPECT_EQ(recorded_.value(), 3021.5);
}

TEST_F(VerbPeaksTest, RecordsWhatItIsTold) {
  EXPECT_EQ(Kprofctl({"peaks", "record", "01jd", "--of", "bf16", "--value", "780"}), 0);
  EXPECT_EQ(recorded_.quantity(), "dense_rate");
  EXPECT_EQ(recorded_.accumulate(), "fp32");
  EXPECT_EQ(recorded_.unit(), "TFLOP/s");
}

TEST_F(VerbPeaksTest, RecordsNothingElse) {
  EXPECT_EQ(Kprofctl({"peaks", "record", "01jd", "--of", "speed"}), 2);
  EXPECT_EQ(Kprofctl({"peaks", "record", "01jd"}), 2);
  EXPECT_EQ(Kprofctl({"peaks", "record", "01jd", "--of", "copy", "--value", "fast"}), 10);
  printed_ = "3021.5 GB/s\n";
  EXPECT_EQ(Kprofctl({"peaks", "record", "01jd", "--of", "copy"}), 10);
  EXPECT_THAT(notes_, HasSubstr("kprof-ceiling: 3021.5 GB/s"));
  EXPECT_EQ(recorded_.run_id(), "");
}

TEST_F(VerbPeaksTest, Forgets) {
  EXPECT_EQ(Kprofctl({"peaks", "forget", "--device", "0"}), 0);
  EXPECT_EQ(results_, "device 0: 2 ceilings are forgotten\n");
}

}  // namespace
}  // namespace kprof::cli
