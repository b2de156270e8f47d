SELECT name FROM student WHERE stu_id < -3 AND age > 18 AND age != 2.50 AND age != '007'
