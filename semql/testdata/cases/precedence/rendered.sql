SELECT name FROM student WHERE name = 'x' AND (age = 1 OR age = 2) OR NOT (name = 'y' AND age = 3)
