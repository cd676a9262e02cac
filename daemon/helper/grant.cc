#include "daemon/helper/grant.h"

#include "daemon/base/account.h"
#include "daemon/launch/launch_digest.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/message_coder.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kMagic = "kprofgrant2\n";
constexpr std::string_view kFirstMagic = "kprofgrant1\n";
static_assert(kMagic.size() == kFirstMagic.size());
constexpr size_t kSumLength = 64;
constexpr size_t kBootIdLimitBytes = 64;

template <typename Coder, typename AnyGrant>
void ForEachField(Coder&& field, AnyGrant& grant, bool is_first_version) {
  field(grant.run_id);
  field(grant.caller.uid);
  field(grant.caller.gid);
  field(grant.digest);
  field(grant.given_unix_ns);
  field(grant.boot_id);
  field(grant.used);
  if (!is_first_version) field(grant.remote);
}

std::string WithFrame(std::string_view magic, std::string_view payload) {
  return std::string(magic) + Sha256Of(payload) + "\n" + std::string(payload);
}

}  // namespace

std::string WithGrantFrame(std::string_view payload) {
  return WithFrame(kMagic, payload);
}

std::string EncodeGrant(const Grant& grant) {
  MessageEncoder out;
  ForEachField([&](const auto& value) { out.Add(value); }, grant, false);
  out.Add(static_cast<uint32_t>(grant.caller.groups.size()));
  for (uint32_t group : grant.caller.groups) out.Add(group);
  return WithGrantFrame(out.Take());
}

Result<Grant> DecodeGrant(std::string_view bytes) {
  auto bad = [] {
    return Fail(ErrorCode::kBadInput, "read a grant", "it is damaged, or of another version", "submit the run again");
  };
  constexpr size_t kFrameBytes = kMagic.size() + kSumLength + 1;
  const bool is_first_version = bytes.starts_with(kFirstMagic);
  const std::string_view magic = is_first_version ? kFirstMagic : kMagic;
  if (bytes.size() < kFrameBytes || WithFrame(magic, bytes.substr(kFrameBytes)) != bytes) return bad();
  MessageDecoder in(bytes.substr(kFrameBytes));
  Grant grant;
  ForEachField([&](auto& value) { in.Read(value); }, grant, is_first_version);
  grant.caller.groups.resize(in.ReadCount(sizeof(uint32_t)));
  for (uint32_t& group : grant.caller.groups) in.Read(group);
  const bool good = in.Ok() && IsWholeRunId(grant.run_id) && LooksLikeLaunchDigest(grant.digest) &&
                    grant.boot_id.size() <= kBootIdLimitBytes && grant.caller.groups.size() <= kMostGroups;
  if (!good) return bad();
  return grant;
}

}  // namespace kprof
