WITH label AS (SELECT * FROM main.run_labels) SELECT * FROM label, run
