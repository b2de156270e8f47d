SELECT name FROM student WHERE NOT (name = 'A' OR name = 'B') AND (age = 18 OR age = 19)
