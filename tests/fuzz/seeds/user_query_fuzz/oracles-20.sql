SELECT json_extract('{}', value) AS v FROM label GROUP BY v HAVING v IS NULL
