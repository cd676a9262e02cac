-- Which results can be believed: those without a reason not to?
SELECT id FROM run WHERE state = 'done' AND NOT EXISTS (SELECT 1 FROM trust WHERE trust.run = run.id) ORDER BY id
