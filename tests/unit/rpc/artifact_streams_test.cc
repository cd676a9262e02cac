#include "daemon/rpc/streams/upload_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

constexpr size_t kChunk = 256 << 10;
constexpr const char* kId = "0100000000000000";

// Sha256Of takes an array of characters with the zero at its end.
std::string SumOf(std::string_view text) {
  return Sha256Of(text);
}

class ArtifactStreams : public testing::Test, public RpcFixture {
 protected:
  static v1::UploadArtifactRequest Header(const std::string& run, const std::string& name) {
    v1::UploadArtifactRequest message;
    message.mutable_header()->set_id(run);
    message.mutable_header()->set_name(name);
    return message;
  }
  static v1::UploadArtifactRequest Data(const std::string& bytes) {
    v1::UploadArtifactRequest message;
    message.set_data(bytes);
    return message;
  }
  static v1::UploadArtifactRequest Sum(const std::string& sum) {
    v1::UploadArtifactRequest message;
    message.set_sha256(sum);
    return message;
  }

  // An upload under way, with its header sent.
  struct Upload {
    Upload(RpcClient& client, const std::string& run, const std::string& name)
        : writer(client.runs->UploadArtifact(&context, &response)) {
      writer->Write(Header(run, name));
    }
    bool Send(const std::string& bytes) { return writer->Write(Data(bytes)); }
    bool SendSum(const std::string& sum) { return writer->Write(Sum(sum)); }
    grpc::Status Finish() {
      writer->WritesDone();
      return writer->Finish();
    }

    CallContext context;
    v1::UploadArtifactResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> writer;
  };

  grpc::Status Put(RpcClient& client, const std::string& run, const std::string& name, const std::string& bytes) {
    Upload upload(client, run, name);
    if (!bytes.empty()) upload.Send(bytes);
    upload.SendSum(Sha256Of(bytes));
    return upload.Finish();
  }

  // Sends messages as they are, and says how the call ended.
  grpc::Status PutMessages(RpcClient& client, const std::vector<v1::UploadArtifactRequest>& messages) {
    CallContext context;
    v1::UploadArtifactResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> writer =
        client.runs->UploadArtifact(&context, &response);
    for (const v1::UploadArtifactRequest& message : messages) writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }

  struct Download {
    Download(RpcClient& client, const std::string& run, const std::string& name) {
      v1::DownloadArtifactRequest request;
      request.set_id(run);
      request.set_name(name);
      reader = client.runs->DownloadArtifact(&context, request);
    }
    CallContext context;
    std::unique_ptr<grpc::ClientReader<v1::DownloadArtifactResponse>> reader;
  };

  bool NoTemporaryFiles() {
    return Until([this] { return TemporaryFiles().empty(); });
  }
};

TEST_F(ArtifactStreams, ADownloadIsItsFactsThenItsBytesThenTheirSum) {
  Start();
  RpcClient client = Connect();
  for (size_t size : {size_t{0}, size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk}) {
    SCOPED_TRACE(size);
    const std::string content(size, 'x');
    const std::string id = "01" + std::to_string(10'000'000'000'000 + size);
    StoreEnded(id, {{"data.bin", content}});
    Download download(client, id, "data.bin");
    v1::DownloadArtifactResponse message;
    ASSERT_TRUE(download.reader->Read(&message));
    EXPECT_EQ(message.artifact().size_bytes(), static_cast<int64_t>(size));
    std::string bytes;
    while (download.reader->Read(&message) && message.part_case() == v1::DownloadArtifactResponse::kData) {
      EXPECT_LE(message.data().size(), kChunk);
      bytes += message.data();
    }
    EXPECT_EQ(message.sha256(), Sha256Of(content));
    EXPECT_TRUE(bytes == content);
    EXPECT_FALSE(download.reader->Read(&message));
    EXPECT_TRUE(download.reader->Finish().ok());
  }
}

