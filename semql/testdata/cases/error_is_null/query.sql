SELECT name FROM student WHERE age IS NULL
