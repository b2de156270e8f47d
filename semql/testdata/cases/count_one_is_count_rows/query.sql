select count(1) from student