TEST_F(ArtifactStreams, ADownloadSaysWhenTheFileIsDamaged) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId, {{"data.bin", "what was kept"}});
  std::unique_ptr<File> file = *files().OpenForWrite(layout().ArtifactPath(kId, "data.bin"));
  ASSERT_TRUE(file->WriteAt(0, std::string_view("What")).ok());
  Download download(client, kId, "data.bin");
  v1::DownloadArtifactResponse message;
  std::string promised;
  while (download.reader->Read(&message)) {
    if (message.has_artifact()) promised = message.artifact().sha256();
  }
  EXPECT_EQ(promised, SumOf("what was kept"));
  EXPECT_EQ(message.sha256(), SumOf("What was kept"));
}

TEST_F(ArtifactStreams, ADownloadOfWhatIsNotThereSaysHowToFindOut) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId);
  for (const char* name : {"nothing", "../catalog.db", ""}) {
    Download download(client, kId, name);
    v1::DownloadArtifactResponse message;
    EXPECT_FALSE(download.reader->Read(&message));
    grpc::Status status = download.reader->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << name;
    EXPECT_FALSE(DetailOf(status).remedy().empty());
  }
}

TEST_F(ArtifactStreams, AnUploadIsThereWhenItIsAnswered) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId);
  for (size_t size : {size_t{0}, size_t{1}, kChunk}) {
    SCOPED_TRACE(size);
    const std::string name = "n" + std::to_string(size);
    grpc::Status status = Put(client, kId, name, std::string(size, 'y'));
    ASSERT_TRUE(status.ok()) << status.error_message();
    Result<std::string> kept = ReadWholeFile(files(), layout().ArtifactPath(kId, name), 1 << 20);
    ASSERT_TRUE(kept.ok());
    EXPECT_TRUE(*kept == std::string(size, 'y'));
  }
  EXPECT_TRUE(TemporaryFiles().empty());
}

TEST_F(ArtifactStreams, AnUploadOutOfOrderIsRefusedAndLeavesNothing) {
  Start();
  RpcClient client = Connect();
  const std::string id = StoreEnded(kId, {{"taken", "x"}});
  const std::string sum = SumOf("abc");
  struct Case {
    const char* name;
    std::vector<v1::UploadArtifactRequest> messages;
    const char* code;
    const char* why;
  };
  const Case cases[] = {
      {"nothing at all", {}, "usage", "before its header"},
      {"data before the header", {Data("abc")}, "usage", "before the header"},
      {"a sum before the header", {Sum(sum)}, "usage", "before its header"},
      {"a second header", {Header(id, "a"), Header(id, "b"), Data("abc"), Sum(sum)}, "usage", "a second header"},
      {"a message of nothing", {Header(id, "a"), v1::UploadArtifactRequest()}, "usage", "neither header nor bytes"},
      {"no sum", {Header(id, "a"), Data("abc")}, "bad_input", "without the sha256"},
      {"a wrong sum", {Header(id, "a"), Data("abd"), Sum(sum)}, "bad_input", sum.c_str()},
      {"a sum of another shape", {Header(id, "a"), Data("abc"), Sum("\x1b]0;")}, "bad_input", "as sent"},
      {"a taken name", {Header(id, "taken"), Data("abc"), Sum(sum)}, "usage", "of that name"},
      {"a path", {Header(id, "../a"), Data("abc"), Sum(sum)}, "usage", "usable name"},
      {"a name of ours", {Header(id, "stdout.log"), Data("abc"), Sum(sum)}, "usage", "kprofd's own"},
      {"no such run", {Header("0222", "a"), Data("abc"), Sum(sum)}, "not_found", "no such run"},
  };
  for (const Case& c : cases) {
    grpc::Status status = PutMessages(client, c.messages);
    EXPECT_EQ(DetailOf(status).code(), c.code) << c.name;
    EXPECT_NE(DetailOf(status).why().find(c.why), std::string::npos) << c.name << ": " << DetailOf(status).why();
    EXPECT_TRUE(NoTemporaryFiles()) << c.name;
  }
  EXPECT_EQ(limits_->upload_bytes.bytes(), 0);
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  EXPECT_EQ((*ReadRun(**reader, id)).artifacts.size(), 1u);
}

