#include "daemon/rpc/services/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <string>

#include "daemon/access/permissions.h"
#include "daemon/rpc/streams/call_record.h"

namespace kprof {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

// A question is a name, and its answer repeats it.
constexpr size_t kLongestQuestionBytes = 4096;

// The file, and before it those that it needs, each once.
template <typename Files>
void AddWithNeeds(const FileDescriptor& file, std::set<const FileDescriptor*>& added, Files& out) {
  if (!added.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddWithNeeds(*file.dependency(i), added, out);
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  out.add_file_descriptor_proto(proto.SerializeAsString());
}

template <typename Response>
void AnswerError(grpc::StatusCode code, const std::string& why, Response& out) {
  out.mutable_error_response()->set_error_code(code);
  out.mutable_error_response()->set_error_message(why);
}

template <typename Response>
void AnswerFile(const FileDescriptor* file, Response& out) {
  if (file == nullptr) return AnswerError(grpc::StatusCode::NOT_FOUND, "there is no such file or symbol here", out);
  std::set<const FileDescriptor*> added;
  AddWithNeeds(*file, added, *out.mutable_file_descriptor_response());
}

template <typename Request, typename Response>
void Answer(const Request& question, Response& out) {
  out.set_valid_host(question.host());
  *out.mutable_original_request() = question;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (question.message_request_case()) {
    case Request::kFileByFilename:
      return AnswerFile(pool.FindFileByName(question.file_by_filename()), out);
    case Request::kFileContainingSymbol:
      return AnswerFile(pool.FindFileContainingSymbol(question.file_containing_symbol()), out);
    case Request::kFileContainingExtension:
    case Request::kAllExtensionNumbersOfType:
      return AnswerError(grpc::StatusCode::NOT_FOUND, "nothing here has extensions", out);
    case Request::kListServices:
      for (const char* service : kServedServices)
        out.mutable_list_services_response()->add_service()->set_name(service);
      return;
    case Request::MESSAGE_REQUEST_NOT_SET:
      return AnswerError(grpc::StatusCode::INVALID_ARGUMENT, "it asks for nothing that is known here", out);
  }
}

// Reads a question when the last answer is on its way, so nothing piles up. One operation of gRPC's at a time.
template <typename Version>
class ReflectionStream final : public grpc::ServerBidiReactor<typename Version::Request, typename Version::Response> {
 public:
  explicit ReflectionStream(std::shared_ptr<CallAdmission> admission)
      : account_(admission->account()), record_(std::move(admission), Version::kRpc) {
    record_.BecomeWatch();
    record_.admitted().ok() ? ReadNext() : End(record_.admitted());
  }

  void OnReadDone(bool ok) override {
    to_grpc_.Take();
    if (!ok) return End(OkStatus());  // it has asked all it wanted to, or has gone
    if (Status made = Make(); !made.ok()) return End(made);
    to_grpc_.Give();
    this->StartWrite(&answer_);
  }
  void OnWriteDone(bool ok) override {
    to_grpc_.Take();
    record_.GiveAnswerBack();
    ok ? ReadNext() : End(Fail(ErrorCode::kCancelled, "reflect", "its client has gone"));
  }
  void OnDone() override {
    to_grpc_.Take();
    delete this;
  }

 private:
  ~ReflectionStream() override = default;

  void ReadNext() {
    to_grpc_.Give();
    this->StartRead(&question_);
  }

  Status Make() {
    const Status admitted = account_->Begin();
    account_->End();
    RETURN_IF_ERROR(admitted);
    if (question_.ByteSizeLong() > kLongestQuestionBytes) {
      return Fail(ErrorCode::kUsage, "reflect",
                  "a question is longer than " + std::to_string(kLongestQuestionBytes) + " bytes", "ask for a name");
    }
    answer_.Clear();
    Answer(question_, answer_);
    return record_.TakeAnswer(answer_.ByteSizeLong());
  }

  void End(const Status& status) {
    grpc::Status ending = record_.Ending(status);
    to_grpc_.Give();
    this->Finish(std::move(ending));
  }

  const std::shared_ptr<CallerAccount> account_;  // shared with the admission
  CallRecord record_;
  TsanHandoff to_grpc_;
  typename Version::Request question_;
  typename Version::Response answer_;
};

}  // namespace

template <typename Version>
grpc::ServerBidiReactor<typename Version::Request, typename Version::Response>*
ReflectionServiceImpl<Version>::ServerReflectionInfo(grpc::CallbackServerContext* /*context*/) {
  return new ReflectionStream<Version>(admission_);
}

template class ReflectionServiceImpl<ReflectionV1>;
template class ReflectionServiceImpl<ReflectionV1Alpha>;

}  // namespace kprof
