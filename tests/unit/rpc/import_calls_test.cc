// UploadSource and SubmitImport, as clients see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class ImportCalls : public testing::Test, public RpcFixture {
 protected:
  // Its part is what the source holds, or begins with.
  ImportCalls() {
    import_ = [](const ImportSource& source, const ImportLimits&, Files& files, const std::string& path,
                 const std::stop_token&, const auto& progress) -> Result<ImportedPart> {
      std::string bytes(100, '\0');
      bytes.resize(static_cast<size_t>(::pread(source.fd, bytes.data(), bytes.size(), 0)));
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
