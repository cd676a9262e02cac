-- What happens in a stretch of time?
SELECT name, ts_ns, dur_ns FROM slice WHERE ts_ns BETWEEN 1400000 AND 1500000 AND run = 'r1' ORDER BY ts_ns, name LIMIT 4
