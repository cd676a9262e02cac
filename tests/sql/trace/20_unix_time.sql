-- When was that, by the clock on the wall?
SELECT r.part, strftime('%Y-%m-%dT%H:%M:%fZ', (r.base_unix_ns + min(s.ts_ns)) / 1e9, 'unixepoch') AS first_kernel
FROM trace r JOIN slice s ON s.run = r.run AND s.part = r.part
WHERE s.category = 'kernel' GROUP BY r.run, r.part ORDER BY r.run, r.part
