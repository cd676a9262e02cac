-- When was that, by the clock on the wall?
SELECT r.part, strftime('%Y-%m-%dT%H:%M:%fZ', (r.base_unix_ns + min(s.ts_ns)) / 1e9, 'unixepoch') AS first_kernel
FROM trace r JOIN track t ON t.rank = r.rank JOIN slice s ON s.track_id = t.id
WHERE s.category = 'kernel' GROUP BY r.part ORDER BY r.part
