SELECT DISTINCT name, age FROM student
