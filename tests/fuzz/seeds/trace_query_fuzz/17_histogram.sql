-- How are durations spread?
SELECT dur_ns / 100000 * 100 AS from_us, count(*) AS slices FROM slice WHERE category = 'kernel' GROUP BY from_us ORDER BY from_us
