// A page of the audit as a message. Who may ask for one is access_rules.h.
#pragma once

#include "daemon/rpc/service_context.h"
#include "kprof/v1/node.pb.h"
#include "storage/base/status.h"

namespace kprof {

// Blocking. Fails with kUsage for a page token that is not ours.
Status ReadAuditPage(Catalog& catalog, const v1::ListAuditRequest& request, v1::ListAuditResponse& page);

}  // namespace kprof