TEST_F(ArtifactStreams, AnUploadWhoseClientFallsSilentIsGivenUp) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId);
  Upload upload(client, kId, "notes");
  ASSERT_TRUE(upload.Send("abc"));
  ASSERT_TRUE(Until([this] { return limits_->upload_bytes.bytes() == 3; }));
  EXPECT_EQ(TemporaryFiles().size(), 1u);
  EXPECT_TRUE(Passing(kUploadIdleLimitMs / 10, [this] { return TemporaryFiles().empty(); }));
  grpc::Status status = upload.writer->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(DetailOf(status).code(), "timed_out");
  EXPECT_EQ(DetailOf(status).why(), "nothing came for 60 s");
  EXPECT_EQ(limits_->upload_bytes.bytes(), 0);
}

TEST_F(ArtifactStreams, AnUploadThatNeverSendsAHeaderIsGivenUpToo) {
  Start();
  RpcClient client = Connect();
  CallContext context;
  v1::UploadArtifactResponse response;
  auto writer = client.runs->UploadArtifact(&context, &response);
  TickingClock ticking(clock_, kUploadIdleLimitMs / 10);
  grpc::Status status = writer->Finish();
  EXPECT_EQ(DetailOf(status).code(), "timed_out");
}

TEST_F(ArtifactStreams, ASlowUploadThatKeepsSendingIsNotGivenUp) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId);
  Upload upload(client, kId, "notes");
  for (int64_t sent = 1; sent <= 5; ++sent) {
    ASSERT_TRUE(upload.Send("x"));
    ASSERT_TRUE(Until([&] { return limits_->upload_bytes.bytes() == sent; }));
    clock_.Advance((kUploadIdleLimitMs - 1) * kNanosPerMilli);
    OnLoop([] {});
  }
  ASSERT_TRUE(upload.SendSum(SumOf("xxxxx")));
  grpc::Status status = upload.Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ArtifactStreams, TheDaemonsOwnSlownessCountsForNobody) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId);
  StalledPool stalled(*bulk_, kBulkWorkers);
  Upload upload(client, kId, "notes");
  ASSERT_TRUE(upload.Send("abc"));
  ASSERT_TRUE(upload.SendSum(SumOf("abc")));
  // The header has been read when its timer is gone; that cannot be seen from here, so it gets its time.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(kUploadIdleLimitMs * kNanosPerMilli);
    OnLoop([] {});
  }
  stalled.LetGo();
  grpc::Status status = upload.Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ArtifactStreams, AnUploadWhoseClientGoesLeavesNothing) {
  Start();
  RpcClient client = Connect();
  StoreEnded(kId);
  {
    Upload upload(client, kId, "notes");
    ASSERT_TRUE(upload.Send("abc"));
    ASSERT_TRUE(Until([this] { return limits_->upload_bytes.bytes() == 3; }));
    upload.context.TryCancel();
    upload.writer->Finish();
  }
  EXPECT_TRUE(NoTemporaryFiles());
  EXPECT_TRUE(Until([this] { return limits_->upload_bytes.bytes() == 0; }));
}

TEST_F(ArtifactStreams, OneUserHasOnlySoManyUploadsAtATime) {
  Start();
  RpcClient mine = Connect();
  RpcClient others = Connect(kUid + 1);
  StoreEnded(kId);
  StoreEnded("0100000000000001", {}, kUid + 1);
  std::vector<std::unique_ptr<Upload>> uploads;
  for (int i = 0; i < StreamLimits::kUploadsPerUid; ++i) {
    uploads.push_back(std::make_unique<Upload>(mine, kId, "n" + std::to_string(i)));
  }
  ASSERT_TRUE(Until([this] { return TemporaryFiles().size() == static_cast<size_t>(StreamLimits::kUploadsPerUid); }));
  grpc::Status refused = Put(mine, kId, "one_more", "abc");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(refused).code(), "queue_full");
  EXPECT_NE(DetailOf(refused).why().find("uid 1000"), std::string::npos);
  EXPECT_FALSE(DetailOf(refused).remedy().empty());
  EXPECT_TRUE(Put(others, "0100000000000001", "theirs", "abc").ok());

  // Whoever has ended makes room at once.
  ASSERT_TRUE(uploads[0]->SendSum(SumOf("")));
  ASSERT_TRUE(uploads[0]->Finish().ok());
  EXPECT_TRUE(Put(mine, kId, "one_more", "abc").ok());
}

