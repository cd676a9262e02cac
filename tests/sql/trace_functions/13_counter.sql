-- How did memory grow, in one pixel?
SELECT rank, track_name, begin_ns, count, least, most, value FROM counter_tiles(1) ORDER BY rank
