SELECT * FROM student WHERE age >= 18
