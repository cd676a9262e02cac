// The parts of the daemon that the services use. Everything is borrowed and outlives the servers. Each part says which
// thread may use it; `node` never changes.
#pragma once

#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/devices/device_book.h"
#include "daemon/process/helper_client/helper_watch.h"
#include "daemon/process/launchers/client_launcher.h"
#include "daemon/rpc/answer_cache.h"
#include "daemon/rpc/stream_limits.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/object_lookup.h"
#include "daemon/runs/runs.h"
#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/catalog/catalog.h"
#include "storage/trace/read/column_cache.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace_sql/attach/table_provider.h"

namespace kprof {

class CeilingBook;
class DeviceClocks;
class NodeDevices;
class OwnChildren;
class PeakTable;
class UserNames;

// The facts that the daemon tells of itself.
struct NodeInfo {
  std::string name;  // the host's
  std::string version;
  std::string mode;  // "user" or "system"
  std::string socket_path;
  int64_t started_unix_ns = 0;
  std::string tool_path;       // folders where vendors' tools are looked for before PATH
  OwnChildren* own = nullptr;  // where children of this process are entered; null: nowhere
};

// The state of the catalog: "ok", "checking", or what is wrong. Io loop only.
struct StorageHealth {
  std::string text = "ok";
};

struct ServiceContext {
  IoLoop& loop;
  const Clock& clock;
  WorkerPool& workers;  // short work: rows, small files
  WorkerPool& bulk;     // streams of bytes: logs, artifacts, backups
  WorkerPool& queries;  // user SQL, which may take its time without keeping anybody else waiting
  Files& files;
  Catalog& catalog;
  const DeviceBook& devices;
  Runs& runs;
  StreamLimits& limits;
  AnswerCache& answers;
  const StorageHealth& health;
  AuditLog& audit;
  ColumnCache& trace_columns;            // of all open traces
  PartPool& trace_parts;                 // kept open between queries; use these columns
  const TableProvider& trace_functions;  // that queries may call
  NodeInfo node;
  // Launches that wait for their clients; null where the daemon starts all itself.
  const ClientLauncher* client_launcher = nullptr;
  // Knows whether the root helper is there; null where there is none to ask. Io loop only.
  HelperWatch* helper_watch = nullptr;
  // The sources of imports that are not submitted yet. Null: nothing is imported.
  HeldSources* sources = nullptr;
  SpoolLimits spool_limits = {};  // for sources that are sent over the wire
  // Knows what the devices tell; io loop only. Null: they are not asked.
  NodeDevices* node_devices = nullptr;
  const PeakTable* peaks = nullptr;      // null: nothing is known of any
  const DeviceClocks* clocks = nullptr;  // io loop only; null: none are locked
  CeilingBook* ceilings = nullptr;       // io loop only; null: none are known
  UserNames* user_names = nullptr;       // io loop only; null: nobody is looked up

  LookupContext lookup() const { return {loop, workers, catalog, runs, audit}; }
};

}  // namespace kprof
