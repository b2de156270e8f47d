SELECT name FROM student WHERE age > '18' AND age != 2.50 AND stu_id < -3 AND age <> '007'
