-- Where does a stream stand still for longest?
SELECT after, before, gap_ns FROM (
  SELECT name AS before, lag(name) OVER w AS after, ts_ns - lag(ts_ns + dur_ns) OVER w AS gap_ns
  FROM slice WHERE track_id IN (SELECT id FROM track WHERE stream = 7 AND rank = 0)
  WINDOW w AS (ORDER BY ts_ns))
WHERE gap_ns > 0 ORDER BY gap_ns DESC LIMIT 3
