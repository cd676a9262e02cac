-- What was marked on the way?
SELECT i.name, i.ts_ns, arg(i.args, 'value') AS value FROM instant i JOIN track t ON t.id = i.track_id
WHERE t.rank = 0 ORDER BY i.ts_ns
