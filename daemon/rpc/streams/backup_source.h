// NodeService.BackUpCatalog: a consistent copy of the catalog, as chunks with a sha256. Whether the caller may have it
// is decided before (node_service.cc).
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// For the bulk pool; any thread may make it. The first Next writes the whole copy, which takes the disk's room until
// the source is destroyed. It fails with kQueueFull when as many backups as may be are under way (stream_limits.h), and
// as Catalog::BackUp does.
std::unique_ptr<PullSource<v1::BackUpCatalogResponse>> MakeBackUpSource(const ServiceContext& parts,
                                                                        const Caller& caller);

}  // namespace kprof
