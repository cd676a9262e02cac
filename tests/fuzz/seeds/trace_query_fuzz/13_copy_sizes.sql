-- Of which sizes are the copies?
SELECT arg(args, 'bytes') / 1024 AS kib, count(*) AS copies FROM slice WHERE category = 'gpu_memcpy' GROUP BY kib ORDER BY kib
