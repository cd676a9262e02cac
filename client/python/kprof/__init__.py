"""kprof from Python: import traces, ask analyses and SQL, get tables.

    import kprof

    client = kprof.connect()
    [run] = client.import_("rank0.json.gz")
    answer = run.analyze("temporal-breakdown", window="hta")
    print(answer.table())                  # a pandas DataFrame where pandas is installed, else a list of dicts
    print(run.query("SELECT name, sum_ns FROM sum_by('name') ORDER BY sum_ns DESC LIMIT 5").table())

Needs Python 3.9, grpcio and protobuf, and a kprofd that runs. docs/python.md has the whole of it.
"""

from kprof.analysis import Answer, Kind
from kprof.client import Client, connect
from kprof.errors import (BadInput, Busy, Cancelled, InternalError, KprofError, LostDaemon, NoDaemon, NotFound, NotPermitted,
                          StorageError, TimedOut, ToolError, UsageError)
from kprof.run import Run, TrustReason
from kprof.table import Column, QueryResult, Table

__all__ = ["Answer", "BadInput", "Busy", "Cancelled", "Client", "Column", "InternalError", "Kind", "KprofError", "LostDaemon",
           "NoDaemon", "NotFound", "NotPermitted", "QueryResult", "Run", "StorageError", "Table", "TimedOut", "ToolError",
           "TrustReason", "UsageError", "connect"]
