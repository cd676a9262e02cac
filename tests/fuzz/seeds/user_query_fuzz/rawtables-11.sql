SELECT * FROM facts
