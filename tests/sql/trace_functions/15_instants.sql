-- What was marked when, in two pixels?
SELECT rank, name, begin_ns, end_ns, count FROM instant_tiles(2) ORDER BY rank, begin_ns
