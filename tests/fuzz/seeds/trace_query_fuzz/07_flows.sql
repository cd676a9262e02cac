-- What did each launch lead to?
SELECT a.name AS launch, b.name AS led_to, count(*) AS times
FROM flow f JOIN slice a ON a.id = f.from_slice JOIN slice b ON b.id = f.to_slice
GROUP BY a.name, b.name ORDER BY times DESC, led_to
