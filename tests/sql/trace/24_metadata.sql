-- What does the source say beside its events?
SELECT t.rank, m.phase, m.name, m.args FROM metadata m JOIN track t ON t.id = m.track_id ORDER BY m.id
