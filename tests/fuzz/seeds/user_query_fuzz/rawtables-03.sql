SELECT * FROM "main"."runs"
