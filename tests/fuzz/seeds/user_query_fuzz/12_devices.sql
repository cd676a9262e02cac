-- How busy was each device?
SELECT device, count(*) AS runs, round(sum(duration_ns) / 1e9, 3) AS seconds
FROM device JOIN run ON run.id = device.run GROUP BY device ORDER BY device
