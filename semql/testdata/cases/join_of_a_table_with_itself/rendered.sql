SELECT name FROM student WHERE name = 'x'
