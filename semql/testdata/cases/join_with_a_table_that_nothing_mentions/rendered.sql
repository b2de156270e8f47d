SELECT T1.name FROM student AS T1 JOIN takes AS T2 ON T1.stu_id = T2.student
