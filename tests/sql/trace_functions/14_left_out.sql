-- How long was each GPU busy with other than kernels?
SELECT rank, busy_ns FROM busy('part') WHERE track_kind = 'gpu_stream' AND category <> 'kernel' ORDER BY rank
