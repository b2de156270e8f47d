SELECT name FROM student WHERE (age = 1 OR age = 2) AND name = 'x' OR NOT (age = 3 AND name = 'y')
