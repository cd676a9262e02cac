SELECT * FROM run_trust
