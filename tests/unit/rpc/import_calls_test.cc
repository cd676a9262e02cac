// UploadSource and SubmitImport, as clients see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "daemon/ingest/source_kind.h"
#include "daemon/rpc/upload_call.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class ImportCalls : public testing::Test, public RpcFixture {
 protected:
  // Its part is what the source holds, or begins with; what begins with "[bad" is none.
  ImportCalls() {
    import_ = [this](const ImportSource& source, const ImportLimits&, Files& files, const std::string& path,
                     const std::stop_token& stop, const auto& progress) -> Result<ImportedPart> {
      ++begun_;
      std::string bytes(100, '\0');
      bytes.resize(static_cast<size_t>(::pread(source.fd, bytes.data(), bytes.size(), 0)));
      if (bytes.starts_with("[bad")) return Fail(ErrorCode::kBadInput, "import a.json", "it is bad");
      while (source.growth != nullptr && !source.growth->state().is_whole) {
        if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "import a.json", "it was stopped");
        std::this_thread::yield();
      }
      progress({.bytes = 1, .total_bytes = 3, .events = 7});
      ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Create(path));
      RETURN_IF_ERROR(file->Append(bytes));
      ImportedPart part;
      part.format = "kineto";
      part.rank = source.rank;
      part.source_bytes = part.bytes = static_cast<int64_t>(bytes.size());
      part.source_hash = "1-" + bytes;
      part.slices = 3;
      return part;
    };
    Start();
  }

  static v1::UploadSourceRequest Header(const std::string& name, int64_t size_bytes = 0) {
    v1::UploadSourceRequest message;
    message.mutable_header()->set_name(name);
    message.mutable_header()->set_size_bytes(size_bytes);
    return message;
  }
  static v1::UploadSourceRequest Data(const std::string& bytes) {
    v1::UploadSourceRequest message;
    message.set_data(bytes);
    return message;
  }
  static v1::UploadSourceRequest Sent(int64_t bytes) {
    v1::UploadSourceRequest message;
    message.set_sent_bytes(bytes);
    return message;
  }

  static grpc::Status Upload(RpcClient& client, const std::vector<v1::UploadSourceRequest>& messages,
                             std::string& ticket) {
    CallContext context;
    v1::UploadSourceResponse response;
    auto stream = client.runs->UploadSource(&context, &response);
    for (const v1::UploadSourceRequest& message : messages) {
      if (!stream->Write(message)) break;
    }
    stream->WritesDone();
    grpc::Status status = stream->Finish();
    ticket = response.ticket();
    return status;
  }
  static std::string Uploaded(RpcClient& client, const std::string& bytes) {
    std::string ticket;
    const grpc::Status status =
        Upload(client, {Header("a.json"), Data(bytes), Sent(static_cast<int64_t>(bytes.size()))}, ticket);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return ticket;
  }

  std::atomic<int> begun_{0};

  v1::Run Ended(RpcClient& client, const std::string& id) {
    CallContext context;
    v1::WaitRunRequest request;
    request.set_id(id);
    v1::WaitRunResponse ended;
    const grpc::Status waited = client.runs->WaitRun(&context, request, &ended);
    EXPECT_TRUE(waited.ok()) << waited.error_message();
    return ended.run();
  }
  static grpc::Status Submit(RpcClient& client, const std::string& ticket, v1::SubmitImportResponse& response) {
    CallContext context;
    v1::SubmitImportRequest request;
    v1::SubmitImportRequest::Source& source = *request.add_sources();
    source.set_ticket(ticket);
    source.set_name("a.json");
    source.set_rank(4);
    return client.runs->SubmitImport(&context, request, &response);
  }
};

TEST_F(ImportCalls, ASourceThatWasSentIsImported) {
  RpcClient client = Connect();
  v1::SubmitImportResponse response;
  const grpc::Status submitted = Submit(client, Uploaded(client, "[ ]  "), response);
  ASSERT_TRUE(submitted.ok()) << submitted.error_message();
  EXPECT_EQ(response.run().tool(), "import");
  EXPECT_FALSE(response.existing());
  const v1::Run ended = Ended(client, response.run().id());
  EXPECT_EQ(ended.trace().slices(), 3);
  EXPECT_EQ(ended.trace().bytes(), 5);
  ASSERT_EQ(ended.trace_parts_size(), 1);
  EXPECT_EQ(ended.trace_parts(0).name(), "rank4");
  EXPECT_EQ(ended.trace_parts(0).source_name(), "a.json");
  EXPECT_EQ(ended.trace_part_count(), 1);
  EXPECT_TRUE(TemporaryFiles().empty());
}

