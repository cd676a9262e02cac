// ExportRun, as clients see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kRun[] = "0100000000000000";
constexpr char kExample[] = KPROF_SOURCE_DIR "/tests/data/trace-v1/example.trace.db";

struct Exported {
  v1::ExportRunResponse::Header header;
  std::string bytes;
  std::string sha256;
  int64_t rows = 0;
  grpc::Status status;
};

class ExportSource : public testing::Test, public RpcFixture {
 protected:
  // A run whose trace has these parts, all the same file.
  void StoreTrace(const std::vector<TracePartRow>& trace) {
    Start();
    RunRow row = EndedRun(kRun, 1'700'000'000'000'000'000, 0);
    row.uid = kUid;
    row.artifacts.clear();
    row.trace = trace;
    KPROF_CHECK(files().CreateFolder(layout().RunFolder(kRun)).ok());
    for (const TracePartRow& part : trace) {
      std::filesystem::copy_file(kExample, layout().TracePartPath(kRun, part.name));
    }
    Store(std::move(row));
  }
  static TracePartRow Part(const std::string& name, std::optional<int64_t> rank = {}) {
    TracePartRow part;
    part.name = name;
    part.rank = rank;
    part.slices = 6;
    part.counters = 2;
    return part;
  }

  static v1::ExportRunRequest Wish(const std::string& format) {
    v1::ExportRunRequest request;
    request.set_id(kRun);
    request.set_format(format);
    return request;
  }
  static Exported Export(RpcClient& client, const v1::ExportRunRequest& request) {
    CallContext context;
    auto reader = client.runs->ExportRun(&context, request);
    Exported exported;
    v1::ExportRunResponse message;
    while (reader->Read(&message)) {
      EXPECT_EQ(message.has_header(), exported.header.run_id().empty());
      if (message.has_header()) exported.header = message.header();
      EXPECT_LE(message.data().size(), StreamLimits::kChunkBytes);
      exported.bytes += message.data();
      if (message.has_data()) exported.rows = message.rows();
      if (message.has_sha256()) exported.sha256 = message.sha256();
    }
    exported.status = reader->Finish();
    return exported;
  }
  static void ExpectUsage(const grpc::Status& status, const std::string& why, const std::string& remedy) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(DetailOf(status).why(), HasSubstr(why));
    EXPECT_THAT(DetailOf(status).remedy(), HasSubstr(remedy));
  }
};

TEST_F(ExportSource, SendsWhatItIsThenItsBytesAndTheirSum) {
  StoreTrace({Part("trace")});
  RpcClient client = Connect();
  const Exported chrome = Export(client, Wish("chrome"));
  ASSERT_TRUE(chrome.status.ok()) << chrome.status.error_message();
  EXPECT_EQ(chrome.header.run_id(), kRun);
  EXPECT_EQ(chrome.header.file_name(), std::string(kRun) + ".json");
  EXPECT_EQ(chrome.header.parts(), 1);
  EXPECT_EQ(chrome.header.rows(), 8);
  EXPECT_THAT(chrome.bytes, StartsWith("{"));
  EXPECT_EQ(chrome.sha256, Sha256Of(chrome.bytes));
  EXPECT_GE(chrome.rows, 0);
  EXPECT_THAT(Export(client, Wish("csv")).bytes, StartsWith("rank,track,"));
  EXPECT_EQ(Export(client, Wish("perfetto")).header.file_name(), std::string(kRun) + ".pftrace");
}

TEST_F(ExportSource, OneOfSeveralPartsIsNamedByItsRankOrItsNumber) {
  StoreTrace({Part("rank0", 0), Part("rank3", 3)});
  RpcClient client = Connect();
  const Exported all = Export(client, Wish("csv"));
  EXPECT_EQ(all.header.file_name(), std::string(kRun) + ".csv");
  EXPECT_EQ(all.header.rows(), 16);
  v1::ExportRunRequest wish = Wish("csv");
  wish.set_rank(3);
  const Exported third = Export(client, wish);
  EXPECT_EQ(third.header.file_name(), std::string(kRun) + "-rank3.csv");
  EXPECT_EQ(third.header.parts(), 2);
  EXPECT_EQ(third.header.rows(), 8);
  EXPECT_LT(third.bytes.size(), all.bytes.size());
  wish.set_part(1);
  EXPECT_EQ(Export(client, wish).bytes, third.bytes);
}

TEST_F(ExportSource, WhatIsNotThereIsNamed) {
  StoreTrace({Part("rank0", 0), Part("rank3", 3)});
  RpcClient client = Connect();
  ExpectUsage(Export(client, Wish("xml")).status, "there is no format \"xml\"", "chrome, perfetto, csv");
  v1::ExportRunRequest wish = Wish("csv");
  wish.set_rank(7);
  ExpectUsage(Export(client, wish).status, "no rank 7", "it has rank 0, rank 3");
  for (const int part : {-1, 2}) {
    wish.set_part(part);
    ExpectUsage(Export(client, wish).status, "no part " + std::to_string(part), "it has 2");
  }
  StoreEnded("0200000000000000");
  wish = Wish("csv");
  wish.set_id("0200000000000000");
  ExpectUsage(Export(client, wish).status, "the run has no trace", "kprofctl show");
  wish.set_id("0300000000000000");
  EXPECT_EQ(Export(client, wish).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ExportSource, ADamagedPartFailsAndNothingOfItIsWhole) {
  StoreTrace({Part("trace")});
  RpcClient client = Connect();
  std::filesystem::resize_file(layout().TracePartPath(kRun, "trace"), 5000);
  const Exported exported = Export(client, Wish("chrome"));
  EXPECT_EQ(exported.status.error_code(), grpc::StatusCode::DATA_LOSS) << exported.status.error_message();
  EXPECT_EQ(exported.sha256, "");
}

TEST_F(ExportSource, ThereAreSoManyAtATime) {
  StoreTrace({Part("trace")});
  RpcClient client = Connect();
  std::vector<Places::Place> taken;
  for (int i = 0; i < StreamLimits::kExportsPerUid; ++i) {
    taken.push_back(std::move(*limits_->exports.Take(kUid, "test", "exports")));
  }
  EXPECT_EQ(Export(client, Wish("csv")).status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  taken.pop_back();
  for (int i = 0; i < 3; ++i) {  // each gives its place back
    EXPECT_TRUE(Until([&] { return Export(client, Wish("csv")).status.ok(); }));
  }
}

}  // namespace
}  // namespace kprof
