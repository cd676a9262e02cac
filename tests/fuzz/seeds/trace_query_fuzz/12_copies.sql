-- How much is copied, and how fast?
SELECT name, count(*) AS copies, sum(arg(args, 'bytes')) AS bytes,
  round(sum(arg(args, 'bytes')) / sum(dur_ns * 1.0), 3) AS gb_per_s, max(arg(args, 'memory bandwidth (GB/s)')) AS said_gb_per_s
FROM slice WHERE category = 'gpu_memcpy' GROUP BY name