TEST_F(ImportCalls, ATicketIsForItsUserAlone) {
  RpcClient client = Connect();
  RpcClient other = Connect(kUid + 1);
  const std::string ticket = Uploaded(client, "[ ]  ");
  v1::SubmitImportResponse response;
  EXPECT_EQ(Submit(other, ticket, response).error_code(), grpc::NOT_FOUND);
  EXPECT_TRUE(Submit(client, ticket, response).ok());
  EXPECT_EQ(Submit(client, ticket, response).error_code(), grpc::NOT_FOUND);
}

TEST_F(ImportCalls, AStreamThatIsNotWholeHoldsNothing) {
  RpcClient client = Connect();
  std::string ticket;
  const std::pair<std::vector<v1::UploadSourceRequest>, const char*> cases[] = {
      {{}, "before its header"},
      {{Data("[ ]  ")}, "before the header"},
      {{Header("a"), Data("[ ]  ")}, "without how many"},
      {{Header("a"), Data("[ ]  "), Sent(4)}, "5 bytes came, not 4"},
      {{Header("a"), Header("a")}, "second header"},
      {{Header("a", -1)}, "negative"},
      {{Header("a"), Sent(0), Data("[ ]  ")}, "after how many"},
      {{v1::UploadSourceRequest()}, "neither"},
  };
  for (const auto& [messages, says] : cases) {
    const grpc::Status refused = Upload(client, messages, ticket);
    EXPECT_EQ(refused.error_code(), grpc::INVALID_ARGUMENT) << says;
    EXPECT_THAT(refused.error_message(), HasSubstr(says));
  }
  OnLoop([this] { EXPECT_EQ(sources_->waiting(), 0u); });
  EXPECT_EQ(limits_->upload_bytes.bytes(), 0);
}

TEST_F(ImportCalls, ASourceIsReadWhileItComesAndNotOnceMore) {
  RpcClient client = Connect();
  const std::string first = "[" + std::string(kSniffBytes, ' ');
  CallContext context;
  v1::UploadSourceResponse uploaded;
  auto stream = client.runs->UploadSource(&context, &uploaded);
  ASSERT_TRUE(stream->Write(Header("a.json")) && stream->Write(Data(first)));
  while (begun_ == 0) std::this_thread::yield();
  ASSERT_TRUE(stream->Write(Data("]")) && stream->Write(Sent(static_cast<int64_t>(first.size() + 1))));
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  v1::SubmitImportResponse response;
  ASSERT_TRUE(Submit(client, uploaded.ticket(), response).ok());
  const v1::Run ended = Ended(client, response.run().id());
  EXPECT_EQ(ended.trace().slices(), 3);
  EXPECT_EQ(begun_, 1);
  EXPECT_TRUE(TemporaryFiles().empty());
}

TEST_F(ImportCalls, AnUploadEndsOnceItsSourceIsKnownToBeBad) {
  RpcClient client = Connect();
  CallContext context;
  v1::UploadSourceResponse uploaded;
  auto stream = client.runs->UploadSource(&context, &uploaded);
  ASSERT_TRUE(stream->Write(Header("a.json")) && stream->Write(Data("[bad" + std::string(kSniffBytes, ' '))));
  while (stream->Write(Data(" "))) std::this_thread::yield();
  EXPECT_THAT(stream->Finish().error_message(), HasSubstr("it is bad"));
}

TEST_F(ImportCalls, OfAnUploadThatBreaksOffNothingIsReadOn) {
  RpcClient client = Connect();
  for (const int uploads : {1, 2}) {  // of which one is read at a time
    CallContext context;
    v1::UploadSourceResponse uploaded;
    auto stream = client.runs->UploadSource(&context, &uploaded);
    ASSERT_TRUE(stream->Write(Header("a.json")) && stream->Write(Data("[" + std::string(kSniffBytes, ' '))));
    while (begun_ < uploads) ASSERT_TRUE(stream->Write(Data(" ")));
    context.TryCancel();
    EXPECT_FALSE(stream->Finish().ok());
  }
}

TEST_F(ImportCalls, RubbishIsRefusedUnlessItMayBeNone) {
  RpcClient client = Connect();
  std::string ticket;
  const grpc::Status refused = Upload(client, {Header("a"), Data("rubbish"), Sent(7)}, ticket);
  EXPECT_THAT(refused.error_message(), HasSubstr("of no format that is known here"));
  v1::UploadSourceRequest header = Header("a");
  header.mutable_header()->set_may_be_none(true);
  EXPECT_TRUE(Upload(client, {header, Data("rubbish"), Sent(7)}, ticket).ok());
}

}  // namespace
}  // namespace kprof
