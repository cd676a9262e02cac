-- When did they start, as people read it (UTC)?
SELECT id, datetime(started_ns / 1000000000, 'unixepoch') AS started FROM run ORDER BY id LIMIT 2
