// The root helper's CallerGrants: shows it a connection of the caller's, one with the groups of that which asked. Of a
// remote caller there is none to show: for those the helper has a list of its own. Users have their turns
// (registration_line.h).
//
// Grants outlive this daemon, and count against their caller's number: what the one before it left is asked for once,
// and let go of.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/process/helper_client/caller_grants.h"
#include "daemon/process/helper_client/helper_link.h"
#include "daemon/process/helper_client/registration_line.h"
#include "daemon/process/helper_client/shown_connection.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class HelperGrants final : public CallerGrants {
 public:
  // The newest connection but for `before` and later ones that this uid has open with exactly these groups.
  using ConnectionOf =
      std::function<CallerConnection(uint32_t uid, const std::vector<uint32_t>& groups, uint64_t before)>;

  HelperGrants(IoLoop& loop, HelperLink& link, ConnectionOf connection_of)
      : loop_(loop), link_(link), connection_of_(std::move(connection_of)), line_(loop) {}

  void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                std::function<void(Status)> done) override;
  void Forget(const std::string& run_id) override;

  // Has the helper forget, and end where they were started, all runs but those that are open and those that were
  // registered through this object. Patient: a helper that is not there is asked again. Call it once.
  using IsOpen = std::function<bool(const std::string& run_id)>;
  void ForgetOthers(IsOpen is_open);

 private:
  // One of several processes of a user may hang up while the helper looks at its connection: then an older one is
  // shown, which whoever asks has among them.
  static constexpr int kMostShown = 64;
  using Answered = GrantQueue::Done;
  void RegisterLocal(const std::string& run_id, const Asker& asker, const std::string& digest, Answered answered);
  void Show(const std::string& run_id, const Asker& asker, const std::string& digest, CallerConnection connection,
            int left, Answered answered);
  void RegisterRemote(const std::string& run_id, uint32_t uid, const std::string& digest, const Answered& answered);

  void AskForOthers(const std::string& after);
  void ForgetListed(const HelperGrantList& list);

  IoLoop& loop_;
  HelperLink& link_;
  const ConnectionOf connection_of_;
  GrantQueue line_;
  IsOpen is_open_;
  // Registered by this daemon, while the others are not all known.
  std::optional<std::set<std::string>> own_{std::in_place};
  IoLoop::Timer ask_again_;
};

}  // namespace kprof
