-- Which runs carry two labels at once?
SELECT id, labels FROM run
WHERE labels ->> 'branch' = 'main' AND labels ->> 'gpu' = 'h100' ORDER BY id
