SELECT count(*) FROM student
