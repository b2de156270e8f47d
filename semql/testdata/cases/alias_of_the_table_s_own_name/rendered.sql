SELECT name FROM student WHERE age = 1
