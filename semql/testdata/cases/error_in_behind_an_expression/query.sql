SELECT name FROM student WHERE age + 1 IN (SELECT id FROM teacher)