TEST_F(ArtifactStreams, UnfinishedUploadsCountAgainstTheLimitOfAllArtifacts) {
  storage_limits_.Set({.artifact_bytes = 1000});
  Start();
  RpcClient client = Connect();
  const std::string id = StoreEnded(kId, {{"a", std::string(300, 'a')}});
  StoreEnded("0100000000000001", {{"b", std::string(900, 'b')}});  // retention can remove this one

  EXPECT_TRUE(Put(client, id, "fits", std::string(300, 'x')).ok());
  Upload first(client, id, "first");
  ASSERT_TRUE(first.Send(std::string(300, 'x')));
  ASSERT_TRUE(Until([this] { return limits_->upload_bytes.bytes() == 300; }));
  grpc::Status refused = Put(client, id, "second", std::string(200, 'x'));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(refused).code(), "storage_full");
  EXPECT_EQ(DetailOf(refused).why(),
            "all artifacts together may have 1000 bytes, and 600 of them are of runs that stay (pinned, not ended, or "
            "this one), 300 of unfinished uploads, this one included");
  EXPECT_FALSE(DetailOf(refused).remedy().empty());
  EXPECT_TRUE(Until([this] { return TemporaryFiles().size() == 1; }));
  EXPECT_EQ(limits_->upload_bytes.bytes(), 300);

  first.context.TryCancel();
  first.writer->Finish();
  ASSERT_TRUE(Until([this] { return limits_->upload_bytes.bytes() == 0; }));
  EXPECT_TRUE(Put(client, id, "second", std::string(400, 'x')).ok());
  EXPECT_EQ(DetailOf(Put(client, id, "third", "x")).code(), "storage_full");
}

TEST_F(ArtifactStreams, OneUserCannotTakeTheDiskOfTheOthers) {
  Start();
  RpcClient client = Connect();
  const std::string id = StoreEnded(kId, {{"a", std::string(300, 'a')}});
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  ASSERT_TRUE(reader.ok());
  storage_limits_.Set({.bytes_per_uid = ReadOwned(**reader, kUid)->bytes + 500});
  Upload first(client, id, "first");
  ASSERT_TRUE(first.Send(std::string(300, 'x')));
  ASSERT_TRUE(Until([this] { return limits_->upload_bytes.bytes() == 300; }));
  grpc::Status refused = Put(client, id, "second", std::string(201, 'x'));
  EXPECT_EQ(DetailOf(refused).code(), "storage_full");
  EXPECT_THAT(DetailOf(refused).why(), testing::HasSubstr("bytes stored and 501 coming in, and may have"));
  EXPECT_FALSE(DetailOf(refused).remedy().empty());
  // Stored while the first is under way, which did not know of it when it began.
  EXPECT_TRUE(Put(client, id, "third", std::string(200, 'x')).ok());
  ASSERT_TRUE(first.Send(std::string(150, 'x')));
  ASSERT_TRUE(first.SendSum(SumOf(std::string(450, 'x'))));
  EXPECT_EQ(DetailOf(first.Finish()).code(), "storage_full");
  EXPECT_TRUE(Until([this] { return TemporaryFiles().empty() && limits_->upload_bytes.bytes() == 0; }));
}

TEST_F(ArtifactStreams, ARunTakesNoMoreArtifactsThanItsLimit) {
  Start();
  RpcClient client = Connect();
  RunRow row = EndedRun(kId, 1'700'000'000'000'000'000, 0);
  row.uid = kUid;
  row.artifacts.clear();
  for (size_t i = 1; i < 10'000; ++i) row.artifacts.push_back({"a" + std::to_string(i), 1, "sum"});
  Store(row);
  EXPECT_TRUE(Put(client, row.id, "last", "x").ok());
  const grpc::Status refused = Put(client, row.id, "one more", "x");
  EXPECT_EQ(DetailOf(refused).code(), "usage");
  EXPECT_NE(DetailOf(refused).remedy(), "");
  EXPECT_TRUE(NoTemporaryFiles());
}

}  // namespace
}  // namespace kprof
