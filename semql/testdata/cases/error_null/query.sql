SELECT name FROM student WHERE age = NULL
