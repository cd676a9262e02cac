SELECT * FROM trust WHERE CASE WHEN message LIKE 'SEC%' THEN json('{' || message) END
