-- How busy is each stream, and how often does it stand still?
SELECT rank, device, stream, busy_ns, idle_ns, gaps FROM busy('stream') WHERE track_kind = 'gpu_stream' ORDER BY rank, stream
